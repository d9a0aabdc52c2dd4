from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.model.durations import MAX_DURATION_US, UNITS_US, duration_us, format_duration
from sightline.model.errors import BadConfig, BadQuery


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("72h", 72 * 3_600_000_000),
        ("10min", 600_000_000),
        ("7d", 7 * 86_400_000_000),
        ("2w", 14 * 86_400_000_000),
        ("500ms", 500_000),
        ("1.5h", 5_400_000_000),
        ("1h30min", 5_400_000_000),
        (" 1 h 30 min ", 5_400_000_000),
        ("0.000001s", 1),
        ("7us", 7),
        ("7µs", 7),
        (timedelta(hours=72), 72 * 3_600_000_000),
        (timedelta(microseconds=1), 1),
    ],
)
def test_reads_what_users_write(text, us):
    assert duration_us(text) == us


@pytest.mark.parametrize(
    "bad",
    ["3 parsecs", "", "  ", "h", "5", "-5h", "5 m", "1h2h", "1h,30min", "1e3s", "0s", "0.5us", "٣h", "1.h",
    ".5h",
     None, 5, 5.0, True, b"1h", timedelta(0), timedelta(seconds=-1), "99999999999w"],
)  # fmt: skip
def test_refuses_the_rest(bad):
    with pytest.raises(BadQuery):
        duration_us(bad)


def test_the_message_names_option_value_and_units():
    with pytest.raises(BadQuery, match=r"last .*'parsecs'.*'3 parsecs'.*min"):
        duration_us("3 parsecs", "last")
    with pytest.raises(BadQuery, match="'min' for minutes"):
        duration_us("5m")
    with pytest.raises(BadConfig, match="lateness"):
        duration_us("nonsense", "lateness", error=BadConfig)


def test_zero_only_where_allowed():
    assert duration_us("0s", allow_zero=True) == 0
    assert duration_us(timedelta(0), allow_zero=True) == 0
    with pytest.raises(BadQuery):
        duration_us(timedelta(seconds=-1), allow_zero=True)


@given(st.integers(0, MAX_DURATION_US))
def test_format_round_trips(us):
    assert duration_us(format_duration(us), allow_zero=True) == us


@given(st.integers(0, 10**6), st.integers(0, 999), st.sampled_from(["w", "d", "h", "min", "s", "ms"]))
def test_decimals_are_exact(whole, thousandths, unit):
    expected = (whole * 1000 + thousandths) * UNITS_US[unit] // 1000
    assert duration_us(f"{whole}.{thousandths:03d}{unit}", allow_zero=True) == expected


def test_format_is_readable():
    assert format_duration(0) == "0s"
    assert format_duration(259_200_000_000) == "3d"
    assert format_duration(5_400_000_001) == "1h30min1us"
    with pytest.raises(BadQuery):
        format_duration(-1)
