"""The rules of the source tree that no linter knows."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "sightline"
MODULES = sorted(SOURCE.rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))

MOST_LINES, MOST_TEST_LINES = 400, 600
VAGUE = {"utils", "util", "common", "helpers", "helper", "manager", "managers", "core", "misc", "base", "shared"}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


class WithoutTypes(ast.NodeTransformer):
    """Drop what only type checkers read."""

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        if ast.unparse(node.test) == "TYPE_CHECKING":
            return node.orelse
        return self.generic_visit(node)


def imports(path: Path) -> set[str]:
    """Absolute names of everything a module imports when it runs, at any depth of its code."""
    found: set[str] = set()
    for node in ast.walk(WithoutTypes().visit(ast.parse(path.read_text(encoding="utf-8")))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def importers(package: str) -> list[str]:
    return [
        name_of(path)
        for path in MODULES
        if any(name == package or name.startswith(f"{package}.") for name in imports(path))
    ]


def test_the_tree_is_there() -> None:
    assert len(MODULES) > 50


def test_no_file_outgrows_its_name() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in [*MODULES, *TESTS]}
    limits = {path: MOST_LINES if path in MODULES else MOST_TEST_LINES for path in lengths}
    assert {name_of(path): n for path, n in lengths.items() if n > limits[path]} == {}


def test_no_folder_is_deeper_than_three() -> None:
    assert [name_of(path) for path in MODULES if len(path.relative_to(SOURCE).parts) > 4] == []


def test_names_say_what_is_inside() -> None:
    vague = [name_of(path) for path in MODULES if VAGUE & set(path.relative_to(SOURCE).with_suffix("").parts)]
    assert vague == []


def test_numba_only_in_kernels() -> None:
    strangers = [name for name in importers("numba") if not name.endswith(("_kernels.py", "/jit.py"))]
    assert strangers == []


def test_kernels_are_compiled_by_our_decorator() -> None:
    """Flags are decided once, in jit.py."""
    assert importers("numba.njit") in ([], ["src/sightline/jit.py"])
    for path in MODULES:
        if path.name != "jit.py":
            assert "njit(" not in path.read_text(encoding="utf-8"), name_of(path)


def test_pyspark_only_in_spark() -> None:
    assert [name for name in importers("pyspark") if not name.startswith("src/sightline/spark/")] == []


def test_the_oracle_is_plain_python() -> None:
    import sys

    allowed = {*sys.stdlib_module_names, "sightline"}
    oracle = [SOURCE / "testing" / "__init__.py", *sorted((SOURCE / "testing").glob("*oracle*.py"))]
    assert len(oracle) == 5
    for path in oracle:
        tops = {name.partition(".")[0] for name in imports(path)}
        assert tops <= allowed, f"{name_of(path)} imports {sorted(tops - allowed)}"


@pytest.mark.parametrize("path", [p for p in MODULES if p.name == "__init__.py"], ids=name_of)
def test_packages_hold_prose_and_names_only(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), f"{name_of(path)} does not say what the package is for"
    for node in WithoutTypes().visit(tree).body[1:]:
        if isinstance(node, ast.FunctionDef) and node.name == "__getattr__" and path == SOURCE / "__init__.py":
            continue  # the engine on first use: worker processes import this package too
        names = {ast.unparse(target) for target in node.targets} if isinstance(node, ast.Assign) else set()
        prose = names <= {"__all__", "__version__"} if names else isinstance(node, ast.Import | ast.ImportFrom)
        assert prose, f"{name_of(path)}:{node.lineno} has code"


def test_every_folder_is_a_package() -> None:
    folders = {path.parent for path in MODULES}
    assert [name_of(folder) for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []


def test_nothing_depends_on_the_machine_it_was_written_on() -> None:
    """No absolute path of a developer's machine in what is shipped."""
    for path in [*MODULES, *TESTS, ROOT / "Makefile", *sorted((ROOT / "scripts").iterdir())]:
        if path == Path(__file__).resolve():
            continue
        text = path.read_text(encoding="utf-8")
        for stranger in ("/home/", "/Users/", "/root/", "../shared"):
            assert stranger not in text, f"{name_of(path)} names {stranger}"
