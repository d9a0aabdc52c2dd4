"""The one place where Numba's flags are decided.

Every kernel, in a ``_kernels.py`` or ``*_kernels.py``, is decorated with :func:`kernel`. Flags and their reasons:

* ``nogil``: a kernel never stalls the other Python threads of its process (8-36 ms at worst instead of the whole call).
* a cache on disk: a fresh Spark worker loads machine code instead of compiling for seconds.
* no ``fastmath``: answers must be bit-equal to the definition; no ``parallel``: a Spark task has one core.

The cache directory is one per installed code: Numba keys its files by path and time of the one source file a function
is in, and misses edits in kernels it calls from other files. So a directory that was filled once (`stages.warm`) holds
everything its code needs, and a changed or moved package gets another.

Processes may share it: one at a time adds to it (`alone`). Numba alone lets two that compile one kernel for different
types give both results the same file name; whoever then loads one by the index of the other crashes.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core.caching import FunctionCache
from numba.core.config import reload_config
from numba.core.dispatcher import Dispatcher
from numba.core.runtime.nrt import rtsys

_PACKAGE = Path(__file__).parent


def code_digest() -> str:
    """Digest of where the kernels are, what they say, and what compiles them."""
    digest = hashlib.blake2b(f"{_PACKAGE} {numba.__version__} {sys.version}".encode(), digest_size=8)
    for path in sorted([*_PACKAGE.rglob("*_kernels.py"), Path(__file__)]):
        digest.update(f"{path} {path.stat().st_mtime_ns}".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def cache_root() -> Path:
    """The user's folder for what can be made again: compiled kernels, word lists of the generator.

    What lies there is run as code. ``SIGHTLINE_CACHE_DIR`` is trusted as it is; any other folder must be the user's and
    closed to everybody else, or a fresh one is made, which child processes find in the environment.
    """
    named = os.environ.get("SIGHTLINE_CACHE_DIR")
    if named:
        with contextlib.suppress(OSError):
            Path(named).mkdir(parents=True, exist_ok=True)
            return Path(named)
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    for root in (Path(home, "sightline"), Path(tempfile.gettempdir(), f"sightline-{os.getuid()}")):
        if _is_private(root):
            return root
    fresh = tempfile.mkdtemp(prefix="sightline-")
    os.environ["SIGHTLINE_CACHE_DIR"] = fresh
    return Path(fresh)


def _is_private(folder: Path) -> bool:
    """Whether a folder is there, or can be made, that nobody but this user can write to or look into."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            return False
        folder.chmod(0o700)
        return os.access(folder, os.W_OK)
    except OSError:
        return False


def cache_directory() -> Path:
    """Directory of compiled kernels for exactly this code."""
    return cache_root() / f"kernels-{code_digest()}"


def warmed_mark(names: Iterable[str]) -> Path:
    """File that says: the directory has every kernel that a pipeline with these plug-ins needs (`stages.warm`)."""
    return cache_directory() / "-".join(["warmed", *names])


@contextlib.contextmanager
def alone(lock: Path) -> Iterator[None]:
    """Wait until no other process holds this file; the system frees the lock of one that dies."""
    with lock.open("w") as file:
        with contextlib.suppress(OSError):  # a file system without locks: a race is better than no start
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_directory()))
reload_config()  # type: ignore[no-untyped-call]

F = TypeVar("F", bound=Callable[..., Any])


class _KernelCache(FunctionCache):
    """Numba's cache on disk, for processes that load much and save one at a time.

    Numba prepares its compiler before it looks into the cache: it imports and registers all it knows of Python and
    NumPy, and SciPy where it is installed, which takes longer than loading every kernel a worker needs. Machine code
    needs the runtime only, and a compilation prepares by itself.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]

    def save_overload(self, sig: Any, data: Any) -> None:
        self._impl.locator.ensure_cache_path()
        with alone(Path(self.cache_path) / "saving.lock"):
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]


def kernel(function: F) -> F:
    """Compile a function over flat arrays; arguments are arrays and scalars only."""
    compiled = numba.njit(nogil=True, error_model="numpy")(function)
    if isinstance(compiled, Dispatcher):  # under NUMBA_DISABLE_JIT it is the function itself
        compiled._cache = _KernelCache(function)  # type: ignore[attr-defined, no-untyped-call]
    return compiled  # type: ignore[return-value]
