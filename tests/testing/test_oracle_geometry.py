"""Distance and containment of the oracle."""

import math
import random

import pytest

from sightline.testing import distance_mm, inside


def test_distance_known_values() -> None:
    assert distance_mm(0, 0, 0, 0) == 0
    assert distance_mm(0, 0, 180, 0) == round(math.pi * 6_371_008.8 * 1000)
    assert distance_mm(180, 10, -180, 10) == 0
    assert distance_mm(0, 0, 0, 1) == round(math.pi / 180 * 6_371_008.8 * 1000)
    assert distance_mm(13, 90, -77, 90) == 0  # all longitudes meet at a pole
    assert distance_mm(1, 2, 4, 6, planar=True) == 5000


def test_distance_is_symmetric_and_close_to_the_chord_formula() -> None:
    rng = random.Random(1)
    for _ in range(500):
        a = (rng.uniform(-180, 180), rng.uniform(-90, 90))
        b = (rng.uniform(-180, 180), rng.uniform(-90, 90))
        vectors = [
            (math.cos(math.radians(y)) * math.cos(math.radians(x)),
             math.cos(math.radians(y)) * math.sin(math.radians(x)), math.sin(math.radians(y)))
            for x, y in (a, b)
        ]  # fmt: skip
        angle = 2 * math.asin(min(1.0, math.dist(*vectors) / 2))
        assert distance_mm(*a, *b) == distance_mm(*b, *a)
        assert abs(distance_mm(*a, *b) - angle * 6_371_008.8e3) < 200


def test_box_is_closed_and_may_cross_the_antimeridian() -> None:
    box = {"box": [0, 0, 2, 1]}
    assert inside(box, 0, 0)
    assert inside(box, 2, 1)
    assert not inside(box, 2.0000001, 1)
    crossing = {"box": [170, -10, -170, 10]}
    assert inside(crossing, 180, 0)
    assert inside(crossing, -180, 0)
    assert inside(crossing, -170, 10)
    assert not inside(crossing, 0, 0)
    # Not the same for boxes: -180 is only at the western edge.
    assert not inside({"box": [170, -10, 180, 10]}, -180, 0)


def test_circle_compares_whole_millimetres() -> None:
    away = distance_mm(0, 0, 0.01, 0)
    assert inside({"circle": [0, 0, away / 1000]}, 0.01, 0)
    assert not inside({"circle": [0, 0, (away - 1) / 1000]}, 0.01, 0)
    assert inside({"circle": [180, 0, 1]}, -180, 0)
    assert inside({"circle": [0, 90, 1]}, 123, 90)
    assert inside({"circle": [3, 4, 5]}, 0, 0, planar=True)


SQUARE = [[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]]


@pytest.mark.parametrize(
    ("point", "expected"),
    [((2, 2), False), ((1, 1), True), ((1, 2), True), ((0.5, 3), True), ((0, 2), True), ((4, 4), True),
     ((4.1, 4), False), ((-1, 0), False), ((5, 2), False), ((3, 3), True)],
)  # fmt: skip
def test_polygon_is_a_closed_shell_minus_open_holes(point: tuple[float, float], expected: bool) -> None:
    hole = [[1, 1], [3, 1], [3, 3], [1, 3]]  # rings may be open
    assert inside({"polygon": {"ring": SQUARE, "holes": [hole]}}, *point) is expected


def test_polygon_boundaries_are_exact() -> None:
    # 0.1, 0.3 and 0.2 are no exact decimals: the middle of the edge misses it by less than a rounding error.
    ring = [[0.1, 0.1], [0.3, 0.3], [0.3, 0.1]]
    assert inside({"polygon": {"ring": ring}}, 0.2, 0.2)
    assert not inside({"polygon": {"ring": ring}}, 0.2, math.nextafter(0.2, 1))


def test_concave_polygon_and_rays_through_corners() -> None:
    ring = [[0, 0], [6, 0], [6, 4], [3, 2], [0, 4]]
    assert inside({"polygon": {"ring": ring}}, 1, 2)
    assert inside({"polygon": {"ring": ring}}, 5, 2)
    assert inside({"polygon": {"ring": ring}}, 3, 2)
    assert not inside({"polygon": {"ring": ring}}, 3, 3)
    assert not inside({"polygon": {"ring": ring}}, -1, 4)
