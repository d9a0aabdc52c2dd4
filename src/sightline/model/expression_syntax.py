"""The grammar of keyword expressions: recursive descent over whitespace-separated keywords and parentheses.

``or := and ("OR" and)*``, ``and := not ("AND"? not)*``, ``not := "NOT" not | "(" or ")" | keyword``.

Syntax of other engines that this one has not is refused, not read as something else: ``flood*``, ``flood~``,
``flood^2``, ``-flood``, ``+flood``, ``!flood``, ``flood|boat``. Grammar 1 took such signs for blanks; what a control
log has kept since then is still read by it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, NoReturn

from sightline.model.dnf import ExpressionNode, all_nodes, any_nodes, negate
from sightline.model.errors import BadExpression

_TOKEN = re.compile(r"[()]|[^\s()]+")
_QUOTES = re.compile('["“”„‟«»＂]')
_OPERATORS = ("AND", "OR", "NOT")
#: Version of the grammar that new expressions are read by.
GRAMMAR = 2
# What a sign at the beginning, or anywhere, in a keyword means elsewhere, and how to say it here.
_PREFIXES = {
    "-": "write NOT flood for a word that must be absent",
    "!": "write NOT flood for a word that must be absent",
    "+": "leave the + out: all words must be there unless OR stands between them",
}
_SIGNS = {
    "*": "prefixes are not supported yet",
    "~": "similar words are not supported",
    "^": "words have no weights",
    "|": "write flood OR boat",
}
_LITERALLY = 'all_of(["..."]) takes a keyword as it is'
# Deeper nesting is no query a person wrote, and recursion must end somewhere.
MAX_NESTING = 64


class _Token(NamedTuple):
    text: str
    position: int


def parse_tree(source: str, keyword: Callable[[str, int], ExpressionNode], grammar: int = GRAMMAR) -> ExpressionNode:
    """Read a non-empty source into a tree; ``keyword`` makes the node of a keyword at a position."""
    quote = _QUOTES.search(source)
    if quote:
        raise BadExpression(
            "quoted phrases are not supported yet", position=quote.start(), value=source,
            hint="leave the quotes out for AND; a phrase would mean words in order",
        )  # fmt: skip
    parser = _Parser(source, keyword)
    if grammar > 1:
        for token in parser.tokens:
            _refuse_foreign(token, source)
    tree = parser.alternatives(0)
    if parser.peek is not None:
        parser.fail("unexpected )" if parser.peek == ")" else f"unexpected {parser.peek}")
    return tree


def lower_case_operators(source: str) -> list[str]:
    """``and``, ``or``, ``not`` that stand between other words: keywords, though probably not meant as such."""
    words = [match[0] for match in _TOKEN.finditer(source)]
    between = words[1:-1] if len(words) > 2 else []
    return [word for word in dict.fromkeys(between) if word in ("and", "or", "not")]


def _refuse_foreign(token: _Token, source: str) -> None:
    sign, hint, at = token.text[0], _PREFIXES.get(token.text[0]), 0
    if hint is None or not (token.text[1:2].isalnum() or token.text[1:2] in ("#", "@")):
        at, sign = next(((i, sign) for i, sign in enumerate(token.text) if sign in _SIGNS), (0, ""))
        hint = _SIGNS.get(sign)
    if hint is not None:
        raise BadExpression(
            f"{sign} has no meaning here", position=token.position + at, value=source, hint=f"{hint}; {_LITERALLY}"
        )


class _Parser:
    def __init__(self, source: str, keyword: Callable[[str, int], ExpressionNode]) -> None:
        self.source, self.keyword = source, keyword
        self.tokens = [_Token(match[0], match.start()) for match in _TOKEN.finditer(source)]
        self.at = 0

    @property
    def peek(self) -> str | None:
        return self.tokens[self.at].text if self.at < len(self.tokens) else None

    def fail(self, what: str) -> NoReturn:
        position = self.tokens[self.at].position if self.at < len(self.tokens) else len(self.source)
        hint = 'as in flood AND (rescue OR boat) NOT drill; a lower-case "and" is a keyword'
        raise BadExpression(what, position=position, value=self.source, hint=hint)

    def alternatives(self, depth: int) -> ExpressionNode:
        parts = [self.conjunction(depth)]
        while self.peek == "OR":
            self.at += 1
            parts.append(self.conjunction(depth))
        return any_nodes(parts)

    def conjunction(self, depth: int) -> ExpressionNode:
        parts = [self.factor(depth)]
        while self.peek not in (None, "OR", ")"):
            if self.peek == "AND":
                self.at += 1
            parts.append(self.factor(depth))
        return all_nodes(parts)

    def factor(self, depth: int) -> ExpressionNode:
        if depth > MAX_NESTING:
            self.fail(f"nested deeper than {MAX_NESTING}")
        token = self.peek
        if token == "NOT":
            self.at += 1
            return negate(self.factor(depth + 1))
        if token == "(":
            self.at += 1
            inner = self.alternatives(depth + 1)
            if self.peek != ")":
                self.fail("missing )")
            self.at += 1
            return inner
        if token is None or token == ")" or token in _OPERATORS:
            self.fail("expected a keyword" + ("" if token is None else f" before {token}"))
        position = self.tokens[self.at].position
        self.at += 1
        return self.keyword(token, position)
