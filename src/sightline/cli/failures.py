"""How a failed command ends: one line on stderr and an exit code."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

import pyarrow as pa
import typer
from typer.core import TyperGroup

from sightline.model.errors import CorruptFile, RunFailed, SightlineError, StoreBusy, StoreFull, StoreNotShared

FAILED, BAD_REQUEST, INTERRUPTED = 1, 2, 130

# Errors that no other arguments would have avoided; every other SightlineError is a bad request.
_FAILED: tuple[type[SightlineError], ...] = (CorruptFile, RunFailed, StoreBusy, StoreFull, StoreNotShared)

# The root of the argument parser's own errors (typer exports the leaves only).
_UsageFailure: type[Exception] = typer.BadParameter.__mro__[2]


def exit_code(error: SightlineError) -> int:
    """Exit code of an error the user can cause."""
    return FAILED if isinstance(error, _FAILED) else BAD_REQUEST


def one_line(message: str) -> str:
    """Fold a message onto one line; a shell user reads stderr line by line."""
    return " ".join(message.split())


def _fail(message: str, code: int) -> NoReturn:
    sys.stderr.write(f"sightline: {one_line(message)}\n")
    sys.stderr.flush()
    sys.exit(code)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    sys.stderr.write(f"sightline: warning: {one_line(str(message))}\n")


def _spark_words(error: Exception) -> str:
    """What Spark refuses a request with, without its stack; an unknown format is most often a missing connector."""
    lines = [line.strip(": ") for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    words = next((line for line in lines if "Exception" in line and not line.startswith("at ")), lines[0])
    return words + ("; hint: `sightline doctor` has the Kafka connector" if "kafka" in words.lower() else "")


class CommandGroup(TyperGroup):
    """The group of all commands; turns every foreseen error into one line and an exit code."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command and exit; the parser's own error boxes are several lines, so it runs non-standalone."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("default", UserWarning)
                warnings.showwarning = _show_warning
                code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        except _UsageFailure as error:
            message = getattr(error, "format_message", error.__str__)()
            _fail(f"{message} (see sightline --help)", getattr(error, "exit_code", BAD_REQUEST))
        except SightlineError as error:
            _fail(str(error), exit_code(error))
        except (OSError, UnicodeError, pa.ArrowException) as error:  # a path, a file's content
            _fail(str(error), BAD_REQUEST)
        except (KeyboardInterrupt, typer.Abort):
            _fail("stopped", INTERRUPTED)
        except Exception as error:
            if not type(error).__module__.startswith(("pyspark.", "py4j.")):
                raise  # not foreseen: the trace is what a report needs
            _fail(_spark_words(error), BAD_REQUEST)
        sys.exit(code if isinstance(code, int) else 0)
