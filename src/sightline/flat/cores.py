"""How many cores are there for this process?"""

from __future__ import annotations

import os


def cores() -> int:
    """Cores this process may use, which in a container is less than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
