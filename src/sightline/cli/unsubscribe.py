"""``sightline unsubscribe``: drop standing queries."""

from __future__ import annotations

from sightline.cli.options import IdsArgument, JsonOption, StoreArgument, opened
from sightline.cli.output import print_done


def unsubscribe(store: StoreArgument, ids: IdsArgument, json: JsonOption = False) -> None:
    """Drop subscriptions; all of them or, if one is unknown, none. Their results stay.

    Example:

      sightline unsubscribe store houston noodles
    """
    with opened(store) as engine:
        engine.unsubscribe(ids)
    print_done({"unsubscribed": ids}, f"unsubscribed {', '.join(ids)}", json=json)
