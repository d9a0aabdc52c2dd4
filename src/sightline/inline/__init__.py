"""How does it run without Spark?"""
