"""The options that spell a query, shared by ``search``, ``explain`` and ``subscribe``.

``--near`` asks for the nearest posts, ``--top`` for the most frequent terms, anything else is a range query.
``--query`` takes the JSON of ``to_dict`` instead. A command takes one of the classes below (`options.spread`).
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import sightline as sl
from sightline.cli.options import given
from sightline.model.errors import BadQuery
from sightline.model.queries import Query, query_from_dict
from sightline.model.space import GEOGRAPHIC_BOUNDS


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

    def build(self) -> Query:
        """The query."""
        further = self.further()
        if self.query is not None:
            if further or any(
                v is not None for v in (self.keywords, self.box, self.circle, self.near, self.k, self.top)
            ):
                raise BadQuery("--query is the whole query", hint="leave the other query options out")
            return query_from_dict(_document(self.query))
        if self.near is not None:
            self._refuse("--near", top=self.top, box=self.box, circle=self.circle)
            return sl.NearestQuery(
                self.keywords or "", at=_point(self.near), k=10 if self.k is None else self.k, **further
            )
        if self.k is not None:
            raise BadQuery("-k goes with --near", value=self.k, hint="--limit cuts a range query, --top K counts terms")
        if self.top is not None:
            self._refuse("--top", keywords=self.keywords)
            return sl.TopTermsQuery(self._region(), k=self.top, **further)
        return sl.RangeQuery(self.keywords or "", self._region(), **further)

    def _refuse(self, option: str, **others: object) -> None:
        for name, value in others.items():
            if value is not None:
                raise BadQuery(f"{option} takes no {name}", value=value, hint="ask for one kind of query at a time")

    def _region(self) -> Any:
        if self.box is not None and self.circle is not None:
            raise BadQuery("two regions", allowed="one of --box and --circle")
        if self.circle is not None:
            return sl.Circle(*_numbers("--circle", self.circle, "LON,LAT,METRES"))
        return sl.Box(*(GEOGRAPHIC_BOUNDS if self.box is None else _numbers("--box", self.box, "W,S,E,N")))


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
