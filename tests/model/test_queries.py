import json
import pickle
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.model.dnf import EVERYTHING
from sightline.model.errors import BadExpression, BadQuery
from sightline.model.expression import all_of, any_of
from sightline.model.queries import (
    NearestQuery,
    RangeQuery,
    TopTermsQuery,
    check_snapshot,
    check_space,
    check_subscription,
    query_from_dict,
    time_bounds,
)
from sightline.model.regions import Box, Circle, Polygon
from sightline.model.space import Space
from sightline.model.time import MIN_US, instant_us

BOX = Box(-95.8, 29.5, -95.0, 30.1)
NOON = "2024-05-31T12:00:00Z"

REGIONS = st.sampled_from([BOX, Circle(0, 51.5, 20_000), Polygon([(0, 0), (4, 0), (0, 4)]), Box(170, -5, -170, 5)])
KEYWORDS = st.sampled_from(
    [
        "flood AND (rescue OR boat)",
        "",
        ["flood", "rescue"],
        [],
        any_of(["noodle", "ramen"]),
        all_of(["NOT", "a"]),
        None,
    ]
)
MOMENTS = st.datetimes(timezones=st.just(UTC))
LASTS = st.timedeltas(timedelta(microseconds=1), timedelta(days=40_000))
TIMES = st.one_of(
    st.just({}),
    st.fixed_dictionaries({}, optional={"last": LASTS, "as_of": MOMENTS}),
    st.tuples(MOMENTS, MOMENTS).map(lambda pair: {"between": sorted(pair)}),
)
QUERIES = st.one_of(
    st.builds(lambda kw, r, t, n: RangeQuery(kw, r, limit=n, **t), KEYWORDS, REGIONS, TIMES,
              st.none() | st.integers(1, 99)),
    st.builds(lambda kw, x, y, k, t: NearestQuery(kw, (x, y), k, **t), KEYWORDS, st.floats(-180, 180),
              st.floats(-90, 90), st.integers(1, 99), TIMES),
    st.builds(lambda r, k, t: TopTermsQuery(r, k, **t), REGIONS, st.integers(1, 99), TIMES),
    st.builds(lambda r, k, w, e: TopTermsQuery(r, k, window=w, every=e), REGIONS, st.integers(1, 99),
    LASTS, LASTS),
)  # fmt: skip


@given(QUERIES)
def test_json_and_pickle_round_trip(query):
    form = json.loads(json.dumps(query.to_dict()))
    back = query_from_dict(form)
    assert type(back) is type(query)
    assert back == query
    assert hash(back) == hash(query)
    assert back.to_dict() == query.to_dict() == form
    assert type(query).from_dict(form) == query
    assert pickle.loads(pickle.dumps(query)) == query


@given(QUERIES, st.none() | st.integers(-(10**15), 10**15), st.integers(-(10**15), 10**15))
def test_time_bounds_are_the_definition(query, high, ts):
    lo, hi = time_bounds(query, high)
    as_of = high if query.as_of is None else instant_us(query.as_of)
    if query.between is not None:
        seen = instant_us(query.between[0]) <= ts <= instant_us(query.between[1])
    elif as_of is None:
        seen = False
    elif query.last is not None:
        seen = as_of - query.last // timedelta(microseconds=1) < ts <= as_of
    else:
        seen = ts <= as_of
    assert (lo <= ts <= hi) == seen


def test_time_bounds_at_the_edge():
    last = RangeQuery("a", BOX, last="1s")
    assert time_bounds(last, 5_000_000) == (4_000_001, 5_000_000)
    assert time_bounds(RangeQuery("a", BOX), 7) == (MIN_US, 7)
    assert time_bounds(last, None) == (0, -1)
    assert time_bounds(last, MIN_US + 5)[0] == MIN_US


def test_everything_is_normalised():
    query = RangeQuery("flood", BOX, "72h", as_of="2024-05-31T14:00:00+02:00")
    assert query.last == timedelta(days=3)
    assert query.as_of == datetime(2024, 5, 31, 12, tzinfo=UTC)
    assert query == RangeQuery(["flood"], BOX, timedelta(hours=72), as_of=datetime(2024, 5, 31, 12))  # noqa: DTZ001
    east = timezone(timedelta(hours=9))
    pair = (datetime(2024, 1, 1, 9, tzinfo=east), NOON)
    assert RangeQuery("", BOX, between=pair) == RangeQuery(None, BOX, between=["2024-01-01", NOON])
    assert RangeQuery("", BOX).keywords.dnf() == EVERYTHING
    assert NearestQuery("a", at=[1, 2], k=3).at == (1.0, 2.0)


def test_json_form_is_short_and_plain():
    query = TopTermsQuery(Circle(-0.12, 51.5, 20_000), k=10, window="1h", every="10min")
    assert query.to_dict() == {
        "kind": "top_terms", "region": {"circle": [-0.12, 51.5, 20000.0]}, "k": 10, "window": "1h",
        "every": "10min",
    }  # fmt: skip
    assert RangeQuery("flood", BOX, "72h", as_of=NOON).to_dict() == {
        "kind": "range", "keywords": "flood", "region": BOX.to_dict(), "last": "3d", "as_of": NOON,
    }  # fmt: skip


