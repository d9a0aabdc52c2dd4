"""GeoJSON as rows, and columns of JSON values in general."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from sightline.model.errors import BadSource
from sightline.stages.exchange.read import CORRUPT


def read_geojson(path: Path) -> pa.Table:
    """Features of a GeoJSON file as rows."""
    try:
        document = json.loads(path.read_text("utf-8"))
        features = document["features"] if document.get("type") == "FeatureCollection" else [document]
    except (ValueError, KeyError, AttributeError) as cause:
        raise BadSource("not a GeoJSON file", value=str(path), allowed="a FeatureCollection of points") from cause
    rows = [_geojson_row(feature) for feature in features]
    if not rows:
        raise BadSource("the file has no features", value=str(path), allowed="a FeatureCollection of points")
    names = list(dict.fromkeys(["lon", "lat", CORRUPT, *(name for row in rows for name in row)]))
    return pa.table({name: json_column([row.get(name) for row in rows]) for name in names})


def _geojson_row(feature: Any) -> dict[str, Any]:
    """Columns of a feature; one that is no point keeps its text, and is rejected with it."""
    try:
        named = {"id": str(feature["id"])} if feature.get("id") is not None else {}
        row = {**named, **(feature.get("properties") or {}), "lon": None, "lat": None}
        if feature.get("geometry") is not None:
            kind, place = feature["geometry"]["type"], feature["geometry"]["coordinates"]
            if kind != "Point":
                raise ValueError(kind)
            row["lon"], row["lat"] = float(place[0]), float(place[1])
        check_text(row)
    except (ValueError, TypeError, LookupError, AttributeError):
        return {CORRUPT: json.dumps(feature, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()}
    return row


def check_text(value: Any) -> None:
    """``UnicodeEncodeError``, a ``ValueError``, for JSON with half a surrogate pair: no text that a file can hold."""
    json.dumps(value, ensure_ascii=False).encode()


def json_column(values: list[Any]) -> pa.Array:
    """A column of JSON values; of several types it is text, as Spark reads JSON lines."""
    if all(value is None for value in values):
        return pa.array(values, pa.string())
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        said = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
        return pa.array(said, pa.string())
