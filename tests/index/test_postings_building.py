"""What building the postings index computes, against NumPy; and that a second thread changes nothing."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

from sightline.flat.arrays import frozen
from sightline.index.objects.postings import _kernels, beside
from sightline.index.objects.postings import building_kernels as building
from sightline.index.objects.postings.index import PostingsIndex
from sightline.index.protocol import ObjectColumns
from sightline.model.space import GEOGRAPHIC_BOUNDS
from sightline.text.dictionary import TermDictionary
from sightline.text.term_batch import TermBatch


def objects_of(rows: int, terms: int, seed: int = 1) -> ObjectColumns:
    """Rows of up to six terms, low ids more often; term 7 is in most rows of one place, as neighbours are alike."""
    rng = np.random.default_rng(seed)
    lon, lat = rng.normal(8.0, 2.0, rows), rng.normal(50.0, 2.0, rows)
    drawn = (terms ** rng.random((rows, 6))).astype(np.int64) - 1
    drawn[:, 0] = np.where((lon > 8) & (lon < 8.2), min(7, terms - 1), drawn[:, 0])
    drawn.sort(axis=1)
    kept = rng.random((rows, 6)) < 0.8
    kept[:, 1:] &= drawn[:, 1:] != drawn[:, :-1]
    offsets = np.concatenate(([0], np.cumsum(kept.sum(axis=1))))
    ids = drawn[kept].astype(np.int32)
    words = np.diff(offsets).astype(np.int32)
    names = TermDictionary.from_strings(pa.array(np.arange(terms)).cast(pa.string()), 0)
    batch = TermBatch(offsets, ids, np.ones(ids.size, np.uint16), words, names)
    return ObjectColumns(lon, lat, rng.integers(0, 10**9, rows), batch)


@pytest.mark.parametrize(("rows", "terms"), [(1, 1), (5000, 300), (3000, 9000), ((1 << building.ROW_BITS) + 999, 9000)])
def test_postings_and_maxima_are_those_of_the_lists(rows: int, terms: int) -> None:
    objects = objects_of(rows, terms)
    order, made = PostingsIndex.build(objects, GEOGRAPHIC_BOUNDS)
    lengths = np.diff(objects.terms.offsets)[order]
    assert np.array_equal(np.diff(made["offsets"]), lengths)
    assert all(np.array_equal(made[name], getattr(objects, name)[order]) for name in ("lon", "lat", "ts"))
    source = np.repeat(objects.terms.offsets[order] - made["offsets"][:-1], lengths) + np.arange(made["ids"].size)
    assert np.array_equal(made["ids"], objects.terms.ids[source])
    row_of = np.repeat(np.arange(rows), lengths)
    by_term = np.argsort(made["ids"], kind="stable")
    listed = np.diff(made["starts"])[made["ids"][by_term]] > 0
    assert np.array_equal(made["postings"], row_of[by_term][listed])
    tail = ~np.isin(made["ids"], made["heads"][0])
    for name, bits in (("small", _kernels.SMALL_BITS), ("large", _kernels.LARGE_BITS)):
        pairs, counts = np.unique((row_of[tail] >> bits) * terms + made["ids"][tail], return_counts=True)
        expected = np.zeros((rows >> bits) + 1, np.int64)
        np.maximum.at(expected, pairs // terms, counts)
        assert np.array_equal(made[f"tables_{name}"], expected)


def test_a_second_thread_changes_nothing() -> None:
    objects = objects_of(700_001, 9000)
    assert len(objects) >= beside.LARGE
    order, made = PostingsIndex.build(objects, GEOGRAPHIC_BOUNDS)
    with patch.object(beside, "LARGE", len(objects) + 1):
        alone_order, alone = PostingsIndex.build(objects, GEOGRAPHIC_BOUNDS)
    assert np.array_equal(order, alone_order)
    assert made.keys() == alone.keys()
    for name, array in made.items():
        assert array.dtype == alone[name].dtype, name
        assert np.array_equal(array, alone[name]), name


def test_small_segments_get_no_thread() -> None:
    with beside.beside(beside.LARGE - 1) as other:
        assert isinstance(other, beside.AtOnce)
        assert other.submit(max, 2, 3).result() == 3
        with pytest.raises(ZeroDivisionError):
            other.submit(divmod, 1, 0)


@pytest.mark.parametrize(("rows", "heads", "block"), [(1, 1, 64), (64, 64, 64), (200, 64, 128), (129, 5, 64)])
def test_planes_and_prefix_counts_of_bits(rows: int, heads: int, block: int) -> None:
    rng = np.random.default_rng(rows)
    has = rng.random((rows, heads)) < 0.4
    bits = (has.astype(np.uint64) << np.arange(heads, dtype=np.uint64)).sum(axis=1, dtype=np.uint64)
    planed = np.arange(0, heads, 3, dtype=np.int32)
    planes = np.empty((planed.size, (rows + 63) >> 6), np.uint64)
    prefix = np.empty((-(-rows // block) + 1, heads), np.int32)
    building.head_tables(frozen(bits, np.uint64), frozen(planed, np.int32), block, planes, prefix)
    set_bits = (planes[:, :, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    assert np.array_equal(set_bits.reshape(planed.size, -1)[:, :rows], has[:, planed].T)
    assert not set_bits.reshape(planed.size, -1)[:, rows:].any()
    before = np.concatenate((np.zeros((1, heads), np.int64), np.cumsum(has, axis=0)))
    lines = [*range(0, rows, block), rows]
    assert np.array_equal(prefix, before[lines])
