"""``sightline rebalance``: ask the pipeline to deal its leaves anew."""

from __future__ import annotations

from sightline.cli.options import JsonOption, StoreArgument, opened
from sightline.cli.output import print_done


def rebalance(store: StoreArgument, json: JsonOption = False) -> None:
    """Deal the leaves of the partitioner to the workers anew, by the objects they had, before the next batch.

    Works while a pipeline is running in another process. The leaves stay as they are; `fit` makes new ones.

    Example:

      sightline rebalance store
    """
    with opened(store) as engine:
        engine.rebalance()
    print_done({"asked": "rebalance"}, "asked: the leaves are dealt anew before the next batch", json=json)
