"""Spark's errors -> ours: what happened in one line, without the frames of two languages around it."""

from __future__ import annotations

import re

from sightline.model import errors
from sightline.model.errors import BadSource, RunFailed, SightlineError, StoreNotShared

_OURS = re.compile(r"sightline\.model\.errors\.(\w+): (.*)")
_ERROR = re.compile(r"[\w.]*(Error|Exception)\b")
# What met an error, and says nothing of it.
_CALL = re.compile(r"An error occurred while calling \w+\.\w+\.?|.*Exception thrown in awaitResult:?\s*")
_NO_FILE = re.compile(r"(?:FILE_NOT_EXIST|FileNotFoundException)\S* .*?(file:/\S+)")
_STAGED = re.compile(r"/staging/[0-9a-f]{32}/")  # `sources` stages under these names
_COMMITTED = "what was committed before it stays; see __cause__"


def failure(name: str, cause: BaseException) -> SightlineError:
    """What a run failed of: our own error, if a task raised one, else what Spark's words mean."""
    error = _meant(name, str(cause))
    error.__cause__ = cause
    return error


def _meant(name: str, words: str) -> SightlineError:
    ours = _OURS.search(words)
    kind = getattr(errors, ours[1], None) if ours else None
    if ours is not None and kind is not None:
        return kind(ours[2])  # type: ignore[no-any-return]
    if "Python worker exited unexpectedly" in words or "Python worker failed to connect back" in words:
        return RunFailed(
            f"run {name!r} failed: a Python worker exited unexpectedly: out of memory?",
            value=_line_with(words, "Python worker"),
            hint="the system's log names processes that were killed for memory; smaller batches or fewer cores need "
            "less. What was committed before it stays; start the run again",
        )
    if "ExecutorLostFailure" in words:
        return RunFailed(
            f"run {name!r} failed: executors were lost",
            value=_line_with(words, "ExecutorLostFailure"),
            hint="their logs say why, most often memory; " + _COMMITTED,
        )
    missing = _NO_FILE.search(words)
    if missing is not None and _STAGED.search(missing[1]):
        return StoreNotShared(
            "what the driver has staged for the executors is not there",
            value=missing[1].rstrip(".,;"),
            allowed="one folder that driver and executors have under the same path",
            hint="mount the store on every host, or open one on a path that all share; nothing was loaded",
        )
    if missing is not None:
        return BadSource(
            "a file of the source is not there, or not on all hosts",
            value=missing[1].rstrip(".,;"),
            allowed="on a cluster: a path that all hosts share",
            hint="put it there, or read it into a pyarrow.Table and load that",
        )
    return RunFailed(f"run {name!r} failed", value=_reason(words), hint=_COMMITTED)


def _reason(words: str) -> str:
    """The line that says most: the Python error at the end of a traceback, else the first of Java's."""
    lines = [line.strip().removeprefix(": ").removeprefix("Caused by: ") for line in words.splitlines()]
    lines = [line for line in lines if line and not _CALL.fullmatch(line)]
    return next((line for line in reversed(lines) if _ERROR.match(line)), lines[0] if lines else "no reason given")


def _line_with(words: str, part: str) -> str:
    """The words of Spark around a part, from there to the end of its line."""
    line = next(line for line in words.splitlines() if part in line)
    return line[line.index(part) :].strip()
