"""Scaling curves: points, the file, and pictures drawn from the file alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sightline.bench import curves
from sightline.bench.registry import run_bench
from sightline.model.errors import BadConfig


def test_curves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curves, "SEGMENTS", (1, 4))
    monkeypatch.setattr(curves, "CURVE_SEGMENT_ROWS", 1_500)
    sizes = {"query_sizes": "100,300", "object_sizes": "1000,4000", "objects": 200, "queries": 5, "rounds": 1}
    result = run_bench("curves", {**sizes, "out": tmp_path / "out"})
    found = result["curves"]
    assert [point["queries"] for point in found["crq"]["Z"]] == [100, 300]
    assert [(point["objects"], point["segments"]) for point in found["srq"]] == [(1000, 1), (4000, 3)]
    assert [(point["segments"], point["merged_segments"]) for point in found["segments"]] == [(1, 1), (4, 1)]
    assert {"crq_Z_cost_growth_over_queries", "srq_bytes_spread", "merged_latency_spread"} <= set(result["metrics"])
    stored = json.loads((tmp_path / "out" / curves.CURVES_FILE).read_text(encoding="utf-8"))
    assert stored["curves"] == found
    pictures = [Path(path) for path in result["pictures"]]
    assert len(pictures) == 5
    for picture in pictures:
        assert picture.read_bytes().startswith(b"\x89PNG")
        picture.unlink()
    again = run_bench("curves", {"out": tmp_path / "out", "redraw": True})
    assert again["metrics"] == result["metrics"]
    assert all(picture.exists() for picture in pictures)


def test_bad_sizes(tmp_path: Path) -> None:
    for sizes in ("", "many", "5,0"):
        with pytest.raises(BadConfig, match="sizes"):
            run_bench("curves", {"query_sizes": sizes, "out": tmp_path})
