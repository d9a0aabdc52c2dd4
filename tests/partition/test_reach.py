"""How far nearest queries reach, against distances written out."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import sightline as sl
from sightline.geo.distance import distance_mm
from sightline.index.protocol import NO_BOUND
from sightline.model.time import MAX_US, MIN_US
from sightline.partition.reach import nearest_pieces, nearest_reach
from tests.partition import subset_cases
from tests.partition.subset_cases import GLOBE, PLANE, objects_of

block_of = partial(subset_cases.block_of, start=MIN_US, end=MAX_US)


EXPRESSIONS = {
    "": lambda terms: True,
    "flood": lambda terms: "flood" in terms,
    "flood boat": lambda terms: {"flood", "boat"} <= terms,
    "flood OR calm": lambda terms: bool({"flood", "calm"} & terms),
    "flood AND NOT calm": lambda terms: "flood" in terms and "calm" not in terms,
    "flood AND NOT unheard": lambda terms: "flood" in terms,
    "unheard": lambda terms: False,
    "unheard OR (boat calm)": lambda terms: {"boat", "calm"} <= terms,
}


@pytest.mark.parametrize("config", [GLOBE, PLANE], ids=["globe", "plane"])
def test_kth_distances(config):
    rng = np.random.default_rng(7)
    west, south, east, north = config.space.bounds
    words = ["flood", "boat", "calm", "tide"]
    rows = [
        (rng.uniform(west, east), rng.uniform(south, north), " ".join(rng.choice(words, rng.integers(0, 4))))
        for _ in range(60)
    ]
    objects = objects_of(rows, config)
    queries, expected = [], []
    for text, holds in EXPRESSIONS.items():
        for k in (1, 2, 7, 60, 61):
            at = (rng.uniform(west, east), rng.uniform(south, north))
            queries.append(sl.NearestQuery(text, at, k))
            matching = [i for i, (_, _, words_of) in enumerate(rows) if holds(set(words_of.split()))]
            far = np.sort(distance_mm(config.space, *at, objects.lon[matching], objects.lat[matching]))
            expected.append(int(far[k - 1]) if len(far) >= k else NO_BOUND)
    found = nearest_reach(block_of(queries, config), objects, config.space)
    unbounded = np.array(expected) == NO_BOUND
    assert (found == NO_BOUND).tolist() == unbounded.tolist()
    assert 0 < unbounded.sum() < len(queries) - 10
    # A chord near the diameter says little of the angle: 6 cm.
    assert np.abs(found[~unbounded] - np.array(expected)[~unbounded]).max() <= 200


def test_circles_become_boxes():
    at = np.array([[0.5, 0.5], [4.0, 4.0]])
    row, box = nearest_pieces(at, [2000, NO_BOUND], PLANE.space)
    assert row.tolist() == [0, 1]
    assert box[0, 2:].min() >= 2.5
    assert box[1].tolist() == list(PLANE.space.bounds)


def test_fewer_than_k_matches_reach_everything():
    """The second nearest is 2 away, a third with the word there is not."""
    objects = objects_of([(0.5, 0.5, "x"), (2.5, 0.5, "x"), (0.6, 0.5, "y")])
    asked = block_of([sl.NearestQuery("x", (0.5, 0.5), k, planar=True) for k in (1, 2, 3)])
    assert nearest_reach(asked, objects, PLANE.space).tolist() == [0, 2000, NO_BOUND]
