import json
import pickle

import pytest

from sightline.model.errors import BadQuery
from sightline.model.queries import NearestQuery, RangeQuery, TopTermsQuery
from sightline.model.regions import Box
from sightline.model.subscription import Subscription, lifetime_us
from sightline.model.time import MAX_US, MIN_US, instant_us

QUERY = RangeQuery("flood", Box(0, 0, 1, 1))
NOON = "2024-05-31T12:00:00Z"


@pytest.mark.parametrize("query", [QUERY, NearestQuery("", (0, 0), 3),
                                   TopTermsQuery(Box(0, 0, 1, 1), 5, window="1h", every="7min")])  # fmt: skip
def test_round_trips(query):
    for subscription in (Subscription("a", 0, query), Subscription("東京", 7, query, -5, 10**15, 3)):
        back = Subscription.from_dict(json.loads(json.dumps(subscription.to_dict())))
        assert back == subscription
        assert pickle.loads(pickle.dumps(subscription)) == subscription


def test_lifetime_is_half_open():
    subscription = Subscription("a", 0, QUERY, 10, 20)
    assert [ts for ts in range(5, 25) if subscription.sees(ts)] == list(range(10, 20))
    assert Subscription("a", 0, QUERY).sees(MIN_US)
    assert Subscription("a", 0, QUERY).sees(MAX_US)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Subscription("", 0, QUERY),
        lambda: Subscription(5, 0, QUERY),
        lambda: Subscription("\ud800", 0, QUERY),
        lambda: Subscription("a", -1, QUERY),
        lambda: Subscription("a", 0, RangeQuery("a", Box(0, 0, 1, 1), "1h")),
        lambda: Subscription("a", 0, "flood"),
        lambda: Subscription("a", 0, QUERY, "today"),
        lambda: Subscription("a", 0, QUERY, 0, 0, -1),
        lambda: Subscription.from_dict({"id": "a"}),
        lambda: Subscription.from_dict(None),
    ],
)
def test_bad_subscriptions_are_refused(make):
    with pytest.raises(BadQuery):
        make()


def test_lifetime_starts_at_the_high_mark():
    week = 7 * 86_400_000_000
    assert lifetime_us(None, None, None) == (MIN_US, MAX_US)
    assert lifetime_us(None, None, 42) == (42, MAX_US)
    assert lifetime_us(None, "7d", 42) == (42, 42 + week)
    assert lifetime_us(NOON, "7d", None) == (instant_us(NOON), instant_us(NOON) + week)
    assert lifetime_us(NOON, None, 42) == (instant_us(NOON), MAX_US)
    with pytest.raises(BadQuery, match="beyond all time"):
        lifetime_us(None, "100000w", MAX_US - 5)


def test_ttl_needs_something_to_count_from():
    with pytest.raises(BadQuery, match=r"empty.*start="):
        lifetime_us(None, "7d", None)
    with pytest.raises(BadQuery, match="ttl"):
        lifetime_us(None, "3 parsecs", 42)
