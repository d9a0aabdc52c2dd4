"""Exit codes: 2 for a bad request, 1 for a failed run, 130 for Ctrl-C."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

from sightline.cli.failures import CommandGroup
from sightline.model import errors


def ending(error: BaseException) -> tuple[int, str]:
    app = typer.Typer(cls=CommandGroup, pretty_exceptions_enable=False)

    @app.callback()
    def root() -> None: ...

    @app.command()
    def fail() -> None:
        raise error

    result = CliRunner().invoke(app, ["fail"])
    return result.exit_code, result.stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.BadQuery("bad\nquery", value=3, allowed="4"), 2),
        (errors.BadConfig("bad"), 2),
        (errors.UnknownSubscription("no such subscription", value="x"), 2),
        (errors.NotAStore("no store"), 2),
        (errors.IncompatibleStore("newer"), 2),
        (errors.RunFailed("it broke"), 1),
        (errors.CorruptFile("damaged"), 1),
        (errors.StoreFull("disk full"), 1),
        (errors.StoreBusy("in use"), 1),
        (KeyboardInterrupt(), 130),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else str(value),
)
def test_exit_codes(error: BaseException, code: int) -> None:
    got, stderr = ending(error)
    assert got == code
    assert stderr.count("\n") <= 1
    if isinstance(error, errors.SightlineError):
        assert stderr == f"sightline: {' '.join(str(error).split())}\n"


def test_every_error_has_a_code() -> None:
    """A new class of error is a bad request unless it is listed as a failure."""
    for error in errors.SightlineError.__subclasses__():
        assert ending(error("something"))[0] in (1, 2)


def test_a_defect_is_not_hidden() -> None:
    code, stderr = ending(ZeroDivisionError("a defect"))
    assert code == 1
    assert "sightline:" not in stderr
