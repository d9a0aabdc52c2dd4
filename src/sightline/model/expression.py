"""Keyword expressions: ``"flood (rescue OR boat) NOT drill"``, stored as a disjunction of conjunctions.

Adjacent keywords and Python lists are AND. Operators are upper case only; NOT binds before AND before OR. A keyword is
tokenised like text; several terms in it form one group, ``#x`` is the tag term alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from sightline.model.dnf import EVERYTHING, Dnf, ExpressionNode, all_nodes, any_nodes, dnf_of, term_node
from sightline.model.errors import BadExpression
from sightline.model.expression_syntax import GRAMMAR, lower_case_operators, parse_tree
from sightline.model.terms import keyword_terms
from sightline.model.text_config import TextConfig

Json = str | dict[str, list[str]]
_PLAIN = TextConfig()


@dataclass(frozen=True, eq=False)
class Expression:
    """A checked keyword expression. Equal when it means the same under the plain tokeniser.

    Parameters
    ----------
    mode : str
        ``"text"`` (parsed), ``"all_of"`` or ``"any_of"`` (items never parsed).
    items : tuple of str
        The one source string, or the keywords.
    grammar : int
        Version of the grammar that a source is read by.
    """

    mode: str
    items: tuple[str, ...]
    grammar: int = field(default=GRAMMAR, repr=False)
    _plain: Dnf = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_plain", _compile(self.mode, self.items, _PLAIN, self.grammar))

    def dnf(self, config: TextConfig = _PLAIN) -> Dnf:
        """Conjuncts of terms under a store's text options; a keyword of stop words only is an error there."""
        return self._plain if config == _PLAIN else _compile(self.mode, self.items, config, self.grammar)

    @property
    def doubts(self) -> tuple[str, ...]:
        """What was probably meant otherwise: one sentence each."""
        return _doubts(self.items[0]) if self.mode == "text" else ()

    def to_json(self) -> Json:
        """Source form: a string, or ``{"all_of": [...]}``, ``{"any_of": [...]}``."""
        return self.items[0] if self.mode == "text" else {self.mode: list(self.items)}

    def __eq__(self, other: object) -> bool:
        return self._plain == other._plain if isinstance(other, Expression) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._plain)

    def __str__(self) -> str:
        return self.items[0] if self.mode == "text" else f"{self.mode}({list(self.items)!r})"


def parse(source: str) -> Expression:
    """Read an expression; an empty one matches every object."""
    if not isinstance(source, str):
        raise BadExpression("keywords are not a string", value=source, allowed="str")
    return Expression("text", (source,))


def all_of(items: Iterable[str]) -> Expression:
    """AND of keywords that are never parsed; an empty list matches every object."""
    return Expression("all_of", _keywords(items, "all_of"))


def any_of(items: Iterable[str]) -> Expression:
    """OR of keywords that are never parsed."""
    return Expression("any_of", _keywords(items, "any_of"))


def as_expression(value: Expression | str | Iterable[str] | None) -> Expression:
    """What a query's ``keywords`` argument means: str is parsed, list and tuple are AND, None is everything."""
    if isinstance(value, Expression):
        return value
    if value is None or isinstance(value, str):
        return parse(value or "")
    if isinstance(value, list | tuple):
        return all_of(value)
    raise BadExpression("keywords of an unknown type", value=value, allowed="str, list of str, all_of(), any_of()")


def expression_from_json(stored: object, grammar: int = GRAMMAR) -> Expression:
    """Read the form of :meth:`Expression.to_json`; ``grammar`` is the one of the time when it was stored."""
    if isinstance(stored, dict) and len(stored) == 1:
        mode, items = next(iter(stored.items()))
        if mode in ("all_of", "any_of") and isinstance(items, list):
            return Expression(mode, _keywords(items, mode))
    if isinstance(stored, str):
        return Expression("text", (stored,), grammar)
    if stored is None or isinstance(stored, list):
        return as_expression(stored)
    allowed = '"words", ["word", ...], {"all_of": [...]}, {"any_of": [...]}'
    raise BadExpression("keywords are not an expression", value=stored, allowed=allowed)


def _keywords(items: Iterable[str], mode: str) -> tuple[str, ...]:
    if isinstance(items, str):
        raise BadExpression(f"{mode} of one string", value=items, allowed=f'{mode}(["flood", "rescue"])')
    keywords = tuple(items)
    for keyword in keywords:
        if not isinstance(keyword, str):
            raise BadExpression(f"an item of {mode} is not a string", value=keyword, allowed="str")
    return keywords


@lru_cache(maxsize=4096)
def _doubts(source: str) -> tuple[str, ...]:
    shown = source if len(source) <= 80 else source[:77] + "..."
    return tuple(
        f"lower-case {word!r} is a keyword, the operator is {word.upper()}: {shown!r}"
        for word in lower_case_operators(source)
    )


@lru_cache(maxsize=4096)
def _compile(mode: str, items: tuple[str, ...], config: TextConfig, grammar: int) -> Dnf:
    """The DNF of a source; cached, because standing queries repeat their keywords."""

    def keyword(source: str, position: int | None) -> ExpressionNode:
        terms = keyword_terms(source, config)
        if not terms:
            plain = config.is_plain or not keyword_terms(source)
            hint = "a keyword needs a letter or a digit" if plain else "it consists of stop words of this store"
            raise BadExpression("keyword without terms", position=position, value=source, hint=hint)
        return all_nodes([term_node(term) for term in terms])

    if mode == "text":
        if not items[0].strip():
            return EVERYTHING
        return dnf_of(parse_tree(items[0], keyword, grammar), items[0])
    if mode == "all_of":
        return dnf_of(all_nodes([keyword(item, None) for item in items]), list(items)) if items else EVERYTHING
    if not items:
        raise BadExpression("any_of of nothing", value=[], allowed="at least one keyword")
    return dnf_of(any_nodes([keyword(item, None) for item in items]), list(items))
