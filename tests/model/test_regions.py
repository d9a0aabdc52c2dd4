import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.model.errors import BadQuery, SightlineError
from sightline.model.regions import Box, Circle, Polygon, check_region, region_from_dict
from sightline.model.space import Space

NAN, INF = float("nan"), float("inf")
GLOBE, PLANE = Space.geographic(), Space.planar((0, 0, 1000, 1000))
SQUARE = [(0, 0), (4, 0), (4, 4), (0, 4)]
HOLE = [(1, 1), (2, 1), (2, 2), (1, 2)]

LON, LAT = st.floats(-180, 180), st.floats(-90, 90)
BOXES = st.builds(lambda w, e, s, n: Box(w, min(s, n), e, max(s, n)), LON, LON, LAT, LAT)
CIRCLES = st.builds(Circle, LON, LAT, st.floats(0, 3e7))
TRIANGLES = st.builds(lambda x, y, a, b: Polygon([(x, y), (x + a, y), (x, y + b)]),
                      st.floats(-170, 90), st.floats(-80, 40), st.floats(1, 60), st.floats(1,
                      40))  # fmt: skip
REGIONS = st.one_of(BOXES, CIRCLES, TRIANGLES, st.just(Polygon(SQUARE, [HOLE])))


@given(REGIONS)
def test_json_and_pickle_round_trip(region):
    back = region_from_dict(json.loads(json.dumps(region.to_dict())))
    assert back == region
    assert hash(back) == hash(region)
    assert back.to_dict() == region.to_dict()
    assert pickle.loads(pickle.dumps(region)) == region
    check_region(region, GLOBE)


def test_json_forms():
    assert Box(1, 2, 3, 4).to_dict() == {"box": [1.0, 2.0, 3.0, 4.0]}
    assert Circle(1, 2, 3).to_dict() == {"circle": [1.0, 2.0, 3.0]}
    assert Polygon(SQUARE).to_dict()["polygon"]["ring"] == [[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]]
    assert Box(1, 2, 500, 4, planar=True).to_dict() == {"box": [1.0, 2.0, 500.0, 4.0], "planar": True}
    assert region_from_dict({"box": [1, 2, 500, 4], "planar": True}).planar


def test_edges_of_the_globe_and_zero_size_are_fine():
    assert Box(-180, -90, 180, 90).east == 180.0
    assert Box(180, 0, -180, 0).west == 180.0  # crosses the antimeridian
    assert Box(5, 5, 5, 5).south == 5.0
    assert Circle(0, 90, 0).radius_mm == 0
    assert Box(np.float64(1), np.int32(2), 3, 4) == Box(1, 2, 3, 4)
    assert type(Box(np.float32(1), 2, 3, 4).west) is float


@pytest.mark.parametrize(
    "make",
    [
        lambda: Box(0, 50, 10, 95, planar=False),
        lambda: Box(0, 50, 181, 60, planar=False),
        lambda: Box(0, 50, 10, 40),
        lambda: Box(NAN, 0, 1, 1),
        lambda: Box(0, 0, INF, 1),
        lambda: Box("0", 0, 1, 1),
        lambda: Box(None, 0, 1, 1),
        lambda: Box(True, 0, 1, 1),
        lambda: Box(0, 0, 1 + 2j, 1),
        lambda: Box(10**400, 0, 1, 1),
        lambda: Box(2, 0, 1, 1, planar=True),
        lambda: Box(0, 0, 1e12, 1),
        lambda: Circle(0, 0, -1),
        lambda: Circle(0, 0, NAN),
        lambda: Circle(0, 0, 1e13),
        lambda: Circle(0, 91, 1, planar=False),
        lambda: Circle(-181, 0, 1, planar=False),
        lambda: Circle(0, 0, "5km"),
        lambda: Polygon([]),
        lambda: Polygon([(0, 0), (1, 1)]),
        lambda: Polygon([(0, 0), (1, 1), (0, 0)]),
        lambda: Polygon([(0, 0), (1, 1), (2, 2)]),  # no area
        lambda: Polygon([(0, 0), (4, 4), (4, 0), (0, 4)]),  # bow tie
        lambda: Polygon([(0, 0), (1, 0), (1, NAN)]),
        lambda: Polygon([(0, 0), (1, 0), (1, 95)], planar=False),
        lambda: Polygon([(0, 0), (1, 0, 3), (1, 1)]),
        lambda: Polygon([(-170, 0), (170, 0), (170, 5), (-170, 5)], planar=False),  # an edge of 340 degrees
        lambda: Polygon(SQUARE, [[(9, 9), (10, 9), (10, 10)]]),  # hole outside
        lambda: Polygon(SQUARE, [[(1, 1), (2, 2)]]),
        lambda: Polygon("square"),
        lambda: Polygon(None),
        lambda: Polygon(SQUARE, "hole"),
        lambda: Polygon(["ab", "cd", "ef"]),
        lambda: Polygon(5),
        lambda: Polygon({"a": 1}),
    ],
)
def test_bad_regions_are_refused(make):
    with pytest.raises(BadQuery) as caught:
        make()
    assert isinstance(caught.value, SightlineError)
    assert isinstance(caught.value, ValueError)


