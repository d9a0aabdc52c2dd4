"""Route: rows of a source partition -> packets for the workers.

Per Arrow batch: sort out bad rows, tokenise and hash the text, look the objects up in the epoch's routing, pack the
rows of each worker into one binary value.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sightline.geo.curve import curve_keys
from sightline.index.protocol import ObjectColumns
from sightline.partition import Routing, routing_from_arrays
from sightline.stages.job import Job
from sightline.stages.mapped import FILES
from sightline.stages.packet import Packet, pack
from sightline.stages.parcel import LEAVES, OBJECTS, REJECTS, Parcel, to_ipc
from sightline.stages.read import clean
from sightline.store.array_file import ArrayFile
from sightline.text.tokeniser import tokenise

ROW_BITS = 40  # rows of one source partition per micro-batch


def open_routing(file: ArrayFile) -> Routing:
    """The routing state of an epoch's file."""
    return routing_from_arrays(file.meta["partitioner"], {name: file.array(name) for name in file.names})


def route(batches: Iterable[pa.RecordBatch], partition: int, job: Job) -> Iterator[Parcel]:
    """All packets of one source partition."""
    config = job.store_config()
    routing = FILES.get(job.store, job.epoch_file, "routing", open_routing)
    seen = 0
    leaves: Counter[int] = Counter()
    for batch in batches:
        cleaned = clean(batch, config.space, job.reject_after_us)
        if cleaned.rejects.num_rows:
            yield Parcel(partition % job.workers, REJECTS, to_ipc(cleaned.rejects))
        n = cleaned.objects.num_rows
        if n == 0:
            continue
        terms = tokenise(cleaned.objects.column("text"), config.text, config.seed, config.hash_bits)
        routes = routing.route_objects(ObjectColumns(cleaned.lon, cleaned.lat, cleaned.ts, terms))
        identity = (partition << ROW_BITS) + seen + np.arange(n, dtype=np.int64)
        seen += n
        counts = np.bincount(routes.leaf)
        met = np.flatnonzero(counts)
        leaves.update(dict(zip(met.tolist(), counts[met].tolist(), strict=True)))
        whole = Packet(cleaned.objects, terms, np.ones(n, np.bool_), identity)
        # Along the curve, neighbours meet the same queries while these are in cache, and segments come sorted.
        place = curve_keys(cleaned.lon, cleaned.lat, config.space.bounds)
        bounds = np.searchsorted(routes.worker, np.arange(job.workers + 1))
        for worker in range(job.workers):
            rows = routes.row[bounds[worker] : bounds[worker + 1]].astype(np.int64)
            if len(rows) == 0:
                continue
            rows = rows[np.argsort(place[rows])]
            packet = whole.take(rows)
            own = routes.owner[rows] == worker
            for blob in pack(replace(packet, own=own)):
                yield Parcel(worker, OBJECTS, blob)
    if leaves:
        yield Parcel(partition % job.workers, LEAVES, json.dumps(leaves).encode())
