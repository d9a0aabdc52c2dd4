"""Array types, and the one form in which arrays reach a kernel.

To Numba a read-only array is another type than a writable one, and a worker that maps a file would compile every
kernel again (1.5 s). So everything that is input to a kernel passes :func:`frozen`: contiguous, read-only, plain
ndarray, whether it was computed a moment ago or mapped from a file.
"""

from __future__ import annotations

from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

__all__ = ["F32", "F64", "I32", "I64", "U16", "U8", "Flag", "frozen", "offsets_of", "places_in", "sorted_distinct"]

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
U16 = npt.NDArray[np.uint16]
U8 = npt.NDArray[np.uint8]
Flag = npt.NDArray[np.bool_]

Scalar = TypeVar("Scalar", bound=np.generic)


@overload
def frozen(array: npt.ArrayLike, dtype: type[Scalar]) -> npt.NDArray[Scalar]: ...
@overload
def frozen(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]: ...
def frozen(array: npt.ArrayLike, dtype: type[np.generic] | None = None) -> npt.NDArray[Any]:
    """A contiguous, aligned, read-only view of ``array`` (a copy only where it must be), as it is or of a type."""
    if type(array) is np.ndarray and (dtype is None or array.dtype == dtype):
        flags = array.flags
        if not flags.writeable and flags.c_contiguous and flags.aligned:
            return array
    plain: npt.NDArray[Any] = np.require(np.asarray(array, dtype=dtype), requirements=["C", "A"])
    view = plain.view(np.ndarray)[...]
    view.flags.writeable = False
    return view


def narrowed(values: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.unsignedinteger[Any]]:
    """Numbers that are not negative in as few bytes as the largest needs, for files; readers widen them again."""
    kind = np.min_scalar_type(values.max(initial=0))
    return values.astype(kind, copy=False)


def offsets_of(sorted_keys: npt.NDArray[Any], n: int) -> I64:
    """CSR offsets of the runs of keys 0..n-1 in an ascending array."""
    counts = np.bincount(sorted_keys, minlength=n)
    offsets = np.zeros(n + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def places_in(known: npt.NDArray[Any], wanted: npt.NDArray[Any]) -> I64:
    """Where each wanted value is among known ones, which ascend; -1 where it is not."""
    if not len(known):
        return np.full(len(wanted), -1, np.int64)
    place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[place] == wanted, place, -1)


def sorted_distinct(values: I64) -> I64:
    """Ascending distinct values; a sort and a comparison are 10 times faster than ``np.unique`` of NumPy 2.4."""
    values = np.sort(values)
    keep = np.ones(values.size, np.bool_)
    np.not_equal(values[1:], values[:-1], out=keep[1:])
    return values[keep]
