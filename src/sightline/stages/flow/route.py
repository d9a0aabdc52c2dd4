"""Route: rows of a source partition -> packets for the workers.

Per Arrow batch: sort out bad rows, tokenise and hash the text, look the objects up in the epoch's routing, pack the
rows of each worker into one binary value. On the way objects are counted for the statistics, and sampled if need be:
the router's receipt says so, and names a file of what it has learnt.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.geo.curve import curve_keys
from sightline.index.protocol import ObjectColumns
from sightline.partition import ObjectRoutes
from sightline.stages.exchange.job import Job
from sightline.stages.exchange.mapped import FILES
from sightline.stages.exchange.packet import Packet, pack
from sightline.stages.exchange.parcel import Parcel, ParcelKind, to_ipc
from sightline.stages.exchange.read import clean
from sightline.stages.exchange.receipt import Receipt
from sightline.stages.exchange.tallies import grown, tally_text
from sightline.stages.exchange.token import seen_token
from sightline.stages.registered.standing import LayerKind
from sightline.stages.registered.summary import Summary, awaited, open_summary
from sightline.stages.routing.cells import CellCounts
from sightline.stages.routing.epoch_files import open_learnt, open_routing, write_learnt
from sightline.stages.routing.sample import BatchSample
from sightline.text.term_batch import TermBatch
from sightline.text.tokeniser import tokenise

ROW_IDENTITY_BITS = 40  # rows of one source partition per micro-batch


def _needed(
    routes: ObjectRoutes, terms: TermBatch, summaries: Sequence[Summary], job: Job
) -> tuple[ObjectRoutes, npt.NDArray[np.intp]]:
    """The routes that serve a purpose, and the objects that are not sent to their owner.

    An owner needs its objects where they are kept or their terms are counted; anybody else only what may match.
    """
    owned = routes.owner[routes.row] == routes.worker
    kept = job.keep_objects or LayerKind.WINDOWS in job.compiled
    if kept and owned.all():
        return routes, np.empty(0, np.intp)
    keep = awaited(summaries, terms, routes.row, routes.worker) | (owned & kept)
    sent = np.zeros(len(routes.owner), np.bool_)
    sent[routes.row[keep & owned]] = True
    return routes._replace(row=routes.row[keep], worker=routes.worker[keep]), np.flatnonzero(~sent)


def route(batches: Iterable[pa.RecordBatch], partition: int, job: Job) -> Iterator[Parcel]:
    """All packets of one source partition."""
    receipt = Receipt(seen_token(job))
    config = job.store_config()
    routing = FILES.get(job.store, job.epoch_file, "routing", open_routing)
    router = routing.router([FILES.get(job.store, name, "learnt", open_learnt) for name in job.learnt])
    seen = 0
    leaves = np.zeros(0, np.int64)
    cells = CellCounts(config.space)
    sample = BatchSample() if job.sample else None
    summarised = job.compiled.get(LayerKind.SUMMARY, [[]])[0]
    summaries = [FILES.get(job.store, name, "summary", open_summary) for name in summarised]
    for batch in batches:
        cleaned = clean(batch, config.space, job.reject_after_us)
        if cleaned.rejects.num_rows:
            yield Parcel(partition % job.workers, ParcelKind.REJECTS, to_ipc(cleaned.rejects))
        n = cleaned.objects.num_rows
        if n == 0:
            continue
        terms = tokenise(cleaned.objects.column("text"), config.text, config.seed, config.hash_bits)
        objects = ObjectColumns(cleaned.lon, cleaned.lat, cleaned.ts, terms)
        began = time.perf_counter()
        routes = router.route_objects(objects)
        receipt.routing_s += time.perf_counter() - began
        cells.add(objects.lon, objects.lat)
        if sample is not None:
            sample.add(objects)
        identity = (partition << ROW_IDENTITY_BITS) + seen + np.arange(n, dtype=np.int64)
        seen += n
        met = np.bincount(routes.leaf)
        leaves = grown(leaves, len(met))
        leaves[: len(met)] += met
        began = time.perf_counter()
        routes, unsent = _needed(routes, terms, summaries, job)
        receipt.routing_s += time.perf_counter() - began
        receipt.saw(cleaned.ts[unsent])
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
                yield Parcel(worker, ParcelKind.OBJECTS, blob)
    if seen:
        receipt.leaves, receipt.cells = tally_text(leaves), cells.to_text()
        if sample is not None:
            receipt.files.append(sample.write(job.target()))
        if learnt := router.learnt():
            receipt.files.append(write_learnt(job.target(), job.epoch_file, [learnt]))
        yield receipt.parcel(partition % job.workers)
