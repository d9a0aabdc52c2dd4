"""Errors, classed by who must act.

Every message says what was wrong, the value, what is allowed, and a hint. None is longer than 2 KB, however long the
value is; ``error.value`` has all of it.
"""

from __future__ import annotations

VALUE_MOST, MESSAGE_MOST = 400, 2_000  # characters; a message of mostly four-byte ones is cut by its bytes


class SightlineError(Exception):
    """Root of every error a user can cause.

    Parameters
    ----------
    what : str
        What was wrong, one clause.
    value : object, optional
        The offending value.
    allowed : str, optional
        What would have been accepted.
    hint : str, optional
        What to do about it.
    """

    def __init__(self, what: str, *, value: object = None, allowed: str | None = None, hint: str | None = None) -> None:
        self.what, self.value, self.allowed, self.hint = what, value, allowed, hint
        parts = [what if value is None else f"{what}: {_cut(repr(value), VALUE_MOST)}"]
        if allowed:
            parts.append(f"allowed: {allowed}")
        if hint:
            parts.append(f"hint: {hint}")
        super().__init__(_cut("; ".join(parts), MESSAGE_MOST))

    def __str__(self) -> str:
        return str(self.args[0])


def _cut(text: str, most: int) -> str:
    """The text, or both of its ends with what was left out counted between them; at most ``most`` bytes of UTF-8."""
    size = len(text.encode("utf-8", "backslashreplace"))
    if size <= most:
        return text
    end = most // 4 * len(text) // size  # characters; the rest of the room is for the beginning
    start = (most - 40) // 2 * len(text) // size
    return f"{text[:start]} ... {len(text) - start - end} more characters ... {text[len(text) - end :]}"


class BadQuery(SightlineError, ValueError):
    """The caller must change the query."""


class BadExpression(BadQuery):
    """The caller must change the keyword expression; ``position`` counts characters from 0 where there is one."""

    def __init__(
        self,
        what: str,
        *,
        position: int | None = None,
        value: object = None,
        allowed: str | None = None,
        hint: str | None = None,
    ) -> None:
        self.position = position
        where = "" if position is None else f" at position {position}"
        super().__init__(what + where, value=value, allowed=allowed, hint=hint)


class BadConfig(SightlineError, ValueError):
    """The caller must change an option of ``open``, ``load`` or ``run``."""


class UnknownPlugin(BadConfig):
    """The caller named a partitioner, index or policy that is not registered; the message lists the known ones."""


class BadSource(SightlineError, ValueError):
    """The caller must change the input: a missing path, an empty file, an unknown column, a wrong type."""


class NotAStore(SightlineError, ValueError):
    """The path is something else; the caller must name another. Nothing was written."""


class IncompatibleStore(SightlineError, RuntimeError):
    """The store was written by a newer format, or with another space or text; upgrade, or open it as it was made."""


class CorruptFile(SightlineError, RuntimeError):
    """A file of the store is damaged; the operator restores that file. The rest stays readable."""


class StoreBusy(SightlineError, RuntimeError):
    """Another pipeline writes this store; stop it first. Reading and subscribing need no lock."""


class StoreFull(SightlineError, OSError):
    """The disk is full; the operator frees space. The commit did not happen, the store stays readable."""


class StoreNotShared(SightlineError, RuntimeError):
    """Driver and executors see different folders under one path; the operator mounts it. The commit did not happen."""


class DuplicateSubscription(SightlineError, ValueError):
    """The id is taken; the caller picks another or passes ``replace=True``."""


class UnknownSubscription(SightlineError, KeyError):
    """No subscription has this id."""


class EngineClosed(SightlineError, RuntimeError):
    """The engine was closed; the caller opens the store again."""


class RunFailed(SightlineError, RuntimeError):
    """A run stopped with an error; the cause is chained. What was committed before stays."""
