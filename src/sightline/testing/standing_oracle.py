"""Subscriptions, commit by commit, by looking at every object."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sightline.testing.oracle import Oracle, Query, Row, duration_us, last_keys, terms_of, top_terms
from sightline.testing.oracle_geometry import distance_mm, inside
from sightline.testing.oracle_terms import matches


@dataclass(frozen=True)
class Match:
    """A CRQ match."""

    batch: int
    subscription: str
    row: Row


@dataclass(frozen=True)
class NearestEvent:
    """An object that came into (``enter``, new rank) or fell out of (``leave``, old rank) the k nearest."""

    batch: int
    subscription: str
    event: str
    rank: int
    distance_mm: int
    row: Row


@dataclass(frozen=True)
class Report:
    """One term of one CTQ window; ranks count from 1."""

    batch: int
    subscription: str
    window_end: int
    rank: int
    term: str
    count: int


@dataclass(frozen=True)
class Late:
    """An object in the lifetime and the filter of a subscription that could not count any more.

    ``windows`` are the ends of the CTQ windows that had been emitted without it (it may still be in later
    ones); empty when the subscription had closed.
    """

    batch: int
    subscription: str
    row: Row
    windows: tuple[int, ...] = ()


@dataclass
class Batch:
    """What one commit emitted."""

    batch: int
    matches: list[Match] = field(default_factory=list)
    nearest_events: list[NearestEvent] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)
    expired: list[str] = field(default_factory=list)
    late: list[Late] = field(default_factory=list)


@dataclass
class _Subscription:
    id: str
    query: Query
    start_us: int | None  # None: unbounded
    end_us: int | None  # exclusive; None: forever
    closed: bool = False
    nearest: list[tuple[int, int, int, Row]] = field(default_factory=list)  # distance, -ts, arrival, row
    windows: dict[int, list[set[str]]] = field(default_factory=lambda: defaultdict(list))
    emitted_below: int | None = None  # windows that end before this have been emitted


class StandingOracle(Oracle):
    """Commits and subscriptions of a store, by the letter.

    ``feed`` is one commit; its plan includes what is subscribed when it is called. ``batch`` counts commits
    from 1 unless the caller passes the version of its own log.
    """

    def __init__(self, *, lateness_us: int = 0, planar: bool = False) -> None:
        super().__init__(planar=planar)
        self.lateness_us = lateness_us
        self.batches: list[Batch] = []
        self._active: dict[str, _Subscription] = {}
        self._all: dict[str, _Subscription] = {}
        self._arrivals = 0

    def subscribe(
        self,
        id: str,
        query: Query,
        *,
        start_us: int | None = None,
        ttl_us: int | None = None,
        replace: bool = False,
    ) -> None:
        """Register a query; the next commit includes it. ``replace`` drops an active one of the same id."""
        if id in self._active and not replace:
            raise ValueError(f"subscription {id!r} exists")
        start = self.high_us if start_us is None else start_us
        if ttl_us is not None and start is None:
            raise ValueError("a ttl in an empty store needs a start")
        end = None if ttl_us is None or start is None else start + ttl_us
        self._active[id] = self._all[id] = _Subscription(id, query, start, end)

    def unsubscribe(self, id: str) -> None:
        """Drop a subscription: the next commit does not include it. What it emitted stays."""
        del self._active[id]

    def feed(
        self,
        rows: Iterable[Row],
        subscribe: Mapping[str, Query] | None = None,
        unsubscribe: Iterable[str] = (),
        *,
        batch: int | None = None,
    ) -> Batch:
        """One commit: register and drop, then let every included subscription see the rows."""
        for id in unsubscribe:
            self.unsubscribe(id)
        for id, query in (subscribe or {}).items():
            self.subscribe(id, query)
        kept = self.commit(rows)
        out = Batch(len(self.batches) + 1 if batch is None else batch)
        arrived = []
        for row in kept:
            self._arrivals += 1
            arrived.append((self._arrivals, row))
        for subscription in self._active.values():
            self._see(subscription, arrived, out)
            self._close(subscription, out)
        self.batches.append(out)
        return out

    def matches_of(self, id: str) -> list[Match]:
        """All matches of a CRQ so far, in order of commits."""
        return [match for batch in self.batches for match in batch.matches if match.subscription == id]

    def nearest_of(self, id: str) -> list[tuple[int, Row]]:
        """The current k nearest of a CKQ as (distance in mm, row), nearest first."""
        return [(distance, row) for distance, _, _, row in self._all[id].nearest]

    def reports_of(self, id: str) -> list[Report]:
        """All reports of a CTQ so far, in order of commits, window and rank."""
        return [report for batch in self.batches for report in batch.reports if report.subscription == id]

    def _see(self, subscription: _Subscription, arrived: list[tuple[int, Row]], out: Batch) -> None:
        kind = str(subscription.query["kind"])
        seen = [(n, row) for n, row in arrived if self._concerns(subscription, row)]
        if subscription.closed:
            late = [row for _, row in seen if kind != "top_terms" or self._window_ends(subscription, row["ts_us"])]
            out.late.extend(Late(out.batch, subscription.id, row) for row in late)
            seen = []
        if kind == "range":
            out.matches.extend(Match(out.batch, subscription.id, row) for _, row in seen)
        elif kind == "nearest":
            self._update_nearest(subscription, seen, out)
        else:
            for _, row in seen:
                self._add_to_windows(subscription, row, out)
            self._emit_windows(subscription, out)

    def _concerns(self, subscription: _Subscription, row: Row) -> bool:
        """Lifetime, keywords and region."""
        query, ts = subscription.query, row["ts_us"]
        if subscription.start_us is not None and ts < subscription.start_us:
            return False
        if subscription.end_us is not None and ts >= subscription.end_us:
            return False
        if not matches(query.get("keywords"), terms_of(row)):
            return False
        return "region" not in query or inside(query["region"], row["lon"], row["lat"], self.planar)

    def _update_nearest(self, subscription: _Subscription, seen: list[tuple[int, Row]], out: Batch) -> None:
        lon, lat = subscription.query["at"]
        before = subscription.nearest
        pool = list(before)
        for arrival, row in seen:
            distance = distance_mm(lon, lat, row["lon"], row["lat"], self.planar)
            pool.append((distance, -row["ts_us"], arrival, row))
        # The arrival comes last: of two rows equal in everything the earlier one stays.
        pool.sort(key=lambda e: (e[0], e[1], *last_keys(e[3]), e[2]))
        after = subscription.nearest = pool[: subscription.query["k"]]
        for event, ranked, other in (("leave", before, after), ("enter", after, before)):
            kept = {arrival for _, _, arrival, _ in other}
            for rank, (distance, _, arrival, row) in enumerate(ranked, start=1):
                if arrival not in kept:
                    out.nearest_events.append(NearestEvent(out.batch, subscription.id, event, rank, distance, row))

    def _window_ends(self, subscription: _Subscription, ts: int) -> list[int]:
        """Ends t_i of the windows with t_i - T < ts <= t_i."""
        window, every = duration_us(subscription.query["window"]), duration_us(subscription.query["every"])
        anchor = subscription.start_us or 0
        end = anchor + -((anchor - ts) // every) * every  # the first t_i at or after ts
        ends = []
        while end < ts + window:
            first = subscription.start_us is None or end > subscription.start_us  # i >= 1
            if first and (subscription.end_us is None or end <= subscription.end_us):
                ends.append(end)
            end += every
        return ends

    def _add_to_windows(self, subscription: _Subscription, row: Row, out: Batch) -> None:
        missed = []
        for end in self._window_ends(subscription, row["ts_us"]):
            if subscription.emitted_below is not None and end < subscription.emitted_below:
                missed.append(end)
            else:
                subscription.windows[end].append(terms_of(row))
        if missed:
            out.late.append(Late(out.batch, subscription.id, row, tuple(missed)))

    def _emit_windows(self, subscription: _Subscription, out: Batch) -> None:
        if self.high_us is None:
            return
        subscription.emitted_below = self.high_us - self.lateness_us
        for end in sorted(subscription.windows):
            if end < subscription.emitted_below:
                ranked = top_terms(subscription.windows.pop(end), subscription.query["k"])
                for rank, (term, count) in enumerate(ranked, start=1):
                    out.reports.append(Report(out.batch, subscription.id, end, rank, term, count))

    def _close(self, subscription: _Subscription, out: Batch) -> None:
        """Closing comes after seeing: the objects of the closing batch still count."""
        if subscription.closed or subscription.end_us is None or self.high_us is None:
            return
        if self.high_us - self.lateness_us >= subscription.end_us:
            subscription.closed = True
            out.expired.append(subscription.id)