@pytest.mark.parametrize(
    "make",
    [
        lambda: RangeQuery("a", "everywhere"),
        lambda: RangeQuery("a", None),
        lambda: RangeQuery("a", (0, 0, 1, 1)),
        lambda: RangeQuery("a", BOX, "3 parsecs"),
        lambda: RangeQuery("a", BOX, 72),
        lambda: RangeQuery("a", BOX, "0s"),
        lambda: RangeQuery("a", BOX, as_of="soon"),
        lambda: RangeQuery("a", BOX, "1h", between=(NOON, NOON)),
        lambda: RangeQuery("a", BOX, as_of=NOON, between=(NOON, NOON)),
        lambda: RangeQuery("a", BOX, between=(NOON, "2020-01-01")),
        lambda: RangeQuery("a", BOX, between=NOON),
        lambda: RangeQuery("a", BOX, between=(NOON,)),
        lambda: RangeQuery("a", BOX, between=5),
        lambda: RangeQuery("a", BOX, limit=0),
        lambda: RangeQuery("a", BOX, limit=2.0),
        lambda: RangeQuery("a", BOX, limit=True),
        lambda: RangeQuery(5, BOX),
        lambda: NearestQuery("a", (0, 0), 0),
        lambda: NearestQuery("a", (0, 0), -1),
        lambda: NearestQuery("a", (0, 0), True),
        lambda: NearestQuery("a", (0, 0), "5"),
        lambda: NearestQuery("a", (0, 0), 2**31),
        lambda: NearestQuery("a", (0, 91), 1, planar=False),
        lambda: NearestQuery("a", (181, 0), 1, planar=False),
        lambda: NearestQuery("a", (float("nan"), 0), 1),
        lambda: NearestQuery("a", (0,), 1),
        lambda: NearestQuery("a", "ab", 1),
        lambda: NearestQuery("a", None, 1),
        lambda: TopTermsQuery(BOX, 0),
        lambda: TopTermsQuery("London", 5),
        lambda: TopTermsQuery(BOX, 5, window="1h"),
        lambda: TopTermsQuery(BOX, 5, every="1h"),
        lambda: TopTermsQuery(BOX, 5, window="0s", every="1h"),
        lambda: TopTermsQuery(BOX, 5, "1h", window="1h", every="1h"),
    ],
)
def test_bad_queries_are_refused(make):
    with pytest.raises(BadQuery):
        make()


def test_bad_keywords_fail_at_once():
    with pytest.raises(BadExpression):
        RangeQuery("flood AND", BOX)


@pytest.mark.parametrize(
    "form",
    [None, [], "range", {}, {"kind": "everything"}, {"kind": ["range"]}, {"kind": "range"},
     {"kind": "range", "keywords": "a"}, {"kind": "range", "keywords": "a", "region": BOX.to_dict(), "k": 1},
     {"kind": "nearest", "keywords": "a", "at": [0, 0]}, {"kind": "nearest", "keywords": 5, "at": [0, 0],
     "k": 1},
     {"kind": "top_terms", "region": {"box": [0]}, "k": 1}],
)  # fmt: skip
def test_bad_forms_are_refused(form):
    with pytest.raises(BadQuery):
        query_from_dict(form)


def test_forms_of_another_kind_are_refused():
    with pytest.raises(BadQuery, match="not a nearest query"):
        NearestQuery.from_dict(RangeQuery("a", BOX).to_dict())


@pytest.mark.parametrize(
    "query",
    [RangeQuery("a", BOX, "1h"), RangeQuery("a", BOX, as_of=NOON), RangeQuery("a", BOX, between=(NOON, NOON)),
     RangeQuery("a", BOX, limit=5), NearestQuery("a", (0, 0), 1, "1h"), TopTermsQuery(BOX, 5)],
)  # fmt: skip
def test_what_a_subscription_cannot_have(query):
    check_snapshot(query)
    with pytest.raises(BadQuery, match="subscription"):
        check_subscription(query)


def test_what_a_search_cannot_have():
    windowed = TopTermsQuery(BOX, 5, window="1h", every="10min")
    check_subscription(windowed)
    with pytest.raises(BadQuery, match="last="):
        check_snapshot(windowed)
    for check in (check_snapshot, check_subscription):
        with pytest.raises(BadQuery, match="not a query"):
            check("flood")


def test_planar_queries_need_a_planar_space():
    plane = Space.planar((0, 0, 1000, 1000))
    near = NearestQuery("a", (500, 500), 3, planar=True)
    assert query_from_dict(near.to_dict()) == near
    box = RangeQuery("a", Box(0, 0, 500, 500, planar=True))
    assert query_from_dict(box.to_dict()).region.planar
    for query in (near, box, NearestQuery("a", (500, 500), 3), RangeQuery("a", Box(0, 0, 500, 500))):
        check_space(query, plane)
        with pytest.raises(BadQuery):
            check_space(query, Space())
    check_space(NearestQuery("a", (5, 5), 3), plane)


def test_the_json_of_the_documentation_is_read_and_written():
    page = (Path(__file__).parents[2] / "docs" / "semantics.md").read_text(encoding="utf-8")
    forms = [json.loads(line) for line in page.split("```json")[1].split("```")[0].strip().splitlines()]
    assert {form["kind"] for form in forms} == {"range", "nearest", "top_terms"}
    assert {name for form in forms for name in form.get("region", {})} == {"box", "circle", "polygon"}
    for form in forms:
        query = query_from_dict(form)
        assert query_from_dict(query.to_dict()) == query
        assert set(query.to_dict()) == set(form)
