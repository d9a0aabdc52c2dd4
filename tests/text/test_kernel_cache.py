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
