"""Names of pluggable classes, each imported when it is first asked for.

A worker process uses one index of each kind; importing all of them, and declaring all their kernels, would double what
its start costs.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Generic, TypeVar

T = TypeVar("T")


class Plugins(MutableMapping[str, T], Generic[T]):
    """A dictionary of classes; those given as ``"module:Class"`` are imported on first use."""

    def __init__(self, known: dict[str, str]) -> None:
        self._known: dict[str, str | T] = {**known}

    def __getitem__(self, name: str) -> T:
        value = self._known[name]
        if isinstance(value, str):
            module, _, attribute = value.partition(":")
            value = self._known[name] = getattr(import_module(module), attribute)
        return value

    def __setitem__(self, name: str, value: T) -> None:
        self._known[name] = value

    def __delitem__(self, name: str) -> None:
        del self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, name: object) -> bool:
        return name in self._known
