"""How does a run begin and end, whoever does its work?"""
