"""Rows as they came: which become objects, and why the others do not."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sightline.model.space import Space
from sightline.model.time import FIRST_US, LAST_US
from sightline.stages.exchange.read import Clean, clean

OUTSIDE = "ts outside the years 1 to 9999"
FACTOR = {"s": 1_000_000, "ms": 1_000, "us": 1}


def cleaned(ts: pa.Array, reject_after_us: int | None = None) -> Clean:
    n = len(ts)
    columns = {"id": ["x"] * n, "lon": [0.0] * n, "lat": [0.0] * n, "ts": ts, "text": ["flood"] * n}
    return clean(pa.RecordBatch.from_pydict(columns), Space(), reject_after_us)


@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Tokyo"])
@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_years_one_to_9999_at_both_ends(unit: str, zone: str | None) -> None:
    first, last = -(-FIRST_US // FACTOR[unit]), LAST_US // FACTOR[unit]
    counts = [first, last, None, first - 1, last + 1, -(2**63), 2**63 - 1]
    ts = pa.array(counts, pa.timestamp(unit, tz=zone))
    for bound in (None, 0):
        found = cleaned(ts, bound)
        reasons = ["null ts"] + [OUTSIDE] * 4 if bound is None else ["future", "null ts"] + [OUTSIDE] * 4
        assert found.rejects["reason"].to_pylist() == reasons
        good = [first, last] if bound is None else [first]
        assert found.ts.tolist() == [count * FACTOR[unit] for count in good]
        found.objects.to_pylist()


def test_text_and_nanoseconds_cannot_leave_the_range_unseen() -> None:
    texts = ["0001-01-01T00:00Z", "9999-12-31T23:59:59.999999Z", "0001-01-01T00:00+14:00", "9999-12-31T23:59-01:00",
             "10000-01-01", "0000-01-01", None]  # fmt: skip
    found = cleaned(pa.array(texts))
    assert found.ts.tolist() == [FIRST_US, LAST_US]
    assert found.rejects["reason"].to_pylist() == [OUTSIDE, OUTSIDE, "undecodable ts", "undecodable ts", "null ts"]
    far = pa.array([-(2**63), 2**63 - 1, 1_999], pa.timestamp("ns"))
    assert cleaned(far).ts.tolist() == [-(2**63) // 1000, (2**63 - 1) // 1000, 1]
