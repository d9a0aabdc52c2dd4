"""What the QT-tree's cost model is given by a history: by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sightline as sl
from sightline.model.config import StoreConfig
from sightline.model.time import MAX_US, MIN_US
from sightline.partition.history import History
from sightline.partition.qt_tree import QtTreeParams, QtTreeRouting
from sightline.partition.qt_tree.workload import TreeWorkload
from sightline.partition.statistics.distribution import Statistics
from tests.partition.qt_cases import CITY, PLANE, SECOND, block_of, hash_of, history_of, near, objects_of, top, within


def masses(work, words, *sides):
    """H_srq and H_skq of a list of words in a region."""
    has = np.isin(work.hashes, [hash_of(word) for word in words]).astype(np.uint8)
    return work.masses(has, [work.reached(np.array(sides, np.float64))])[0].tolist()


def test_statistics_of_a_history_by_hand():
    asked = [
        within("flood", 0, 0, 3, 3),
        within("flood boat", 5, 5, 7, 7),
        within("flood OR calm", 5, 5, 7, 7),
        near("boat"),
    ]
    standing = [within("flood", 0, 0, 4, 4), top(4, 4, 8, 8), near("")]
    lifetimes = block_of(standing, starts=[0, 0, MIN_US], ends=[1 * SECOND, 3 * SECOND, MAX_US])
    history = History(objects_of([(1, 1, "flood")]), lifetimes, block_of(asked), 2 * SECOND)
    work = TreeWorkload.of(history, PLANE.space)
    assert work.hashes.tolist() == sorted(hash_of(word) for word in ("flood", "boat", "calm"))
    mass = dict(zip(work.hashes.tolist(), work.mass.tolist(), strict=True))
    assert mass[hash_of("flood")] == [2.5 / 4, 0]
    assert mass[hash_of("boat")] == [1 / 4, 1]
    assert mass[hash_of("calm")] == [0.5 / 4, 0]
    assert work.model.srq_lengths[:4].tolist() == pytest.approx([0, 2 / 3, 1 / 3, 0])
    assert work.model.lifetimes.tolist() == [1, 3, 3]  # the one without end: as long as the longest
    assert (7 * work.model.types).tolist() == pytest.approx([3, 1, 0, 1, 1, 1])

    def reached(*sides):
        return (work.reached(np.array(sides, np.float64)).p * [3, 1, 1, 1, 1, 1]).tolist()

    # A box that ends on the cut is also east of it, one that begins there not west.
    assert reached(0, 0, 4, 4) == pytest.approx([1, 1, 0, 1, 1, 0])
    assert reached(4, 4, 8, 8) == pytest.approx([2, 1, 0, 1, 1, 1])
    assert reached(0, 0, 8, 8) == pytest.approx([3, 1, 0, 1, 1, 1])
    # What is asked for is what those ask for who reach the place: "flood" alone in the south-west.
    assert masses(work, ["flood"], 0, 0, 4, 4) == [1, 0]
    assert masses(work, ["flood"], 4, 4, 8, 8) == [1.5 / 3, 0]
    assert masses(work, ["flood", "boat"], 0, 0, 8, 8) == [3.5 / 4, 1]
    # 10 objects, H_srq = H_skq = 1/2: (3/7 (2/3 * 1/2 + 1/3 * 1/4) + 1/7 * 1/2) * 10 + 1/7 * 5 a second * (1 + 3 + 3)
    expected = (3 / 7 * 5 / 12 + 1 / 14) * 10 + 35 / 7
    assert work.of_partitions([10], np.array([[0.5, 0.5]]), [work.reached(work.bounds)]) == pytest.approx([expected])


def test_a_query_without_keywords_is_covered_by_everything():
    work = TreeWorkload.of(history_of([], [within("", 0, 0, 8, 8), top(0, 0, 8, 8)]), PLANE.space)
    assert work.hashes.tolist() == []
    assert work.model.srq_lengths[:2].tolist() == [1, 0]


def test_earlier_searches_count_by_hand():
    """Three of them in the north-east, half of their weight decayed, beside one SRQ that is known."""
    searches = block_of([within("boat", 5, 5, 7, 7)] * 3 + [top(5, 5, 7, 7)])
    past = Statistics.empty(PLANE.space).added(searches, asked=True).with_objects(objects_of(CITY), SECOND)
    history = replace(history_of(CITY, [within("flood", 0, 0, 8, 8)]), statistics=past.decayed(0.5))
    work = TreeWorkload.of(history, PLANE.space)
    assert work.model.types.tolist() == pytest.approx([2.5 / 3, 0, 0.5 / 3, 0, 0, 0])
    assert work.statistics.span_s == 2
    south, north = (work.reached(np.array(sides, np.float64)) for sides in ((0, 0, 4, 4), (4, 4, 8, 8)))
    assert (south.p[[0, 2]].tolist(), north.p[[0, 2]].tolist()) == ([1 / 2.5, 0], [1, 1])
    assert masses(work, ["flood"], 0, 0, 4, 4) == [1, 0]
    assert masses(work, ["flood"], 4, 4, 8, 8) == [1 / 2.5, 0]
    assert masses(work, ["boat"], 4, 4, 8, 8) == [1.5 / 2.5, 0]
    before = QtTreeRouting.fitted(replace(history, statistics=None), PLANE.space, 2, QtTreeParams(theta=4))
    after = QtTreeRouting.fitted(history, PLANE.space, 2, QtTreeParams(theta=4))
    assert before.tree.load.tolist() != after.tree.load.tolist()


def test_below_the_last_level_queries_are_told_apart():
    """Cells of J are 8 wide here: of two queries in one of them, one is in its south-western quarter."""
    wide = sl.Space.planar((0, 0, 1024, 1024))
    config = StoreConfig(seed=1, space=wide)
    asked = [within("flood", 1, 1, 2, 2), within("boat", 5, 5, 6, 6), within("boat", 500, 500, 600, 600)]
    work = TreeWorkload.of(history_of([(1, 1, "flood")], asked, config=config), wide)
    at = {side: work.reached(np.array([0, 0, side, side])).p[0] for side in (8, 4, 2, 1)}
    assert at == pytest.approx({8: 2 / 3, 4: 1 / 3, 2: 1 / 3, 1: 0})
    assert masses(work, ["flood"], 0, 0, 4, 4) == [1, 0]


def test_of_many_nearest_queries_a_sample_is_evaluated(monkeypatch):
    """Every second of four stands for two; the last finds its k and reaches a point, not everything."""
    monkeypatch.setattr("sightline.partition.qt_tree.workload.EVALUATED", 2)
    some = [near("flood"), near("boat"), sl.NearestQuery("calm", (6, 6), 1, planar=True), near("boat")]
    history = history_of([(6, 6, "calm"), (1, 1, "flood")], [*some, within("flood", 0, 0, 1, 1)])
    work = TreeWorkload.of(history, PLANE.space)
    assert work.model.types[:2].tolist() == [1 / 5, 4 / 5]
    assert work.reached(np.array([0, 0, 4, 4.0])).p[1] == 1 / 2
    assert work.reached(np.array([4, 4, 8, 8.0])).p[1] == 1
    assert masses(work, ["flood"], 0, 0, 4, 4) == [1, 1]
    assert masses(work, ["flood"], 4, 4, 8, 8) == [0, 1 / 2]
