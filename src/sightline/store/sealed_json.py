"""JSON with its own checksum: the last key ``crc32`` covers every byte before it.

Still plain JSON for any other tool. Used for log entries, checkpoints, plans and ``store.json``, where a
flipped digit would otherwise pass unnoticed.
"""

from __future__ import annotations

import json
import zlib
from typing import Any

import numpy as np

from sightline.model.errors import CorruptFile

_MARK = b',"crc32":'


def seal(body: dict[str, Any]) -> bytes:
    """Encode an object (at least one key) with its checksum."""
    # ASCII output: a lone surrogate in a user's text must not make an entry that cannot be encoded.
    text = json.dumps(body, separators=(",", ":"), allow_nan=False, default=plain).encode()
    head = text[:-1]
    return b"%s%s%d}\n" % (head, _MARK, zlib.crc32(head))


def unseal(data: bytes, name: str) -> dict[str, Any]:
    """Decode what :func:`seal` wrote; ``CorruptFile`` naming `name` when a byte has changed or is missing."""
    at = data.rfind(_MARK)
    try:
        stored = int(data[at + len(_MARK) :].rstrip(b"}\n")) if at >= 0 else -1
        if stored != zlib.crc32(data[:at]):
            raise ValueError("checksum")
        body: dict[str, Any] = json.loads(data[:at] + b"}")
    except ValueError as error:
        raise CorruptFile(
            "damaged file (checksum or JSON does not fit)",
            value=name,
            hint="restore this file from a copy; other files stay readable",
        ) from error
    return body


def plain(value: object) -> object:
    """JSON value of a NumPy scalar; other types are refused."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not a JSON value")
