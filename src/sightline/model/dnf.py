"""Disjunctive normal form of keyword expressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sightline.model.errors import BadExpression

MAX_CONJUNCTS = 256
# An intermediate form may be larger than the final one (contradictions, absorption); this bounds the work.
_MAX_WORKING = 4096


class Conjunct(NamedTuple):
    """All of ``positive`` and none of ``negative``; both sorted."""

    positive: tuple[str, ...]
    negative: tuple[str, ...]


@dataclass(frozen=True)
class Dnf:
    """Conjuncts, at least one of which must hold; sorted, distinct, none implied by another."""

    conjuncts: tuple[Conjunct, ...]


EVERYTHING = Dnf((Conjunct((), ()),))


class ExpressionNode(NamedTuple):
    """An expression tree: ``term`` (with ``negated``), or ``and`` / ``or`` over children."""

    kind: str
    term: str = ""
    negated: bool = False
    children: tuple[ExpressionNode, ...] = ()


def term_node(term: str) -> ExpressionNode:
    """The leaf of one term."""
    return ExpressionNode("term", term)


def all_nodes(children: Sequence[ExpressionNode]) -> ExpressionNode:
    """AND."""
    return children[0] if len(children) == 1 else ExpressionNode("and", children=tuple(children))


def any_nodes(children: Sequence[ExpressionNode]) -> ExpressionNode:
    """OR."""
    return children[0] if len(children) == 1 else ExpressionNode("or", children=tuple(children))


def negate(node: ExpressionNode) -> ExpressionNode:
    """NOT, pushed down to the terms."""
    if node.kind == "term":
        return node._replace(negated=not node.negated)
    other = "or" if node.kind == "and" else "and"
    return ExpressionNode(other, children=tuple(negate(child) for child in node.children))


# One literal is (term, negated); a working conjunct is a set of them.
_Literals = frozenset[tuple[str, bool]]


def dnf_of(tree: ExpressionNode, source: object) -> Dnf:
    """Expand a tree and check the result.

    Raises
    ------
    BadExpression
        Nothing left after dropping contradictions, a conjunct without a positive term, or more than 256 conjuncts.
    """
    conjuncts = _expand(tree, source)
    if not conjuncts:
        hint = "a term is required and excluded at once"
        raise BadExpression("expression can never match", value=source, hint=hint)
    for literals in conjuncts:
        if all(negated for _, negated in literals):
            excluded = " ".join(f"NOT {term}" for term, _ in sorted(literals))
            raise BadExpression(
                f"no positive term in {excluded!r}", value=source,
                allowed="each alternative needs a keyword without NOT",
            )  # fmt: skip
    if len(conjuncts) > MAX_CONJUNCTS:
        raise _too_many(source)
    return Dnf(tuple(sorted(
        Conjunct(
            tuple(sorted(term for term, negated in literals if not negated)),
            tuple(sorted(term for term, negated in literals if negated)),
        )
        for literals in conjuncts
    )))  # fmt: skip


def _expand(node: ExpressionNode, source: object) -> set[_Literals]:
    if node.kind == "term":
        return {frozenset([(node.term, node.negated)])}
    parts = [_expand(child, source) for child in node.children]
    if node.kind == "or":
        return _absorb(set().union(*parts), source)
    product: set[_Literals] = {frozenset()}
    for part in parts:
        if len(product) * len(part) > _MAX_WORKING * 16:
            raise _too_many(source)
        joined = {left | right for left in product for right in part}
        product = _absorb({one for one in joined if not _contradicts(one)}, source)
    return product


def _contradicts(literals: _Literals) -> bool:
    return any((term, True) in literals for term, negated in literals if not negated)


def _absorb(conjuncts: set[_Literals], source: object) -> set[_Literals]:
    """Drop every conjunct that contains another: ``a OR (a AND b)`` is ``a``."""
    if len(conjuncts) > _MAX_WORKING:
        raise _too_many(source)
    sizes = {len(one) for one in conjuncts}
    if len(sizes) < 2:
        return conjuncts
    kept: list[_Literals] = []
    for one in sorted(conjuncts, key=len):
        if not any(small <= one for small in kept):
            kept.append(one)
    return set(kept)


def _too_many(source: object) -> BadExpression:
    return BadExpression(
        "expression has too many alternatives",
        value=source,
        allowed=f"at most {MAX_CONJUNCTS} conjuncts after expansion",
        hint="split it into several queries",
    )
