"""The options that spell a query, shared by ``search``, ``explain`` and ``subscribe``.

``--near`` asks for the nearest posts, ``--top`` for the most frequent terms, anything else is a range query.
``--query`` takes the JSON of ``to_dict`` instead. A command takes one of the classes below (`options.spread`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import sightline as sl
from sightline.cli.options import given
from sightline.model.errors import BadQuery
from sightline.model.queries import Query, query_from_dict
from sightline.model.regions import Region
from sightline.model.space import Space

GLOBE = Space()


@dataclass(frozen=True, kw_only=True)
class QueryText:
    """A query as typed; :meth:`build` gives the query or says what is wrong with it."""

    keywords: Annotated[
        str | None,
        typer.Argument(
            metavar="KEYWORDS",
            help='An expression: "flood AND (rescue OR boat)". None matches every post.',
            show_default=False,
        ),
    ] = None
    box: Annotated[str | None, typer.Option("--box", metavar="W,S,E,N", help="Inside this box, in degrees.")] = None
    circle: Annotated[
        str | None, typer.Option("--circle", metavar="LON,LAT,METRES", help="Within so many metres of a point.")
    ] = None
    polygon: Annotated[
        str | None, typer.Option("--polygon", metavar='"LON,LAT ..."', help="Inside this ring of three points or more.")
    ] = None
    geojson: Annotated[
        Path | None, typer.Option("--geojson", metavar="FILE", help="Inside the polygon of this GeoJSON file.")
    ] = None
    near: Annotated[str | None, typer.Option("--near", metavar="LON,LAT", help="The posts nearest to this point.")] = (
        None
    )
    k: Annotated[int | None, typer.Option("-k", help="How many nearest posts (with --near; 10 if omitted).")] = None
    top: Annotated[int | None, typer.Option("--top", metavar="K", help="The K terms found in most posts.")] = None
    query: Annotated[
        str | None, typer.Option("--query", metavar="JSON", help="The whole query as JSON, @FILE, or - for stdin.")
    ] = None

    def further(self) -> dict[str, Any]:
        """What else of its class the query was given."""
        return {}

    def placed(self, query: Query, space: Space) -> Query:
        """The query that was built; one that names no place is about the whole space of the store."""
        named = (self.query, self.near, self.box, self.circle, self.polygon, self.geojson)
        return query if any(value is not None for value in named) else self.build(space)

    def build(self, space: Space = GLOBE) -> Query:
        """The query; a mistake is found before any store is opened."""
        further = self.further()
        places = {"box": self.box, "circle": self.circle, "polygon": self.polygon, "geojson": self.geojson}
        if self.query is not None:
            others = (self.keywords, self.near, self.k, self.top, *places.values())
            if further or any(value is not None for value in others):
                raise BadQuery("--query is the whole query", hint="leave the other query options out")
            return query_from_dict(_document(self.query))
        if self.near is not None:
            self._refuse("--near", top=self.top, **places)
            return sl.NearestQuery(
                self.keywords or "", at=_point(self.near), k=10 if self.k is None else self.k, **further
            )
        if self.k is not None:
            raise BadQuery("-k goes with --near", value=self.k, hint="--limit cuts a range query, --top K counts terms")
        if self.top is not None:
            self._refuse("--top", keywords=self.keywords)
            return sl.TopTermsQuery(self._region(space), k=self.top, **further)
        return sl.RangeQuery(self.keywords or "", self._region(space), **further)

    def _refuse(self, option: str, **others: object) -> None:
        for name, value in others.items():
            if value is not None:
                raise BadQuery(f"{option} takes no {name}", value=value, hint="ask for one kind of query at a time")

    def _region(self, space: Space) -> Region:
        if sum(place is not None for place in (self.box, self.circle, self.polygon, self.geojson)) > 1:
            raise BadQuery("two regions", allowed="one of --box, --circle, --polygon and --geojson")
        if self.circle is not None:
            return sl.Circle(*_numbers("--circle", self.circle, "LON,LAT,METRES"))
        if self.polygon is not None:
            return sl.Polygon([_numbers("--polygon", point, "LON,LAT") for point in self.polygon.split()])
        if self.geojson is not None:
            return _polygon(_document(f"@{self.geojson}"), str(self.geojson))
        return sl.Box(*(space.bounds if self.box is None else _numbers("--box", self.box, "W,S,E,N")))


@dataclass(frozen=True, kw_only=True)
class SnapshotText(QueryText):
    """A query over what was committed."""

    last: Annotated[str | None, typer.Option("--last", metavar="DURATION", help="Only so far back: 72h, 10min.")] = None
    as_of: Annotated[str | None, typer.Option("--as-of", metavar="INSTANT", help="Only posts up to this instant.")] = (
        None
    )
    between: Annotated[str | None, typer.Option("--between", metavar="FROM,TO", help="Between two instants.")] = None
    limit: Annotated[int | None, typer.Option("--limit", help="At most so many rows (range queries).")] = None

    def further(self) -> dict[str, Any]:
        return given(last=self.last, as_of=self.as_of, between=_instants(self.between), limit=self.limit)


@dataclass(frozen=True, kw_only=True)
class StandingText(QueryText):
    """A query that stands."""

    window: Annotated[str | None, typer.Option("--window", metavar="DURATION", help="Length of a report (--top).")] = (
        None
    )
    every: Annotated[str | None, typer.Option("--every", metavar="DURATION", help="Time between reports.")] = None

    def further(self) -> dict[str, Any]:
        reports = given(window=self.window, every=self.every)
        if reports and self.top is None and self.query is None:
            raise BadQuery("--window and --every go with --top", hint="--top K --window 1h --every 10min")
        return reports


def _numbers(option: str, text: str, form: str) -> list[float]:
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if len(values) != form.count(",") + 1:
        raise BadQuery(f"bad {option}", value=text, allowed=f"{form} as numbers")
    return values


def _polygon(document: Mapping[str, Any], file: str) -> sl.Polygon:
    """The polygon of a GeoJSON geometry, feature, or collection of one feature."""
    geometry: Any = document
    if geometry.get("type") == "FeatureCollection" and len(geometry.get("features") or ()) == 1:
        geometry = geometry["features"][0]
    if isinstance(geometry, Mapping) and geometry.get("type") == "Feature":
        geometry = geometry.get("geometry")
    if not isinstance(geometry, Mapping) or geometry.get("type") != "Polygon" or not geometry.get("coordinates"):
        raise BadQuery(
            "no polygon in this file",
            value=file,
            allowed="a GeoJSON Polygon, or one feature that is one",
            hint="a query has one region: split a MultiPolygon into several queries",
        )
    ring, *holes = ([point[:2] for point in ring] for ring in geometry["coordinates"])
    return sl.Polygon(ring, holes)


def _point(text: str) -> tuple[float, float]:
    lon, lat = _numbers("--near", text, "LON,LAT")
    return lon, lat


def _instants(text: str | None) -> tuple[str, str] | None:
    """The two instants of --between."""
    if text is None:
        return None
    first, comma, second = text.partition(",")
    if not (comma and first.strip() and second.strip()):
        raise BadQuery("bad --between", value=text, allowed="FROM,TO as ISO 8601 instants")
    return first.strip(), second.strip()


def _document(source: str) -> dict[str, Any]:
    try:
        if source == "-":
            text = sys.stdin.read()
        elif source.startswith("@"):
            text = Path(source[1:]).read_text(encoding="utf-8")
        else:
            text = source
        document = json.loads(text)
    except OSError as error:
        raise BadQuery("cannot read the query", value=source, hint=error.strerror) from error
    except ValueError as error:
        raise BadQuery("the query is not JSON", value=source, hint=str(error)) from error
    if not isinstance(document, dict):
        raise BadQuery("the query is not a JSON object", value=source, allowed='{"kind": "range", ...}')
    return document
