"""The synthetic source through Spark, and its offsets without it."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from sightline.generate import PostGenerator
from sightline.model.errors import BadConfig
from sightline.spark.synthetic import SOURCE_FORMAT, Options, SyntheticStream, cut, register


class Clock:
    """Time that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def stream(clock: Clock | None = None, **options: str) -> SyntheticStream:
    return SyntheticStream(Options.parse(options), clock or Clock())


def test_options_are_read_in_any_case() -> None:
    options = Options.parse({"ROWSPERBATCH": "5", "seed": "3", "languages": "en, de", "start": "2024-05-01"})
    assert options.rows_per_batch == 5
    assert dict(options.generator)["languages"] == ("en", "de")
    assert dict(options.generator)["start"].isoformat() == "2024-05-01T00:00:00+00:00"


@pytest.mark.parametrize("options", [{"speed": "3"}, {"rows": "many"}, {"partitions": "0"}, {"rows": "-1"}])
def test_bad_options_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(BadConfig):
        Options.parse(options)


def test_full_speed_takes_a_whole_batch_each_time() -> None:
    reader = stream(rowsPerBatch="10")
    assert reader.initialOffset() == {"row": 0}
    assert reader.latestOffset({"row": 0}, ReadMaxRows(10)) == {"row": 10}
    assert reader.latestOffset({"row": 10}, ReadMaxRows(10)) == {"row": 20}


def test_pace_follows_the_clock_from_where_the_process_began() -> None:
    clock = Clock()
    reader = stream(clock, rowsPerBatch="1000", rowsPerSecond="50")
    assert reader.latestOffset({"row": 700}, ReadMaxRows(1000)) == {"row": 700}
    clock.now += 2
    assert reader.latestOffset({"row": 700}, ReadMaxRows(1000)) == {"row": 800}
    clock.now += 1000
    assert reader.latestOffset({"row": 800}, ReadMaxRows(1000)) == {"row": 1800}  # a batch has its bound


def test_the_stream_ends_at_rows() -> None:
    reader = stream(rowsPerBatch="10", rows="25")
    assert reader.latestOffset({"row": 20}, ReadMaxRows(10)) == {"row": 25}
    assert reader.latestOffset({"row": 25}, ReadMaxRows(10)) == {"row": 25}
    assert reader.latestOffset({"row": 0}, ReadAllAvailable()) == {"row": 25}


def test_available_now_stops() -> None:
    endless = stream(rowsPerBatch="10")
    endless.prepareForTriggerAvailableNow()
    assert endless.latestOffset({"row": 30}, ReadMaxRows(10)) == {"row": 40}
    assert endless.latestOffset({"row": 40}, ReadMaxRows(10)) == {"row": 40}


def test_cut_covers_every_row_once() -> None:
    for first, last, parts in [(0, 10, 3), (5, 7, 4), (8, 8, 2), (100, 1_000_003, 7)]:
        pieces = cut(first, last, parts)
        assert [row.first for row in pieces] == [first, *(row.last for row in pieces[:-1])][: len(pieces)]
        assert sum(row.last - row.first for row in pieces) == last - first
        assert len(pieces) <= parts


@pytest.fixture(scope="module")
def synthetic(spark: SparkSession) -> SparkSession:
    """The session, knowing the format."""
    register(spark)
    return spark


@pytest.mark.spark
def test_rows_through_spark_equal_the_generator(synthetic: SparkSession) -> None:
    read = synthetic.read.format(SOURCE_FORMAT).option("rows", 700).option("seed", 5).option("partitions", 2)
    got = read.option("languages", "en").load().toArrow().sort_by("id")
    want = PostGenerator(5, languages=("en",)).table(700).sort_by("id")
    assert got["ts"].cast(want.schema.field("ts").type).equals(want["ts"])
    assert got.drop_columns("ts").equals(want.drop_columns("ts").cast(got.drop_columns("ts").schema))


@pytest.mark.spark
def test_a_stream_reads_every_row_once_and_goes_on_after_a_restart(synthetic: SparkSession, tmp_path: Path) -> None:
    seen: list[tuple[int, list[str]]] = []

    def run(rows: int) -> None:
        source = synthetic.readStream.format(SOURCE_FORMAT).option("languages", "en").option("seed", 5)
        source = source.option("rowsPerBatch", 400).option("partitions", 1)
        query = (
            source.option("rows", rows)
            .load()
            .select("id")
            .writeStream.foreachBatch(lambda df, number: seen.append((number, [row.id for row in df.collect()])))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(300)

    run(500)
    run(600)
    ids = [one for _, batch in seen for one in batch]
    assert sorted(ids, key=lambda one: int(one.split("-")[1])) == [f"5-{row}" for row in range(600)]
    assert [len(batch) for _, batch in seen] == [400, 100, 100]
