"""Records of flat arrays: the annotation of a field says once under which name and of which type it is stored.

* ``I64``, ``F64`` and the like: one array, named like the field; ``np.ndarray``: of whatever type it has.
* ``int``, ``float``, ``bool``: an array of one element.
* ``pa.StringArray``: two arrays, ``<name>_offsets`` and ``<name>_data``.
* another record, or a NamedTuple of arrays as kernels take it: its arrays, with a prefix where the annotation is
  ``Annotated[Kind, "prefix_"]``.
* anything else (a space, say) is not stored: who reads gives it, or the field has a default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from functools import cache
from typing import Annotated, Any, NamedTuple, Self, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.flat.arrays import frozen

__all__ = ["Arrays", "FlatRecord", "frozen_fields"]

Arrays = Mapping[str, npt.NDArray[Any]]
Record = TypeVar("Record")
_SCALARS = (int, float, bool)


class FlatRecord:
    """Base of dataclasses whose fields are flat arrays: frozen when made, written and read by their annotations."""

    def __post_init__(self) -> None:
        for field in _fields(type(self)):
            object.__setattr__(self, field.name, _frozen(field, getattr(self, field.name)))

    def to_arrays(self, prefix: str = "") -> dict[str, npt.NDArray[Any]]:
        """Named flat arrays, for a file."""
        return _written(self, prefix)

    @classmethod
    def from_arrays(cls, arrays: Arrays, *given: Any, prefix: str = "") -> Self:
        """Inverse of :meth:`to_arrays`, over (mapped) arrays: what has its type is not copied.

        ``given`` are values of fields that are not stored, here or in records below, known by their type. What is
        neither stored nor given has its default.
        """
        return _read(cls, arrays, prefix, given)


def frozen_fields(kind: type[Record], values: Iterable[Any]) -> Record:
    """A NamedTuple of arrays, as kernels take them: each frozen, of the type that its annotation says."""
    return kind(*(_frozen(field, value) for field, value in zip(_fields(kind), values, strict=True)))


class _Field(NamedTuple):
    name: str
    kind: Any
    dtype: Any  # of an array; None: as it is
    prefix: str  # of a record below


def _annotated(record: Any) -> tuple[_Field, ...]:
    hints = get_type_hints(record, include_extras=True)
    names = record._fields if issubclass(record, tuple) else [field.name for field in fields(record) if field.init]
    return tuple(_field(name, hints[name]) for name in names)


_fields: Callable[[Any], tuple[_Field, ...]] = cache(_annotated)


def _field(name: str, hint: Any) -> _Field:
    prefix = ""
    if get_origin(hint) is Annotated:
        hint, prefix = get_args(hint)
    if get_origin(hint) is not np.ndarray:
        return _Field(name, get_origin(hint) or hint, None, prefix)
    (dtype,) = get_args(get_args(hint)[1])
    return _Field(name, np.ndarray, None if dtype is Any else dtype, "")


def _is_tuple(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def _frozen(field: _Field, value: Any) -> Any:
    if field.kind is np.ndarray:
        return frozen(value, field.dtype)
    return frozen_fields(field.kind, value) if _is_tuple(field.kind) else value


def _written(record: Any, prefix: str) -> dict[str, npt.NDArray[Any]]:
    out: dict[str, npt.NDArray[Any]] = {}
    for name, kind, _, below in _fields(type(record)):
        value, at = getattr(record, name), prefix + name
        if kind is np.ndarray:
            out[at] = value
        elif kind in _SCALARS:
            out[at] = np.array([value])
        elif kind is pa.StringArray:
            out[f"{at}_offsets"], out[f"{at}_data"] = _flat_strings(value)
        elif _is_tuple(kind):
            out |= _written(value, prefix + below)
        elif issubclass(kind, FlatRecord):
            out |= value.to_arrays(prefix + below)
    return out


def _read(record: type[Record], arrays: Arrays, prefix: str, given: tuple[Any, ...]) -> Record:
    values: dict[str, Any] = {}
    for name, kind, _, below in _fields(record):
        at = prefix + name
        if kind is np.ndarray or kind in _SCALARS:
            if at in arrays:
                values[name] = arrays[at] if kind is np.ndarray else kind(arrays[at][0])
        elif kind is pa.StringArray:
            values[name] = _strings(arrays[f"{at}_offsets"], arrays[f"{at}_data"])
        elif _is_tuple(kind):
            values[name] = _read(kind, arrays, prefix + below, given)
        elif issubclass(kind, FlatRecord):
            values[name] = kind.from_arrays(arrays, *given, prefix=prefix + below)
        else:
            for value in given:
                if isinstance(value, kind):
                    values[name] = value
    return record(**values)


def _flat_strings(column: pa.StringArray) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    if column.offset or column.null_count:
        column = pa.array(column.to_pylist(), pa.string())
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int32)[: len(column) + 1] if len(column) else np.zeros(1, np.int32)
    return ends, np.frombuffer(data, np.uint8)[: ends[-1]] if ends[-1] else np.empty(0, np.uint8)


def _strings(offsets: npt.NDArray[Any], data: npt.NDArray[Any]) -> pa.StringArray:
    buffers = [pa.py_buffer(frozen(offsets, np.int32)), pa.py_buffer(frozen(data, np.uint8))]
    return pa.StringArray.from_buffers(len(offsets) - 1, *buffers)
