"""Kernels mean the same without the compiler: the small cases run once more as plain Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = ("test_many_conjuncts or test_top_terms_match or test_a_mapped or test_whole_ratio or test_payload"
         " or test_no_conjunct_left or test_equal_regions or test_what_boxes or test_leading_rows_are_enough")

HASHES_WRAP = "ignore:overflow encountered in scalar:RuntimeWarning"  # by design, in the hash of a term


@pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="already without the compiler")
def test_small_cases_without_the_compiler() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", HASHES_WRAP, "-k", CASES,
               str(Path(__file__).parent)]
    done = subprocess.run(command, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
