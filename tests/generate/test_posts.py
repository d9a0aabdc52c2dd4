"""Posts: repeatable in any chunks, plausible, and broken only where asked."""

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.generate import MALFORMED_KINDS, SCHEMA, PostGenerator
from sightline.generate import cities as cities_module
from sightline.generate.posts import BLOCK_POSTS
from sightline.model.errors import BadConfig
from sightline.model.terms import terms_of
from sightline.testing import is_bad

LANGUAGES = ("en", "es", "ja")


def generator(seed: int = 3, **options: object) -> PostGenerator:
    return PostGenerator(seed, languages=LANGUAGES, cities=800, vocabulary=3000, **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def posts() -> pa.Table:
    return generator().table(3 * BLOCK_POSTS)


def test_schema_and_ids(posts: pa.Table) -> None:
    assert posts.schema == SCHEMA
    posts.validate(full=True)
    assert posts["id"].to_pylist()[:2] == ["3-0", "3-1"]
    assert len(set(posts["id"].to_pylist())) == posts.num_rows


@settings(max_examples=25)
@given(st.integers(0, 3 * BLOCK_POSTS), st.integers(0, BLOCK_POSTS + 100))
def test_rows_do_not_depend_on_the_chunk(posts: pa.Table, first: int, count: int) -> None:
    count = min(count, posts.num_rows - first)
    assert generator().table(count, first).equals(posts.slice(first, count))


def test_seeds_differ(posts: pa.Table) -> None:
    other = generator(4).table(1000)
    assert not np.array_equal(other["lon"].to_numpy(), posts["lon"].slice(0, 1000).to_numpy())
    assert other["text"].to_pylist() != posts["text"].slice(0, 1000).to_pylist()


def test_event_time_goes_on_at_the_given_rate() -> None:
    table = generator(start=datetime(2025, 6, 1, tzinfo=UTC), per_second=10).table(1001)
    ts = table["ts"].cast(pa.int64()).to_numpy()
    assert (np.diff(ts) > 0).all()
    assert table["ts"][0].as_py() >= datetime(2025, 6, 1, tzinfo=UTC)
    assert abs((ts[-1] - ts[0]) / 1e6 - 100) < 0.2


def test_late_posts_lie_behind_and_the_others_do_not(posts: pa.Table) -> None:
    late = generator(late_rate=0.1, late_by="1h").table(posts.num_rows)
    behind = posts["ts"].cast(pa.int64()).to_numpy() - late["ts"].cast(pa.int64()).to_numpy()
    assert 0.08 < (behind > 0).mean() < 0.12
    assert (behind >= 0).all()
    assert 0.8 < behind[behind > 0].mean() / 3.6e9 < 1.2
    assert late["text"].equals(posts["text"])  # a rate changes nothing else


def test_malformed_rows_are_the_bad_rows_of_the_definition(posts: pa.Table) -> None:
    table = generator(malformed_rate=0.05).table(posts.num_rows)
    columns = {name: table[name] for name in ("lon", "lat")}
    columns |= {name: table[name].combine_chunks().view(pa.binary()) for name in ("id", "text")}
    columns["ts_us"] = table["ts"].cast(pa.int64())
    rows = pa.table(columns).to_pylist()
    bound = int(datetime(2100, 1, 1, tzinfo=UTC).timestamp() * 1e6)
    bad = np.array([is_bad(row, bound) for row in rows])
    assert 0.04 < bad.mean() < 0.06
    good = pa.array(~bad)
    assert table.filter(good).equals(posts.filter(good))
    # Every kind: what is wrong in the bad rows, told apart.
    reasons = set()
    for row in (rows[number] for number in np.nonzero(bad)[0]):
        reasons |= {f"null {'ts' if name == 'ts_us' else name}" for name, value in row.items() if value is None}
        if row["lon"] is not None and row["lat"] is not None and row["ts_us"] is not None:
            reasons |= {"nan lon"} if np.isnan(row["lon"]) else set()
            reasons |= {"infinite lat"} if np.isinf(row["lat"]) else set()
            reasons |= {"lat out of range"} if 90 < abs(row["lat"]) < 1000 else set()
            reasons |= {"lon out of range"} if abs(row["lon"]) > 180 else set()
            reasons |= {"future"} if row["ts_us"] > bound else set()
        for name in ("id", "text"):
            reasons |= {f"{name} not utf-8"} if row[name] and b"\xff" in row[name] else set()
    assert reasons == set(MALFORMED_KINDS)


def test_texts_read_like_posts(posts: pa.Table) -> None:
    texts = posts["text"].to_pylist()
    assert not any("{" in text or "  " in text.strip() for text in texts)
    assert len(set(texts)) > 0.95 * len(texts)
    sizes = [len(terms_of(text)) for text in texts[:3000]]
    assert 7 < np.mean(sizes) < 15
    assert 0.3 < np.mean(["#" in text for text in texts]) < 0.8
    assert set(posts["lang"].to_pylist()) == set(LANGUAGES)
    japanese = [text for text, lang in zip(texts, posts["lang"].to_pylist(), strict=True) if lang == "ja"]
    assert any("東京" in text for text in japanese)


def test_words_are_skewed(posts: pa.Table) -> None:
    counts: dict[str, int] = {}
    for text in posts["text"].to_pylist()[:8000]:
        for term in terms_of(text):
            counts[term] = counts.get(term, 0) + 1
    ranked = sorted(counts.values(), reverse=True)
    assert len(ranked) > 4000
    assert sum(ranked[:100]) > 0.3 * sum(ranked)


def test_posts_gather_in_cities_and_stay_in_the_world(posts: pa.Table) -> None:
    lon, lat = posts["lon"].to_numpy(), posts["lat"].to_numpy()
    assert (np.abs(lon) <= 180).all()
    assert (np.abs(lat) <= 90).all()
    cells = np.unique(np.floor(lon) * 1000 + np.floor(lat), return_counts=True)[1]
    assert np.sort(cells)[::-1][:50].sum() > 0.2 * len(lon)


def test_uniform_and_gaussian_change_places_only(posts: pa.Table) -> None:
    uniform, gaussian = (generator(locations=kind).table(BLOCK_POSTS) for kind in ("uniform", "gaussian"))
    for column in ("id", "ts", "text", "lang"):
        assert uniform[column].equals(gaussian[column])
        assert uniform[column].equals(posts[column].slice(0, BLOCK_POSTS))
    lon, lat = uniform["lon"].to_numpy(), uniform["lat"].to_numpy()
    assert abs(lon.std() - 360 / 12**0.5) < 3
    assert abs(lat.std() - 180 / 12**0.5) < 2
    assert abs(gaussian["lon"].to_numpy().std() - 1) < 0.05
    wide = generator(locations="gaussian", sigma=5.0).table(BLOCK_POSTS)
    assert abs(wide["lat"].to_numpy().std() - 5) < 0.25


def test_topics_follow_the_hour() -> None:
    hours = {}
    for hour in (8, 21):
        table = generator(burst_rate=0.0, start=datetime(2024, 3, 1, hour, tzinfo=UTC)).table(3 * BLOCK_POSTS)
        europe = (np.abs(table["lon"].to_numpy()) < 15) & (table["lat"].to_numpy() > 35)
        texts = [text for text, near in zip(table["text"].to_pylist(), europe, strict=True) if near]
        hours[hour] = (np.mean(["#coffee" in text for text in texts]), np.mean(["#football" in text for text in texts]))
    assert hours[8][0] > 1.5 * hours[21][0]
    assert hours[21][1] > 1.5 * hours[8][1]


def test_bursts_are_one_topic_in_few_places() -> None:
    table = generator(burst_rate=1.0, per_second=100).table(4000)
    assert len(np.unique(np.round(table["lon"].to_numpy() / 3))) < 30
    quiet = generator(burst_rate=0.0, per_second=100).table(4000)
    assert len(np.unique(np.round(quiet["lon"].to_numpy() / 3))) > 80


@pytest.mark.parametrize(
    "options",
    [{"languages": ("xx",)}, {"languages": ()}, {"locations": "moon"}, {"late_rate": 1.5}, {"per_second": 0},
     {"malformed_rate": -1}, {"seed": -1}],
)  # fmt: skip
def test_bad_options(options: dict[str, object]) -> None:
    with pytest.raises(BadConfig):
        PostGenerator(**options)  # type: ignore[arg-type]


def test_a_missing_package_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(cities_module.importlib, "import_module", missing)
    with pytest.raises(BadConfig, match="pip install"):
        cities_module.require("wordfreq")
