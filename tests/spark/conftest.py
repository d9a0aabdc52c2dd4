"""One Spark session for every test of this folder: starting a JVM takes longer than most of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sightline.spark.session import local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> SparkSession:
    """The session an engine would start by itself; it stays for whoever comes next in this process."""
    return local_session()
