"""Keyword expressions: meaning by truth table, errors by place."""

import itertools
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.model.dnf import EVERYTHING, Conjunct, Dnf
from sightline.model.errors import BadExpression
from sightline.model.expression import (
    Expression,
    all_of,
    any_of,
    as_expression,
    expression_from_json,
    parse,
)
from sightline.model.text_config import TextConfig

TERMS = ("a", "b", "c", "#d")


def holds(dnf: Dnf, present: set[str]) -> bool:
    return any(
        present.issuperset(conjunct.positive) and present.isdisjoint(conjunct.negative) for conjunct in dnf.conjuncts
    )


@st.composite
def sources(draw: st.DrawFn, depth: int = 3) -> tuple[str, str]:
    """An expression and the Python condition it must equal; fully or minimally parenthesised."""
    kind = draw(st.sampled_from(["term", "term", "group", "not", "and", "adjacent", "or"])) if depth else "term"
    if kind == "term":
        term = draw(st.sampled_from(TERMS))
        return draw(st.sampled_from([term, term.upper()])), f"({term!r} in has)"
    if kind == "group":
        first, second = draw(st.permutations(TERMS))[:2]
        return f"{first}/{second}", f"({first!r} in has and {second!r} in has)"
    left, left_means = draw(sources(depth - 1))
    if kind == "not":
        return f"NOT ({left})", f"(not {left_means})"
    right, right_means = draw(sources(depth - 1))
    if kind == "or":
        return f"{left} OR {right}" if depth == 3 else f"({left} OR {right})", f"({left_means} or {right_means})"
    operator = " AND " if kind == "and" else "  "
    return f"(({left}){operator}({right}))", f"({left_means} and {right_means})"


@given(sources())
def test_dnf_means_what_the_expression_says(case: tuple[str, str]) -> None:
    source, means = case
    condition = eval(f"lambda has: {means}")
    worlds = [set(world) for n in range(5) for world in itertools.combinations(TERMS, n)]
    try:
        dnf = parse(source).dnf()
    except BadExpression:
        # Refused: true without any positive term, or never true.
        assert condition(set()) or not any(condition(world) for world in worlds) or "no positive" in refusal(source)
        return
    assert [holds(dnf, world) for world in worlds] == [condition(world) for world in worlds]
    assert dnf.conjuncts == tuple(sorted(set(dnf.conjuncts)))
    assert all(conjunct.positive for conjunct in dnf.conjuncts)
    assert all(set(conjunct.positive).isdisjoint(conjunct.negative) for conjunct in dnf.conjuncts)


def refusal(source: str) -> str:
    with pytest.raises(BadExpression) as caught:
        parse(source)
    return str(caught.value)


@pytest.mark.parametrize(
    ("source", "conjuncts"),
    [
        ("flood rescue", [(("flood", "rescue"), ())]),
        ("a OR b c", [(("a",), ()), (("b", "c"), ())]),
        ("NOT a b", [(("b",), ("a",))]),
        ("c NOT a-b", [(("c",), ("a",)), (("c",), ("b",))]),
        ("NOT NOT a", [(("a",), ())]),
        ("NOT(NOT a OR b)", [(("a",), ("b",))]),
        ("and or not", [(("and", "not", "or"), ())]),
        ("And OR Or", [(("and",), ()), (("or",), ())]),
        ("#Flood", [(("#flood",), ())]),
        ("#東京 東京", [(("#東京", "京", "東"), ())]),
        ("a OR a b", [(("a",), ())]),
        ("(a OR b) NOT a", [(("b",), ("a",))]),
        ("don't", [(("don", "t"), ())]),
        ("", [((), ())]),
        (" \t\n", [((), ())]),
    ],
)
def test_parse(source: str, conjuncts: list[tuple[tuple[str, ...], tuple[str, ...]]]) -> None:
    assert parse(source).dnf().conjuncts == tuple(Conjunct(*conjunct) for conjunct in conjuncts)


@pytest.mark.parametrize(
    ("source", "position", "says"),
    [
        ("flood &", 6, "without terms"),
        ("a AND", 5, "expected a keyword"),
        ("AND a", 0, "before AND"),
        ("a OR OR b", 5, "before OR"),
        ("a AND AND b", 6, "before AND"),
        ("a NOT", 5, "expected a keyword"),
        ("(a", 2, "missing )"),
        ("a)", 1, "unexpected )"),
        ("a ()", 3, "before )"),
        ('a "b c"', 2, "quoted phrases"),
        ("a “b c”", 2, "quoted phrases"),
        ("NOT a", None, "no positive term"),
        ("a OR NOT b", None, "no positive term"),
        ("x AND NOT x", None, "never match"),
        ("(" * 100 + "a" + ")" * 100, 65, "nested deeper"),
        ("NOT " * 100 + "a", 260, "nested deeper"),
    ],
)
def test_errors_with_their_place(source: str, position: int | None, says: str) -> None:
    with pytest.raises(BadExpression, match=says.replace(")", r"\)")) as caught:
        parse(source)
    assert caught.value.position == position
    assert position is None or f"position {position}" in str(caught.value)


