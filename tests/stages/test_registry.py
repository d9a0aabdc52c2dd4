"""Registering a query: how often it is checked and compiled on its way."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import sightline as sl
from sightline.index.standing import bulk
from sightline.index.standing.block import QueryBlock
from sightline.model import queries
from sightline.model.time import MAX_US, MIN_US
from sightline.stages.registered.book import SubscriptionBook
from sightline.stages.registered.registry import Registry
from sightline.store.requests import Registered, Subscribe
from tests.stages.worlds import Deployment

FLOOD = sl.RangeQuery("flood", sl.Box(0, 0, 9, 9))


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often a query was checked for the store, compiled, and read from JSON."""
    counted: Counter[str] = Counter()

    def count(owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def counting(*arguments: Any) -> Any:
            counted[name] += 1
            return real(*arguments)

        monkeypatch.setattr(owner, name, counting)

    count(bulk, "check_space")
    count(QueryBlock, "_assemble")
    for kind in queries.KINDS.values():
        count(kind, "from_dict")
    return counted


def test_a_query_is_checked_and_compiled_once(tmp_path: Path, calls: Counter[str]) -> None:
    registry = Deployment(tmp_path / "store", workers=2).registry
    subscription = registry.subscribe(FLOOD, "a", None, None, False)
    assert subscription.query is FLOOD
    assert calls == {"check_space": 1, "_assemble": 1}
    calls.clear()
    registry.subscribe(FLOOD, "a", None, None, True)
    registry.subscribe_many([FLOOD] * 3, None, None)
    registry.subscribe_many([FLOOD] * 100, None, None)
    assert calls == {"check_space": 104, "_assemble": 3}


def test_the_book_of_a_writer_is_that_of_a_reader(tmp_path: Path) -> None:
    store = Deployment(tmp_path / "store", workers=2).store
    books = [SubscriptionBook(store) for _ in range(3)]
    one, other = (Registry(store, book) for book in books[:2])
    one.subscribe(FLOOD, "a", None, None, False)
    one.subscribe_many([FLOOD] * 3, None, None)
    replaced = other.subscribe(sl.NearestQuery("boat", (1, 1), 3), "a", None, None, True)
    last = one.subscribe(FLOOD, "b", None, None, False)
    for book in books:
        book.refresh()
        standing = book.subscriptions(book.live())
        assert [subscription.num for subscription in standing] == [1, 2, 3, 4, 5]
        assert standing[3:] == [replaced, last]


def test_a_log_from_before_the_second_grammar_answers_as_before(tmp_path: Path) -> None:
    """Signs that are refused now were blanks then; the log says which it is, one by one and in bulk."""
    deployment = Deployment(tmp_path / "store", workers=2)
    control, old = deployment.store.control, {"kind": "range", "region": FLOOD.region.to_dict()}
    for source in ("flood*", "boat -rescue"):
        said = Registered(source, {**old, "keywords": source}, MIN_US, MAX_US)
        control.append(Subscribe(subscriptions=(said,)), 1)
        assert all("grammar" not in file.read_text() for file in (tmp_path / "store" / "control").iterdir())
    deployment.registry.subscribe(FLOOD, "new", None, None, False)
    for text in ("flood", "boat rescue", "boat"):
        deployment.feed([{"id": text, "lon": 1.0, "lat": 1.0, "ts_us": 0, "text": text}])
    found = [deployment.results.matches("", [num])["object_id"].to_pylist() for num in range(3)]
    assert found == [["flood"], ["boat rescue"], ["flood"]]
    book = SubscriptionBook(deployment.store)
    book.refresh()
    standing = book.subscriptions(book.live())
    assert [str(subscription.query.keywords) for subscription in standing] == ["flood*", "boat -rescue", "flood"]
    assert [subscription.query.keywords.grammar for subscription in standing] == [1, 1, 2]
    with pytest.raises(sl.BadExpression, match="prefixes"):
        sl.RangeQuery("flood*", FLOOD.region)
