"""The benchmark of the first hour: which process is measured against which."""

from __future__ import annotations

from typing import Any

import pytest

from sightline.bench import first_hour


def test_ratios_are_over_the_right_yardstick(monkeypatch: pytest.MonkeyPatch) -> None:
    caches: list[str] = []

    def seconds(command: list[str], environment: dict[str, str] | None = None) -> float:
        caches.append((environment or {}).get("SIGHTLINE_CACHE_DIR", ""))
        program = command[2]
        known: dict[Any, float] = {
            first_hour._SPARK: 4.0, first_hour._IMPORTS: 0.5, first_hour._SEARCH: 1.0, first_hour._INLINE: 1.5,
            first_hour._FIRST_MATCH: 24.0 if caches[-1] else 8.0,
        }  # fmt: skip
        return known.get(program, 6.0)  # else it is the command line

    monkeypatch.setattr(first_hour, "_seconds", seconds)
    metrics = first_hour.run(quick=True)["metrics"]
    assert [metrics[name] for name in ("cold_ratio", "warm_ratio", "load_ratio", "search_ratio")] == [6, 2, 1.5, 2]
    assert [metrics[name] for name in ("inline_load_s", "empty_spark_s", "bare_imports_s")] == [1.5, 4, 0.5]
    assert [bool(cache) for cache in caches].count(True) == 1, "one process begins with an empty cache"


@pytest.mark.parametrize("program", [first_hour._INLINE, first_hour._SEARCH, first_hour._FIRST_MATCH])
def test_the_programs_are_python(program: str) -> None:
    compile(program, "program", "exec")
    assert "assert" in program, "each checks what it waited for"