def test_items_are_never_parsed() -> None:
    assert all_of(["a OR b", '"c d"']).dnf().conjuncts == (Conjunct(("a", "b", "c", "d", "or"), ()),)
    assert any_of(["NOT a", "b"]).dnf().conjuncts == (Conjunct(("a", "not"), ()), Conjunct(("b",), ()))
    assert as_expression(["#x", "y z"]) == all_of(["#x", "y z"]) == parse("#x y z")


@pytest.mark.parametrize("bad", [7, {"a"}, ["a", 1], ["a", ""], [" "], b"a", object()])
def test_bad_keywords(bad: object) -> None:
    with pytest.raises(BadExpression):
        as_expression(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("stored", [3, {"all_of": "a"}, {"none_of": ["a"]}, {"all_of": ["a"], "any_of": ["b"]}, {}])
def test_bad_json(stored: object) -> None:
    with pytest.raises(BadExpression):
        expression_from_json(stored)


def test_empty_any_of_is_an_error_and_empty_all_of_everything() -> None:
    with pytest.raises(BadExpression, match="any_of"):
        any_of([])
    with pytest.raises(BadExpression, match="one string"):
        all_of("flood")
    for nothing in (None, "", [], ()):
        assert as_expression(nothing).dnf() == EVERYTHING
    assert parse("a").dnf() != EVERYTHING


def test_at_most_256_conjuncts() -> None:
    words = [f"w{i}" for i in range(257)]
    assert len(any_of(words[:256]).dnf().conjuncts) == 256
    assert len(any_of([*words[:256], "W1", "w2"]).dnf().conjuncts) == 256
    product = " ".join(f"(a{i} OR b{i})" for i in range(9))
    blow_up = " ".join(f"(a{i} OR b{i} OR c{i} OR d{i})" for i in range(200))
    for source in (any_of, parse):
        with pytest.raises(BadExpression, match="256"):
            source(words if source is any_of else product)  # type: ignore[operator]
    with pytest.raises(BadExpression, match="256"):
        parse(blow_up)


@given(st.one_of(st.text("ab #", max_size=6).map(lambda s: f"x {s}" if s.strip(" #") else "x"),
                 st.lists(st.sampled_from(["a", "B c", "#d"]), min_size=1).flatmap(
                     lambda items: st.sampled_from([{"all_of": items}, {"any_of": items}]))))  # fmt: skip
def test_json_round_trip(stored: object) -> None:
    try:
        expression = expression_from_json(stored)
    except BadExpression:
        return
    again = expression_from_json(json.loads(json.dumps(expression.to_json())))
    assert again == expression
    assert again.to_json() == expression.to_json() == stored
    assert hash(again) == hash(expression)


def test_equality_is_by_meaning() -> None:
    assert parse("a b") == parse("B AND a") == all_of(["b", "a"])
    assert parse("a") != parse("b")
    assert parse("a") != "a"
    assert len({parse("a b"), parse("b a"), Expression("all_of", ("a b",))}) == 1


def test_text_options_apply_to_keywords() -> None:
    config = TextConfig(stop_words=("the",), stemmer="english")
    assert parse("floods NOT #floods").dnf(config).conjuncts == (Conjunct(("flood",), ("#floods",)),)
    assert all_of(["the floods"]).dnf(config).conjuncts == (Conjunct(("flood",), ()),)
    with pytest.raises(BadExpression, match="stop words") as caught:
        parse("floods the").dnf(config)
    assert caught.value.position == 7
    with pytest.raises(BadExpression, match="never match"):
        parse("flood NOT floods").dnf(config)


@pytest.mark.parametrize(
    ("source", "position", "says"),
    [
        ("flood brand*", 11, "prefixes are not supported yet"),
        ("*brand", 0, "prefixes"),
        ("brand~", 5, "similar words"),
        ("flood^2", 5, "no weights"),
        ("flood -drill", 6, "NOT flood"),
        ("(!drill)", 1, "NOT flood"),
        ("+flood", 0, "leave the \\+ out"),
        ("a|b", 1, "write flood OR boat"),
        ("a || b", 2, "write flood OR boat"),
    ],
)
def test_syntax_of_other_engines_is_refused_with_its_place(source: str, position: int, says: str) -> None:
    with pytest.raises(BadExpression, match=says) as caught:
        parse(source)
    assert caught.value.position == position
    if "||" not in source:
        assert expression_from_json(source, 1).dnf() == parse(re.sub(r"[*~^|!+]|-(?=\w)", " ", source)).dnf()
    assert all_of(["brand*"]) == all_of(["brand"])


@pytest.mark.parametrize("source", ["a-b", "AT&T", "c++", "why?", "wow!", "#flood", "@ann", "3.5", "don't"])
def test_signs_inside_and_after_words_are_fine(source: str) -> None:
    assert parse(source) == expression_from_json(source, 1)


@pytest.mark.parametrize(
    ("source", "words"),
    [("flood or boat", ["or"]), ("a and b not c", ["and", "not"]), ("or flood", []), ("rock and", []), ("flood", []),
     ("flood OR boat", [])],
)  # fmt: skip
def test_lower_case_operators_are_doubted(source: str, words: list[str]) -> None:
    assert [doubt.split("'")[1] for doubt in parse(source).doubts] == words
    assert all_of(source.split()).doubts == ()
