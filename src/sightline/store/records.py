"""Records as JSON objects: one way for every dataclass that is kept in a log or travels between processes.

A field that has its default is left out, an absent one gets it, and an unknown one is skipped: so records of earlier
versions are read, and those of later ones as far as they are understood.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import lru_cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from sightline.model.errors import IncompatibleStore

T = TypeVar("T")


def encode(record: Any) -> dict[str, Any]:
    """JSON object of a dataclass; those inside it, alone or in a sequence, become objects too."""
    kind: Any = type(record)
    found = ((name, getattr(record, name), default) for name, default in _defaults(kind))
    return {name: _plain(value) for name, value, default in found if value != default}


def decode(kind: type[T], body: Mapping[str, Any]) -> T:
    """Inverse of :func:`encode`."""
    cls: Any = kind
    known, nested = _fields(cls)
    return kind(**{name: _made(nested[name], value) if name in nested else value
                   for name, value in body.items() if name in known})  # fmt: skip


def decode_one(kinds: Mapping[str, type[T]], kind: str, body: Mapping[str, Any], what: str) -> T:
    """The record of one of several kinds; ``IncompatibleStore`` for one that a later version has invented."""
    if kind not in kinds:
        raise IncompatibleStore(
            f"{what} of an unknown kind", value=kind, allowed=", ".join(kinds), hint="upgrade sightline"
        )
    return decode(kinds[kind], body)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return encode(value) if is_dataclass(value) else value


def _made(hint: Any, value: Any) -> Any:
    if is_dataclass(hint) and isinstance(hint, type):
        return decode(hint, value)
    origin, parts = get_origin(hint), get_args(hint)
    if origin is tuple:
        return tuple(_made(parts[0], item) for item in value)
    if origin is list:
        return [_made(parts[0], item) for item in value]
    if origin is dict:  # JSON has turned its numbers into text
        return {int(key): item for key, item in value.items()}
    if parts and value is not None:  # what is optional
        return _made(parts[0], value)
    return value


@lru_cache
def _defaults(kind: Any) -> list[tuple[str, Any]]:
    made = ((f.name, f.default, f.default_factory) for f in fields(kind))
    return [(name, default if factory is MISSING else factory()) for name, default, factory in made]


@lru_cache
def _fields(kind: Any) -> tuple[set[str], dict[str, Any]]:
    """Names of all fields; and hints of those that are not in JSON as they are in Python, which most records lack."""
    hints = get_type_hints(kind)
    names = {f.name for f in fields(kind)}
    return names, {name: hints[name] for name in names if _differs(hints[name])}


def _differs(hint: Any) -> bool:
    origin, parts = get_origin(hint), get_args(hint)
    if origin is dict:
        return parts[0] is int
    return is_dataclass(hint) or origin is tuple or any(_differs(part) for part in parts)
