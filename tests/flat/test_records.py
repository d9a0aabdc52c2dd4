"""Records that write and read themselves by their annotations."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from sightline.flat.arrays import F64, I32, I64
from sightline.flat.records import FlatRecord, frozen_fields


class Lists(NamedTuple):
    offsets: I64
    ids: I32


class Place:
    pass


@dataclass(frozen=True, eq=False)
class Inner(FlatRecord):
    values: F64
    rest: I32 = field(default_factory=lambda: np.zeros(0, np.int32))


@dataclass(frozen=True, eq=False)
class Outer(FlatRecord):
    number: int
    share: float
    flag: bool
    ids: pa.StringArray
    lists: Lists
    inner: Annotated[Inner, "inner_"]
    anything: np.ndarray  # type: ignore[type-arg]
    place: Place


def outer() -> Outer:
    lists = Lists(np.array([0, 2]), np.array([5, 7]))  # type: ignore[arg-type]
    ids = pa.array(["a", "béta", ""])
    return Outer(3, 0.5, True, ids, lists, Inner(np.ones(2)), np.zeros((2, 2), np.uint8), Place())


def test_arrays_are_frozen_as_their_annotation_says() -> None:
    made = outer()
    assert made.lists.ids.dtype == np.int32
    assert not made.lists.ids.flags.writeable
    assert not replace(made, inner=Inner(np.arange(3))).inner.values.flags.writeable  # type: ignore[arg-type]
    assert frozen_fields(Lists, ([0], [])).ids.dtype == np.int32


def test_what_is_written_is_read() -> None:
    made = outer()
    arrays = made.to_arrays("x_")
    names = [
        "number",
        "share",
        "flag",
        "ids_offsets",
        "ids_data",
        "offsets",
        "ids",
        "inner_values",
        "inner_rest",
        "anything",
    ]
    assert list(arrays) == [f"x_{name}" for name in names]
    place = Place()
    again = Outer.from_arrays(arrays, place, prefix="x_")
    assert again.place is place
    assert (again.number, again.share, again.flag) == (3, 0.5, True)
    assert again.ids.equals(made.ids)
    written = again.to_arrays("x_")
    assert all(np.array_equal(written[name], array) for name, array in arrays.items())
    assert written["x_inner_values"].base is not None
    assert np.shares_memory(again.inner.values, made.inner.values)


def test_slices_and_nulls_of_strings_are_written_as_they_read() -> None:
    made = replace(outer(), ids=pa.array(["a", "b", None, "c"])[1:])
    assert Outer.from_arrays(made.to_arrays(), Place()).ids.to_pylist() == ["b", "", "c"]


def test_what_is_missing_has_its_default_or_is_an_error() -> None:
    assert Inner.from_arrays({"values": np.ones(1)}).rest.size == 0
    with pytest.raises(TypeError, match="values"):
        Inner.from_arrays({})
