"""Strings gathered by row are what Arrow's ``take`` gives, whatever the column looks like in memory."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.index.objects import strings as gathering
from sightline.index.objects.strings import StringColumn, taken

words = st.text(st.characters(codec="utf-8"), max_size=40)
kinds = st.sampled_from([pa.string(), pa.large_string()])


@given(
    strings=st.lists(words, max_size=30),
    kind=kinds,
    cut=st.tuples(st.integers(0, 30), st.integers(0, 30)),
    picks=st.lists(st.integers(0, 10**6), max_size=60),
    step=st.sampled_from([1, 2, -1]),
    wide=st.booleans(),
)
def test_rows_equal_arrows(
    strings: list[str], kind: pa.DataType, cut: tuple[int, int], picks: list[int], step: int, wide: bool
) -> None:
    stored = pa.array(strings, kind).slice(*cut)
    rows = np.array([pick % len(stored) for pick in picks] if len(stored) else [], np.int64 if wide else np.int32)
    rows = rows[::step]
    expected = stored.take(pa.array(rows))
    found = StringColumn(stored).take(rows)
    found.validate(full=True)
    assert found.equals(expected)
    assert StringColumn(stored).strings(rows) == expected.to_pylist()
    with patch.object(gathering, "MANY", 3), patch.object(gathering, "LONG", 5):
        assert StringColumn(stored).take(rows).equals(expected)


def test_a_row_that_does_not_exist_is_arrows_error() -> None:
    names = StringColumn(pa.array(["a", "b", "c"]).slice(0, 2))
    for row in (-1, 2):
        with pytest.raises((IndexError, pa.ArrowIndexError)):
            names.take(np.array([0, row]))
        with pytest.raises((IndexError, pa.ArrowIndexError)):
            names.strings(np.array([row]))


def test_rows_are_a_list() -> None:
    names = StringColumn(pa.array(["a", "b"]))
    names.take(np.array([0]))
    with pytest.raises(ValueError, match="list of numbers"):
        names.take(np.zeros((2, 2), np.int64))


def test_too_many_bytes_are_left_to_arrow() -> None:
    names = StringColumn(pa.array(["ab", "c"]))
    names._most = 4
    assert names.take(np.array([0, 0])).to_pylist() == ["ab", "ab"]
    assert not names._gathered(np.array([0, 0, 1]))[2]
    assert names.take(np.array([0, 0, 1])).to_pylist() == ["ab", "ab", "c"]


def test_other_columns_are_taken_by_arrow() -> None:
    for stored in (pa.array(["a", None]), pa.array([1, 2]), pa.chunked_array([["a"], ["b"]])):
        assert not StringColumn.fits(stored)
        if isinstance(stored, pa.Array):
            with pytest.raises(ValueError, match="strings without nulls"):
                StringColumn(stored)
    columns = [StringColumn(pa.array(["x", "y"])), pa.array(["a", None]), pa.array([1, 2])]
    assert [some.to_pylist() for some in taken(columns, np.array([1, 1, 0]))] == [
        ["y", "y", "x"],
        [None, None, "a"],
        [2, 2, 1],
    ]
