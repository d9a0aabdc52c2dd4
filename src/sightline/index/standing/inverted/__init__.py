"""Inverted file over nearest queries."""

from sightline.index.standing.inverted.index import InvertedIndex

__all__ = ["InvertedIndex"]
