"""Objects are not sent where nobody waits for them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sightline as sl
from sightline.stages.registered.summary import awaited, merged, summarise
from sightline.testing.partitioners import CONFIG
from sightline.testing.small_worlds import block_of
from sightline.text.tokeniser import tokenise
from tests.stages.test_fitting import rows
from tests.stages.worlds import Deployment


class TwoWorkers:
    """Query q stands at worker q % 2."""

    workers = 2

    def route_queries(self, block):
        from sightline.partition.protocol import QueryRoutes

        worker = (np.arange(len(block)) % 2).astype(np.int32)
        order = np.argsort(worker, kind="stable").astype(np.int32)
        return QueryRoutes(order, worker[order])


def kept(queries, texts):
    terms = tokenise(pa.array(texts), CONFIG.text, CONFIG.seed)
    row, worker = (np.array(x, np.int32).ravel() for x in np.divmod(np.arange(2 * len(texts)), 2))
    found = awaited([summarise(block_of(queries, CONFIG), TwoWorkers())], terms, row, worker)
    return {(int(r), int(w)) for r, w in zip(row[found], worker[found], strict=True)}


BOX = sl.Box(-180, -90, 180, 90)


def test_one_term_of_every_conjunct_is_waited_for():
    queries = [sl.RangeQuery("flood AND boat", BOX), sl.RangeQuery("calm OR rescue", BOX)]
    assert kept(queries, ["flood boat", "calm", "rescue", "", "other"]) == {(0, 0), (1, 1), (2, 1)}


def test_the_rarer_term_is_the_one():
    queries = [sl.RangeQuery("flood AND boat", BOX), sl.RangeQuery("flood", BOX), sl.RangeQuery("flood calm", BOX)]
    # "flood" stands in three conjuncts, "boat" and "calm" in one each.
    assert kept(queries, ["flood"]) == {(0, 1)}
    assert kept(queries, ["boat"]) == {(0, 0)}


def test_who_matches_everything_waits_for_everything():
    assert kept([sl.RangeQuery("", BOX), sl.RangeQuery("calm", BOX)], ["", "x"]) == {(0, 0), (1, 0)}
    assert kept([sl.NearestQuery("", at=(0, 0), k=1), sl.NearestQuery("calm", at=(0, 0), k=1)], ["calm"]) == {
        (0, 0),
        (0, 1),
    }


def test_summaries_add_up():
    terms = tokenise(pa.array(["flood", "calm", "other"]), CONFIG.text, CONFIG.seed)
    parts = [summarise(block_of([sl.RangeQuery(word, BOX)], CONFIG), TwoWorkers()) for word in ("flood", "calm")]
    row, worker = np.arange(3, dtype=np.int32), np.zeros(3, np.int32)
    assert awaited(parts, terms, row, worker).tolist() == [True, True, False]
    assert awaited([merged(parts)], terms, row, worker).tolist() == [True, True, False]
    assert awaited([], terms, row, worker).tolist() == [False] * 3


@pytest.mark.parametrize(("keep_objects", "top_terms", "sent"), [(False, False, 1), (False, True, 6), (True, False, 6)])
def test_what_nobody_needs_is_not_sent(tmp_path, keep_objects, top_terms, sent):
    """Work done: packets carry only what is kept, counted or waited for; objects and time are counted all the same."""
    from sightline.stages.flow import work

    deployment = Deployment(tmp_path / "store", keep_objects=keep_objects)
    deployment.registry.subscribe(sl.RangeQuery("rescue", BOX), "s", None, None, False)
    if top_terms:
        deployment.registry.subscribe(sl.TopTermsQuery(BOX, 3, window="10s", every="5s"), "t", None, None, False)
    received = []
    unpack = work.unpack
    work.unpack = lambda blob: received.append(unpack(blob)) or received[-1]
    try:
        deployment.feed([*rows(5), {"id": "x", "lon": 0.0, "lat": 0.0, "ts_us": 9_000_000, "text": "rescue"}])
    finally:
        work.unpack = unpack
    assert sum(len(packet.row) for packet in received) == sent
    snapshot = deployment.store.commits.snapshot()
    assert snapshot.counters["objects"] == 6
    assert (snapshot.low_us, snapshot.high_us) == (0, 9_000_000)
    assert snapshot.counters["matches"] == 1
