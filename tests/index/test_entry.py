"""A kernel entered without looking at types answers as before and compiles nothing more."""

from __future__ import annotations

import os

import numpy as np
import pytest

from sightline.flat.arrays import frozen
from sightline.index.entry import Entry
from sightline.index.objects.postings.room_kernels import put_in_order
from sightline.index.objects.strings_kernels import gather_strings

DATA = frozen(np.frombuffer(b"abcdef", np.uint8), np.uint8)


def test_one_entry_per_signature() -> None:
    narrow, wide = Entry(gather_strings), Entry(gather_strings)
    rows = np.array([1, 0, 1])
    for _ in range(3):
        for entry, kind in ((narrow, np.int32), (wide, np.int64)):
            ends, data, done = entry.call(np.array([0, 2, 6], kind), DATA, rows, 100)
            assert (ends.dtype, ends.tolist(), data.tobytes(), done) == (kind, [0, 4, 6, 10], b"cdefabcdef", True)


@pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="no machine code")
def test_only_the_first_call_looks_at_types() -> None:
    entry, rows = Entry(gather_strings), np.array([0])
    offsets = frozen(np.array([0, 2, 6], np.int32), np.int32)
    entry.call(offsets, DATA, rows, 100)
    known = len(gather_strings.signatures)  # type: ignore[attr-defined]
    assert entry.call is not gather_strings
    assert entry.call(offsets.copy(), DATA.copy(), rows, 100)[1].tobytes() == b"ab"  # writable ones
    assert len(gather_strings.signatures) == known  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        entry.call(offsets.astype(np.int64), DATA, rows, 100)


def test_an_output_is_written_by_every_call() -> None:
    entry, answer = Entry(put_in_order, 0), np.zeros(6, np.int64)
    for n, (row, mm) in enumerate([(7, 30), (9, 10), (8, 10)]):
        entry.call(answer, 3, n, np.int64(row), np.int64(mm))
    assert answer.tolist() == [8, 9, 7, 10, 10, 30]
