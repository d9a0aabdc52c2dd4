"""The generator as a Spark source: ``spark.readStream.format("sightline-synthetic")``.

An offset is a row number, and a row depends on its number and the seed alone, so a re-run of a batch reads the same
rows. Options (names in any case):

=================  ==========  ==============================================================================
``seed``           0           chooses the stream
``rowsPerSecond``  0           pace by the wall clock; 0 = as fast as batches go
``rowsPerBatch``   100000      most rows of one micro-batch
``rows``           0           end of the stream; 0 = endless (a batch read needs it)
``partitions``     2           tasks per micro-batch
``perSecond``      1000        posts per second of *event* time
``start``                      event time of row 0, ISO, UTC unless it has a zone
``locations``      cities      ``cities``, ``uniform`` or ``gaussian``; ``sigma`` in degrees for the last
``languages``      all         codes with commas
``lateRate``       0           share of late posts; ``lateBy`` is their mean delay (``10min``)
``malformedRate``  0           share of broken rows
``burstRate``      0.05        share of posts in bursts
=================  ==========  ==============================================================================
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from sightline.generate.posts import PostGenerator
from sightline.model.errors import BadConfig

SOURCE_FORMAT = "sightline-synthetic"
SOURCE_COLUMNS = "id string, lon double, lat double, ts timestamp, text string, lang string"
SLICE = 65_536  # rows of one Arrow batch

T = TypeVar("T")


def register(spark: SparkSession) -> None:
    """Make the format known to a session; the clones that Spark makes for streams know it, and keep theirs."""
    try:
        spark.dataSource.register(SyntheticSource)
    except AnalysisException as error:
        if "DATA_SOURCE_ALREADY_EXISTS" not in str(error):
            raise


@dataclass(frozen=True)
class Options:
    """What was asked for, checked; hashable so that a worker keeps one generator for each."""

    generator: tuple[tuple[str, Any], ...]
    rows_per_second: float
    rows_per_batch: int
    rows: int
    partitions: int

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> Options:
        """Read option strings; an unknown or unreadable one is a ``BadConfig``."""
        left = {name.lower(): value for name, value in given.items()}
        generator: dict[str, Any] = {}
        for option, name, read in _GENERATOR_OPTIONS:
            if option.lower() in left:
                generator[name] = _read(option, left.pop(option.lower()), read)
        own: dict[str, Any] = {
            "rows_per_second": _read("rowsPerSecond", left.pop("rowspersecond", "0"), float),
            "rows_per_batch": _read("rowsPerBatch", left.pop("rowsperbatch", "100000"), int),
            "rows": _read("rows", left.pop("rows", "0"), int),
            "partitions": _read("partitions", left.pop("partitions", "2"), int),
        }
        if left:
            known = [option for option, _, _ in _GENERATOR_OPTIONS]
            known += ["rowsPerSecond", "rowsPerBatch", "rows", "partitions"]
            raise BadConfig("unknown option of the synthetic source", value=sorted(left), allowed=", ".join(known))
        for name, least in (("rows_per_second", 0), ("rows_per_batch", 1), ("rows", 0), ("partitions", 1)):
            if own[name] < least:
                raise BadConfig(f"{name} is too small", value=own[name], allowed=f"{least} or more")
        return cls(tuple(sorted(generator.items())), **own)


def _instant(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _codes(text: str) -> tuple[str, ...]:
    return tuple(code.strip() for code in text.split(",") if code.strip())


_GENERATOR_OPTIONS: tuple[tuple[str, str, Callable[[str], Any]], ...] = (
    ("seed", "seed", int),
    ("perSecond", "per_second", float),
    ("start", "start", _instant),
    ("locations", "locations", str),
    ("sigma", "sigma", float),
    ("languages", "languages", _codes),
    ("lateRate", "late_rate", float),
    ("lateBy", "late_by", str),
    ("malformedRate", "malformed_rate", float),
    ("burstRate", "burst_rate", float),
)


def _read(name: str, text: str, read: Callable[[str], T]) -> T:
    try:
        return read(text)
    except ValueError as error:
        raise BadConfig(f"option {name} of the synthetic source cannot be read", value=text) from error


@lru_cache(maxsize=4)
def _generator(arguments: tuple[tuple[str, Any], ...]) -> PostGenerator:
    """One generator per worker process and set of options: building one takes a second or two."""
    return PostGenerator(**dict(arguments))


class RowRange(InputPartition):
    """Rows ``first`` to ``last`` (exclusive)."""

    def __init__(self, first: int, last: int) -> None:
        super().__init__((first, last))
        self.first, self.last = first, last


def cut(first: int, last: int, parts: int) -> list[RowRange]:
    """Cut a range of rows into at most ``parts`` even pieces."""
    edges = [first + (last - first) * part // parts for part in range(parts + 1)]
    return [RowRange(low, high) for low, high in pairwise(edges) if low < high]


def _batches(options: Options, rows: RowRange) -> Iterator[pa.RecordBatch]:
    generator = _generator(options.generator)
    for first in range(rows.first, rows.last, SLICE):
        table = generator.table(min(SLICE, rows.last - first), first)
        yield from table.combine_chunks().to_batches()


class SyntheticSource(DataSource):
    """Entry point that Spark looks up by ``name``."""

    @classmethod
    def name(cls) -> str:
        """Name of the format."""
        return SOURCE_FORMAT

    def schema(self) -> str:
        """Columns of :data:`sightline.generate.posts.SCHEMA`."""
        return SOURCE_COLUMNS

    def reader(self, schema: StructType) -> DataSourceReader:
        """Batch read of rows 0 to ``rows``."""
        return SyntheticReader(Options.parse(self.options))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Endless stream, or one that ends at ``rows``."""
        return SyntheticStream(Options.parse(self.options))


