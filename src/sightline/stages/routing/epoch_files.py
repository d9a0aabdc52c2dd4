"""The files of an epoch, opened: its routing, and what its routers have learnt."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sightline.partition import Routing, routing_from_arrays
from sightline.store.array_file import ArrayFile


def open_routing(file: ArrayFile) -> Routing:
    """The routing state of an epoch's file."""
    return routing_from_arrays(file.meta["partitioner"], {name: file.array(name) for name in file.names})


def open_learnt(file: ArrayFile) -> dict[str, npt.NDArray[np.generic]]:
    """What routers of earlier batches have learnt."""
    return {name: file.array(name) for name in file.names}
