"""Fixed cases of the six query types, a seeded world for them, and what the oracle and an engine say."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.stages.worlds import LATS, LONS, SECOND, WORDS, us

import sightline as sl
from sightline.model.queries import Query
from sightline.testing import StandingOracle

Rows = list[dict[str, Any]]
WORLD = sl.Box(-180, -90, 180, 90)
HOLED = sl.Polygon([(-1, -1), (11, -1), (11, 1), (-1, 1)], holes=[[(9.5, -0.5), (10.2, -0.5), (10.2, 0.2), (9.5, 0.2)]])
BATCHES, BATCH_ROWS = 3, 60


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)


def at(second: float) -> datetime:
    return datetime.fromtimestamp(second, UTC)


RANGES: list[tuple[Any, Any]] = [
    ("", WORLD),
    ("flood", WORLD),
    ("flood boat", WORLD),
    ("flood OR calm", sl.Box(0, 0, 10, 0.5)),
    ("flood AND (boat OR rescue)", WORLD),
    ("flood AND NOT calm", sl.Box(-180, 0, 180, 90)),
    ("#flood", WORLD),
    ("東京", WORLD),
    ("noël OR (boat AND NOT (rescue calm))", WORLD),
    (["flood", "boat", "rescue", "calm"], WORLD),
    (sl.any_of(["東京", "Noël"]), sl.Circle(0, 0, 3e7)),
    ("nowhere", WORLD),
    ("", sl.Box(0, 0, 0, 0)),  # a region of no area
    ("", sl.Box(179, -10, -179, 50)),  # over the antimeridian
    ("", sl.Box(180, -90, 180, 90)),  # 180 is not -180 for a box
    ("", sl.Circle(180, 0, 20_000)),  # but it is for a circle
    ("boat", sl.Circle(50, 89.9, 50_000)),  # round a pole
    ("", sl.Circle(0, 0, 0)),
    ("calm", sl.Circle(10, 0.2, 60_000)),
    ("flood OR boat", HOLED),
]
NEARESTS: list[tuple[Any, tuple[float, float], int]] = [
    ("", (0, 0), 1),
    ("", (0, 0), 5),  # ties: several objects lie there
    ("", (180, 0), 60),
    ("", (-180, 0), 4),
    ("", (77, 90), 3),  # every longitude is equally far
    ("", (0, -90), 5),
    ("", (10.25, 0.25), 1000),  # more than there are
    ("flood", (0, 0), 2),
    ("flood", (179.97, 0.2), 7),
    ("flood boat", (10, 45), 5),
    ("flood OR calm", (-10, 10), 1),
    ("flood AND (boat OR rescue)", (0, 0), 60),
    ("flood AND NOT calm", (180, 45), 3),
    ("#flood", (10.5, 0.5), 5),
    ("東京", (0, 90), 2),
    ("noël OR (boat AND NOT (rescue calm))", (5, 5), 9),
    (["flood", "boat", "rescue", "calm"], (0, 0), 5),
    (sl.any_of(["東京", "Noël"]), (0, 0.25), 6),
    ("nowhere", (0, 0), 5),
    ("rescue", (-90, -45), 5),
]
# region, k, window and slide in seconds of a subscription, `last` of a search
TOP_TERMS: list[tuple[Any, int, float, float, float | None]] = [
    (WORLD, 50, 5, 5, None),
    (WORLD, 3, 10, 5, None),
    (WORLD, 1, 2, 7, 4),  # gaps between the windows
    (WORLD, 3, 7, 2, 10),
    (WORLD, 50, 12, 12, 1),
    (WORLD, 5, 1, 1, 0.5),
    (WORLD, 5, 60, 3, 86_400),
    (WORLD, 2, 3, 40, 40),
    (sl.Box(0, 0, 0, 0), 5, 5, 5, None),
    (sl.Box(0, 0, 10, 0.5), 5, 5, 3, 8),
    (sl.Box(179, -10, -179, 50), 3, 10, 5, None),
    (sl.Box(180, -90, 180, 90), 50, 4, 6, None),
    (sl.Box(20, 20, 30, 30), 5, 5, 5, None),  # nothing is ever there
    (sl.Circle(180, 0, 20_000), 5, 7, 7, None),
    (sl.Circle(50, 89.9, 50_000), 50, 7, 5, 20),
    (sl.Circle(0, 0, 0), 3, 5, 5, None),
    (sl.Circle(10, 0.2, 60_000), 3, 11, 2, 12),
    (sl.Circle(0, 0, 3e7), 4, 6, 4, 3),
    (HOLED, 3, 5, 5, None),
    (HOLED, 50, 9, 4, 15),
]
# Searches take their time from these in turn; the rows span some 60 seconds.
TIMES: list[dict[str, Any]] = [
    {},
    {"last": seconds(4)},
    {"last": seconds(30)},
    {"as_of": at(25)},
    {"as_of": at(25), "last": seconds(10)},
    {"between": (at(5), at(20))},
    {"last": "1d"},
    {"between": (at(30), at(30))},
    {"as_of": at(-5)},
]


def snapshots() -> dict[str, list[Query]]:
    """The searches, by type."""
    times = [TIMES[i % len(TIMES)] for i in range(20)]
    return {
        "SRQ": [
            sl.RangeQuery(keywords, region, limit=(None, None, 3)[i % 3], **times[i])
            for i, (keywords, region) in enumerate(RANGES)
        ],
        "SKQ": [sl.NearestQuery(keywords, place, k, **times[i]) for i, (keywords, place, k) in enumerate(NEARESTS)],
        "STQ": [
            sl.TopTermsQuery(region, k, last=None if last is None else seconds(last))
            for region, k, _, _, last in TOP_TERMS
        ],
    }


def standing() -> dict[str, list[Query]]:
    """The subscriptions, by type."""
    return {
        "CRQ": [sl.RangeQuery(keywords, region) for keywords, region in RANGES],
        "CKQ": [sl.NearestQuery(keywords, place, k) for keywords, place, k in NEARESTS],
        "CTQ": [
            sl.TopTermsQuery(region, k, window=seconds(window), every=seconds(every))
            for region, k, window, every, _ in TOP_TERMS
        ],
    }


def rows_of(seed: int) -> list[Rows]:
    """Batches that follow each other in time and overlap: some rows of each come late."""
    draw = random.Random(seed)
    batches = []
    for number in range(BATCHES):
        batches.append(
            [
                {
                    "id": draw.choice(["a", "b", "ä", "c1", "c10"]),
                    "lon": draw.choice(LONS),
                    "lat": draw.choice(LATS),
                    "ts_us": draw.randrange(20 * number, 20 * number + 26) * SECOND,
                    "text": " ".join(draw.choices(WORDS, k=draw.randrange(5))),
                }
                for _ in range(BATCH_ROWS)
            ]
        )
    return batches


def told(oracle: StandingOracle, kind: str, id_: str) -> list[Any]:
    """What the oracle emitted for a subscription; batches are counted from 0."""
    ordinal = {batch.batch: i for i, batch in enumerate(oracle.batches)}
    if kind == "CRQ":
        return sorted(
            (ordinal[m.batch], m.row["id"], m.row["ts_us"], m.row["lon"], m.row["lat"], m.row["text"])
            for m in oracle.matches_of(id_)
        )
    if kind == "CKQ":
        state = [
            ("state", rank, row["id"], mm / 1000, row["ts_us"], row["text"])
            for rank, (mm, row) in enumerate(oracle.nearest_of(id_), start=1)
        ]
        events = [
            (ordinal[e.batch], e.event, e.rank, e.row["id"], e.distance_mm / 1000, e.row["ts_us"])
            for batch in oracle.batches
            for e in batch.nearest_events
            if e.subscription == id_
        ]
        return [*state, *events]
    return sorted((r.window_end, r.rank, r.term, r.count) for r in oracle.reports_of(id_))


def emitted(engine: sl.Engine, kind: str, id_: str, versions: Sequence[int]) -> list[Any]:
    """What the engine's results tables hold for a subscription, in the form of :func:`told`."""
    ordinal = {version: i for i, version in enumerate(versions)}
    if kind == "CRQ":
        return sorted(
            (ordinal[r["batch"]], r["object_id"], us(r["ts"]), r["lon"], r["lat"], r["text"])
            for r in engine.matches(id_).to_pylist()
        )
    if kind == "CKQ":
        state = [
            ("state", r["rank"], r["object_id"], r["distance_m"], us(r["ts"]), r["text"])
            for r in engine.nearest(id_).to_pylist()
        ]
        events = [
            (ordinal[r["batch"]], r["event"], r["rank"], r["object_id"], r["distance_m"], us(r["ts"]))
            for r in engine.nearest_events(id_).to_pylist()
        ]
        return [*state, *events]
    return [(us(r["window_end"]), r["rank"], r["term"], r["count"]) for r in engine.reports(id_).to_pylist()]


def sought(oracle: StandingOracle, query: Query) -> list[Any]:
    """The oracle's answer to a search."""
    found = oracle.search(query.to_dict())
    if isinstance(query, sl.TopTermsQuery):
        return list(found)
    if isinstance(query, sl.NearestQuery):
        return [(mm / 1000, row["id"], row["ts_us"], row["lon"], row["lat"], row["text"]) for mm, row in found]
    return [(row["id"], row["ts_us"], row["lon"], row["lat"], row["text"]) for row in found]


def found(query: Query, rows: Rows) -> list[Any]:
    """An engine's answer in the form of :func:`sought`."""
    if isinstance(query, sl.TopTermsQuery):
        return [(row["term"], row["count"]) for row in rows]
    place = ("lon", "lat", "text")
    if isinstance(query, sl.NearestQuery):
        return [(row["distance_m"], row["id"], us(row["ts"]), *(row[name] for name in place)) for row in rows]
    return [(row["id"], us(row["ts"]), *(row[name] for name in place)) for row in rows]
