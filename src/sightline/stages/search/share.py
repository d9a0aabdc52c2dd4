"""Work of one caller, shared with a few threads of the process.

Kernels release the interpreter's lock, so segments can be read side by side; everything between kernels cannot. Most
searches are over before a thread would have begun: the caller starts alone and calls for help once it has worked for
a while. It takes part to the end, so a busy pool makes nobody wait.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from queue import Empty, SimpleQueue

from sightline.flat.cores import cores

ALONE_S = 1e-3  # a shorter search is mostly Python code, in which two threads only hinder each other


def share(items: Sequence[int], work: Callable[[int], None], threads: int, alone_s: float = ALONE_S) -> int:
    """Do the work of all items, in their order where one thread does it; returns how many threads took part.

    The first error is raised when no thread works any more; items not begun then are left.
    """
    began = time.perf_counter()
    for done, item in enumerate(items):
        if threads > 1 and len(items) - done > 1 and time.perf_counter() - began >= alone_s:
            return _together(items[done:], work, min(threads, len(items) - done))
        work(item)
    return 1


def _together(items: Sequence[int], work: Callable[[int], None], threads: int) -> int:
    left: SimpleQueue[int] = SimpleQueue()
    for item in items:
        left.put(item)

    def take() -> None:
        try:
            while True:
                work(left.get_nowait())
        except Empty:
            return
        except BaseException:
            while not left.empty():  # nobody goes on: the answer is lost
                try:
                    left.get_nowait()
                except Empty:
                    break
            raise

    helpers = [_pool(os.getpid()).submit(take) for _ in range(threads - 1)]
    try:
        take()
    finally:
        begun = [helper for helper in helpers if not helper.cancel()]
        errors = [error for helper in begun if (error := helper.exception()) is not None]
    if errors:
        raise errors[0]
    return 1 + len(begun)


@lru_cache(maxsize=1)
def _pool(process: int) -> ThreadPoolExecutor:
    """The threads of this process; a forked one gets its own, for threads do not survive a fork."""
    return ThreadPoolExecutor(max_workers=cores(), thread_name_prefix=f"sightline-search-{process}")
