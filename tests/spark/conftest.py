"""One Spark session for every test that needs one: starting a JVM takes longer than most of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sightline.spark.session import local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A JVM that lives for a minute never earns back what its second compiler costs (measured: a third of the time).
QUICK_JVM = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


@pytest.fixture(scope="session")
def spark() -> SparkSession:
    """The session an engine would start by itself; it stays for whoever comes next in this process."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in QUICK_JVM.items():
            patch.setenv(name, value)
        return local_session()