class SyntheticReader(DataSourceReader):
    """Rows 0 to ``rows`` at once."""

    def __init__(self, options: Options) -> None:
        if options.rows == 0:
            raise BadConfig("a batch read of the synthetic source needs an end", hint='.option("rows", 100000)')
        self.options = options

    def partitions(self) -> Sequence[InputPartition]:
        """Even pieces."""
        return cut(0, self.options.rows, self.options.partitions)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Arrow batches of one piece."""
        assert isinstance(partition, RowRange)
        return _batches(self.options, partition)


class SyntheticStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Micro-batches of rows, paced by the wall clock or as fast as they are taken."""

    def __init__(self, options: Options, clock: Callable[[], float] = time.monotonic) -> None:
        self.options, self.clock = options, clock
        self._began: tuple[float, int] | None = None
        self._stop_after_first = False
        self._target: int | None = None

    def initialOffset(self) -> dict[str, int]:
        """Row 0."""
        return {"row": 0}

    def getDefaultReadLimit(self) -> ReadLimit:
        """At most ``rowsPerBatch``."""
        return ReadMaxRows(self.options.rows_per_batch)

    def prepareForTriggerAvailableNow(self) -> None:
        """What is available now: everything up to ``rows``, or one batch of an endless stream."""
        self._stop_after_first = True

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        """The row the next batch ends before."""
        row = start["row"]
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else self.options.rows_per_batch
        if isinstance(limit, ReadAllAvailable) and self.options.rows:
            most = self.options.rows
        end = row + most
        if self._stop_after_first:
            if self._target is None:
                self._target = self.options.rows or end
            end = min(end, max(row, self._target))
        elif self.options.rows_per_second > 0:
            # The pace starts with the first call of this process: a restart does not have to catch up the pause.
            if self._began is None:
                self._began = (self.clock(), row)
            began, first = self._began
            due = first + int((self.clock() - began) * self.options.rows_per_second)
            end = min(end, max(row, due))
        if self.options.rows:
            end = min(end, max(row, self.options.rows))
        return {"row": end}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """Even pieces of the batch."""
        return cut(start["row"], end["row"], self.options.partitions)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Arrow batches of one piece."""
        assert isinstance(partition, RowRange)
        return _batches(self.options, partition)
