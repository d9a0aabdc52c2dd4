"""Panes of continuous top-terms queries: count once, report many overlapping windows."""

from sightline.index.standing.panes.arithmetic import (
    NO_PANE,
    last_window,
    pane_end,
    pane_of,
    panes_of_window,
    windows_of_pane,
)
from sightline.index.standing.panes.counts import PaneCounts, sum_counts
from sightline.index.standing.panes.windows import Series, TopTerms, top_terms

__all__ = [
    "NO_PANE",
    "PaneCounts",
    "Series",
    "TopTerms",
    "last_window",
    "pane_end",
    "pane_of",
    "panes_of_window",
    "sum_counts",
    "top_terms",
    "windows_of_pane",
]
