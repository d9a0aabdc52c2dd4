"""Which files to merge: Alg. 8 of Pastri (LSMinsert) as pure functions of sizes.

Deviations. Sizes are compared by level, ``floor(log2(rows / unit))``, because flushes here are not of equal
size and 100 rows on top of 101 should merge. A cascade of merges is done as one merge of all its files, so
that a row is read and written once instead of once per step. A merge that would exceed ``max_rows`` is left
undone. The levels of a stack then fall strictly from bottom to top (between files sealed by the bound): a
stack of N rows has at most log2(N) + 1 files, and a row is rewritten at most that often.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sightline.store.files import FileEntry

MAX_ROWS = 8_000_000  # bound of a merged file: about 1 GB of segment at 128 bytes a row


@dataclass(frozen=True, slots=True)
class LsmStep:
    """Result of one flush: the stack, bottom first, and the blocks read and written."""

    stack: tuple[int, ...]
    io: int


def lsm_insert(stack: Sequence[int], flushed: int) -> LsmStep:
    """Pastri Alg. 8 to the letter, with its I/O count.

    Notes
    -----
    The paper gives the top of an empty stack the size 0, which would merge with nothing for ever; meant is
    infinity. The first merge takes ``flushed`` from memory and reads one component, later ones read two.
    Theorem 6.1, corrected, for n >= 2 flushes of size m: m (2 n log2 n - 4 n + 5) <= I <= 2 m n log2 n.
    """
    components = list(stack)
    c, io, merged = flushed, 0, False
    while c >= (components[-1] if components else math.inf):
        top = components.pop()
        io += (c if merged else 0) + top + (c + top)
        c, merged = c + top, True
    if not merged:
        io += c
    return LsmStep((*components, c), io)


def level(rows: int, unit: int = 1) -> int:
    """``floor(log2(rows / unit))``, exactly; an empty file counts as one row."""
    return math.frexp(max(rows, 1) / unit)[1] - 1


def pick(sizes: Sequence[int], unit: int = 1, max_rows: int = MAX_ROWS) -> list[tuple[int, int]]:
    """Ranges [start, stop) of neighbours to merge, for sizes from the oldest to the newest.

    Replays Alg. 8 over the files as if each were flushed in turn; a file already merged finds nothing to
    merge with and stays.
    """
    stack: list[tuple[int, int, int]] = []  # start, stop, rows
    for at, rows in enumerate(sizes):
        start, size = at, rows
        while stack and level(size, unit) >= level(stack[-1][2], unit) and size + stack[-1][2] <= max_rows:
            start, _, below = stack.pop()
            size += below
        stack.append((start, at + 1, size))
    return [(start, stop) for start, stop, _ in stack if stop - start > 1]


def pick_merge(entries: Iterable[FileEntry], unit: int = 1, max_rows: int = MAX_ROWS) -> list[list[FileEntry]]:
    """Groups of files to merge now: per kind and stack, neighbours by version, oldest first."""
    stacks: dict[tuple[str, str], list[FileEntry]] = {}
    for entry in entries:
        stacks.setdefault((entry.kind, entry.stack), []).append(entry)
    groups = []
    for _, stack in sorted(stacks.items()):
        stack.sort(key=lambda entry: (entry.version, entry.name))
        groups += [stack[start:stop] for start, stop in pick([entry.rows for entry in stack], unit, max_rows)]
    return groups
