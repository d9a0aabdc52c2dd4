"""A source's columns -> the canonical ones: id, lon, lat, ts, text (or a point), then payload under its own names.

What a type is, each reader says in one word; the rules are the same for all of them. They hold before anything is
read: values are checked row by row in `read`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import pyarrow as pa

from sightline.model.errors import BadSource
from sightline.stages.exchange.read import CORRUPT, GEOMETRY, REQUIRED


class ColumnKind(StrEnum):
    """What a column can be used as."""

    NUMBER = "number"
    TEXT = "text"
    INSTANT = "instant"
    POINT = "point"  # WKB, or a type of its own
    NULL = "null"
    BOOLEAN = "boolean"
    TIME = "time of day"
    OTHER = "other"


class SourceColumn(NamedTuple):
    """A column as its reader describes it: what it can be used as, and its type in the reader's own words."""

    kind: ColumnKind
    words: str


@dataclass(frozen=True)
class Selection:
    """Which columns of a source are taken as what."""

    required: Mapping[str, str]  # our names to the source's; lon and lat are missing where there is a point
    point: str | None
    payload: tuple[str, ...]


_WANTED = {
    "lon": ((ColumnKind.NUMBER,), "double, float, decimal or integer"),
    "lat": ((ColumnKind.NUMBER,), "double, float, decimal or integer"),
    "ts": ((ColumnKind.INSTANT, ColumnKind.TEXT), "timestamp, timestamp_ntz or an ISO 8601 string"),
    "id": ((ColumnKind.TEXT,), "string"),
    "text": ((ColumnKind.TEXT,), "string"),
}
# A source without types of its own (CSV, JSON) may have anything that can be read as what is wanted.
_UNTYPED = {
    "lon": (ColumnKind.TEXT, ColumnKind.NULL),
    "lat": (ColumnKind.TEXT, ColumnKind.NULL),
    "ts": (ColumnKind.NULL,),
    "id": (ColumnKind.NUMBER, ColumnKind.BOOLEAN, ColumnKind.NULL),
    "text": (ColumnKind.NUMBER, ColumnKind.BOOLEAN, ColumnKind.NULL),
}


def selection(
    found: Mapping[str, SourceColumn], columns: Mapping[str, str] | None, *, untyped: bool = False
) -> Selection:
    """Choose the columns of a source, or say in a ``BadSource`` why that cannot be done.

    Parameters
    ----------
    columns : mapping of our names to the source's, for those that differ; ``geometry`` names a WKB or GEOMETRY point
    untyped : the source has no types of its own (CSV, JSON): numbers may come as strings, and a column
        of our own marks the records that could not be decoded
    """
    names = dict(columns or {})
    unknown = sorted(set(names) - {*REQUIRED, "geometry"})
    if unknown:
        raise BadSource("columns= maps an unknown name", value=unknown[0], allowed=", ".join((*REQUIRED, "geometry")))
    check_names(list(found), own=(GEOMETRY,) if untyped else (GEOMETRY, CORRUPT))
    for name, column in found.items():
        if column.kind == ColumnKind.TIME:
            what = f"column {name!r} is a time of day, which Spark cannot hand on"
            raise BadSource(what, value=column.words, hint="cast it in the source, to a string for example")
    point = _point(names, found)
    wanted = ["id", "ts", "text"] if point else list(REQUIRED)
    source = {name: _source_of(name, names, found) for name in wanted}
    for name, column_name in source.items():
        _check_kind(name, column_name, found[column_name], untyped)
    used = {*source.values(), *((point,) if point else ())}
    clash = [name for name in found if name in REQUIRED and name not in used]
    if clash:
        raise BadSource(
            f"column {clash[0]!r} is mapped to another one and would come back as payload",
            value=names,
            allowed="payload names other than " + ", ".join(REQUIRED),
            hint=f"drop or rename {clash[0]!r} in the source",
        )
    return Selection(source, point, tuple(name for name in found if name not in used and name != CORRUPT))


def check_names(names: list[str], own: tuple[str, ...] = (GEOMETRY, CORRUPT)) -> None:
    """Refuse names that are ours, that Spark cannot tell apart, or that it cannot write."""
    taken = [name for name in own if name in names]
    if taken:
        raise BadSource("a column has a reserved name", value=taken[0], hint="rename the column in the source")
    same = Counter(name.casefold() for name in names)
    twice = [name for name in names if same[name.casefold()] > 1]
    if twice:
        raise BadSource(
            "columns differ in the case of their names at most",
            value=twice,
            allowed="names that differ whatever the case",
            hint="drop or rename one of them in the source",
        )
    quoted = [name for name in names if "`" in name]
    if quoted:
        raise BadSource("a column has a backtick in its name", value=quoted[0], hint="rename the column in the source")


def _source_of(name: str, names: Mapping[str, str], found: Mapping[str, SourceColumn]) -> str:
    """The source's column for one of ours: the one mapped, else the one of its name in whatever case."""
    wanted = names.get(name, name)
    if wanted in found:
        return wanted
    alike = [column for column in found if column.casefold() == wanted.casefold()]
    if name not in names and alike:
        return alike[0]
    raise BadSource(
        f"the source has no column {wanted!r}",
        value=name,
        allowed=", ".join(sorted(set(found) - {CORRUPT})),
        hint=f'map it: columns={{"{name}": "..."}}',
    )


def _point(names: Mapping[str, str], found: Mapping[str, SourceColumn]) -> str | None:
    """The point column, if the place comes as one."""
    column = names.get("geometry")
    if column is None:
        known = {name.casefold() for name in found}
        if {"lon", "lat"} & set(names) or {"lon", "lat"} <= known or "geometry" not in found:
            return None
        column = "geometry"
    if column not in found:
        raise BadSource(f"the source has no column {column!r}", value="geometry", allowed=", ".join(sorted(found)))
    if found[column].kind != ColumnKind.POINT:
        raise BadSource(f"column {column!r} has the wrong type", value=found[column].words, allowed="WKB or GEOMETRY")
    return column


def _check_kind(name: str, column: str, found: SourceColumn, untyped: bool) -> None:
    kinds, words = _WANTED[name]
    if found.kind not in (*kinds, *(_UNTYPED[name] if untyped else ())):
        raise BadSource(
            f"column {column!r} has the wrong type for {name}",
            value=found.words,
            allowed=words,
            hint=f"cast it in the source, for example col({column!r}).cast(...)",
        )


def arrow_columns(schema: pa.Schema) -> dict[str, SourceColumn]:
    """The columns of an Arrow schema."""
    check_names(schema.names, own=())
    return {field.name: SourceColumn(_kind(field.type), str(field.type)) for field in schema}


def _kind(kind: pa.DataType) -> ColumnKind:
    tests = {
        ColumnKind.NUMBER: (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal),
        ColumnKind.TEXT: (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
        ColumnKind.INSTANT: (pa.types.is_timestamp,),
        ColumnKind.POINT: (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view),
        ColumnKind.NULL: (pa.types.is_null,),
        ColumnKind.BOOLEAN: (pa.types.is_boolean,),
        ColumnKind.TIME: (pa.types.is_time,),
    }
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    return next((name for name, each in tests.items() if any(test(plain) for test in each)), ColumnKind.OTHER)
