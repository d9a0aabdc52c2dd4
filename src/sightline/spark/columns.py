"""A user's columns -> the canonical ones: id, lon, lat, ts, text, then payload under its own names.

Types are checked here, before anything runs; values are checked row by row in :mod:`sightline.stages.exchange.read`.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sightline.model.errors import BadSource
from sightline.stages.exchange.read import CORRUPT, GEOMETRY, REQUIRED

NUMBERS = (T.DoubleType, T.FloatType, T.DecimalType, T.IntegerType, T.LongType, T.ShortType, T.ByteType)
INSTANTS = (T.TimestampType, T.TimestampNTZType, T.StringType)


def canonical(frame: DataFrame, columns: Mapping[str, str] | None, *, untyped: bool = False) -> DataFrame:
    """Select the canonical columns of a frame.

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
    types = {field.name: field.dataType for field in frame.schema.fields}
    if not names and not untyped and len(types) == len(frame.schema.fields) and _is_canonical(types):
        return frame
    own = (GEOMETRY,) if untyped else (GEOMETRY, CORRUPT)
    taken = [name for name in own if name in types]
    if taken:
        raise BadSource("a column has a reserved name", value=taken[0], hint="rename the column in the source")
    geometry = _geometry(names, types)
    wanted = ["id", "ts", "text"] if geometry else list(REQUIRED)
    source = {name: names.get(name, name) for name in wanted}
    for name, column in source.items():
        if column not in types:
            raise BadSource(
                f"the source has no column {column!r}",
                value=name,
                allowed=", ".join(sorted(set(types) - {CORRUPT})),
                hint=f'map it: columns={{"{name}": "..."}}',
            )
    selected = [_checked(name, source[name], types[source[name]], untyped) for name in wanted]
    if geometry:
        point = F.col(quoted(geometry))
        binary = isinstance(types[geometry], T.BinaryType)
        selected.append((point if binary else F.call_function("st_asbinary", point)).alias(GEOMETRY))
    used = {*source.values(), *((geometry,) if geometry else ())}
    payload = [F.col(quoted(name)) for name in types if name not in used and name not in REQUIRED]
    clash = [name for name in types if name in REQUIRED and name not in used]
    if clash:
        raise BadSource(
            f"column {clash[0]!r} is mapped to another one and would come back as payload",
            value=names,
            allowed="payload names other than " + ", ".join(REQUIRED),
            hint=f"drop or rename {clash[0]!r} in the source",
        )
    return frame.select(*selected, *payload)


def _is_canonical(types: Mapping[str, T.DataType]) -> bool:
    """Whether nothing has to be renamed, cast or put in order: a projection less to plan in every micro-batch."""
    if tuple(types)[: len(REQUIRED)] != REQUIRED or {GEOMETRY, CORRUPT} & set(types):
        return False
    strings = all(isinstance(types[name], T.StringType) for name in ("id", "text"))
    return strings and isinstance(types["ts"], INSTANTS) and types["lon"] == types["lat"] == T.DoubleType()


def _geometry(names: dict[str, str], types: dict[str, T.DataType]) -> str | None:
    """The point column, if the place comes as one."""
    column = names.get("geometry")
    if column is None:
        if {"lon", "lat"} & set(names) or {"lon", "lat"} <= set(types) or "geometry" not in types:
            return None
        column = "geometry"
    if column not in types:
        raise BadSource(f"the source has no column {column!r}", value="geometry", allowed=", ".join(sorted(types)))
    if not (isinstance(types[column], T.BinaryType) or types[column].typeName().startswith(("geometry", "geography"))):
        raise BadSource(
            f"column {column!r} has the wrong type", value=types[column].simpleString(), allowed="WKB or GEOMETRY"
        )
    return column


def _checked(name: str, source: str, kind: T.DataType, untyped: bool) -> Column:
    column = F.col(quoted(source))
    allowed: tuple[type[T.DataType], ...]
    if name in ("lon", "lat"):
        allowed, words = (NUMBERS + ((T.StringType,) if untyped else ())), "double, float, decimal or integer"
    elif name == "ts":
        allowed, words = INSTANTS, "timestamp, timestamp_ntz or an ISO 8601 string"
    else:
        allowed, words = (T.StringType,), "string"
        if untyped and isinstance(kind, (*NUMBERS, T.BooleanType)):
            return column.cast("string").alias(name)
    if untyped and isinstance(kind, T.NullType):
        return column.cast("string").alias(name)
    if not isinstance(kind, allowed):
        raise BadSource(
            f"column {source!r} has the wrong type for {name}",
            value=kind.simpleString(),
            allowed=words,
            hint=f"cast it in the source, for example col({source!r}).cast(...)",
        )
    if name in ("lon", "lat") and not isinstance(kind, (T.DoubleType, T.StringType)):
        column = column.cast("double")
    return column.alias(name)


def quoted(name: str) -> str:
    """A column's name for ``col``, dots and all."""
    return "`" + name.replace("`", "``") + "`"
