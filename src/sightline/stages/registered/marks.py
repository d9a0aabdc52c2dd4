"""How far time has come for each subscription: high mark - lateness of the last commit that included it.

What a subscription has closed or reported is what lies behind its own mark. The store's high mark would not do: a batch
that is re-run under an old plan moves time on without the subscriptions registered since, and a store may be reopened
with another lateness. Commits keep ``[control position, mark]`` pairs, of which all but one are usually superseded.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sightline.model.time import MIN_US

Marks = Sequence[Sequence[int]]  # (first number not included, mark)


def passed_us(marks: Marks, nums: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The mark of each subscription number; unbounded past for one that no commit has included yet."""
    out = np.full(len(nums), MIN_US, np.int64)
    for first_unknown, mark in marks:
        np.maximum(out, np.where(nums < first_unknown, mark, MIN_US), out=out)
    return out
