"""Terms and keyword expressions of the oracle, by hand-worked examples of the definition."""

import pytest

from sightline.testing import matches, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", set()),
        ("Flood! Rescue, now", {"flood", "rescue", "now"}),
        ("#flood", {"flood", "#flood"}),
        ("##flood", {"flood", "#flood"}),
        ("a#b", {"a", "b", "#b"}),
        ("# flood @", {"flood"}),
        ("@x_1 it's", {"x_1", "@x_1", "it", "s"}),
        ("#東京", {"東", "京", "#東京"}),
        ("東京abc京", {"東", "京", "abc"}),
        ("#abc東d", {"abc", "東", "d", "#abc東d"}),
        ("ＦＬＯＯＤ ＃ｘ", {"flood", "x", "#x"}),  # NFKC first
        ("Straße ΟΔΟΣ", {"straße", "οδος"}),  # the final sigma of the whole string
        ("e\u0301t\u0327e\u0323\u0307", {"éţẹ\u0307"}),  # marks after a word character belong to it
        ("\u0301a", {"a"}),  # a mark after nothing separates
        ("カ\u3099か\u309a", {"ガ", "か\u309a"}),  # a mark stays with a character that stands alone
        ("½ ²x Ⅳ", {"1", "2", "2x", "iv"}),  # the fraction slash of ½ separates
        ("snake_case _", {"snake_case", "_"}),
        ("한국어 ไทย", {"한국어", "ไทย"}),
        ("〇々ー", {"〇", "々", "ー"}),
        ("😀flood😀", {"flood"}),
    ],
)
def test_terms(text: str, expected: set[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("keywords", "text", "expected"),
    [
        (None, "anything", True),
        ("", "", True),
        ([], "", True),
        ("flood rescue", "rescue the flood", True),
        ("flood rescue", "flood", False),
        ("flood AND (rescue OR boat)", "boat flood", True),
        ("flood AND rescue OR boat", "boat", True),  # AND binds first
        ("NOT flood OR boat", "flood boat", True),  # NOT binds first
        ("boat NOT flood", "flood boat", False),
        ("NOT NOT boat", "boat", True),
        ("boat and flood", "boat flood", False),  # lower case is a word
        (["AND", "OR"], "and or", True),
        ({"any_of": ["NOT", "x y"]}, "y x", True),
        ({"any_of": ["x y", "z"]}, "y", False),
        ({"all_of": ["#Flood"]}, "flood", False),
        ({"all_of": ["#Flood"]}, "#flood", True),
        ("NOT t-bone", "t", True),  # the group is negated, not its parts
        ("NOT t-bone", "bone t", False),
        ("東京", "京東", True),
    ],
)
def test_matches(keywords: object, text: str, expected: bool) -> None:
    assert matches(keywords, terms(text)) is expected  # type: ignore[arg-type]


@pytest.mark.parametrize("keywords", ["flood OR", "(flood", "flood)", "AND x", '"a b"', "x !!", ["?"]])
def test_malformed_expressions_do_not_pass_silently(keywords: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        matches(keywords, {"x", "flood"})  # type: ignore[arg-type]
