"""The project files: locked, licensed, and free of addresses."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")


def canonical(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[<>=!~\[; ]", requirement)[0]).lower()


def test_every_dependency_is_locked_with_hashes() -> None:
    declared = [*PROJECT["project"]["dependencies"]]
    for extra in PROJECT["project"]["optional-dependencies"].values():
        declared.extend(extra)
    entries = re.split(r"\n(?=[a-z0-9])", LOCK)
    locked = {canonical(entry): entry for entry in entries}
    assert {canonical(requirement) for requirement in declared} <= set(locked)
    for name, entry in locked.items():
        assert "==" in entry.partition("\n")[0], name
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), name


def test_the_lock_names_no_index() -> None:
    assert "://" not in LOCK
    assert not re.search(r"^--?(i|index-url|extra-index-url|f|find-links|trusted-host)\b", LOCK, re.MULTILINE)


def test_imported_packages_are_declared() -> None:
    """What the product imports comes with `pip install sightline` or one of its extras."""
    import ast
    import sys

    declared = {
        canonical(requirement)
        for group in [
            PROJECT["project"]["dependencies"],
            *(extra for name, extra in PROJECT["project"]["optional-dependencies"].items() if name != "dev"),
        ]
        for requirement in group
    }
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            for name in names:
                top = name.partition(".")[0]
                if top not in sys.stdlib_module_names and top != "sightline":
                    assert canonical(top) in declared, f"{path.relative_to(ROOT)} imports {top}, which is not declared"


def test_every_dependency_earns_its_place() -> None:
    """Also those of the extras: each has its line in the table of the README."""
    table = (ROOT / "README.md").read_text(encoding="utf-8").partition("## What every dependency is for")[2]
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", table.partition("\n## ")[0], re.MULTILINE)
    listed = {name.strip() for row in rows for name in row.partition(" (")[0].split(",")} - {"package", "---"}
    groups = [PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"].values()]
    assert listed == {canonical(requirement) for group in groups for requirement in group}


def test_layers_have_no_exceptions() -> None:
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    layers = next(contract for contract in contracts if contract["type"] == "layers")
    assert layers["exhaustive"] is True
    for contract in contracts:
        assert not {"ignore_imports", "exhaustive_ignores"} & set(contract)


def test_scripts_are_executable() -> None:
    for path in [ROOT / ".ci" / "run", *sorted((ROOT / "scripts").iterdir())]:
        assert os.access(path, os.X_OK), path.name


def test_integration_runs_what_developers_run() -> None:
    commands = [
        line
        for line in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
        if line.strip() and not line.startswith(("#", "set ", "cd "))
    ]
    assert commands == ["make coverage", "make test-slow", "exec make test-cluster"]


def test_licence_is_complete() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text
    assert PROJECT["project"]["license"] == "Apache-2.0"


def test_the_changelog_knows_this_version() -> None:
    assert f"## {PROJECT['project']['version']}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
