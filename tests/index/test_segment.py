"""Segments: what goes in comes out, mapped or merged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.index.segment_cases import table_of

from sightline.index.objects.segment import Segment, build_segment, merge_segments
from sightline.index.registry import OBJECT_INDEXES
from sightline.store.array_file import ArrayFile, write_array_file
from sightline.testing.small_worlds import Row, columns_of, config_of, rows

worlds = st.lists(rows, min_size=1, max_size=12)


def content(segment: Segment) -> list[tuple[object, ...]]:
    """Every row with its terms and counts, in an order of its own."""
    table = segment.rows(np.arange(len(segment)))
    strings = segment.dictionary.strings().to_pylist()
    terms = segment.terms
    lists = []
    for i in range(len(segment)):
        span = slice(int(terms.offsets[i]), int(terms.offsets[i + 1]))
        numbered = zip(terms.ids[span].tolist(), terms.counts[span].tolist(), strict=True)
        lists.append(sorted((strings[t], c) for t, c in numbered))
    flat = zip(segment.lon.tolist(), segment.lat.tolist(), segment.ts.tolist(), terms.words.tolist(), strict=True)
    return sorted(
        (
            (tuple(row.values()), *numbers, tuple(words))
            for row, numbers, words in zip(table.to_pylist(), flat, lists, strict=True)
        ),
        key=repr,
    )


@pytest.mark.parametrize("name", sorted(OBJECT_INDEXES))
@given(world=worlds, bits=st.sampled_from([64, 8]), cut=st.integers(1, 11))
@settings(max_examples=30, deadline=None)
def test_merging_is_the_union(name: str, world: list[Row], bits: int, cut: int) -> None:
    config = config_of(bits)
    table, objects = table_of(world), columns_of(world, config)
    whole = Segment.from_data(build_segment(objects, table, name))
    assert whole.table.schema == table.schema
    parts = []
    for first, last in ((0, cut), (cut, len(world))):
        if first < min(last, len(world)):
            part = world[first:last]
            parts.append(Segment.from_data(build_segment(columns_of(part, config), table.slice(first, last - first))))
    merged = Segment.from_data(merge_segments(parts, name))
    assert content(merged) == content(whole)
    assert {k: merged.meta[k] for k in ("rows", "bbox", "ts", "index")} == {
        k: whole.meta[k] for k in ("rows", "bbox", "ts", "index")
    }


def test_a_mapped_segment_reads_without_copies(tmp_path: Path) -> None:
    config = config_of()
    world = [Row(3, 1, 5, "rain #flood rain"), Row(-3, 2, 9, ""), Row(180, -90, 7, "東京")]
    data = build_segment(columns_of(world, config), table_of(world).append_column("lang", pa.array(["a", None, "c"])))
    write_array_file(tmp_path / "s.sl", data.arrays, data.meta, durable=False)
    before = pa.total_allocated_bytes()
    segment = Segment.from_file(ArrayFile.open(tmp_path / "s.sl"))
    assert len(segment.table) == 3
    assert pa.total_allocated_bytes() - before < 1024
    assert content(segment) == content(Segment.from_data(data))
    assert segment.meta["bbox"] == [-3.0, -90.0, 180.0, 2.0]
    assert segment.meta["ts"] == [5, 9]
    assert segment.table.column_names == ["id", "lon", "lat", "ts", "text", "lang"]


def test_payload_schemas_are_unified() -> None:
    config = config_of()
    parts = []
    for name, value in (("likes", pa.array([3])), ("lang", pa.array(["de"])), (None, None)):
        table = table_of([Row(0, 0, 1, "rain")])
        table = table if name is None else table.append_column(name, value)
        parts.append(Segment.from_data(build_segment(columns_of([Row(0, 0, 1, "rain")], config), table)))
    merged = Segment.from_data(merge_segments(parts))
    assert sorted(merged.table["likes"].to_pylist(), key=str) == [3, None, None]
    assert sorted(merged.table["lang"].to_pylist(), key=str) == [None, None, "de"]


def test_an_empty_or_uneven_segment_is_refused() -> None:
    config = config_of()
    with pytest.raises(ValueError, match="at least one"):
        build_segment(columns_of([], config), table_of([]))
    with pytest.raises(ValueError, match="2 for 1"):
        build_segment(columns_of([Row(0, 0, 0, "")], config), table_of([Row(0, 0, 0, "")] * 2))
