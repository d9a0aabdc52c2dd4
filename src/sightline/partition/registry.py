"""Names of the partitioners."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from sightline.model.errors import UnknownPlugin
from sightline.partition.broadcast import BroadcastRouting
from sightline.partition.grid import GridRouting
from sightline.partition.protocol import Routing

PARTITIONERS: dict[str, type[Routing]] = {
    "grid": GridRouting,
    "broadcast": BroadcastRouting,
}


def routing_class(name: str) -> type[Routing]:
    """The partitioner registered under a name."""
    try:
        return PARTITIONERS[name]
    except KeyError:
        raise UnknownPlugin(
            "unknown partitioner",
            value=name,
            allowed=", ".join(sorted(PARTITIONERS)),
            hint="pass partitioner=NAME to open",
        ) from None


def routing_from_arrays(name: str, arrays: Mapping[str, npt.NDArray[np.generic]]) -> Routing:
    """The routing state whose arrays were mapped from an epoch's file."""
    return routing_class(name).from_arrays(arrays)
