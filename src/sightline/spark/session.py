"""The Spark session: the caller's, or a local one made for the purpose."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from pathlib import Path

from pyspark.sql import SparkSession

from sightline.spark.connect import refuse_connect

LOGGING = Path(__file__).with_name("log4j2.properties")  # errors only; Spark's own default greets with warnings
ARROW_ROWS = 65_536  # Spark's default of 10,000 rows per Arrow batch costs a third of the throughput here
ARROW_BYTES = 256 << 20  # a packed exchange has few, large values: bound a batch in bytes as well


def local_session() -> SparkSession:
    """The active session of this process, or a new local one on all cores.

    A session made here stays for the life of the process: starting a JVM takes seconds, an idle one costs nothing.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        refuse_connect(active)
        return active
    interrupt = signal.getsignal(signal.SIGINT)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spark = (
            # As on a cluster, a task is tried four times: a Python worker that dies must not end the run.
            SparkSession.builder.master("local[*,4]")
            .appName("sightline")
            # Workers do not inherit a virtual environment by themselves.
            .config("spark.pyspark.python", sys.executable)
            .config("spark.pyspark.driver.python", sys.executable)
            .config("spark.sql.execution.arrow.maxRecordsPerBatch", ARROW_ROWS)
            .config("spark.sql.execution.arrow.maxBytesPerBatch", ARROW_BYTES)
            # The plan of a micro-batch is fixed: adaptive execution would only add a stage barrier and re-planning.
            .config("spark.sql.adaptive.enabled", "false")
            # Nothing leaves the machine: compressing the exchange would cost a tenth of the JVM's time.
            .config("spark.shuffle.compress", "false")
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.driver.memory", os.environ.get("SIGHTLINE_DRIVER_MEMORY", "4g"))
            .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={LOGGING.as_uri()}")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.streaming.numRecentProgressUpdates", "10")
            .getOrCreate()
        )
    spark.sparkContext.setLogLevel("ERROR")
    if threading.current_thread() is threading.main_thread():
        # PySpark's own handler cancels all jobs: the batch in flight would fail instead of being the last one.
        signal.signal(signal.SIGINT, interrupt)
    return spark
