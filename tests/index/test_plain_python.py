"""Kernels mean the same without the compiler, and stay inside their arrays: the small cases run twice more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = (
    "many_conjuncts or top_terms_match or a_mapped_index or test_whole_ratio or test_payload"
    " or nothing_asked or test_equal_regions or test_what_boxes or test_leading_rows_are_enough"
)
BUFFERS = " or resumes or full_buffer"


@pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="already without the compiler")
def test_small_cases_without_the_compiler() -> None:
    _small_cases({"NUMBA_DISABLE_JIT": "1"}, CASES)


@pytest.mark.slow
@pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ or "NUMBA_BOUNDSCHECK" in os.environ, reason="already")
def test_small_cases_with_every_index_checked(tmp_path: Path) -> None:
    # Checked code goes to a cache of its own: Numba's key does not tell it from the other.
    _small_cases({"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}, CASES + BUFFERS)


def _small_cases(env: dict[str, str], cases: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", cases, str(Path(__file__).parent)]
    done = subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
