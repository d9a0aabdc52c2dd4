"""Unicode 14, shipped: the character classes of the tokeniser and the normalisation before it.

Texts are compared for years, Pythons change their tables every year: what a word is must not depend on the
interpreter. Characters that Unicode 14 does not know are a space before anything else happens; for the rest,
normalisation is stable by Unicode policy, and classes, lower case and the final-sigma rule come from our own table
(built by ``_unicode14_build``).
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

UNICODE_VERSION = "14.0.0"
TABLE_FILE = Path(__file__).with_name("_unicode14.npz")
BLOCK_BITS = 7
BLOCK = 1 << BLOCK_BITS

WORD = 1  # general category L* or N*, or "_"
MARK = 2  # M*
IDEOGRAPH = 4  # a word of its own (rule 2 of the semantics)
ASSIGNED = 8
QUICK = 16  # needs no whole-string NFKC or lower: stable, does not merge backwards, lowers to one character
CASED = 32  # stops the final-sigma search with yes
IGNORABLE = 64  # is skipped by the final-sigma search

_RUNTIME_IS_14 = unicodedata.unidata_version == UNICODE_VERSION
LONG = 1024  # characters; shorter rows normalise fast enough whatever is in them


class UnicodeTables(NamedTuple):
    """Two-stage tables: the value for ``c`` is ``column[(blocks[c >> 7] << 7) + (c & 127)]``; all read-only."""

    blocks: npt.NDArray[np.uint16]
    flags: npt.NDArray[np.uint8]
    combining: npt.NDArray[np.uint8]  # canonical combining class
    lower: npt.NDArray[np.int32]  # lower case minus the character itself


@cache
def tables() -> UnicodeTables:
    """The shipped tables."""
    with np.load(TABLE_FILE, allow_pickle=False) as stored:
        columns = [np.ascontiguousarray(stored[name]) for name in UnicodeTables._fields]
    for column in columns:
        column.setflags(write=False)
    return UnicodeTables(*columns)


@cache
def flags_by_code() -> npt.NDArray[np.uint8]:
    """Flags of every code point, flat."""
    table = tables()
    return table.flags.reshape(-1, BLOCK)[table.blocks].reshape(-1)


def character_class(wanted: npt.NDArray[np.bool_]) -> str:
    """The inside of a regular-expression ``[...]`` that matches exactly the wanted code points."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], wanted, [False])).astype(np.int8)))
    return "".join(rf"\U{low:08x}-\U{high - 1:08x}" for low, high in zip(edges[::2], edges[1::2], strict=True))


@cache
def _unassigned() -> re.Pattern[str]:
    return re.compile(f"[{character_class((flags_by_code() & ASSIGNED) == 0)}]")


@cache
def _lower_map() -> dict[int, str]:
    table = tables()
    delta = table.lower.reshape(-1, BLOCK)[table.blocks].reshape(-1)
    mapping = {int(code): chr(int(code) + int(delta[code])) for code in np.flatnonzero(delta)}
    return mapping | {0x130: "i̇"}


def _resolve_sigma(text: str) -> str:
    """Lower every capital sigma by the Final_Sigma rule: after a cased character and before none."""
    flags, chars = flags_by_code(), list(text)
    cased_before = False
    open_sigma = -1  # a sigma after a cased character, still waiting for what follows
    for i, char in enumerate(text):
        kind = flags[ord(char)]
        if kind & IGNORABLE:
            continue
        if open_sigma >= 0:
            chars[open_sigma] = "σ" if kind & CASED else "ς"
            open_sigma = -1
        if char == "Σ":
            chars[i] = "σ"
            open_sigma = i if cased_before else -1
        cased_before = bool(kind & CASED)
    if open_sigma >= 0:
        chars[open_sigma] = "ς"
    return "".join(chars)


def replace_unassigned(text: str) -> str:
    """Put a space for every character Unicode 14 does not know."""
    return _unassigned().sub(" ", text)


def _moves(char: str) -> bool:
    return unicodedata.combining(char) != 0 and not unicodedata.decomposition(char)


def sort_marks(text: str) -> str:
    """Put each run of combining marks into its canonical order, which normalising does too, but in quadratic time.

    One row of 64,000 alternating marks would hold up a batch for 8 seconds. Only marks without a decomposition are
    moved: for these, sorting before or after decomposing is the same.
    """
    parts: list[str] = []
    for moves, run in groupby(text, _moves):
        chars = list(run)
        if moves:
            chars.sort(key=unicodedata.combining)
        parts += chars
    return "".join(parts)


def normalise(text: str, *, runtime_is_14: bool = _RUNTIME_IS_14) -> str:
    """NFKC, then lower case, of the whole string, by Unicode 14.

    Where Python itself carries Unicode 14 its own functions say the same and are faster.
    """
    if text.isascii():
        return text.lower()
    if len(text) > LONG:
        text = sort_marks(text)
    if runtime_is_14:
        return unicodedata.normalize("NFKC", text).lower()
    text = unicodedata.normalize("NFKC", replace_unassigned(text))
    return (_resolve_sigma(text) if "Σ" in text else text).translate(_lower_map())
