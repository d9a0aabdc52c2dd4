"""The way into a kernel that is called thousands of times a second."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sightline.flat.arrays import frozen

__all__ = ["Entry"]


class Entry:
    """A kernel under one signature, of which only the first call asks Numba for the types of the arguments.

    To find these out is more work than a small search: a call with the 13 arrays of a segment and an empty body takes
    4.6 us, and 1.7 us where they are known. The machine code looks at nothing of an array but the size of its
    elements, so callers must see to it: contiguous, and the type and number of dimensions of the first call; anything
    else would read other memory. Arrays need not be read-only; the first call compiles for those that are, whose code
    is the same, except the one at the position ``output``, which the kernel writes. Without the compiler this is the
    kernel itself.
    """

    __slots__ = ("_kernel", "_output", "call")

    def __init__(self, kernel: Callable[..., Any], output: int | None = None) -> None:
        self._kernel, self._output = kernel, output
        self.call: Callable[..., Any] = self._first  # positional arguments only

    def _first(self, *arguments: Any) -> Any:
        given = [
            frozen(one, one.dtype.type) if type(one) is np.ndarray and place != self._output else one
            for place, one in enumerate(arguments)
        ]
        answer = self._kernel(*given)
        kernel: Any = self._kernel
        if hasattr(kernel, "overloads"):
            compiled = kernel.overloads.get(tuple(kernel.typeof_pyval(one) for one in given))
            self.call = kernel if compiled is None else compiled.entry_point
        else:
            self.call = kernel
        return answer
