"""Distances of a nearest search."""
