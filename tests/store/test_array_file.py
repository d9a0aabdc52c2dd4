from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sightline.model.errors import CorruptFile, IncompatibleStore
from sightline.store import ArrayFile, write_array_file
from sightline.store.array_file import ALIGN


def sample(path: Path) -> Path:
    arrays = {"ids": np.arange(1000, dtype=np.int64), "box": np.linspace(0, 1, 40).reshape(10, 4), "blob": b"abc" * 50}
    write_array_file(path, arrays, {"rows": np.int64(1000)}, durable=False)
    return path


def test_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "a.sl"
    arrays = {
        "big_endian": np.arange(5, dtype=">i4"),
        "strided": np.arange(20, dtype=np.int16)[::3],
        "grid": np.arange(12, dtype=np.float64).reshape(3, 4),
        "empty": np.empty((0, 4), np.float32),
        "flags": np.array([True, False]),
        "times": np.array([1, 2], "datetime64[us]"),
        "bytes": b"hello",
        "arrow": pa.py_buffer(b"world"),
        "pieces": [b"ab", memoryview(b"cd"), pa.py_buffer(b"")],
        "nothing": b"",
    }
    size = write_array_file(path, arrays, {"name": "größe", "n": np.float64(0.5)}, durable=True)
    assert size == path.stat().st_size
    file = ArrayFile.open(path)
    assert file.meta == {"name": "größe", "n": 0.5}
    assert file.names == list(arrays)
    for name, array in arrays.items():
        if isinstance(array, np.ndarray):
            assert file.array(name).dtype == array.dtype.newbyteorder("<")
            assert file.array(name).shape == array.shape
            np.testing.assert_array_equal(file.array(name), array)
    assert file.buffer("bytes").to_pybytes() == b"hello"
    assert file.buffer("arrow").to_pybytes() == b"world"
    assert file.buffer("pieces").to_pybytes() == b"abcd"
    assert file.buffer("nothing").size == 0


def test_arrays_are_read_only_aligned_and_not_copied(tmp_path: Path) -> None:
    file = ArrayFile.open(sample(tmp_path / "a.sl"))
    ids = file.array("ids")
    assert not ids.flags.writeable
    assert not ids.flags.owndata
    for name in file.names:
        assert file.buffer(name).address % ALIGN == 0
    assert ids.ctypes.data == file.buffer("ids").address


@settings(max_examples=40, deadline=None)
@given(
    arrays=st.dictionaries(
        st.text(min_size=1, max_size=8).filter(str.isprintable),
        hnp.arrays(
            st.sampled_from([np.int64, np.float32, np.uint8]), hnp.array_shapes(max_dims=2, min_side=0, max_side=9)
        ),
        max_size=4,
    )
)
def test_any_arrays_round_trip(arrays: dict[str, np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "any.sl"
    path.unlink(missing_ok=True)
    write_array_file(path, arrays, durable=False)
    file = ArrayFile.open(path)
    assert file.names == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(file.array(name), array)


def test_a_flipped_byte_in_any_array_is_reported_with_the_file_and_only_there(tmp_path: Path) -> None:
    good, bad = sample(tmp_path / "good.sl"), sample(tmp_path / "bad.sl")
    pristine = bad.read_bytes()
    clean = ArrayFile.open(good)
    for name in clean.names:
        at = pristine.find(clean.buffer(name).to_pybytes())
        data = bytearray(pristine)
        data[at + 7] ^= 1
        bad.write_bytes(data)
        file = ArrayFile.open(bad)
        with pytest.raises(CorruptFile, match=r"bad\.sl"):
            file.buffer(name)
        with pytest.raises(CorruptFile, match=r"bad\.sl"):
            file.check()
        for other in set(clean.names) - {name}:
            assert file.buffer(other).equals(clean.buffer(other))
    clean.check()


def test_every_byte_of_the_head_is_covered(tmp_path: Path) -> None:
    path = sample(tmp_path / "a.sl")
    pristine = path.read_bytes()
    start = 24 + struct.unpack_from("<Q", pristine, 16)[0]
    for at in [*range(24), *range(24, start, 7)]:
        data = bytearray(pristine)
        data[at] ^= 0x40
        path.write_bytes(data)
        with pytest.raises((CorruptFile, IncompatibleStore), match=r"a\.sl"):
            ArrayFile.open(path)


@pytest.mark.parametrize("keep", [0, 10, 24, 200, -1])
def test_truncated_file(tmp_path: Path, keep: int) -> None:
    path = sample(tmp_path / "a.sl")
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(CorruptFile, match=r"a\.sl"):
        ArrayFile.open(path)


@pytest.mark.parametrize(("version", "hint"), [(1, "a new store"), (3, "upgrade")])
def test_another_format_is_refused(tmp_path: Path, version: int, hint: str) -> None:
    path = sample(tmp_path / "a.sl")
    data = bytearray(path.read_bytes())
    data[8:12] = struct.pack("<I", version)
    path.write_bytes(data)
    with pytest.raises(IncompatibleStore, match=f"another format, {version}.*{hint}"):
        ArrayFile.open(path)


def test_bad_content_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="flat types"):
        write_array_file(tmp_path / "a.sl", {"x": np.array([object()])}, durable=False)
    with pytest.raises(TypeError, match="JSON"):
        write_array_file(tmp_path / "a.sl", {}, {"x": {1, 2}}, durable=False)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(CorruptFile, match="no array"):
        ArrayFile.open(sample(tmp_path / "b.sl")).array("absent")


def test_a_name_is_written_once(tmp_path: Path) -> None:
    path = sample(tmp_path / "a.sl")
    before = path.read_bytes()
    with pytest.raises(FileExistsError):
        write_array_file(path, {"other": np.zeros(3)}, durable=False)
    assert path.read_bytes() == before
