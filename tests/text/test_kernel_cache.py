"""Many processes may meet on an empty kernel cache: all of them answer, and the next one compiles nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

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
