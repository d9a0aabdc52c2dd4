"""``sightline unsubscribe``: drop standing queries."""

from __future__ import annotations

from typing import Annotated

import typer

import sightline as sl
from sightline.cli.options import JsonOption, StoreArgument, existing_store
from sightline.cli.output import console, print_json


def unsubscribe(
    store: StoreArgument,
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Subscriptions to drop.", show_default=False)],
    json: JsonOption = False,
) -> None:
    """Drop subscriptions; all of them or, if one is unknown, none. Their results stay.

    Example:

      sightline unsubscribe store houston noodles
    """
    with sl.open(existing_store(store)) as engine:
        engine.unsubscribe(ids)
    if json:
        print_json({"unsubscribed": ids})
    else:
        console().print(f"unsubscribed {', '.join(ids)}", markup=False)
