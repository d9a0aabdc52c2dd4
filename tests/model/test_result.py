"""What a user does with rows."""

from __future__ import annotations

import sys
import types
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from sightline.model.errors import BadConfig, BadQuery
from sightline.model.result import Result

PLACED = pa.table(
    {
        "id": ["a", "b"],
        "lon": [1.5, -2.0],
        "lat": [50.0, 0.0],
        "ts": pa.array([0, 1_000_000], pa.timestamp("us", tz="UTC")),
        "raw": [b"\x00\xff", None],
    }
)


def test_it_is_the_table() -> None:
    result = Result(PLACED)
    assert (len(result), result.num_rows, result.column_names) == (2, 2, PLACED.column_names)
    assert result.schema == PLACED.schema
    assert result["id"].to_pylist() == result[0].to_pylist() == ["a", "b"]
    assert result.to_pylist() == PLACED.to_pylist()
    assert result.to_pandas()["id"].tolist() == ["a", "b"]
    assert pa.table(result) == PLACED
    assert repr(result) == "Result(2 rows: id, lon, lat, ts, raw)"


def test_how_it_came_about_is_kept_when_sorted() -> None:
    assert Result(PLACED).explain is None
    result = Result(PLACED, lambda: {"rows": 2}).sort_by([("id", "descending")])
    assert result["id"].to_pylist() == ["b", "a"]
    assert result.explain == {"rows": 2}


def test_geojson() -> None:
    first, second = Result(PLACED).to_geojson()["features"]
    assert first == {
        "type": "Feature",
        "id": "a",
        "geometry": {"type": "Point", "coordinates": [1.5, 50.0]},
        "properties": {"id": "a", "ts": datetime(1970, 1, 1, tzinfo=UTC).isoformat(), "raw": "00ff"},
    }
    assert second["properties"]["raw"] is None
    of_matches = Result(PLACED.rename_columns(["object_id", *PLACED.column_names[1:]]))
    assert of_matches.to_geojson()["features"][1]["id"] == "b"
    with pytest.raises(BadQuery, match="no place"):
        Result(PLACED.select(["id"])).to_geojson()


def test_rows_are_shown_and_iterated() -> None:
    result = Result(PLACED)
    assert list(result) == PLACED.to_pylist()
    lines = str(result).splitlines()
    assert lines[0].split() == PLACED.column_names
    assert lines[1].startswith("a   1.5")
    assert lines[-1] == "2 rows"
    many = Result(pa.table({"n": range(1000), "text": ["<b>\n" + "x" * 500] * 1000}))
    assert str(many).splitlines()[-1] == "1,000 rows, the first 20 are shown"
    assert max(map(len, str(many).splitlines())) < 60
    html = many._repr_html_()
    assert html.count("<tr>") == 21
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert str(Result(PLACED.slice(0, 1))).endswith("1 row")


def test_geopandas_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "geopandas", None)
    with pytest.raises(BadConfig, match="pip install geopandas"):
        Result(PLACED).to_geopandas()
    with pytest.raises(BadQuery, match="no place"):
        Result(PLACED.select(["id"])).to_geopandas()


def test_geopandas_gets_points(monkeypatch: pytest.MonkeyPatch) -> None:
    made = types.SimpleNamespace(
        points_from_xy=lambda x, y, crs: [crs, *zip(x, y, strict=True)],
        GeoDataFrame=lambda frame, geometry: (list(frame["id"]), geometry),
    )
    monkeypatch.setitem(sys.modules, "geopandas", made)
    assert Result(PLACED).to_geopandas() == (["a", "b"], ["EPSG:4326", (1.5, 50.0), (-2.0, 0.0)])
