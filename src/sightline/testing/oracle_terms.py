"""Terms of a text and the meaning of a keyword expression, character by character."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator, Sequence

Keywords = str | Sequence[str] | dict[str, list[str]] | None

# Letters and digits of these ranges are words of their own: scripts written without spaces.
_ALONE = (
    (0x3005, 0x3007),
    (0x3041, 0x30FF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)


def _is_letter(character: str) -> bool:
    return unicodedata.category(character)[0] in "LN"


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M"


def _stands_alone(character: str) -> bool:
    return _is_letter(character) and any(low <= ord(character) <= high for low, high in _ALONE)


def _runs(text: str) -> Iterator[tuple[str, str]]:
    """Maximal runs of word characters, each with the character before it ('' at the start)."""
    position = 0
    while position < len(text):
        if not (_is_letter(text[position]) or text[position] == "_"):
            position += 1
            continue
        start = position
        while position < len(text) and (
            _is_letter(text[position]) or text[position] == "_" or _is_mark(text[position])
        ):
            position += 1
        yield text[start:position], text[start - 1] if start else ""


def _words(run: str) -> list[str]:
    """A run cut before and after every character that stands alone; marks stay with what they follow."""
    words: list[str] = []
    for character in run:
        if not words:
            words.append(character)
        elif _is_mark(character):
            words[-1] += character
        elif _stands_alone(character) or _stands_alone(words[-1][0]):
            words.append(character)
        else:
            words[-1] += character
    return words


def terms(text: str) -> set[str]:
    """The set of terms of a text: words, and ``#`` or ``@`` with the run it is written before."""
    found: set[str] = set()
    for run, before in _runs(unicodedata.normalize("NFKC", text).lower()):
        found.update(_words(run))
        if before in ("#", "@"):
            found.add(before + run)
    return found


def matches(keywords: Keywords, present: Collection[str]) -> bool:
    """Whether an object with the terms ``present`` satisfies keywords in their JSON form.

    A string is an expression; a list or ``{"all_of": [...]}`` is AND and ``{"any_of": [...]}`` is OR, both
    of items that are not parsed.
    """
    if keywords is None:
        return True
    if isinstance(keywords, str):
        return _Evaluator(keywords, present).value()
    if isinstance(keywords, dict):
        if "any_of" in keywords:
            return any(_has(item, present) for item in keywords["any_of"])
        keywords = keywords["all_of"]
    return all(_has(item, present) for item in keywords)


def _has(keyword: str, present: Collection[str]) -> bool:
    # `#x` stands for the tag alone; an object with the tag has its words too, so asking for both is the same.
    wanted = terms(keyword)
    if not wanted:
        raise ValueError(f"a keyword without terms: {keyword!r}")
    return all(term in present for term in wanted)


class _Evaluator:
    """Recursive descent that evaluates while it reads.

    ``or := and {OR and}``, ``and := not {[AND] not}``, ``not := NOT not | ( or ) | keyword``.
    """

    def __init__(self, source: str, present: Collection[str]) -> None:
        if '"' in source:
            raise ValueError(f"a quoted phrase: {source!r}")
        self.tokens = source.replace("(", " ( ").replace(")", " ) ").split()
        self.present = present
        self.next = 0

    def value(self) -> bool:
        if not self.tokens:
            return True
        value = self._or()
        if self._peek() is not None:
            raise ValueError(f"unexpected {self._peek()!r}")
        return value

    def _peek(self) -> str | None:
        return self.tokens[self.next] if self.next < len(self.tokens) else None

    def _or(self) -> bool:
        value = self._and()
        while self._peek() == "OR":
            self.next += 1
            other = self._and()
            value = value or other
        return value

    def _and(self) -> bool:
        value = self._not()
        while self._peek() not in (None, "OR", ")"):
            if self._peek() == "AND":
                self.next += 1
            other = self._not()
            value = value and other
        return value

    def _not(self) -> bool:
        token = self._peek()
        self.next += 1
        if token is None or token in ("AND", "OR", ")"):
            raise ValueError(f"a keyword is missing before {token!r}")
        if token == "NOT":
            return not self._not()
        if token == "(":
            value = self._or()
            if self._peek() != ")":
                raise ValueError("a parenthesis is not closed")
            self.next += 1
            return value
        return _has(token, self.present)
