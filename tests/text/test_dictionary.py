"""Dictionaries and batches of terms: exact under collisions, unchanged by storage, slicing and joining."""

from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.flat.arrays import frozen
from sightline.text import TermBatch, TermDictionary, tokenise, valid_utf8
from sightline.text.dictionary import hash_key
from sightline.text.lookup_kernels import hash_bytes

WORDS = st.lists(st.text("abcé東#", min_size=1, max_size=4), unique=True, max_size=40)
ROWS = st.lists(st.text("abc #東", max_size=12), max_size=8)
BITS = st.sampled_from([64, 8, 1])


@settings(deadline=None)
@given(WORDS, WORDS, BITS)
def test_lookup_and_merge(left: list[str], right: list[str], bits: int) -> None:
    one, two = TermDictionary.from_strings(left, 3, bits), TermDictionary.from_strings(right, 3, bits)
    assert one.strings().to_pylist() == left
    wanted = [left.index(word) if word in left else -1 for word in right]
    assert one.lookup(two).tolist() == one.lookup_strings(right, 3, bits).tolist() == wanted
    merged, remaps = TermDictionary.merge([one, two, TermDictionary.empty()])
    strings = merged.strings().to_pylist()
    assert strings == list(dict.fromkeys(left + right))
    assert [[strings[i] for i in remap] for remap in remaps] == [left, right, []]


@given(WORDS, BITS)
def test_dictionary_storage(words: list[str], bits: int) -> None:
    made = TermDictionary.from_strings(words, 3, bits)
    arrays = made.to_arrays("d_")
    assert set(arrays) == {"d_hashes", "d_offsets", "d_data", "d_slots"}
    again = TermDictionary.from_arrays({name: frozen(array) for name, array in arrays.items()}, prefix="d_")
    assert again.strings().equals(made.strings())
    assert again.lookup(made).tolist() == list(range(len(words)))
    assert np.shares_memory(again.hashes, arrays["d_hashes"]) or not words


def test_hashes_depend_on_seed_and_bits() -> None:
    words = [f"w{i}" for i in range(2000)]
    one, two = TermDictionary.from_strings(words, 1), TermDictionary.from_strings(words, 2)
    assert np.unique(one.hashes).size == 2000
    assert not np.intersect1d(one.hashes, two.hashes).size
    small = TermDictionary.from_strings(words, 1, 8)
    np.testing.assert_array_equal(small.hashes, one.hashes & 255)
    with pytest.raises(ValueError, match="'b' is repeated"):
        TermDictionary.from_strings(["a", "b", "b"], 1)


def plain_hash(data: bytes, seed: int) -> int:
    """The hash of a term in whole numbers, as an int64."""
    h = seed ^ len(data)
    for i in range(0, max(len(data), 1), 8):
        h = (h ^ (h >> 32 if i else 0) ^ int.from_bytes(data[i : i + 8], "little")) * 0x9E3779B97F4A7C15 % 2**64
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        h = (h ^ (h >> 33)) * factor % 2**64
    h ^= h >> 33
    return h - 2**64 if h >= 2**63 else h


@given(st.text(max_size=30), st.integers(0, 2**64 - 1))
def test_hashes_by_definition_with_and_without_the_compiler(word: str, seed: int) -> None:
    """Products wrap without a warning in plain Python too (warnings are errors here)."""
    data = word.encode()
    assert TermDictionary.hashed([word], seed).hashes.tolist() == [plain_hash(data, seed)]
    plain = getattr(hash_bytes, "py_func", hash_bytes)
    array, first = frozen(np.array(list(data), np.uint8)), np.uint64(int.from_bytes(data[:8], "little"))
    assert plain(array, 0, len(data), first, *hash_key(seed, 64)) == plain_hash(data, seed)


def test_hashes_stay_what_they_are() -> None:
    """They are in the files of every store."""
    assert TermDictionary.hashed(["", "flood", "東京", "a" * 20], 7).hashes.tolist() == [
        4478704255447944746,
        7789136434046388512,
        -5122999979889130993,
        8954759764765742533,
    ]


def rows_of(batch: TermBatch) -> list[tuple[set[tuple[str, int]], int]]:
    strings = batch.dictionary.strings().to_pylist()
    out = []
    for row in range(len(batch)):
        ids = batch.ids[batch.offsets[row] : batch.offsets[row + 1]]
        counts = batch.counts[batch.offsets[row] : batch.offsets[row + 1]]
        assert (np.diff(ids) > 0).all()
        assert {strings[i] for i in ids} == set(batch.row_strings(row))
        out.append(({(strings[i], int(n)) for i, n in zip(ids, counts, strict=True)}, int(batch.words[row])))
    return out


def made(texts: list[str], bits: int) -> TermBatch:
    return tokenise(pa.array(texts, pa.string()), None, 9, bits)


@settings(deadline=None)
@given(ROWS, BITS, st.data())
def test_take(texts: list[str], bits: int, data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(texts) - 1))) if texts else []
    taken = made(texts, bits).take(np.array(rows, np.int64))
    assert rows_of(taken) == rows_of(made([texts[row] for row in rows], bits))
    assert len(taken.dictionary) == np.unique(taken.ids).size


@settings(deadline=None)
@given(st.lists(ROWS, max_size=4), BITS)
def test_concat_and_storage(parts: list[list[str]], bits: int) -> None:
    joined = TermBatch.concat([made(part, bits) for part in parts])
    assert rows_of(joined) == rows_of(made([text for part in parts for text in part], bits))
    again = TermBatch.from_arrays({name: frozen(array) for name, array in joined.to_arrays("t_").items()}, prefix="t_")
    assert rows_of(again) == rows_of(joined)
    assert rows_of(TermBatch.concat([again, again])) == rows_of(joined) * 2
    assert len(TermBatch.empty()) == 0


@settings(max_examples=300)
@given(
    st.lists(st.one_of(st.binary(max_size=6), st.text(max_size=4).map(lambda s: s.encode("utf-8", "surrogatepass"))))
)
def test_valid_utf8(rows: list[bytes]) -> None:
    def decodes(row: bytes) -> bool:
        try:
            row.decode()
        except UnicodeDecodeError:
            return False
        return True

    column = pa.array(rows, pa.binary())
    assert valid_utf8(column).tolist() == [decodes(row) for row in rows]
    assert valid_utf8(column[1:]).tolist() == [decodes(row) for row in rows[1:]]


def test_valid_utf8_exhaustive_on_short_sequences() -> None:
    edges = bytes.fromhex("00 7f 80 8f 90 9f a0 bf c0 c1 c2 df e0 ed ef f0 f4 f5 ff")
    rows = [bytes(four) for four in product(edges, repeat=4)]
    rows += [row[:n] for row in rows for n in (1, 2, 3)]
    found = valid_utf8(pa.array(rows, pa.large_binary()))
    for row, good in zip(rows, found.tolist(), strict=True):
        assert (row.decode("utf-8", "ignore").encode() == row) == good
