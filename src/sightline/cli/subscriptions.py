"""``sightline subscriptions``: what is registered."""

from __future__ import annotations

from sightline.cli.options import JsonOption, StoreArgument, opened
from sightline.cli.output import print_json, print_rows


def subscriptions(store: StoreArgument, json: JsonOption = False) -> None:
    """List the subscriptions of a store.

    Example:

      sightline subscriptions store --json
    """
    with opened(store) as engine:
        rows = engine.subscriptions().to_pylist()
    if json:
        print_json({"count": len(rows), "subscriptions": rows})
    else:
        print_rows(f"{len(rows):,} subscriptions", rows, limit=50)
