"""The documentation: links lead somewhere, and modules it names exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "sightline"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
MODULE = re.compile(r"`((?:src/sightline/|tests/)[\w/.]+\.py)`")
DOTTED = re.compile(r"`(sightline(?:\.[a-z_0-9]+)+)`")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_the_pages_a_newcomer_looks_for_exist() -> None:
    names = {name_of(page) for page in PAGES}
    assert {"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"} <= names
    assert {"docs/papers.md", "docs/errata.md", "docs/glossary.md"} <= names


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" not in target and not target.startswith("mailto:"):
            assert (page.parent / target).exists(), f"{name_of(page)} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_modules_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in MODULE.findall(text):
        assert (ROOT / target).is_file(), f"{name_of(page)} names {target}"
    for dotted in DOTTED.findall(text):
        path = ROOT / "src" / dotted.replace(".", "/")
        # The last part may be a function of the module before it.
        parent = path.parent
        exists = path.with_suffix(".py").is_file() or path.is_dir() or parent.with_suffix(".py").is_file()
        assert exists or (parent / "__init__.py").is_file(), f"{name_of(page)} names {dotted}"


def test_the_map_names_every_package() -> None:
    """ARCHITECTURE.md: a folder of its own, or a word in backquotes; parts of a single index are inside it."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for init in sorted((ROOT / "src" / "sightline").rglob("*/__init__.py")):
        package = init.parent
        inside_an_index = "postings" in package.parent.parts
        assert inside_an_index or f"`{package.name}`" in text or f"[{package.name}/]" in text, name_of(package)


def test_every_hop_of_the_walks_is_there() -> None:
    """A file, and in it the function that the walk names."""
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    walks = page.split("## Three walks")[1].split("\n## ")[0]
    hops = re.findall(r"([\w/]+\.py)\s+((?:[A-Za-z_]\w*\.)?[A-Za-z_]\w*)", walks)
    assert len(hops) > 30
    for path, name in hops:
        found = [base / path for base in (SOURCE, SOURCE / "stages") if (base / path).is_file()]
        assert found, f"{path} is not there"
        text = found[0].read_text(encoding="utf-8")
        for part in name.split("."):
            assert re.search(rf"^ *(def|class) {part}\b", text, re.MULTILINE), f"{path} has no {name}"
