"""The one place where Numba's flags are decided.

Every kernel in a ``_kernels.py`` is decorated with :func:`kernel`. Flags and their reasons:

* ``nogil``: a kernel never stalls the other Python threads of its process (8-36 ms at worst instead of the whole call).
* ``cache``: a fresh Spark worker loads machine code instead of compiling for seconds.
* no ``fastmath``: answers must be bit-equal to the definition; no ``parallel``: a Spark task has one core.

The cache directory is one per installed code: Numba keys its files by path and time of the one source file a function
is in, and misses edits in kernels it calls from other files. So a directory that was filled once (`stages.warm`) holds
everything its code needs, and a changed or moved package gets another.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

_PACKAGE = Path(__file__).parent


def code_digest() -> str:
    """Digest of where the kernels are, what they say, and what compiles them."""
    digest = hashlib.blake2b(f"{_PACKAGE} {version('numba')} {sys.version}".encode(), digest_size=8)
    for path in sorted([*_PACKAGE.rglob("_kernels.py"), Path(__file__)]):
        digest.update(f"{path} {path.stat().st_mtime_ns}".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def cache_root() -> Path:
    """The user's folder for what can be made again: compiled kernels, word lists of the generator."""
    base = os.environ.get("SIGHTLINE_CACHE_DIR")
    root = Path(base) if base else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sightline"
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError:
        root = Path(tempfile.gettempdir()) / f"sightline-{os.getuid()}"
        root.mkdir(parents=True, exist_ok=True)
    return root


def cache_directory() -> Path:
    """Directory of compiled kernels for exactly this code."""
    return cache_root() / f"kernels-{code_digest()}"


os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_directory()))

import numba  # noqa: E402  (the cache directory must be set before numba is imported)

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile a function over flat arrays; arguments are arrays and scalars only."""
    return numba.njit(cache=True, nogil=True, error_model="numpy")(function)  # type: ignore[return-value]
