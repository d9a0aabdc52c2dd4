from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.model.errors import BadConfig, BadQuery
from sightline.model.time import MAX_US, MIN_US, format_instant, from_us, instant_us

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ZONES = st.integers(-1439, 1439).map(lambda m: timezone(timedelta(minutes=m)))


def test_no_zone_means_utc_and_offsets_count():
    assert instant_us("1970-01-01T00:00:01") == 1_000_000
    assert instant_us("1970-01-01") == 0
    assert instant_us("1970-01-01T02:00:00+02:00") == 0
    assert instant_us("1969-12-31T23:59:59.999999Z") == -1
    assert instant_us(datetime(1970, 1, 1, 0, 0, 1)) == 1_000_000  # noqa: DTZ001


def test_nanoseconds_are_dropped():
    assert instant_us("1970-01-01T00:00:00.123456789Z") == 123_456


@given(st.datetimes(timezones=ZONES, min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1)))  # noqa: DTZ001
def test_aware_datetimes_are_exact(moment):
    us = instant_us(moment)
    assert EPOCH + timedelta(microseconds=us) == moment
    assert from_us(us) == moment
    assert from_us(us).tzinfo is UTC
    assert instant_us(moment.isoformat()) == us
    assert instant_us(format_instant(moment)) == us


@pytest.mark.parametrize("bad", ["", "yesterday", "2024-13-01", None, 5, 1.5, True, date(2024, 1, 1),
                                 b"2024-01-01",
                                 "0001-01-01T00:00:00+02:00", "9999-12-31T23:59:59-02:00"])  # fmt: skip
def test_refuses_what_is_no_instant(bad):
    with pytest.raises(BadQuery, match="instant"):
        instant_us(bad)


def test_the_error_names_option_and_class():
    with pytest.raises(BadConfig, match=r"start is not an instant: 'soon'.*ISO 8601"):
        instant_us("soon", "start", error=BadConfig)


@pytest.mark.parametrize("us", [MIN_US, MAX_US])
def test_unbounded_has_no_datetime(us):
    with pytest.raises(BadQuery):
        from_us(us)
