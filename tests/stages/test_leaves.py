"""The leaves as rows, and the leaves a query would visit.

The grid has 64 x 64 cells over the globe, 5.625 by 2.8125 degrees, numbered by rows from the south-west: (0, 0) lies
in cell 32 * 64 + 32 = 2080, (50, 0) in 2088. With two workers, cell c
is dealt to 2 (2531 c mod 4096) div 4096: both to 0.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sightline as sl
from sightline.model.config import StoreConfig
from sightline.model.queries import Query
from sightline.stages.routing import leaves
from sightline.stages.routing.asked_block import asked_block
from sightline.store.store import Store
from tests.stages.worlds import SECOND, Deployment

WORLD = sl.Box(-180, -90, 180, 90)
HERE, THERE = 32 * 64 + 32, 32 * 64 + 40


def row(number: int, lon: float, text: str = "flood") -> dict[str, Any]:
    return {"id": f"o{number}", "lon": lon, "lat": 0.0, "ts_us": number * SECOND, "text": text}


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    made = Deployment(tmp_path / "store", workers=2)
    made.registry.subscribe(sl.RangeQuery("flood", sl.Box(1, 1, 2, 2)), "here", None, None, False)
    made.registry.subscribe(sl.NearestQuery("boat", (0, 0), 3), "near", None, None, False)
    made.feed([row(0, 0.0), row(1, 0.0), row(2, 0.0), row(3, 50.0)])
    return made


def test_rows_by_hand(deployment: Deployment) -> None:
    table, said = leaves.leaf_rows(deployment.store, deployment.batches.book)
    assert table.column_names == [
        *("leaf", "split", "west", "south", "east", "north", "keywords"),
        *("objects", "subscriptions", "load", "worker"),
    ]
    rows = table.to_pylist()
    assert [one["leaf"] for one in rows] == list(range(64 * 64))
    assert list(rows[HERE].values()) == [HERE, "cell", 0.0, 0.0, 5.625, 2.8125, 0, 3, 2, 3 * (1 + 2), 0]
    assert [rows[THERE][name] for name in ("objects", "subscriptions", "load", "worker")] == [1, 1, 2, 0]
    others = [one for one in rows if one["leaf"] not in (HERE, THERE)]
    assert {(one["objects"], one["subscriptions"], one["load"]) for one in others} == {(0, 1, 0)}
    assert said == {
        "epoch": 0,
        "partitioner": "grid",
        "why": "opened",
        "subscriptions": 2,
        "workers": [
            {"worker": 0, "leaves": 2048, "objects": 4, "subscriptions": 2, "load": 11},
            {"worker": 1, "leaves": 2048, "objects": 0, "subscriptions": 1, "load": 0},
        ],
    }


def test_what_was_dropped_visits_nothing(deployment: Deployment) -> None:
    deployment.registry.unsubscribe(["near"])
    table, said = leaves.leaf_rows(deployment.store, deployment.batches.book)
    assert np.flatnonzero(table["subscriptions"].to_numpy()).tolist() == [HERE]
    assert [worker["subscriptions"] for worker in said["workers"]] == [1, 0]
    deployment.registry.unsubscribe(["here"])
    table, said = leaves.leaf_rows(deployment.store, deployment.batches.book)
    assert not table["subscriptions"].to_numpy().any()
    assert table["load"].to_pylist() == table["objects"].to_pylist()
    assert [worker["subscriptions"] for worker in said["workers"]] == [0, 0]


def test_another_epoch_counts_the_objects_of_its_layout(deployment: Deployment) -> None:
    deployment.registry.rebalance()
    deployment.feed([row(4, 0.0)])
    table, said = leaves.leaf_rows(deployment.store, deployment.batches.book)
    assert (said["epoch"], said["why"]) == (1, "rebalance")
    assert [table["objects"][leaf].as_py() for leaf in (HERE, THERE)] == [4, 1]
    assert [worker["objects"] for worker in said["workers"]] in ([4, 1], [1, 4])


def test_slices_count_the_same(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    boxes = [sl.Box(-180 + 30 * i, -80, -120 + 30 * i, 60 - 10 * i) for i in range(7)]
    block = asked_block([sl.RangeQuery("flood", box) for box in boxes], deployment.store.config)
    epoch = deployment.store.commits.snapshot().epochs[-1]
    routing = deployment.batches.epochs.routing(epoch)
    whole = leaves.visits(routing, block, 4096)
    assert whole.sum() == len(routing.leaves_of(block).leaf)
    for pairs in (1, 2 * 4096, 3 * 4096 + 5):
        monkeypatch.setattr(leaves, "PAIRS_AT_ONCE", pairs)
        assert leaves.visits(routing, block, 4096).tolist() == whole.tolist()


def routes(deployment: Deployment, query: Query) -> dict[str, Any]:
    return leaves.routes_of(query, deployment.store, deployment.batches.book)["routes"]


@pytest.mark.parametrize(
    "query",
    [
        sl.RangeQuery("flood OR boat", sl.Box(1, 1, 2, 2), "1h", limit=3),
        sl.RangeQuery("", sl.Circle(1, 1, 10), between=("2024-01-01", "2024-01-02")),
        sl.TopTermsQuery(sl.Box(1, 1, 2, 2), 5, as_of="2024-01-01"),
    ],
)
def test_a_search_visits_the_leaves_of_its_region(deployment: Deployment, query: Query) -> None:
    said = routes(deployment, query)
    assert (said["epoch"], said["partitioner"], said["total"], said["of"]) == (0, "grid", 1, 4096)
    assert (said["workers"], said["stands"]) == ([0], [0])
    assert said["why"] == {"its region meets the leaf": 1}
    (leaf,) = said["leaves"]
    assert list(leaf) == ["leaf", "worker", "split", "west", "south", "east", "north", "keywords", "why"]
    assert list(leaf.values()) == [HERE, 0, "cell", 0.0, 0.0, 5.625, 2.8125, 0, "its region meets the leaf"]


def test_over_the_antimeridian(deployment: Deployment) -> None:
    said = routes(deployment, sl.RangeQuery("", sl.Box(179, -1, -179, 1)))
    assert [leaf["leaf"] for leaf in said["leaves"]] == [31 * 64, 31 * 64 + 63, 32 * 64, 32 * 64 + 63]
    assert said["why"] == {"its region meets the leaf": 4}
    assert said["workers"] == [0, 1]


def test_nearest_visits_all(deployment: Deployment) -> None:
    said = routes(deployment, sl.NearestQuery("flood", (0, 0), 2, "1h"))
    assert (said["total"], len(said["leaves"])) == (4096, leaves.LISTED)
    assert said["why"] == {"any place may have one of the k nearest": 4096}
    assert said["workers"] == said["stands"] == [0, 1]


def test_broadcast_has_no_places(tmp_path: Path) -> None:
    made = Deployment(tmp_path / "store", partitioner="broadcast", workers=3)
    query = sl.RangeQuery("flood", sl.Box(1, 1, 2, 2))
    said = routes(made, query)
    assert said["why"] == {"the leaf spans the whole space": 3}
    assert (said["workers"], said["stands"]) == ([0, 1, 2], [0])
    made.registry.subscribe(query, "first", None, None, False)
    assert routes(made, query)["stands"] == [1]  # the number it would get
    table, epoch = leaves.leaf_rows(made.store, made.batches.book)
    assert table["subscriptions"].to_pylist() == [1, 1, 1]
    assert [worker["subscriptions"] for worker in epoch["workers"]] == [1, 0, 0]


def test_reasons_by_place_and_words() -> None:
    config = StoreConfig(seed=1)
    visited = pa.table(
        {
            "west": [0.0, 0.0, -180.0, 50.0, 2.0],
            "south": [0.0, 0.0, -90.0, 50.0, 2.0],
            "east": [5.0, 5.0, 180.0, 60.0, 3.0],
            "north": [5.0, 5.0, 90.0, 60.0, 3.0],
            "keywords": [0, 7, 7, 0, 0],
        }
    )
    box, meets = sl.Box(1, 1, 2, 2), "its region meets the leaf"
    spans, sent = "the leaf spans the whole space", "the partitioner sends it there"
    word = ", and any word of an object may have put it there"
    for query in (sl.RangeQuery("flood", box), sl.RangeQuery("", box), sl.TopTermsQuery(box, 3)):
        said = leaves.reasons(asked_block([query], config), visited, config.space)
        assert said == [meets, meets + word, spans + word, sent, meets]  # the last one at a corner: boxes are closed
    near = "any place may have one of the k nearest"
    said = leaves.reasons(asked_block([sl.NearestQuery("flood", (0, 0), 3)], config), visited, config.space)
    assert said == [near, near + word, near + word, near, near]
    assert leaves.reasons(asked_block([sl.RangeQuery("flood", box)], config), visited.slice(0, 0), config.space) == []


def test_planar_searches_keep_their_space() -> None:
    config = StoreConfig(seed=1, space=sl.Space.planar((0, 0, 1000, 1000)))
    block = asked_block([sl.NearestQuery("flood", (900, 900), 3, planar=True)], config, first_num=7)
    assert block.num.tolist() == [7]
    assert block.at.tolist() == [[900, 900]]


def test_without_an_epoch(tmp_path: Path) -> None:
    Store.create(tmp_path / "store", StoreConfig(seed=1), durable=False)
    with sl.open(tmp_path / "store") as engine:
        assert "routes" not in engine.explain(sl.RangeQuery("flood", WORLD))
        with pytest.raises(sl.BadSource, match="no epoch"):
            engine.partitions()


def test_through_the_engine(deployment: Deployment) -> None:
    with sl.open(deployment.folder) as engine:
        found = engine.partitions()
        assert found.explain is not None
        assert found.explain["partitioner"] == "grid"
        assert found["objects"].to_numpy().sum() == 4
        said = engine.explain(sl.RangeQuery("flood", sl.Box(1, 1, 2, 2), "1h"))
        assert [leaf["leaf"] for leaf in said["routes"]["leaves"]] == [HERE]
        assert said["segments"] >= 1
