"""Sizes of what is built."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PARAMS", "PostingsParams"]


@dataclass(frozen=True, slots=True)
class PostingsParams:
    """Sizes of what is built; not tuned further than the comments in the kernels say."""

    head: int = 64  # terms with a bit in every row, 1 to 64
    dense: int = 16  # a head term in one row of so many has no postings
    runners: int = 512  # terms after the head that are known by frequency
    finest: int = 16  # levels of the curve below the directory, at most


PARAMS = PostingsParams()
