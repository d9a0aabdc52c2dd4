"""What every call that returns rows returns."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator
from html import escape
from typing import Any

import pyarrow as pa

from sightline.model.errors import BadConfig, BadQuery

SHOWN_ROWS, TEXT_CELL, HTML_CELL = 20, 40, 200  # rows, and characters of a value, that are shown


class Result:
    """An Arrow table with a few conveniences.

    ``table`` is the table itself; ``[column]``, ``num_rows``, ``to_pylist``, ``to_pandas`` and ``sort_by`` are the
    table's; Arrow, Polars, DuckDB and GeoPandas read it through the C stream interface. Printed, and in a notebook, it
    shows its first rows; iterated, it gives all of them as dicts. ``explain`` says how the answer came about, where
    that is known.
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

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in self.table.to_batches():
            yield from batch.to_pylist()

    def __repr__(self) -> str:
        return f"Result({self.num_rows} rows: {', '.join(self.column_names)})"

    def __str__(self) -> str:
        names, cells = self.column_names, self._cells()
        widths = [max([len(name), *(len(row[i]) for row in cells)]) for i, name in enumerate(names)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in [names, *cells]
        ]
        return "\n".join([*lines, self._more()])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self.column_names)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in self._cells(HTML_CELL)
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{escape(self._more())}</p>"

    def _cells(self, most: int = TEXT_CELL) -> list[list[str]]:
        """The first rows as text; long values and control characters are cut."""
        return [[_cell(value, most) for value in row.values()] for row in self.table.slice(0, SHOWN_ROWS).to_pylist()]

    def _more(self) -> str:
        rows = f"{self.num_rows:,} row{'' if self.num_rows == 1 else 's'}"
        return rows if self.num_rows <= SHOWN_ROWS else f"{rows}, the first {SHOWN_ROWS} are shown"

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    def to_pylist(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.table.to_pylist()
        return rows

    def to_pandas(self, **options: Any) -> Any:
        return self.table.to_pandas(**options)

    def sort_by(self, sorting: str | list[tuple[str, str]]) -> Result:
        return Result(self.table.sort_by(sorting), self._explain)

    def to_geopandas(self) -> Any:
        """Rows with a place as a GeoDataFrame in WGS 84; needs geopandas, which is not among our dependencies."""
        self._check_place()
        try:
            geopandas: Any = importlib.import_module("geopandas")
        except ImportError as cause:
            raise BadConfig(
                "geopandas is not installed", value="to_geopandas()", hint="pip install geopandas, or use to_geojson()"
            ) from cause
        frame = self.to_pandas()
        points = geopandas.points_from_xy(frame["lon"], frame["lat"], crs="EPSG:4326")
        return geopandas.GeoDataFrame(frame, geometry=points)

    def _check_place(self) -> None:
        if not {"lon", "lat"} <= set(self.column_names):
            raise BadQuery("these rows have no place", value=self.column_names, allowed="rows with lon and lat")

    def to_geojson(self) -> dict[str, Any]:
        """Rows with a place as a GeoJSON FeatureCollection of points; the other columns are properties."""
        self._check_place()
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


def _cell(value: object, most: int) -> str:
    text = "" if value is None else str(value)
    text = "".join(character if character.isprintable() else " " for character in text)
    return text if len(text) <= most else text[: most - 3] + "..."


def _json(value: object) -> object:
    isoformat = getattr(value, "isoformat", None)
    if isoformat is not None:
        return isoformat()
    return value.hex() if isinstance(value, bytes) else str(value)
