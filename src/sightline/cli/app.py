"""The list of commands."""

from __future__ import annotations

import logging
from typing import Annotated

import typer

import sightline as sl
from sightline.cli import failures, output
from sightline.cli.bench import bench
from sightline.cli.demo import demo
from sightline.cli.doctor import doctor
from sightline.cli.explain import explain
from sightline.cli.fit import fit
from sightline.cli.generate import generate
from sightline.cli.init import init
from sightline.cli.load import load
from sightline.cli.partitions import partitions
from sightline.cli.rebalance import rebalance
from sightline.cli.rejects import rejects
from sightline.cli.run import run
from sightline.cli.search import search
from sightline.cli.subscribe import subscribe
from sightline.cli.subscriptions import subscriptions
from sightline.cli.unsubscribe import unsubscribe
from sightline.cli.watch import watch

app = typer.Typer(
    cls=failures.CommandGroup,
    name="sightline",
    help="Watch and search streams of geo-tagged, time-stamped text.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    """Watch and search streams of geo-tagged, time-stamped text, on Spark."""
    if version:
        output.console().print(f"sightline {sl.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        output.console().print(context.get_help(), markup=False)


COMMANDS = (
    *(demo, generate, init, load, run, subscribe, unsubscribe, subscriptions, watch),
    *(search, explain, rejects, partitions, rebalance, fit, doctor, bench),
)

for command in COMMANDS:
    app.command(command.__name__)(command)


def main() -> None:
    """Entry point of the command ``sightline``."""
    # Py4J logs its own trace when a call is interrupted; a command says what happened in one line.
    logging.getLogger().addHandler(logging.NullHandler())
    output.show_notices()
    app(prog_name="sightline")
