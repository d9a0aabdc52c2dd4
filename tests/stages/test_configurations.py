"""Stores that are not the default: a plane, stop words and stems, objects that are not kept."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sightline as sl
from sightline.testing import StandingOracle
from tests.stages import worlds
from tests.stages.worlds import SECOND, Deployment, Registered, check_search, check_standing

PLANE = sl.Space.planar(bounds=(0.0, 0.0, 1000.0, 500.0))
places = {"lon": st.sampled_from([0.0, 0.5, 10.0, 999.9, 1000.0]), "lat": st.sampled_from([0.0, 0.25, 3.0, 500.0])}
rows = st.fixed_dictionaries({
    "id": st.sampled_from(["a", "b"]), **places, "ts_us": st.integers(0, 20).map(lambda s: s * SECOND),
    "text": st.lists(st.sampled_from(worlds.WORDS), max_size=3).map(" ".join),
})  # fmt: skip
regions = st.sampled_from([
    sl.Box(0, 0, 1000, 500), sl.Box(0.5, 0.25, 10, 3), sl.Circle(0, 0, 9.5),
    sl.Circle(1000, 500, 0.1), sl.Polygon([(0, 0), (200, 0), (0, 4)]),
])  # fmt: skip
queries = st.one_of(
    st.builds(sl.RangeQuery, worlds.expressions, regions),
    st.builds(lambda e, lon, lat, k: sl.NearestQuery(e, at=(lon, lat), k=k), worlds.expressions,
              places["lon"], places["lat"], st.integers(1, 4)),
)  # fmt: skip


@settings(max_examples=25)
@given(st.lists(st.lists(rows, max_size=10), min_size=1, max_size=3), st.lists(queries, min_size=1, max_size=4))
def test_a_plane(batches, standing):
    with worlds.new_folder() as folder:
        deployment = Deployment(Path(folder) / "store", workers=3, space=PLANE)
        oracle = StandingOracle(planar=True)
        known = {}
        for i, query in enumerate(standing):
            deployment.registry.subscribe(query, f"s{i}", None, None, False)
            oracle.subscribe(f"s{i}", query.to_dict())
            known[f"s{i}"] = Registered(query, 0, None, None)
        for batch in batches:
            oracle.feed(batch, batch=deployment.feed(batch))
        check_standing(deployment, oracle, known)
        for query in standing:
            check_search(deployment, oracle, query)


def row(i, text):
    return {"id": f"o{i}", "lon": 0.0, "lat": 0.0, "ts_us": i * SECOND, "text": text}


def test_stop_words_and_stems_apply_to_texts_and_queries(tmp_path):
    text = sl.TextConfig(stop_words=("the",), stemmer="english")
    deployment = Deployment(tmp_path / "store", text=text)
    everywhere = sl.Box(-180, -90, 180, 90)
    deployment.registry.subscribe(sl.RangeQuery("floods", everywhere), "a", None, None, False)
    with pytest.raises(sl.BadExpression, match="stop words"):
        deployment.registry.subscribe(sl.RangeQuery("the floods", everywhere), "b", None, None, False)
    deployment.feed([row(0, "Flooding in the street"), row(1, "the the the"), row(2, "no water")])
    assert deployment.results.matches("a", [0])["object_id"].to_pylist() == ["o0"]
    found = deployment.searcher.answer(sl.RangeQuery("flooded street", everywhere))[0]
    assert found["id"].to_pylist() == ["o0"]
    terms = deployment.searcher.answer(sl.TopTermsQuery(everywhere, 10))[0]["term"].to_pylist()
    assert "the" not in terms
    assert "flood" in terms


def test_objects_that_are_not_kept_are_matched_all_the_same(tmp_path):
    deployment = Deployment(tmp_path / "store", keep_objects=False)
    deployment.registry.subscribe(sl.RangeQuery("flood", sl.Box(-1, -1, 1, 1)), "a", None, None, False)
    deployment.feed([row(0, "flood"), row(1, "calm")])
    assert deployment.results.matches("a", [0]).num_rows == 1
    assert deployment.store.commits.snapshot().entries("segment") == []
    assert deployment.searcher.answer(sl.RangeQuery("", sl.Box(-1, -1, 1, 1)))[0].num_rows == 0


def test_a_store_made_anew_at_a_path_is_not_taken_for_the_old_one(tmp_path):
    everywhere = sl.Box(-180, -90, 180, 90)
    for text, found in ((sl.TextConfig(), 0), (sl.TextConfig(stemmer="english"), 1)):
        deployment = Deployment(tmp_path / "store", text=text)
        deployment.feed([row(0, "flooding")])
        assert deployment.searcher.answer(sl.RangeQuery("flooded", everywhere))[0].num_rows == found
        shutil.rmtree(tmp_path / "store")
