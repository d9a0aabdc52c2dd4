"""Merge: what has to be put together across workers, by subscription.

A merge partition gets everything of the subscriptions whose number falls to it: repeats of range matches are removed
by row identity, nearest candidates meet the stored k, pane counts become reports. Receipts pass through.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from sightline.flat.columns import column_of, table_of, values_of
from sightline.flat.ipc import whole
from sightline.index.standing.panes import PaneCounts
from sightline.stages.exchange.job import Job
from sightline.stages.exchange.parcel import Parcel, ParcelKind, delivered, from_ipc
from sightline.stages.exchange.receipt import Receipt
from sightline.stages.exchange.target import Target
from sightline.stages.exchange.token import seen_token
from sightline.stages.flow.late import distinct_pairs
from sightline.stages.flow.nearest import merge_nearest
from sightline.stages.flow.pane_files import unpack_counts, write_tables
from sightline.stages.flow.range_matches import MATCH_COLUMNS
from sightline.stages.flow.top_terms import merge_top_terms
from sightline.stages.results.tables import write_table
from sightline.store.kinds import FileKind


def merge(parcels: Iterable[Parcel], part: int, job: Job) -> Iterator[Parcel]:
    """Everything of one merge partition in one micro-batch; yields receipts."""
    target, token = job.target(), seen_token(job)
    tables: dict[int, list[pa.Table]] = {ParcelKind.MATCHES: [], ParcelKind.NEAREST: [], ParcelKind.LATE: []}
    counts: list[PaneCounts] = []
    high = job.high_us
    for parcel in delivered(parcels, part):
        if parcel.kind == ParcelKind.RECEIPT:
            yield parcel._replace(worker=0)
        elif parcel.kind == ParcelKind.MARK:
            newest = json.loads(bytes(whole(parcel.blob)))
            high = newest if high is None else max(high, newest)
        elif parcel.kind == ParcelKind.PANES:
            counts.append(unpack_counts(parcel.blob))
        else:
            tables[parcel.kind].append(from_ipc(parcel.blob))
    receipt = Receipt(token)
    if tables[ParcelKind.MATCHES]:
        _matches(target, pa.concat_tables(tables[ParcelKind.MATCHES]), receipt)
    if tables[ParcelKind.LATE]:
        receipt.count("late", distinct_pairs(pa.concat_tables(tables[ParcelKind.LATE])))
    if tables[ParcelKind.NEAREST]:
        _nearest(target, pa.concat_tables(tables[ParcelKind.NEAREST]), job, receipt)
    if high is not None:
        _top_terms(target, counts, job, part, high - job.lateness_us, receipt)
    yield receipt.parcel()


def _matches(target: Target, pairs: pa.Table, receipt: Receipt) -> None:
    num, row = values_of(pairs["num"]), values_of(pairs["row"])
    order = np.lexsort((row, num))
    num, row = num[order], row[order]
    first = np.ones(len(num), np.bool_)
    first[1:] = (num[1:] != num[:-1]) | (row[1:] != row[:-1])
    # An object matched by several subscriptions is stored once.
    _, where, place = np.unique(row[first], return_index=True, return_inverse=True)
    objects = pairs.take(column_of(order[first][where])).select(MATCH_COLUMNS)
    columns = table_of({"object": place.astype(np.int32)})
    receipt.files.append(write_table(target, FileKind.MATCHES, num[first], columns, objects))
    receipt.count("matches", int(first.sum()))
    receipt.count("repeats", len(num) - int(first.sum()))


def _nearest(target: Target, candidates: pa.Table, job: Job, receipt: Receipt) -> None:
    state, events = merge_nearest(candidates, job)
    for kind, table in ((FileKind.NEAREST, state), (FileKind.NEAREST_EVENTS, events)):
        if table.num_rows:
            receipt.files.append(write_table(target, kind, values_of(table["num"]), table.drop(["num"])))
    receipt.count("nearest_events", events.num_rows)


def _top_terms(target: Target, fresh: list[PaneCounts], job: Job, part: int, until_us: int, receipt: Receipt) -> None:
    reports, keep = merge_top_terms(fresh, job, part, until_us)
    if reports.num_rows:
        receipt.files.append(write_table(target, FileKind.REPORTS, values_of(reports["num"]), reports.drop(["num"])))
    if keep is not None:
        receipt.files.append(write_tables(target, *keep))
    receipt.count("reports", reports.num_rows)
