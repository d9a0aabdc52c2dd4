"""The doctor finds what is wrong, and says what to do."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sightline.cli import doctor_checks
from sightline.cli.app import app


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("told", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK', 17),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ("command not understood", None),
    ],
)
def test_java_versions(told: str, major: int | None) -> None:
    assert doctor_checks.java_major(told) == major


def test_an_old_java_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path / "bin" / "java", "echo 'openjdk version \"11.0.2\"' >&2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    check = doctor_checks.java()
    assert check.state == "problem"
    assert "11" in check.found
    assert "17" in check.fix


def test_a_broken_java_home_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert "JAVA_HOME" in doctor_checks.java().fix


def test_no_java_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert doctor_checks.java().state == "problem"


def test_workers_need_a_python_with_sightline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    assert doctor_checks.worker_python().state == "ok"
    monkeypatch.setenv("PYSPARK_PYTHON", str(script(tmp_path / "python", "exit 1")))
    check = doctor_checks.worker_python()
    assert check.state == "problem"
    assert sys.executable in check.fix
    monkeypatch.setenv("PYSPARK_PYTHON", str(script(tmp_path / "older", "echo 3.9")))
    assert "3.9" in doctor_checks.worker_python().found


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    monkeypatch.setattr(doctor_checks, "cache_directory", lambda: blocked / "kernels")
    check = doctor_checks.kernel_cache()
    assert check.state == "problem"
    assert "SIGHTLINE_CACHE_DIR" in check.fix


def test_disk_of_a_store_that_is_still_to_be_made(tmp_path: Path) -> None:
    assert str(tmp_path) in doctor_checks.disk(tmp_path / "not" / "yet").found


def test_little_memory_and_disk_are_warnings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_checks, "total_memory", lambda: 2**30)
    monkeypatch.setattr(doctor_checks, "LEAST_DISK_GB", 1e12)
    assert doctor_checks.memory().state == "warning"
    assert doctor_checks.disk(tmp_path).state == "warning"


def test_the_kafka_hint_names_the_artefact_of_this_spark() -> None:
    check = doctor_checks.kafka()
    assert check.state == "ok" or "spark-sql-kafka-0-10_2.13:4.3." in check.fix


def test_exit_code_and_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    result = CliRunner().invoke(app, ["doctor", "--json"])
    document = json.loads(result.stdout)
    assert result.exit_code == 1
    assert document["healthy"] is False
    assert {check["name"]: check["state"] for check in document["checks"]}["java"] == "problem"
    assert "problem" in CliRunner().invoke(app, ["doctor"]).stdout
