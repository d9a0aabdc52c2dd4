"""A pipeline with all kinds of subscriptions and searches, for a process of its own."""

from __future__ import annotations

from pathlib import Path

import sightline as sl
from tests.stages.worlds import LATS, LONS, SECOND, WORDS, Deployment


def run(folder: str) -> None:
    """Feed three batches under each partitioner, merge, search."""
    everywhere = sl.Box(-180, -90, 180, 90)
    polygon = sl.Polygon([(-1, -1), (11, -1), (11, 1), (-1, 1)])
    for partitioner in ("grid", "broadcast"):
        deployment = Deployment(Path(folder) / partitioner, partitioner=partitioner, workers=3)
        for i, query in enumerate([
            sl.RangeQuery("flood AND NOT calm", everywhere), sl.RangeQuery("boat OR rescue", sl.Circle(0, 0, 1e6)),
            sl.RangeQuery("", polygon), sl.NearestQuery("flood", (0, 0), 3), sl.NearestQuery("", (0, 0), 3),
            sl.TopTermsQuery(polygon, 3, window="5s", every="2s"),
        ]):  # fmt: skip
            deployment.registry.subscribe(query, f"s{i}", None, None, False)
        for batch in range(3):
            for i in range(20):
                late = sl.RangeQuery(f"{WORDS[i % 7]} NOT drill", sl.Box(i, 0, i + 1, 1))
                deployment.registry.subscribe(late, f"late {batch} {i}", None, None, False)
            deployment.feed([
                {"id": str(i), "lon": LONS[i % 7], "lat": LATS[i % 5], "ts_us": (60 * batch + i) * SECOND,
                 "text": " ".join(WORDS[: i % 8])}
                for i in range(60)
            ])  # fmt: skip
        deployment.merge()
        for region in (everywhere, polygon, sl.Circle(0, 0, 1e5)):
            deployment.searcher.answer(sl.RangeQuery("flood boat", region))
            deployment.searcher.answer(sl.TopTermsQuery(region, 3))
        deployment.searcher.answer(sl.NearestQuery("flood OR boat", (0, 0), 3))
