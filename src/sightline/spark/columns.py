"""The canonical columns of a DataFrame, chosen by the rules of :mod:`sightline.stages.exchange.columns`."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sightline.stages.exchange.columns import ColumnKind, SourceColumn, check_names, selection
from sightline.stages.exchange.read import CORRUPT, GEOMETRY, REQUIRED

_KINDS: dict[ColumnKind, tuple[type[T.DataType], ...]] = {
    ColumnKind.NUMBER: (T.FractionalType, T.IntegralType),
    ColumnKind.TEXT: (T.StringType,),
    ColumnKind.INSTANT: (T.TimestampType, T.TimestampNTZType),
    ColumnKind.POINT: (T.BinaryType,),
    ColumnKind.NULL: (T.NullType,),
    ColumnKind.BOOLEAN: (T.BooleanType,),
}


def canonical(frame: DataFrame, columns: Mapping[str, str] | None, *, untyped: bool = False) -> DataFrame:
    """Select the canonical columns of a frame; ``columns`` and ``untyped`` are those of `selection`."""
    types = {field.name: field.dataType for field in frame.schema.fields}
    if not columns and not untyped and len(types) == len(frame.schema.fields) and _is_canonical(types):
        return frame
    check_names([field.name for field in frame.schema.fields], own=())
    found = {name: SourceColumn(_kind(kind), kind.simpleString()) for name, kind in types.items()}
    chosen = selection(found, columns, untyped=untyped)
    taken = [_taken(name, source, types[source]) for name, source in chosen.required.items()]
    if chosen.point is not None:
        point = F.col(quoted(chosen.point))
        binary = isinstance(types[chosen.point], T.BinaryType)
        taken.append((point if binary else F.call_function("st_asbinary", point)).alias(GEOMETRY))
    if untyped:
        taken.append(F.col(CORRUPT))
    return frame.select(*taken, *(F.col(quoted(name)) for name in chosen.payload))


def _is_canonical(types: Mapping[str, T.DataType]) -> bool:
    """Whether nothing has to be renamed, cast or put in order: a projection less to plan in every micro-batch."""
    if tuple(types)[: len(REQUIRED)] != REQUIRED or {GEOMETRY, CORRUPT} & set(types):
        return False
    if len({name.casefold() for name in types}) < len(types) or any("`" in name for name in types):
        return False
    if any(_kind(kind) == ColumnKind.TIME for kind in types.values()):
        return False
    strings = all(isinstance(types[name], T.StringType) for name in ("id", "text"))
    instant = isinstance(types["ts"], (*_KINDS[ColumnKind.INSTANT], T.StringType))
    return strings and instant and types["lon"] == types["lat"] == T.DoubleType()


def _kind(kind: T.DataType) -> ColumnKind:
    for name, types in _KINDS.items():
        if isinstance(kind, types):
            return name
    words = kind.typeName()
    if words.startswith(("geometry", "geography")):
        return ColumnKind.POINT
    return ColumnKind.TIME if words.startswith("time(") or words == "time" else ColumnKind.OTHER


def _taken(name: str, source: str, kind: T.DataType) -> Column:
    column = F.col(quoted(source))
    if name in ("lon", "lat") and not isinstance(kind, (T.DoubleType, T.StringType)):
        column = column.cast("string" if isinstance(kind, T.NullType) else "double")
    elif name not in ("lon", "lat") and not isinstance(kind, (T.StringType, *_KINDS[ColumnKind.INSTANT])):
        column = column.cast("string")
    return column.alias(name)


def quoted(name: str) -> str:
    """A column's name for ``col``, dots and all."""
    return "`" + name.replace("`", "``") + "`"
