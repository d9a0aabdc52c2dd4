"""Kernels of merging: rows are moved, never looked at."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sightline.jit import kernel

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]


@kernel
def move_runs(source: I32, offsets: I64, place: I64, shift: np.int32, out: I32) -> None:
    """Copy run r, ``source[offsets[r]:offsets[r + 1]]``, to ``out[place[r]:]``, every value raised by ``shift``."""
    for r in range(place.size):
        at = place[r]
        for i in range(offsets[r], offsets[r + 1]):
            out[at] = source[i] + shift
            at += 1
