"""Kinds of data files: the folder each is in, and what the log calls it."""

from __future__ import annotations

from enum import StrEnum


class FileKind(StrEnum):
    """What a data file holds. The last ones are named by the control log or by nobody, the others by commits."""

    SEGMENT = "segment"  # objects, and their index
    MATCHES = "matches"  # from here on the result tables, see `stages.results.tables`
    NEAREST = "nearest"
    NEAREST_EVENTS = "nearest_events"
    PANES = "panes"  # counts that open windows still need
    REPORTS = "reports"
    EVENTS = "events"
    REJECTS = "rejects"
    EPOCH = "epoch"  # a routing
    LEARNT = "learnt"  # what routers have learnt since
    SAMPLE = "sample"  # objects to fit a routing to, where none are stored
    STATISTICS = "statistics"
    READINGS = "readings"  # long texts of what batches have read
    HISTORY = "history"  # asked for by the control log: to fit a routing to
    SUBSCRIPTIONS = "subscriptions"  # registered together
    SEARCHES = "searches"  # counts of what was searched
    COMPILED = "compiled"  # subscriptions in the form workers get them, remade at will
    TOKEN = "token"


RESULT_KINDS = (
    FileKind.MATCHES,
    FileKind.NEAREST,
    FileKind.NEAREST_EVENTS,
    FileKind.PANES,
    FileKind.REPORTS,
    FileKind.EVENTS,
    FileKind.REJECTS,
)
