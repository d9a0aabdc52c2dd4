"""FAST: a spatial pyramid with a frequency-aware keyword index in its cells (Tornado section 3.2)."""

from sightline.index.standing.fast.index import FastIndex

__all__ = ["FastIndex"]
