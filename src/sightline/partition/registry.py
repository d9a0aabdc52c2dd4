"""Names of the partitioners."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from sightline.model.plugins import Plugins
from sightline.partition.protocol import Routing

_HERE = "sightline.partition"

#: Each is imported when it is first used: a worker process has one.
PARTITIONERS = Plugins[Routing](
    "partitioner",
    "sightline.partitioners",
    Routing,
    {
        "a-grid": f"{_HERE}.a_grid:AGridRouting",
        "broadcast": f"{_HERE}.broadcast:BroadcastRouting",
        "dkm-sks": f"{_HERE}.subsets:DkmSksRouting",
        "frequency": f"{_HERE}.terms:FrequencyRouting",
        "grid": f"{_HERE}.grid:GridRouting",
        "hypergraph": f"{_HERE}.terms:HypergraphRouting",
        "kd-tree": f"{_HERE}.kd_tree:KdTreeRouting",
        "kdt-tree": f"{_HERE}.kdt_tree:KdtTreeRouting",
        "kop": f"{_HERE}.subsets:KopRouting",
        "metric": f"{_HERE}.terms:MetricRouting",
        "qt-tree": f"{_HERE}.qt_tree:QtTreeRouting",
        "quadtree": f"{_HERE}.qt_tree:QuadtreeRouting",
        "r-tree": f"{_HERE}.r_tree:RTreeRouting",
        "sop": f"{_HERE}.subsets:SopRouting",
        "text": f"{_HERE}.qt_tree:TextRouting",
        "text-rout": f"{_HERE}.terms:TextRoutRouting",
        "uniform": f"{_HERE}.uniform:UniformRouting",
    },
)


def routing_class(name: str) -> type[Routing]:
    """The partitioner of a name."""
    return PARTITIONERS.named(name)


def routing_from_arrays(name: str, arrays: Mapping[str, npt.NDArray[np.generic]]) -> Routing:
    """The routing state whose arrays were mapped from an epoch's file."""
    return routing_class(name).from_arrays(arrays)
