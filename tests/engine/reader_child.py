"""A reader in a process of its own: searches and reads results until a file says stop, prints what it saw.

``python reader_child.py STORE STOP``: prints one JSON line of all observations, (rows found, matches) each.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import sightline as sl

WORLD = sl.RangeQuery("", sl.Box(-180, -90, 180, 90))


def observe(store: Path, stop: Path) -> list[tuple[int, int, int, int]]:
    """Look again and again, at least once after the stop; what is found is complete and never twice."""
    seen = []
    last = False
    with sl.open(store) as engine:
        while not last:
            last = stop.exists()
            matches = engine.matches("all").to_pylist()
            rows = engine.search(WORLD).to_pylist()  # later than the matches: it may only know more
            found = {row["object_id"] for row in matches}
            assert len(found) == len(matches), "a match is there twice"
            assert len({row["id"] for row in rows}) == len(rows), "an object is there twice"
            assert found <= {row["id"] for row in rows}
            nearest = engine.nearest("nearest").to_pylist()
            assert [row["rank"] for row in nearest] == list(range(1, len(nearest) + 1))
            seen.append((len(rows), len(matches), len(nearest), engine.counters().get("objects", 0)))
    return seen


if __name__ == "__main__":
    print(json.dumps(observe(Path(sys.argv[1]), Path(sys.argv[2]))))
