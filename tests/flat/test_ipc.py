"""Values in pieces: the bytes that Arrow's own sinks would hold, without a copy."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.flat import ipc

tables = st.builds(
    lambda ids, texts: pa.table({"id": ids[: len(texts)], "text": texts[: len(ids)]}),
    st.lists(st.integers(-9, 9) | st.none(), max_size=20),
    st.lists(st.text(max_size=5) | st.none(), max_size=20),
)


def written(new, table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with new(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


@given(tables, tables)
def test_pieces_are_what_one_buffer_would_hold(first: pa.Table, second: pa.Table) -> None:
    pieces = ipc.streams(first, second.slice(1))
    whole = written(pa.ipc.new_stream, first) + written(pa.ipc.new_stream, second.slice(1))
    assert bytes(pieces.joined()) == whole
    assert pieces.nbytes == pieces.tell() == len(whole)
    assert bytes(ipc.file(first).joined()) == written(pa.ipc.new_file, first)


def test_large_columns_are_referred_to() -> None:
    numbers = pa.array(range(10_000))
    parts = ipc.parts(ipc.file(pa.table({"x": numbers})))
    assert numbers.buffers()[1].address in [part.address for part in parts if isinstance(part, pa.Buffer)]


@pytest.mark.parametrize("value", [b"plain", pa.py_buffer(b"plain")])
def test_a_value_in_one_place_stays_there(value: bytes | pa.Buffer) -> None:
    assert ipc.whole(value) is value
    assert ipc.parts(value) == [value]
