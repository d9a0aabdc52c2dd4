"""Panes of continuous top-terms queries: count once, report many overlapping windows."""

from sightline.index.standing.panes.arithmetic import (
    NO_PANE,
    last_window,
    pane_end,
    pane_of,
    panes_of_window,
    windows_of_pane,
)
from sightline.index.standing.panes.counts import PaneCounts, concat_counts, sum_counts
from sightline.index.standing.panes.leaders import LEADERS, leaders_first, leading_counts
from sightline.index.standing.panes.windows import Series, WindowTerms, top_terms

__all__ = [
    "LEADERS",
    "NO_PANE",
    "PaneCounts",
    "Series",
    "WindowTerms",
    "concat_counts",
    "last_window",
    "leaders_first",
    "leading_counts",
    "pane_end",
    "pane_of",
    "panes_of_window",
    "sum_counts",
    "top_terms",
    "windows_of_pane",
]
