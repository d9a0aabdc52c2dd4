"""Many processes may meet on an empty kernel cache: all of them answer, and the next one compiles nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from numba.core import config
from numba.core.caching import FunctionCache

from sightline import jit

WORK = """
import json
import pyarrow as pa
from sightline.text import tokenise
from sightline.text._kernels import scan_rows
batch = tokenise(pa.array(["flood boat #flood", "\\u00e9t\\u00e9 \\u6771\\u4eac", ""]))
stats = scan_rows.stats
print(json.dumps({"offsets": batch.offsets.tolist(), "terms": batch.dictionary.strings().to_pylist(),
                  "compiled": sum(stats.cache_misses.values()), "loaded": sum(stats.cache_hits.values())}))
"""


@pytest.mark.slow
@pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="there is no cache without the compiler")
def test_processes_race_for_an_empty_cache(tmp_path: Path) -> None:
    command, env = [sys.executable, "-c", WORK], {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    racing = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    said = [json.loads(process.communicate(timeout=300)[0]) for process in racing]
    assert [process.returncode for process in racing] == [0] * 4
    assert sum(one["compiled"] for one in said) >= 1
    after = json.loads(subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout)
    assert (after["compiled"], after["loaded"]) == (0, 1)
    answers = {json.dumps((one["offsets"], one["terms"])) for one in (*said, after)}
    assert len(answers) == 1
    assert after["offsets"] == [0, 3, 6, 6]


def test_one_at_a_time_adds_to_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba reads its index, picks a free file name, writes both: two at once would pick the same."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    inside: list[int] = []

    def save(*_: object) -> None:
        inside.append(+1)
        time.sleep(0.05)
        assert inside[-1] == +1
        inside.append(-1)

    monkeypatch.setattr(FunctionCache, "save_overload", save)
    caches = [jit._KernelCache(test_one_at_a_time_adds_to_the_cache) for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda cache: cache.save_overload(None, None), caches))
    assert inside == [+1, -1] * 3


def test_a_kernel_that_others_call_changes_the_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba looks at the file of a function only, not at those of the kernels it calls."""
    package = Path(jit.__file__).parent
    kernels = [path.relative_to(package) for path in package.rglob("*.py") if path.name.endswith("_kernels.py")]
    assert Path("text/_kernels.py") in kernels
    assert Path("text/lookup_kernels.py") in kernels
    for path in kernels:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(package / path, tmp_path / path)
    monkeypatch.setattr(jit, "_PACKAGE", tmp_path)
    seen = {jit.code_digest()}
    for number, path in enumerate(kernels, start=2):
        kept = (tmp_path / path).stat()
        (tmp_path / path).write_text((tmp_path / path).read_text() + "\n")
        os.utime(tmp_path / path, ns=(kept.st_atime_ns, kept.st_mtime_ns))
        seen.add(jit.code_digest())
        assert len(seen) == number, path


@pytest.fixture
def roots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Where the cache goes by default, and where it goes if that cannot be."""
    monkeypatch.delenv("SIGHTLINE_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(jit.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(jit.tempfile, "tempdir", str(tmp_path))
    return tmp_path / "home" / "sightline", tmp_path / f"sightline-{os.getuid()}"


def test_the_cache_is_closed_to_others(roots: tuple[Path, Path]) -> None:
    roots[0].mkdir(parents=True, mode=0o777)
    assert jit.cache_root() == roots[0]
    assert roots[0].stat().st_mode & 0o777 == 0o700


def test_a_folder_that_somebody_else_has_planted_is_not_used(
    roots: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").write_text("no folder")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    roots[1].symlink_to(elsewhere)
    fresh = jit.cache_root()
    assert fresh.parent == tmp_path
    assert fresh not in (*roots, elsewhere)
    assert fresh.stat().st_mode & 0o777 == 0o700
    assert jit.cache_root() == fresh, "and child processes find it in the environment"
    monkeypatch.delenv("SIGHTLINE_CACHE_DIR")
    roots[1].unlink()
    roots[1].mkdir()
    mine = os.getuid()
    monkeypatch.setattr(jit.os, "getuid", lambda: mine + 1)
    (tmp_path / f"sightline-{mine + 1}").mkdir()
    assert jit.cache_root().name not in {f"sightline-{mine}", f"sightline-{mine + 1}"}


def test_a_folder_that_is_named_is_taken_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTLINE_CACHE_DIR", str(tmp_path))
    tmp_path.chmod(0o755)
    assert jit.cache_root() == tmp_path
    assert tmp_path.stat().st_mode & 0o777 == 0o755
