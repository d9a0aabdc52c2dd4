"""GI2: a grid of inverted lists over range queries (PS2Stream section 6)."""

from sightline.index.standing.gi2.index import Gi2Index

__all__ = ["Gi2Index"]
