"""A second thread for large segments: kernels release the interpreter's lock."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from sightline.flat.cores import cores

__all__ = ["LARGE", "AtOnce", "beside"]

P = ParamSpec("P")
T = TypeVar("T")

LARGE = 500_000  # rows from which a build gets a second thread; smaller ones are built where every core has its own


class AtOnce(Executor):
    """No thread: what is submitted is done before anything else."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call the function."""
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def beside(rows: int) -> Executor:
    """What does one thing after the other beside the caller, if there are so many rows and a core for it."""
    return ThreadPoolExecutor(1, "sightline-build") if rows >= LARGE and cores() > 1 else AtOnce()
