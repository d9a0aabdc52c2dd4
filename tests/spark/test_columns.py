"""The canonical columns of a frame: left alone where they are there already, made where they are not."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from sightline.model.errors import BadSource
from sightline.spark.columns import canonical

pytestmark = pytest.mark.spark
CANONICAL = "id string, lon double, lat double, ts timestamp, text string"


@pytest.mark.parametrize("extra", ["", ", kind string, geometry binary"])
@pytest.mark.parametrize("ts", ["timestamp", "timestamp_ntz", "string"])
def test_a_canonical_frame_is_left_as_it_is(spark: SparkSession, extra: str, ts: str) -> None:
    frame = spark.createDataFrame([], CANONICAL.replace("timestamp", ts) + extra)
    assert canonical(frame, None) is frame


@pytest.mark.parametrize(
    "schema",
    [
        "lon double, id string, lat double, ts timestamp, text string, kind int",
        "id string, lon float, lat double, ts timestamp, text string, kind int",
        "id string, lon double, lat decimal(9, 6), ts timestamp, text string, kind int",
        "kind int, id string, lon double, lat double, ts timestamp, text string",
    ],
)
def test_others_are_put_in_order_and_cast(spark: SparkSession, schema: str) -> None:
    types = dict(canonical(spark.createDataFrame([], schema), None).dtypes)
    assert list(types) == ["id", "lon", "lat", "ts", "text", "kind"]
    assert (types["lon"], types["lat"], types["kind"]) == ("double", "double", "int")


@pytest.mark.parametrize("schema", [f"{CANONICAL}, _corrupt string", f"{CANONICAL}, _geometry binary",
                                    CANONICAL.replace("id string", "id int")])  # fmt: skip
def test_a_frame_that_looks_canonical_is_checked_all_the_same(spark: SparkSession, schema: str) -> None:
    with pytest.raises(BadSource):
        canonical(spark.createDataFrame([], schema), None)
