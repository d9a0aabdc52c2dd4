"""Streaming sources by name, and how often their runs are looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SYNTHETIC = "sightline-synthetic"
LOOK = 0.25  # seconds between two looks at a run


def open_stream(engine: Any, format: str, options: Mapping[str, str]) -> Any:
    """A streaming DataFrame of the engine's Spark session."""
    session = engine.spark
    if format == SYNTHETIC:
        from sightline.spark.synthetic import register  # commands that only read need no pyspark

        register(session)
    return session.readStream.format(format).options(**options).load()
