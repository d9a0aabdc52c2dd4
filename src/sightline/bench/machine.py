"""What a measurement was made on."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from sightline.flat.cores import cores


def machine() -> dict[str, Any]:
    """Processor, memory and versions; enough to tell why two figures differ."""
    return {
        "cpu": _cpu_name(),
        "cores": cores(),
        "memory_gb": round(total_memory() / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in ("numba", "numpy", "pyarrow", "pyspark")},
    }


def total_memory() -> int:
    """Bytes of memory: the container's limit where there is one."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
    except OSError:
        return total
    return min(total, int(limit)) if limit.isdigit() else total


def commit() -> str | None:
    """The commit of the source tree this package runs from, with ``+`` when it has changes; None when installed."""
    source = Path(__file__).resolve().parent
    try:
        head = _git(source, "rev-parse", "--short=12", "HEAD")
        # A package installed inside somebody else's repository must not report that repository's commit.
        _git(source, "ls-files", "--error-unmatch", Path(__file__).name)
        return head + ("+" if _git(source, "status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.SubprocessError):
        return None


def _git(folder: Path, *args: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *args], capture_output=True, text=True, check=True, timeout=10)
    return done.stdout.strip()


def _cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
