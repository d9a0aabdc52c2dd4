"""Queries made from posts, by SSTD 7.1."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from sightline.generate import PostGenerator, nearest_queries, range_queries, top_terms_queries
from sightline.model.errors import BadConfig, BadSource
from sightline.testing import terms


@pytest.fixture(scope="module")
def posts() -> pa.Table:
    return PostGenerator(1, languages=("en", "es", "ja"), cities=800, vocabulary=3000, malformed_rate=0.05).table(4000)


@pytest.fixture(scope="module")
def sets(posts: pa.Table) -> dict[tuple[float, float], set[str]]:
    rows = zip(posts["lon"].to_pylist(), posts["lat"].to_pylist(), range(posts.num_rows), strict=True)
    texts = posts["text"].combine_chunks().view(pa.binary()).to_pylist()
    return {(lon, lat): terms((texts[row] or b"").decode("utf-8", "ignore")) for lon, lat, row in rows}


def test_keywords_and_centre_come_from_one_post(posts: pa.Table, sets: dict[tuple[float, float], set[str]]) -> None:
    queries = nearest_queries(posts, 2000, keywords=(1, 3), k=(5, 9), seed=2)
    assert queries.column_names == ["id", "keywords", "lon", "lat", "k"]
    sizes = Counter()
    for query in queries.to_pylist():
        words = query["keywords"]
        sizes[len(words)] += 1
        assert len(set(words)) == len(words)
        assert set(words) <= sets[query["lon"], query["lat"]]
        assert not any(word[0] in "#@" for word in words)
    assert set(sizes) == {1, 2, 3}
    assert min(sizes.values()) > 500
    assert set(queries["k"].to_pylist()) == {5, 6, 7, 8, 9}
    assert len(set(queries["id"].to_pylist())) == 2000


def test_regions_have_the_area_and_hold_their_post(posts: pa.Table) -> None:
    queries = range_queries(posts, 500, area=0.0001, seed=4)
    edges = {name: queries[name].to_numpy() for name in ("west", "south", "east", "north")}
    np.testing.assert_allclose(edges["east"] - edges["west"], 3.6)
    np.testing.assert_allclose(edges["north"] - edges["south"], 1.8)
    assert (edges["west"] >= -180).all()
    assert (edges["east"] <= 180).all()
    whole = range_queries(posts, 10, area=1.0)
    assert set(whole["west"].to_pylist()) == {-180.0}
    assert set(whole["north"].to_pylist()) == {90.0}


def test_areas_may_be_mixed(posts: pa.Table) -> None:
    queries = range_queries(posts, 2000, area=(1e-6, 1e-2))
    width, height = (
        queries[high].to_numpy() - queries[low].to_numpy() for low, high in (("west", "east"), ("south", "north"))
    )
    fraction = np.log10(width * height / (360 * 180))
    assert fraction.min() > -6.001
    assert fraction.max() < -1.999
    assert abs(fraction.mean() + 4) < 0.1


def test_dropping_the_most_frequent_words(posts: pa.Table) -> None:
    counts: Counter[str] = Counter()
    for text in posts.filter(pa.compute.is_valid(posts["text"]))["text"].combine_chunks().view(pa.binary()).to_pylist():
        counts.update(term for term in terms(text.decode("utf-8", "ignore")) if term[0] not in "#@")
    top = {word for word, _ in counts.most_common(60)}
    plain = range_queries(posts, 1000, keywords=(1, 1), seed=3)
    rare = range_queries(posts, 1000, keywords=(1, 1), seed=3, drop_top=100)
    assert sum(words[0] in top for words in plain["keywords"].to_pylist()) > 200
    assert not any(words[0] in top for words in rare["keywords"].to_pylist())


def test_same_seed_same_queries(posts: pa.Table) -> None:
    assert range_queries(posts, 50, seed=9).equals(range_queries(posts, 50, seed=9))
    assert not range_queries(posts, 50, seed=9).equals(range_queries(posts, 50, seed=8))


def test_top_terms_queries(posts: pa.Table) -> None:
    queries = top_terms_queries(posts, 20, k=3, window="90min", every="10min")
    assert queries.column_names == ["id", "west", "south", "east", "north", "k", "window", "every"]
    assert queries.to_pylist()[0]["window"] == "1h30min"


def test_refusals(posts: pa.Table) -> None:
    with pytest.raises(BadConfig):
        range_queries(posts, 5, area=0.0)
    with pytest.raises(BadConfig):
        range_queries(posts, 5, keywords=(0, 1))
    with pytest.raises(BadSource):
        range_queries(posts.slice(0, 0), 5)
    with pytest.raises(BadSource):
        range_queries(posts.select(["lon"]), 5)
    with pytest.raises(BadSource, match="drop_top"):
        range_queries(posts, 5, drop_top=10**6)
    assert range_queries(posts, 0).num_rows == 0
