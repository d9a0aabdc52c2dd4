from __future__ import annotations

import base64

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.store import FileEntry, key_filter, new_name
from sightline.store.files import FILTER_BYTES
from sightline.store.records import decode, encode


@given(st.lists(st.integers(-3, 40) | st.integers(0, 2**62), min_size=1, max_size=80), st.integers(0, 2**62))
def test_a_file_never_denies_a_key_it_has(keys: list[int], other: int) -> None:
    array = np.array(keys, np.int64)
    text = key_filter(array)
    entry = FileEntry("matches", "x", len(keys), 1, low=min(keys), high=max(keys), keys=text)
    assert all(entry.may_hold(key) for key in keys)
    if text is not None:
        assert len(base64.b64decode(text)) <= FILTER_BYTES
        assert entry.may_hold(other) == (other in keys)
        assert all(entry.may_hold(key) == (key in keys) for key in range(41))


def test_filters_are_small_or_absent() -> None:
    assert key_filter(np.arange(10**6)) is not None  # one run
    assert key_filter(np.arange(0, 10**6, 7)) is None
    assert key_filter(np.array([-1, 4])) is None
    assert key_filter(np.empty(0, np.int64)) is None


def test_entries_round_trip_and_keep_their_version() -> None:
    entry = FileEntry("segments", new_name("segments"), 5, 60, "3/7", -9, 9, meta={"bbox": [0, 1]})
    assert decode(FileEntry, encode(entry)) == entry
    assert entry.committed(4).version == 4
    assert entry.committed(4).committed(9).version == 4
    assert decode(FileEntry, encode(entry.committed(4))).version == 4


def test_names_are_fresh_and_well_formed() -> None:
    assert len({new_name("matches") for _ in range(100)}) == 100
    assert new_name("matches", ".parquet").endswith(".parquet")
    for kind in ("", "../x", "a/b", "Upper"):
        with pytest.raises(ValueError, match="kind"):
            new_name(kind)