def test_messages_say_value_allowed_and_hint():
    with pytest.raises(
        BadQuery, match=r"north of the box \(latitude\) is out of range: 95.0; allowed: -90 to 90.*west, south"
    ):
        check_region(Box(0, 50, 10, 95), GLOBE)
    with pytest.raises(BadQuery, match=r"south of the box is above its north.*\(50\.0, 40\.0\).*south <= north"):
        Box(0, 50, 10, 40)
    with pytest.raises(BadQuery, match="Self-intersection"):
        Polygon([(0, 0), (4, 4), (4, 0), (0, 4)])
    with pytest.raises(BadQuery, match="split the polygon at the antimeridian"):
        check_region(Polygon([(-170, 0), (170, 0), (170, 5), (-170, 5)]), GLOBE)


@pytest.mark.parametrize("form", [None, 5, "box", [], {}, {"box": [1, 2, 3]}, {"circle": [1, 2]}, {"box": 5},
                                  {"box": [0, 0, 1, 1], "circle": [0, 0, 1]}, {"disc": [0, 0, 1]},
                                  {"polygon": []}, {"polygon": {}}, {"polygon": {"ring": SQUARE,
                                  "inner": []}},
                                  {"box": [0, 0, 1, 1], "planar": 1}, {"planar": True}])  # fmt: skip
def test_bad_forms_are_refused(form):
    with pytest.raises(BadQuery):
        region_from_dict(form)


@given(st.integers(0, 10**15))
def test_radius_is_whole_millimetres(mm):
    circle = Circle(0, 0, mm / 1000)
    assert circle.radius_mm == mm
    assert Circle(0, 0, circle.radius_m).radius_m == circle.radius_m


@given(st.floats(0, 1e9))
def test_radius_rounds_half_to_even(radius):
    assert Circle(0, 0, radius).radius_mm == round(radius * 1000)


def test_rings_may_be_open_or_closed():
    assert Polygon(SQUARE) == Polygon([*SQUARE, SQUARE[0]])
    assert Polygon(iter(SQUARE), [HOLE]) == Polygon(np.array(SQUARE).tolist(), (tuple(HOLE),))
    assert Polygon(np.array(SQUARE, float)) == Polygon(SQUARE)
    assert Polygon(SQUARE) != Polygon(SQUARE, [HOLE])


def test_an_edge_of_180_degrees_is_the_longest():
    check_region(Polygon([(-90, 0), (90, 0), (0, 10)]), GLOBE)
    with pytest.raises(BadQuery):
        check_region(Polygon([(-90, 0), (math.nextafter(90.00001, 91), 0), (0, 10)]), GLOBE)


def test_check_region_follows_the_space():
    check_region(Box(0, 0, 9, 9), PLANE)
    for planar in (None, True):
        for region in (
            Box(0, 0, 900, 900, planar=planar),
            Circle(500, 0, 1, planar=planar),
            Polygon([(0, 0), (500, 0), (0, 500)], planar=planar),
        ):
            check_region(region, PLANE)
            with pytest.raises(BadQuery, match="out of range"):
                check_region(region, GLOBE)
    with pytest.raises(BadQuery, match="antimeridian"):
        check_region(Box(9, 0, 1, 1), PLANE)
    with pytest.raises(BadQuery, match="not a region"):
        check_region("everywhere", GLOBE)
