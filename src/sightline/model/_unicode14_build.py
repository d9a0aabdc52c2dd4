"""Derive ``_unicode14.npz`` from the interpreter's own tables: ``python -m sightline.model._unicode14_build``.

Runs only where Python carries Unicode 14 (CPython 3.11). The result is shipped, so that a store gives the same terms
on every later Python.
"""

from __future__ import annotations

import sys
import unicodedata

import numpy as np
import numpy.typing as npt

from sightline.model._unicode14 import (
    ASSIGNED,
    BLOCK,
    CASED,
    IDEOGRAPH,
    IGNORABLE,
    MARK,
    QUICK,
    TABLE_FILE,
    UNICODE_VERSION,
    WORD,
)

# 02-semantics, Terms, rule 2: an L* or N* character of these ranges is a word of its own.
SINGLE_RANGES = (
    (0x3005, 0x3007), (0x3041, 0x30FF), (0x31F0, 0x31FF), (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF),
)  # fmt: skip
_HANGUL_VOWELS_AND_TAILS = (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))


def _second_of_a_composition() -> set[int]:
    """Characters that may merge with the one before them (NFKC_Quick_Check = Maybe)."""
    seconds = set(_HANGUL_VOWELS_AND_TAILS)
    for code in range(0x110000):
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) == 2 and not parts[0].startswith("<") and unicodedata.normalize("NFC", chr(code)) == chr(code):
            seconds.add(int(parts[1], 16))
    return seconds


def _flags_of(char: str, maybe: set[int]) -> int:
    category = unicodedata.category(char)
    flags = ASSIGNED if category != "Cn" else 0
    if category[0] in "LN" or char == "_":
        flags |= WORD
        if any(low <= ord(char) <= high for low, high in SINGLE_RANGES):
            flags |= IDEOGRAPH
    elif category[0] == "M":
        flags |= MARK
    # The final-sigma rule looks through case-ignorable characters for a cased one; both properties show from outside.
    after_letter, after_space = ("A" + char + "Σ").lower(), (" " + char + "Σ").lower()
    if after_space[-1] == "ς":
        flags |= CASED
    elif after_letter[-1] == "ς":
        flags |= IGNORABLE
    normal = unicodedata.normalize("NFKC", char)
    stable = normal == char and ord(char) not in maybe and len(char.lower()) == 1 and char not in "Σ"
    # "…" or a no-break space normalise to separators only: to the tokeniser they are a separator already.
    blank = all(unicodedata.category(c)[0] not in "LNM" and c not in "_#@" for c in (*normal, char))
    if category != "Cs" and (stable or (blank and unicodedata.combining(char) == 0)):
        flags |= QUICK
    return flags


def build() -> dict[str, npt.NDArray[np.generic]]:
    """Two-stage tables: ``blocks[code >> 7]`` is a block, ``column[block * 128 + (code & 127)]`` the value."""
    if unicodedata.unidata_version != UNICODE_VERSION:
        message = f"needs a Python with Unicode {UNICODE_VERSION}, this one has {unicodedata.unidata_version}"
        raise SystemExit(message)
    maybe = _second_of_a_composition()
    record = np.dtype([("flags", np.uint8), ("combining", np.uint8), ("lower", np.int32)])
    table = np.zeros(0x110000, dtype=record)
    for code in range(0x110000):
        char = chr(code)
        lowered = char.lower()
        # Only U+0130 lowers to two characters; `_unicode14` treats it by itself.
        table[code] = (
            _flags_of(char, maybe), unicodedata.combining(char), ord(lowered) - code if len(lowered) == 1 else 0,
        )  # fmt: skip
    rows = table.reshape(-1, BLOCK)
    distinct: dict[bytes, int] = {}
    blocks = np.array([distinct.setdefault(row.tobytes(), len(distinct)) for row in rows], dtype=np.uint16)
    flat = np.frombuffer(b"".join(distinct), dtype=record)
    return {"blocks": blocks, **{name: np.ascontiguousarray(flat[name]) for name in record.names or ()}}


if __name__ == "__main__":
    np.savez_compressed(TABLE_FILE, allow_pickle=False, **build())
    sys.stdout.write(f"{TABLE_FILE}: {TABLE_FILE.stat().st_size} bytes\n")
