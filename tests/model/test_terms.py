"""The reference tokeniser against cases worked by hand from the semantics, and its tables against Python's own."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.model import _unicode14 as unicode14
from sightline.model._unicode14_build import build
from sightline.model.errors import BadConfig
from sightline.model.terms import keyword_terms, terms_of, word_count
from sightline.model.text_config import TextConfig

on_unicode_14 = pytest.mark.skipif(
    unicodedata.unidata_version != unicode14.UNICODE_VERSION, reason="compares with the interpreter's own Unicode 14"
)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", {}),
        ("Flood, FLOOD flood_2!", {"flood": 2, "flood_2": 1}),
        ("don't", {"don": 1, "t": 1}),
        ("#flood @Bob", {"flood": 1, "#flood": 0, "bob": 1, "@bob": 0}),
        ("#東京", {"東": 1, "京": 1, "#東京": 0}),
        ("ab東京cd", {"ab": 1, "東": 1, "京": 1, "cd": 1}),
        ("#東abc", {"東": 1, "abc": 1, "#東abc": 0}),
        ("##x a#b #_ # c #-d", {"x": 1, "#x": 0, "a": 1, "b": 1, "#b": 0, "_": 1, "#_": 0, "c": 1, "d": 1}),
        ("カﾞ", {"ガ": 1}),
        ("東\u0301京", {"東\u0301": 1, "京": 1}),
        ("\u0301a\u0301\u0321 \u0301", {"\u00e1\u0321": 1}),
        ("#\u0301a", {"a": 1}),
        ("ＦＬＯＯＤ ＃ｘ", {"flood": 1, "x": 1, "#x": 0}),
        ("ΟΔΟΣ ΟΔΟΣ. Σ ΑΣΑ", {"οδος": 2, "σ": 1, "ασα": 1}),
        ("İstanbul", {"i\u0307stanbul": 1}),
        ("½ x² ①", {"1": 2, "2": 1, "x2": 1}),
        ("a\u200bb", {"a": 1, "b": 1}),
        ("한국어 สวัสดี हिन्दी", {"한국어": 1, "สวัสดี": 1, "हिन्दी": 1}),
        ("々〆〇・ー", {"々": 1, "〆": 1, "〇": 1, "ー": 1}),
        ("𠀀x", {"𠀀": 1, "x": 1}),
        ("\ud800a\udfff", {"a": 1}),
    ],
)
def test_terms(text: str, terms: dict[str, int]) -> None:
    assert terms_of(text) == terms
    assert word_count(text) == sum(terms.values())


def test_keyword_of_a_tag_means_the_tag_alone() -> None:
    assert keyword_terms("#Flood") == ("#flood",)
    assert keyword_terms("a#東京 b a") == ("a", "#東京", "b")


def test_stop_words_then_stems_never_on_tags() -> None:
    config = TextConfig(stop_words=("The", "running"), stemmer="english")
    text = "The floods flooding running runs #the #floods"
    assert terms_of(text, config) == {"flood": 3, "run": 1, "#the": 0, "#floods": 0}
    assert keyword_terms("the #floods Floods", config) == ("#floods", "flood")
    assert TextConfig.from_dict(config.to_dict()) == config


@pytest.mark.parametrize(
    "options",
    [{"stop_words": "the"}, {"stop_words": ("a b",)}, {"stop_words": ("#a",)}, {"stop_words": ("",)},
     {"stemmer": "klingon"}, {"unicode": "15.0.0"}],
)  # fmt: skip
def test_bad_options(options: dict[str, object]) -> None:
    with pytest.raises(BadConfig):
        TextConfig(**options)  # type: ignore[arg-type]


@on_unicode_14
def test_shipped_tables_are_those_of_unicode_14() -> None:
    built, shipped = build(), unicode14.tables()._asdict()
    assert built.keys() == shipped.keys()
    for name, column in shipped.items():
        np.testing.assert_array_equal(column, built[name])


@on_unicode_14
@given(st.text(st.one_of(st.characters(), st.sampled_from("ΣσAa'.\u0301\u02b0 İ\u0378\U0010ffff"))))
def test_own_normalisation_is_pythons(text: str) -> None:
    """What newer Pythons run, checked where Python's own functions are the truth."""
    own = unicode14.normalise(text, runtime_is_14=False)
    assert own == unicode14.normalise(unicode14.replace_unassigned(text), runtime_is_14=True)


def test_unassigned_characters_separate() -> None:
    assert unicode14.replace_unassigned("a\u0378b\U0010ffffc") == "a b c"
    assert unicode14.normalise("A\u0378ΑΣ", runtime_is_14=False) == "a ας"


marks = st.text(st.sampled_from("a\u0301\u0323\u0344\u05b0\u05b4\u0e38\u3099é한Σ"), max_size=30)


@given(marks)
def test_sorting_marks_first_does_not_change_what_normalising_gives(text: str) -> None:
    assert unicodedata.normalize("NFKC", unicode14.sort_marks(text)) == unicodedata.normalize("NFKC", text)


def test_a_long_row_of_marks_is_read_like_a_short_one() -> None:
    """Quadratic time would make this a matter of minutes."""
    count = 200_000
    found = terms_of("a" + "\u0301\u0323" * count + " b")
    # Marks below (class 220) come before marks above (230); the first of them composes with the letter.
    assert found == {"ạ" + "\u0323" * (count - 1) + "\u0301" * count: 1, "b": 1}
