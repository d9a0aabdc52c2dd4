"""A growing dictionary numbers terms as merging all parts would, and keeps the numbers it gave."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.text.dictionary import TermDictionary
from sightline.text.growing import GrowingDictionary

words = st.lists(st.text("abcé東", max_size=4), unique=True, max_size=12)


@given(st.lists(words, max_size=8), st.sampled_from([64, 8, 1]))
@settings(max_examples=150, deadline=None)
def test_growing_equals_merging(parts: list[list[str]], bits: int) -> None:
    growing = GrowingDictionary(TermDictionary.empty())
    numbers: dict[str, int] = {}
    for part in parts:
        given_numbers = growing.intern(TermDictionary.from_strings(part, 5, bits))
        for word, number in zip(part, given_numbers.tolist(), strict=True):
            assert numbers.setdefault(word, len(numbers)) == number
        now = growing.dictionary()
        assert now.strings().to_pylist() == list(numbers)
        assert now.lookup_strings(list(numbers), 5, bits).tolist() == list(range(len(numbers)))
        assert now.lookup_strings(["absent word"], 5, bits).tolist() == [-1]


@given(words, words)
@settings(max_examples=50, deadline=None)
def test_growing_leaves_its_start_alone(first: list[str], second: list[str]) -> None:
    start = TermDictionary.from_strings(first, 5)
    growing = GrowingDictionary(start)
    growing.intern(TermDictionary.from_strings(second, 5))
    assert start.strings().to_pylist() == first
    assert growing.dictionary().strings().to_pylist() == [*first, *(word for word in second if word not in first)]
