"""Columns and arrays are the same values; Arrow's own conversions are the yardstick."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sightline.flat.columns import batch_of, column_of, empty_table, strings_of, table_of, values_of

KINDS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]
arrays = st.sampled_from(KINDS).flatmap(
    lambda kind: hnp.arrays(kind, st.integers(0, 40), elements={"allow_nan": False} if kind[0] == "f" else None)
)


@given(arrays, st.integers(1, 3))
def test_a_column_has_the_values_of_its_array(values, step):
    values = values[::step]
    column = column_of(values)
    column.validate(full=True)
    assert column.equals(pa.array(values))


@given(arrays, st.integers(0, 45), st.integers(0, 45))
def test_an_array_has_the_values_of_its_column(values, start, rows):
    column = pa.array(values).slice(min(start, len(values)), rows)
    got = values_of(column)
    assert got.dtype == values.dtype
    assert np.array_equal(got, values[start : start + rows])
    assert values.dtype == np.bool_ or not got.flags.writeable  # a view of Arrow's memory


@given(arrays, st.lists(st.integers(0, 40), max_size=3))
def test_chunks_are_joined(values, cuts):
    bounds = [0, *sorted(min(cut, len(values)) for cut in cuts), len(values)]
    chunks = [pa.array(values[a:b]) for a, b in pairwise(bounds)]
    assert np.array_equal(values_of(pa.chunked_array(chunks)), values)


@pytest.mark.parametrize("kind", [pa.bool_(), pa.int32(), pa.float64()])
def test_no_chunks_are_no_values(kind):
    assert values_of(pa.chunked_array([], kind)).tolist() == []


@pytest.mark.parametrize("values", [[1, None], [True, None]])
def test_nulls_are_refused(values):
    with pytest.raises(ValueError, match="1 nulls"):
        values_of(pa.array(values))


def test_tables_take_arrays_of_either_kind():
    columns = {"a": np.arange(3), "b": pa.array(["x", "y", "z"])}
    wanted = pa.table({"a": [0, 1, 2], "b": ["x", "y", "z"]})
    assert table_of(columns).equals(wanted)
    assert batch_of(columns).equals(wanted.to_batches()[0])
    narrow = pa.schema([("a", pa.int32()), ("b", pa.string())])
    assert table_of(columns, narrow).schema == narrow
    assert empty_table(narrow).equals(narrow.empty_table())


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_strings_are_arrows(strings):
    column = strings_of(strings)
    column.validate(full=True)
    assert column.equals(pa.array(strings, pa.string()))
