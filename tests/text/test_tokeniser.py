"""The kernel says what ``model.terms`` says, whatever the Arrow form of the column."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.bench.tokenise import run
from sightline.model.terms import terms_of, word_count
from sightline.model.text_config import TextConfig
from sightline.text import TermBatch, tokenise
from sightline.text import tokeniser as module
from sightline.text.cutting_kernels import ASCII, QUICK_ROW, WHOLE

# Valid UTF-8 has no surrogates. The sample holds what the rules name: signs, ideographs, marks that merge, that do
# not, and that are out of order, sigma, dotted I, compatibility forms, the row separator of the normaliser.
CHARACTERS = st.one_of(
    st.characters(exclude_categories=["Cs"]),
    st.characters(max_codepoint=127),
    st.sampled_from(
        "##@@__  aAbB東京々ーカ\u3099\u0301\u0321\u0e34\u0e49\u093f\u094d"
        "ΣσςİıßẞǅȺﬁ½…\u00a0＃한\u1161\u11a8𐐀𠀀\U0010ffff"
    ),
)
TEXTS = st.lists(st.text(CHARACTERS, max_size=30), max_size=12)
CONFIGS = st.sampled_from([TextConfig(), TextConfig(("a", "東"), "english"), TextConfig(stemmer="german")])


def check(batch: TermBatch, texts: list[str], config: TextConfig | None = None) -> None:
    config = config or TextConfig()
    terms = batch.dictionary.strings().to_pylist()
    assert len(set(terms)) == len(terms)
    assert len(batch) == len(texts)
    assert set(np.unique(batch.ids).tolist()) == set(range(len(terms)))
    for row, text in enumerate(texts):
        postings = slice(batch.offsets[row], batch.offsets[row + 1])
        assert (np.diff(batch.ids[postings]) > 0).all()
        found = {terms[i]: int(n) for i, n in zip(batch.ids[postings], batch.counts[postings], strict=True)}
        assert found == {term: min(n, 65535) for term, n in terms_of(text, config).items()}
        assert batch.words[row] == word_count(text, config)
    kinds = (batch.offsets.dtype, batch.ids.dtype, batch.counts.dtype, batch.words.dtype)
    assert kinds == (np.int64, np.int32, np.uint16, np.int32)


@settings(max_examples=300, deadline=None)
@given(TEXTS, CONFIGS, st.sampled_from([64, 8, 1]), st.integers(-(2**70), 2**70))
def test_equals_the_definition(texts: list[str], config: TextConfig, hash_bits: int, seed: int) -> None:
    check(tokenise(pa.array(texts, pa.string()), config, seed, hash_bits), texts, config)


@settings(max_examples=60, deadline=None)
@given(TEXTS, st.data())
def test_any_arrow_form(texts: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(texts)))
    stop = data.draw(st.integers(start, len(texts)))
    kind = data.draw(st.sampled_from([pa.string(), pa.large_string(), pa.string_view()]))
    whole = pa.array(texts, kind)
    check(tokenise(whole.slice(start, stop - start)), texts[start:stop])
    chunks = pa.chunked_array([whole[:start], whole[start:stop], whole[stop:]], kind)
    check(tokenise(chunks), texts)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_no_rows_and_empty_rows(kind: pa.DataType) -> None:
    check(tokenise(pa.array([], kind)), [])
    check(tokenise(pa.chunked_array([], kind)), [])
    check(tokenise(pa.array(["", "", ""], kind)), [""] * 3)
    check(tokenise(pa.array(["", "a", "\U0010ffff…", ""], kind)), ["", "a", " ", ""])


def test_every_character_alone_after_a_word_and_in_a_tag() -> None:
    characters = [chr(code) for code in range(0x80, 0x110000, 61) if not 0xD800 <= code < 0xE000]
    texts = [text for char in characters for text in (char, f"B{char}B#{char}B")]
    check(tokenise(pa.array(texts)), texts)


def test_buffers_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many distinct terms and postings in few bytes, from the smallest first buffers."""
    monkeypatch.setattr(module, "_FIRST_TERMS", 1)
    monkeypatch.setattr(module, "_BYTES_PER_TERM", 10**6)
    monkeypatch.setattr(module, "_BYTES_PER_POSTING", 10**6)
    calls = []
    monkeypatch.setattr(module, "_grown", lambda *a, grown=module._grown: calls.append(1) or grown(*a))
    texts = [f"#{i}#{i + 1}" for i in range(3000)] + [f"東京{chr(0x4E00 + i)}Ⱥ" for i in range(3000)]
    check(tokenise(pa.array(texts)), texts)
    assert len(calls) > 2


def test_long_rows() -> None:
    many = " ".join(f"w{i * 7919 % 5003}" for i in range(6000))
    texts = ["a", many, "x" * 300_000, "É" + many.upper(), "①" + many, "Ⱥ" * 5000, "#" + "東" * 4000, "b " * 70_000]
    batch = tokenise(pa.array(texts))
    check(batch, texts)
    assert batch.counts.max() == 65535
    assert batch.words[-1] == 70_000


def test_kinds_of_rows() -> None:
    """Which rows the kernel reads by itself: the speed of the tokeniser rests on it."""
    texts = ["flood #2", "Überflutung…", "наводнение", "สวัสดี น้ำ".replace("ำ", ""), "हिन्दी", "東京", "한국어"]
    slow = ["ﬁne", "ΟΔΟΣ", "İ", "e\u0301", "x²", "a\u0301\u0321"]
    data, offsets = module.byte_rows(pa.array(texts + slow))
    kinds = np.empty(len(texts + slow), np.uint8)
    module.classify(module.char_tables(), data, offsets, kinds)
    assert kinds.tolist() == [ASCII] + [QUICK_ROW] * (len(texts) - 1) + [WHOLE] * len(slow)


def test_columns_it_cannot_read() -> None:
    with pytest.raises(ValueError, match="1 null"):
        tokenise(pa.array(["a", None]))
    with pytest.raises(TypeError, match="int64"):
        tokenise(pa.array([1]))
    with pytest.raises(ValueError, match="hash_bits"):
        tokenise(pa.array(["a"]), hash_bits=65)


def test_bench_compares_and_measures() -> None:
    result = run(rows=500, quick=True)
    assert result["sets"]["words"]["rows"] == 500
    assert result["metrics"]["ratio"] > 1
