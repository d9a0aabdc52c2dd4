"""Names of plug-ins: built in, vouched for by an entry point, or passed by the caller; never what only a store says."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, ClassVar, Protocol

import pytest

from sightline.model import plugins
from sightline.model.errors import UnknownPlugin
from sightline.model.plugins import Origin, Plugins, admit_all, admitted

CODE = """
class Tall:
    colour = "red"
    def grow(self): return 1

class Short:
    colour = "red"

def tree(): return 1
"""


class Plant(Protocol):
    colour: ClassVar[str]
    height: int

    def grow(self) -> int: ...


@pytest.fixture
def plants(monkeypatch: pytest.MonkeyPatch) -> Plugins[Any]:
    monkeypatch.setattr(plugins, "_ADMITTED", {})
    return Plugins("plant", "garden.plants", Plant, {"fractions": "fractions:Fraction"})


@pytest.fixture
def garden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module that can be imported, of a name no other test has."""
    name = f"garden_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    return name


def install(tmp_path: Path, name: str, target: str) -> None:
    """What an installed package leaves: its entry points."""
    folder = tmp_path / "garden-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: garden\nVersion: 1\n")
    (folder / "entry_points.txt").write_text(f"[garden.plants]\n{name} = {target}\n")


def test_a_class_is_imported_only_if_it_was_passed(plants: Plugins[Any], garden: str, tmp_path: Path) -> None:
    said = f"{garden}:Tall"
    with pytest.raises(UnknownPlugin, match=r"passed to open again, or installed as an entry point of garden\.plants"):
        plants.named(said)
    assert garden not in sys.modules
    assert plants.admit(said).__name__ == "Tall"
    assert plants.named(said) is plants.admit(said)
    assert admitted() == [Origin("plant", said, said, str(tmp_path))]
    assert not plants.is_builtin(said)


def test_an_entry_point_vouches_by_name_and_by_target(plants: Plugins[Any], garden: str, tmp_path: Path) -> None:
    install(tmp_path, "tall", f"{garden}:Tall")
    assert plants.named("tall").__name__ == "Tall"
    assert plants.named(f"{garden}:Tall") is plants.named("tall")
    with pytest.raises(UnknownPlugin, match="fractions, tall"):
        plants.named("tree")
    with pytest.raises(UnknownPlugin):
        plants.named(f"{garden}:Short")


def test_no_entry_point_takes_a_name_that_is_built_in(plants: Plugins[Any], garden: str, tmp_path: Path) -> None:
    install(tmp_path, "fractions", f"{garden}:Tall")
    assert plants.named("fractions").__name__ == "Fraction"
    assert plants.is_builtin("fractions")


def test_another_process_uses_what_the_driver_uses(
    plants: Plugins[Any], garden: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker starts without the driver's path; it finds the module in the folder where the driver did."""
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != str(tmp_path)])
    origin = Origin("plant", f"{garden}:Tall", f"{garden}:Tall", str(tmp_path))
    admit_all([origin, origin])
    assert plants.named(origin.name).__name__ == "Tall"
    assert admitted() == [origin]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("no_such_garden:Tall", "No module named 'no_such_garden'"),
        ("{garden}:Wide", "cannot import the plant: .* has no attribute 'Wide'"),
        ("{garden}:", "cannot import the plant"),
        (":Tall", "cannot import the plant"),
        ("{garden}:Short", "no plant: .*it lacks grow"),
        ("{garden}:tree", "no plant: .*it lacks grow, colour"),
        ("__main__:Tall", "cannot be in __main__"),
    ],
)
def test_what_cannot_be_used_is_refused(plants: Plugins[Any], garden: str, said: str, message: str) -> None:
    with pytest.raises(UnknownPlugin, match=message):
        plants.admit(said.format(garden=garden))
    assert admitted() == []
