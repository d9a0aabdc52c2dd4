"""Spark Connect is refused: a client there has no driver of its own, so it cannot commit batches or share a folder."""

from __future__ import annotations

from sightline.model.errors import BadConfig


def refuse_connect(given: object) -> None:
    """``BadConfig`` for a session or frame of Spark Connect; known by its module, so that pyspark is not imported."""
    kind = type(given)
    if kind.__module__.startswith("pyspark.sql.connect"):
        raise BadConfig(
            "Spark Connect cannot run the pipeline",
            value=f"{kind.__module__}.{kind.__qualname__}",
            allowed="a session with its driver in this process: master local[*], spark://..., yarn, k8s://...",
            hint="SparkSession.builder.master(...), with SPARK_REMOTE and SPARK_CONNECT_MODE_ENABLED unset",
        )
