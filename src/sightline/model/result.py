"""What every call that returns rows returns."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from sightline.model.errors import BadQuery


class Result:
    """An Arrow table with a few conveniences.

    ``table`` is the table itself; ``[column]``, ``num_rows``, ``to_pylist``, ``to_pandas`` and ``sort_by`` are the
    table's; Arrow, Polars, DuckDB and GeoPandas read it through the C stream interface. ``explain`` says how the answer
    came about, where that is known.
    """

    def __init__(self, table: pa.Table, explain: dict[str, Any] | Callable[[], dict[str, Any]] | None = None) -> None:
        self.table = table
        self._explain = explain

    @property
    def explain(self) -> dict[str, Any] | None:
        """Segments read, left out and why, candidates, microseconds, threads; None for stored results."""
        return self._explain() if callable(self._explain) else self._explain

    @property
    def num_rows(self) -> int:
        return int(self.table.num_rows)

    @property
    def column_names(self) -> list[str]:
        return list(self.table.column_names)

    @property
    def schema(self) -> pa.Schema:
        return self.table.schema

    def __len__(self) -> int:
        return self.num_rows

    def __getitem__(self, column: str | int) -> pa.ChunkedArray:
        return self.table[column]

    def __repr__(self) -> str:
        return f"Result({self.num_rows} rows: {', '.join(self.column_names)})"

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    def to_pylist(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.table.to_pylist()
        return rows

    def to_pandas(self, **options: Any) -> Any:
        return self.table.to_pandas(**options)

    def sort_by(self, sorting: str | list[tuple[str, str]]) -> Result:
        return Result(self.table.sort_by(sorting), self._explain)

    def to_geojson(self) -> dict[str, Any]:
        """Rows with a place as a GeoJSON FeatureCollection of points; the other columns are properties."""
        if not {"lon", "lat"} <= set(self.column_names):
            raise BadQuery("these rows have no place", value=self.column_names, allowed="rows with lon and lat")
        key = "id" if "id" in self.column_names else "object_id"
        features = []
        for row in self.to_pylist():
            lon, lat = row.pop("lon"), row.pop("lat")
            properties = json.loads(json.dumps(row, default=_json))
            features.append(
                {
                    "type": "Feature",
                    "id": row.get(key),
                    "geometry": {"type": "Point", "coordinates": [lon, lat]},
                    "properties": properties,
                }
            )
        return {"type": "FeatureCollection", "features": features}


def _json(value: object) -> object:
    isoformat = getattr(value, "isoformat", None)
    if isoformat is not None:
        return isoformat()
    return value.hex() if isinstance(value, bytes) else str(value)
