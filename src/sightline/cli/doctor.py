"""``sightline doctor``: what is wrong with this machine, and how to fix it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from sightline.cli.doctor_checks import all_checks
from sightline.cli.failures import FAILED
from sightline.cli.options import JsonOption
from sightline.cli.output import console, print_json

_STYLE = {"ok": "green", "note": "blue", "warning": "yellow", "problem": "bold red"}


def doctor(
    store: Annotated[Path | None, typer.Argument(metavar="STORE", help="Check this store too, and its disk.")] = None,
    json: JsonOption = False,
) -> None:
    """Check Java, the Python of the workers, memory, disk, the kernel cache and the Kafka connector; and a store: its
    logs, and the head of every file that they name.

    Exit code 1 when something would keep a pipeline from running, or a file of the store is damaged.

    Example:

      sightline doctor

      sightline doctor store
    """
    checks = all_checks(store)
    healthy = all(check.state != "problem" for check in checks)
    if json:
        print_json({"healthy": healthy, "checks": [asdict(check) for check in checks]})
    else:
        drawn = Table(show_header=False, box=None, pad_edge=False)
        for check in checks:
            drawn.add_row(f"[{_STYLE[check.state]}]{check.state}[/]", check.name, escape(check.found))
            if check.fix:
                drawn.add_row("", "", escape(f"→ {check.fix}"))
        console().print(drawn)
    if not healthy:
        raise typer.Exit(FAILED)
