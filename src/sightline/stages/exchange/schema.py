"""Payload columns of a store: what a batch may add, and what it may not change."""

from __future__ import annotations

import base64

import pyarrow as pa

from sightline.model.config import OBJECT_COLUMNS, RESERVED
from sightline.model.errors import BadSource
from sightline.stages.exchange.read import CORRUPT, GEOMETRY


def decode(stored: list[str] | None) -> pa.Schema:
    """Payload schema as the log keeps it."""
    return pa.schema([]) if not stored else pa.ipc.read_schema(pa.BufferReader(base64.b64decode(stored[0])))


def encode(schema: pa.Schema) -> list[str]:
    """Payload schema for the log."""
    return [base64.b64encode(schema.serialize().to_pybytes()).decode()]


def with_batch(stored: pa.Schema, batch: pa.Schema) -> pa.Schema:
    """The store's payload schema after a batch with these columns.

    A new column is added and is null in older rows; a missing one is null in the new rows. A changed type or a reserved
    name is refused, before anything is written.
    """
    merged = {field.name: field for field in stored}
    for field in batch:
        if field.name in (*OBJECT_COLUMNS, CORRUPT, GEOMETRY):
            continue
        if field.name in RESERVED or field.name.startswith("_"):
            raise BadSource(
                "a payload column has a reserved name",
                value=field.name,
                allowed="names other than " + ", ".join(sorted(RESERVED)) + ", and none that begins with '_'",
                hint="rename the column in the source",
            )
        known = merged.get(field.name)
        if known is not None and known.type != field.type:
            raise BadSource(
                f"payload column {field.name!r} changed its type",
                value=str(field.type),
                allowed=str(known.type),
                hint="cast it in the source, or give it another name",
            )
        merged[field.name] = field.with_nullable(True)
    return pa.schema(list(merged.values()))
