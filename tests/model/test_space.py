import json
import pickle

import pytest

from sightline.model.errors import BadConfig
from sightline.model.space import Space


def test_default_is_geographic():
    assert Space() == Space.geographic()
    assert Space().bounds == (-180.0, -90.0, 180.0, 90.0)
    assert Space().is_geographic
    assert not Space.planar((0, 0, 1, 1)).is_geographic


@pytest.mark.parametrize("space", [Space(), Space.planar([0, -5, 100.25, 7])])
def test_round_trips(space):
    assert Space.from_dict(json.loads(json.dumps(space.to_dict()))) == space
    assert pickle.loads(pickle.dumps(space)) == space
    assert hash(space) == hash(Space.from_dict(space.to_dict()))


@pytest.mark.parametrize(
    "bounds",
    [(0, 0, 0, 1), (0, 1, 1, 0), (0, 0, 1), (0, 0, 1, float("nan")), (0, 0, 1, float("inf")), "abcd", None, 5,
     (0, 0, "1", 1), (0, 0, 1e12, 1), (False, 0, 1, 1)],
)  # fmt: skip
def test_refuses_bad_bounds(bounds):
    with pytest.raises(BadConfig):
        Space.planar(bounds)


def test_refuses_other_kinds_and_forms():
    with pytest.raises(BadConfig, match=r"'spherical'.*geographic"):
        Space("spherical")
    with pytest.raises(BadConfig, match="fixed bounds"):
        Space("geographic", (0, 0, 1, 1))
    for form in ({}, {"kind": "planar"}, None, [], {"kind": "planar", "bounds": [0, 0, 1, 1], "unit": "m"}):
        with pytest.raises(BadConfig):
            Space.from_dict(form)
