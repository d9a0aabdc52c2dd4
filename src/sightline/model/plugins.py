"""Names of pluggable classes: built in, installed as entry points, or given as ``"package.module:Class"``.

Each is imported when it is first asked for. A worker process uses one index of each kind; importing all of them, and
declaring all their kernels, would double what its start costs.

A store names its plug-ins, and stores are passed around: a name with a colon is imported only if the caller of this
process has passed it (:meth:`Plugins.admit`) or an installed package vouches for it by an entry point. What a driver
has admitted travels to its workers as :class:`Origin`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, MutableMapping
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from sightline.model.errors import UnknownPlugin

T = TypeVar("T")


class Origin(NamedTuple):
    """Where a plug-in from outside comes from."""

    kind: str  # partitioner, range index, ...
    name: str  # as stores say it
    target: str  # "package.module:Class"
    folder: str  # where the driver has found the package: worker processes of one machine start without its sys.path


_ADMITTED: dict[tuple[str, str], Origin] = {}


def admitted() -> list[Origin]:
    """The plug-ins from outside that this process uses, for the processes it starts."""
    return list(_ADMITTED.values())


def admit_all(origins: Iterable[Origin]) -> None:
    """Use what the driver uses."""
    for origin in origins:
        _ADMITTED.setdefault((origin.kind, origin.name), origin)


class Plugins(MutableMapping[str, type[T]], Generic[T]):
    """The built-in classes of one kind by name, and those that come from outside.

    Parameters
    ----------
    kind : what they are, for messages
    group : entry points of this group are known by their names
    contract : the protocol; classes from outside must have its methods and class variables
    known : name -> "module:Class" of those built in; no other can take their names
    """

    def __init__(self, kind: str, group: str, contract: type, known: dict[str, str]) -> None:
        self.kind, self._group, self._contract = kind, group, contract
        self._known: dict[str, str | type[T]] = {**known}
        self._builtin = frozenset(known)

    def is_builtin(self, name: str) -> bool:
        """Whether it is one of ours, whose kernels we know how to warm."""
        return name in self._builtin

    def named(self, name: str) -> type[T]:
        """The class of a name that the caller passes, or that a store says."""
        if name not in self._known:
            if (self.kind, name) not in _ADMITTED:
                self._vouched(name)
            self._known[name] = self._imported(_ADMITTED[self.kind, name])
        return self[name]

    def admit(self, name: str) -> type[T]:
        """The class of a name that the caller passes: one with a colon may be imported from now on."""
        module, colon, _ = name.partition(":")
        if colon and name not in self._known:
            if module == "__main__":
                raise UnknownPlugin(
                    f"a {self.kind} cannot be in __main__",
                    value=name,
                    hint="put the class into a module: worker processes import it too",
                )
            _ADMITTED.setdefault((self.kind, name), Origin(self.kind, name, name, ""))
            try:
                return self.named(name)
            except UnknownPlugin:
                del _ADMITTED[self.kind, name]
                raise
        return self.named(name)

    def _vouched(self, name: str) -> None:
        """Admit what an entry point has the name, or is the target, of."""
        from importlib.metadata import entry_points  # reads what is installed, 20 ms: only for names not built in

        installed = entry_points(group=self._group)
        for point in installed:
            if name in (point.name, point.value):
                _ADMITTED[self.kind, name] = Origin(self.kind, name, f"{point.module}:{point.attr}", "")
                return
        known = sorted({*self._builtin, *(point.name for point in installed)})
        raise UnknownPlugin(
            f"unknown {self.kind}",
            value=name,
            allowed=", ".join(known),
            hint="a class that a store names is imported only if it is passed to open again, or installed as an entry "
            f"point of {self._group}"
            if ":" in name
            else f'"package.module:Class" names one of your own; packages install them as {self._group}',
        )

    def _imported(self, origin: Origin) -> type[T]:
        module, _, attribute = origin.target.partition(":")
        if origin.folder and origin.folder not in sys.path and Path(origin.folder).is_dir():
            sys.path.append(origin.folder)  # last: nothing of this process is shadowed
        try:
            found: Any = getattr(import_module(module), attribute)
        except (ImportError, AttributeError, ValueError) as error:
            raise UnknownPlugin(
                f"cannot import the {self.kind}: {error}",
                value=origin.target,
                allowed='"package.module:Class" of a module that every process can import',
                hint="on a cluster, install it on every host or pass it to spark.sparkContext.addPyFile",
            ) from error
        lacking = [name for name in _members(self._contract) if not hasattr(found, name)]
        if not isinstance(found, type) or lacking:
            raise UnknownPlugin(
                f"this is no {self.kind}",
                value=origin.target,
                allowed=f"a class with the methods of {self._contract.__module__}.{self._contract.__name__}",
                hint=f"it lacks {', '.join(lacking)}" if lacking else "name the class",
            )
        folder = _folder_of(module.partition(".")[0])
        _ADMITTED[origin.kind, origin.name] = origin._replace(folder=folder)
        return found

    def __getitem__(self, name: str) -> type[T]:
        value = self._known[name]
        if isinstance(value, str):
            module, _, attribute = value.partition(":")
            value = self._known[name] = getattr(import_module(module), attribute)
        return value

    def __setitem__(self, name: str, value: type[T]) -> None:
        self._known[name] = value

    def __delitem__(self, name: str) -> None:
        del self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, name: object) -> bool:
        return name in self._known


def _members(contract: type) -> list[str]:
    """Methods and class variables of a protocol; fields are an instance's business."""
    methods = [name for name, value in vars(contract).items() if callable(value) or isinstance(value, classmethod)]
    variables = [name for name, said in vars(contract).get("__annotations__", {}).items() if "ClassVar" in str(said)]
    return [name for name in (*methods, *variables) if not name.startswith("_")]


def _folder_of(package: str) -> str:
    """The folder in which an imported top-level package or module is; none for those in archives."""
    module = sys.modules[package]
    inside = [*getattr(module, "__path__", ()), getattr(module, "__file__", None) or ""][0]
    folder = Path(inside).resolve().parent
    return str(folder) if inside and folder.is_dir() else ""
