"""The workload: distributions, determinism, and that queries have the words and places they promise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sightline.bench import workload
from sightline.bench.loads import loads_of, two_sets
from sightline.index.standing.block import KIND_NEAREST, QueryBlock
from sightline.model.config import StoreConfig
from sightline.model.errors import BadConfig, BadSource
from sightline.text.tokeniser import tokenise


def words_of(objects: workload.ObjectColumns, row: int) -> set[str]:
    return set(objects.terms.row_strings(row))


def test_posts_have_the_shape_of_the_workload() -> None:
    posts = workload.posts(20_000, 3)
    sizes = np.diff(posts.terms.offsets)
    assert sizes.mean() == pytest.approx(9.65, abs=0.1)
    rows = np.repeat(np.arange(len(posts)), sizes)
    same_row = rows[1:] == rows[:-1]
    assert (np.diff(posts.terms.ids)[same_row] > 0).all()  # ascending, hence distinct
    share = np.bincount(posts.terms.ids) / len(posts)
    names = posts.terms.dictionary.strings()
    assert names[0].as_py() == "w1"
    assert share[0] == pytest.approx(0.507, abs=0.02)
    assert share[1] == pytest.approx(0.30, abs=0.02)  # 1 - exp(-10 / (2 H))
    assert (np.abs(posts.lon) <= 180).all()
    assert (np.abs(posts.lat) <= 90).all()
    # The largest city has about one twentieth of all posts, within a few degrees.
    cells, counts = np.unique(np.floor(posts.lon / 3) * 1000 + np.floor(posts.lat / 3), return_counts=True)
    assert 0.02 < counts.max() / len(posts) < 0.1
    assert cells.size > 500  # and some are anywhere


def test_a_seed_is_a_workload_and_chunks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    first, again, other = workload.posts(3_000, 5), workload.posts(3_000, 5), workload.posts(3_000, 6)
    assert np.array_equal(first.lon, again.lon)
    assert np.array_equal(first.terms.ids, again.terms.ids)
    assert not np.array_equal(first.lon, other.lon)
    monkeypatch.setattr(workload, "CHUNK_POSTS", 1_000)
    chunked = workload.posts(3_000, 5)
    assert len(chunked.terms) == 3_000
    assert len(chunked.terms.dictionary.strings().unique()) == len(chunked.terms.dictionary)


def test_texts_give_the_terms_back() -> None:
    posts = workload.posts(50, 1)
    table = workload.table_of(posts)
    batch = tokenise(table["text"].combine_chunks())
    assert [set(batch.row_strings(row)) for row in range(50)] == [words_of(posts, row) for row in range(50)]
    assert table["id"].to_pylist()[:2] == ["p0", "p1"]
    assert "text" not in workload.table_of(posts, text=False).column_names


@pytest.mark.parametrize("mix", ["Z", "N"])
def test_queries_come_from_posts(mix: workload.Mix) -> None:
    source = workload.posts(2_000, 2)
    table = workload.range_queries(source, 500, mix, "mixed", 4)
    frequency = np.bincount(source.terms.ids)
    top = set(source.terms.dictionary.strings().take(pa.array(np.argsort(-frequency)[:50])).to_pylist())
    asked = table["keywords"].to_pylist()
    assert {len(words) for words in asked} == {1, 2, 3}
    assert all(len(set(words)) == len(words) for words in asked)
    assert any(top & set(words) for words in asked) is (mix == "Z")
    have = [words_of(source, row) for row in range(len(source))]
    assert all(any(set(words) <= one for one in have) for words in asked[:50])
    width = table["east"].to_numpy() - table["west"].to_numpy()
    height = table["north"].to_numpy() - table["south"].to_numpy()
    area = width * height / (360 * 180)
    assert area.min() >= 0.99e-6
    assert area.max() <= 1.01e-2
    assert np.median(area) == pytest.approx(1e-4, rel=0.5)
    block = QueryBlock.from_table(table, np.arange(500), 0, 1, StoreConfig())
    assert len(block) == 500


def test_subscriptions_ask_for_any_of_their_words() -> None:
    table = workload.subscriptions(200, 3)
    block = QueryBlock.from_table(table, np.arange(200), 0, 1, StoreConfig())
    assert (block.kind == KIND_NEAREST).all()
    conjuncts = np.bincount(block.conj_query, minlength=200)
    assert set(conjuncts.tolist()) == {1, 2, 3, 4, 5}
    assert (np.diff(block.pos_offsets) == 1).all()
    assert set(block.k.tolist()) == set(range(1, 11))


def test_posts_of_a_file(tmp_path: Path) -> None:
    n = 40
    table = pa.table(
        {
            "id": [str(i) for i in range(n)],
            "lon": np.linspace(5, 6, n),
            "lat": np.linspace(50, 51, n),
            "ts": pa.array(np.arange(n), pa.timestamp("ms", tz="UTC")),
            "text": [f"Common word{i % 7} #tag" for i in range(n)],
        }
    )
    pq.write_table(table, tmp_path / "posts.parquet")
    sets = two_sets(10, 5, 1, tmp_path / "posts.parquet")
    assert (len(sets.objects), len(sets.source)) == (10, 20)
    assert not set(sets.objects.lon) & set(sets.source.lon)
    assert sets.bounds == pytest.approx((5, 50, 6, 51))
    assert sets.objects.ts[1] - sets.objects.ts[0] == 4_000
    assert words_of(sets.objects, 0) >= {"common", "word0", "#tag"}
    queries = workload.range_queries(sets.source, 20, "Z", 0.01, 1, sets.bounds)
    assert (queries["east"].to_numpy() - queries["west"].to_numpy()).max() == pytest.approx(0.1)
    with pytest.raises(BadSource, match="no words"):
        workload.range_queries(sets.source, 20, "N", 0.01, 1, sets.bounds)
    pq.write_table(table.drop_columns("text"), tmp_path / "mute.parquet")
    with pytest.raises(BadSource, match="lacks columns"):
        workload.stored_posts(tmp_path / "mute.parquet")


def test_names_of_loads() -> None:
    assert [load.name for load in loads_of("both", "both")] == ["Z 0.01%", "Z mixed", "N 0.01%", "N mixed"]
    assert [load.name for load in loads_of("N", "0.000001")] == ["N 0.0001%"]
    for mix, area in (("Q", "both"), ("Z", "big"), ("Z", "0"), ("Z", "1.5")):
        with pytest.raises(BadConfig):
            loads_of(mix, area)
