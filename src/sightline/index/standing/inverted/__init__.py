"""Inverted file over nearest queries, the index of KOP (DkM-SKS section 3.1)."""

from sightline.index.standing.inverted.index import InvertedIndex

__all__ = ["InvertedIndex"]
