"""The Spark session of the tests, shared with those of the pipeline."""

from __future__ import annotations

from tests.spark.conftest import spark

__all__ = ["spark"]
