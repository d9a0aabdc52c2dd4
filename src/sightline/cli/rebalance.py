"""``sightline rebalance``: ask the pipeline to deal its leaves anew."""

from __future__ import annotations

import sightline as sl
from sightline.cli.options import JsonOption, StoreArgument, existing_store
from sightline.cli.output import console, print_json


def rebalance(store: StoreArgument, json: JsonOption = False) -> None:
    """Deal the leaves of the partitioner to the workers anew, by the objects they had, before the next batch.

    Works while a pipeline is running in another process. The leaves stay as they are; `fit` makes new ones.

    Example:

      sightline rebalance store
    """
    with sl.open(existing_store(store)) as engine:
        engine.rebalance()
    if json:
        print_json({"asked": "rebalance"})
    else:
        console().print("asked: the leaves are dealt anew before the next batch")
