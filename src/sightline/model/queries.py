"""The queries users write: range, nearest and top terms.

One class serves both uses. Asked once (a snapshot) it may have ``last``, ``as_of`` or ``between``; registered
as a subscription it may not, and :class:`TopTermsQuery` then needs ``window`` and ``every``.
:func:`check_snapshot` and :func:`check_subscription` hold these rules. Everything is normalised on
construction, so equal queries are equal objects, and ``to_dict`` / ``query_from_dict`` round-trip exactly
through JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import ClassVar, TypeAlias

from sightline.model.durations import duration_us, format_duration
from sightline.model.errors import BadQuery
from sightline.model.expression import Expression, as_expression, expression_from_json
from sightline.model.expression_syntax import GRAMMAR
from sightline.model.regions import Box, Circle, Polygon, Region, check_degrees, check_region, region_from_dict
from sightline.model.scalars import check_unicode, mapping, pair, whole
from sightline.model.space import Space, coordinate
from sightline.model.time import MIN_US, format_instant, from_us, instant_us

#: Indexes keep k as an int32.
MAX_K = 2**31 - 1

Keywords: TypeAlias = str | Sequence[str] | Expression | None
Duration: TypeAlias = str | timedelta
Instant: TypeAlias = datetime | str
Span: TypeAlias = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True, init=False)
class RangeQuery:
    """All objects that satisfy keywords, region and time (SRQ; as a subscription CRQ)."""

    kind: ClassVar[str] = "range"
    keywords: Expression
    region: Region
    last: timedelta | None
    as_of: datetime | None
    between: Span | None
    limit: int | None

    def __init__(
        self,
        keywords: Keywords,
        region: Region,
        last: Duration | None = None,
        *,
        as_of: Instant | None = None,
        between: Sequence[Instant] | None = None,
        limit: int | None = None,
    ) -> None:
        object.__setattr__(self, "keywords", _keywords(keywords))
        object.__setattr__(self, "region", _region(region))
        _set_times(self, last, as_of, between)
        object.__setattr__(self, "limit", None if limit is None else whole(limit, "limit", 1))

    def to_dict(self) -> dict[str, object]:
        """JSON form; options that are not set are left out."""
        form: dict[str, object] = {
            "kind": self.kind,
            "keywords": self.keywords.to_json(),
            "region": self.region.to_dict(),
            **_times_to_dict(self),
        }
        return form if self.limit is None else {**form, "limit": self.limit}

    @classmethod
    def from_dict(cls, data: Mapping[str, object], grammar: int = GRAMMAR) -> RangeQuery:
        """Inverse of :meth:`to_dict`."""
        given = _fields(data, cls.kind, {"keywords", "region"}, {"last", "as_of", "between", "limit"})
        keywords = expression_from_json(given.pop("keywords"), grammar)
        return cls(keywords, region_from_dict(given.pop("region")), **given)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, init=False)
class NearestQuery:
    """The k objects nearest to ``at`` among those with keywords and time (SKQ; as a subscription CKQ)."""

    kind: ClassVar[str] = "nearest"
    keywords: Expression
    at: tuple[float, float]
    k: int
    last: timedelta | None
    as_of: datetime | None
    between: Span | None
    planar: bool | None = field(compare=False, repr=False)

    def __init__(
        self,
        keywords: Keywords,
        at: Sequence[float],
        k: int,
        last: Duration | None = None,
        *,
        as_of: Instant | None = None,
        between: Sequence[Instant] | None = None,
        planar: bool | None = None,
    ) -> None:
        object.__setattr__(self, "keywords", _keywords(keywords))
        object.__setattr__(self, "planar", planar)
        lon, lat = pair(at, "at is not a point", "(lon, lat)")
        object.__setattr__(self, "at", (coordinate(lon, "longitude of at"), coordinate(lat, "latitude of at")))
        if planar is False:
            check_degrees(*self.at, "of at")
        object.__setattr__(self, "k", whole(k, "k", 1, maximum=MAX_K))
        _set_times(self, last, as_of, between)

    def to_dict(self) -> dict[str, object]:
        """JSON form; options that are not set are left out."""
        form: dict[str, object] = {
            "kind": self.kind,
            "keywords": self.keywords.to_json(),
            "at": list(self.at),
            "k": self.k,
            **_times_to_dict(self),
        }
        return {**form, "planar": True} if self.planar else form

    @classmethod
    def from_dict(cls, data: Mapping[str, object], grammar: int = GRAMMAR) -> NearestQuery:
        """Inverse of :meth:`to_dict`."""
        given = _fields(data, cls.kind, {"keywords", "at", "k"}, {"last", "as_of", "between", "planar"})
        return cls(expression_from_json(given.pop("keywords"), grammar), **given)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, init=False)
class TopTermsQuery:
    """The k terms contained in most objects of region and time (STQ; with ``window`` and ``every`` a CTQ)."""

    kind: ClassVar[str] = "top_terms"
    region: Region
    k: int
    last: timedelta | None
    as_of: datetime | None
    between: Span | None
    window: timedelta | None
    every: timedelta | None

    def __init__(
        self,
        region: Region,
        k: int,
        last: Duration | None = None,
        *,
        as_of: Instant | None = None,
        between: Sequence[Instant] | None = None,
        window: Duration | None = None,
        every: Duration | None = None,
    ) -> None:
        object.__setattr__(self, "region", _region(region))
        object.__setattr__(self, "k", whole(k, "k", 1, maximum=MAX_K))
        _set_times(self, last, as_of, between)
        if (window is None) != (every is None):
            raise BadQuery(
                "window and every must come together",
                value={"window": window, "every": every},
                allowed="both, in a subscription; neither, in a search",
            )
        if window is not None and (last is not None or as_of is not None or between is not None):
            raise BadQuery(
                "window belongs to subscriptions, last, as_of and between to searches",
                value={"window": window, "last": last, "as_of": as_of, "between": between},
                allowed="one or the other",
            )
        object.__setattr__(self, "window", _duration(window, "window"))
        object.__setattr__(self, "every", _duration(every, "every"))

    def to_dict(self) -> dict[str, object]:
        """JSON form; options that are not set are left out."""
        form: dict[str, object] = {
            "kind": self.kind,
            "region": self.region.to_dict(),
            "k": self.k,
            **_times_to_dict(self),
        }
        for name, value in (("window", self.window), ("every", self.every)):
            if value is not None:
                form[name] = format_duration(duration_us(value))
        return form

    @classmethod
    def from_dict(cls, data: Mapping[str, object], grammar: int = GRAMMAR) -> TopTermsQuery:
        """Inverse of :meth:`to_dict`; there are no keywords that a grammar could matter to."""
        given = _fields(data, cls.kind, {"region", "k"}, {"last", "as_of", "between", "window", "every"})
        return cls(region_from_dict(given.pop("region")), **given)  # type: ignore[arg-type]


Query: TypeAlias = RangeQuery | NearestQuery | TopTermsQuery
KINDS: dict[str, type[RangeQuery] | type[NearestQuery] | type[TopTermsQuery]] = {
    cls.kind: cls for cls in (RangeQuery, NearestQuery, TopTermsQuery)
}


def query_from_dict(data: object, grammar: int = GRAMMAR) -> Query:
    """Query of its JSON form; anything else is a ``BadQuery``. ``grammar`` is the one that keywords are stored in."""
    form = mapping(data, "a query")
    kind = form.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise BadQuery("unknown kind of query", value=kind, allowed=", ".join(sorted(KINDS)))
    return KINDS[kind].from_dict(form, grammar)


def time_bounds(query: Query, high_us: int | None) -> tuple[int, int]:
    """Inclusive bounds ``(lo, hi)`` of ``ts`` that a search sees, in microseconds.

    ``last`` is half-open at its old end (``as_of - last < ts <= as_of``), hence the ``+ 1``. In an empty
    store (``high_us`` is None) a query without ``as_of`` sees nothing: the bounds are the empty ``(0, -1)``.
    """
    if query.between is not None:
        return instant_us(query.between[0]), instant_us(query.between[1])
    hi = high_us if query.as_of is None else instant_us(query.as_of)
    if hi is None:
        return 0, -1
    if query.last is None:
        return MIN_US, hi
    return max(MIN_US, hi - duration_us(query.last) + 1), hi


def check_space(query: Query, space: Space) -> None:
    """Check region or point of a query against the space of a store."""
    if not isinstance(query, NearestQuery):
        check_region(query.region, space)
    elif space.is_geographic:
        check_degrees(*query.at, "of at")


def check_subscription(query: Query) -> None:
    """Refuse what only a search can have, and a :class:`TopTermsQuery` without its window."""
    check_query(query)
    for name in ("last", "as_of", "between", "limit"):
        value = getattr(query, name, None)
        if value is not None:
            raise BadQuery(
                f"{name} has no meaning in a subscription",
                value=value,
                allowed=f"no {name}",
                hint="a subscription sees every object of its lifetime; set start= and ttl= instead",
            )
    if not isinstance(query, TopTermsQuery):
        check_unicode(str(query.keywords.to_json()), "the text of a subscription")
    if isinstance(query, TopTermsQuery) and query.window is None:
        raise BadQuery("a subscription to top terms needs window and every", allowed="window='1h', every='10min'")


def check_snapshot(query: Query) -> None:
    """Refuse what only a subscription can have."""
    check_query(query)
    if isinstance(query, TopTermsQuery) and query.window is not None:
        raise BadQuery(
            "window and every belong to subscriptions",
            value=format_duration(duration_us(query.window)),
            allowed="last, as_of or between in a search",
            hint="write last= instead of window=",
        )


def check_query(query: object) -> None:
    """Refuse what is no query."""
    if not isinstance(query, RangeQuery | NearestQuery | TopTermsQuery):
        raise BadQuery("not a query", value=query, allowed="RangeQuery, NearestQuery or TopTermsQuery")


def _keywords(value: Keywords) -> Expression:
    return as_expression("" if value is None else value)


def _region(value: Region) -> Region:
    if not isinstance(value, Box | Circle | Polygon):
        raise BadQuery("not a region", value=value, allowed="Box, Circle or Polygon")
    return value


def _duration(value: Duration | None, what: str) -> timedelta | None:
    return None if value is None else timedelta(microseconds=duration_us(value, what))


def _set_times(query: Query, last: Duration | None, as_of: Instant | None, between: Sequence[Instant] | None) -> None:
    span: Span | None = None
    if between is not None:
        for name, other in (("last", last), ("as_of", as_of)):
            if other is not None:
                raise BadQuery(f"between and {name} exclude each other", value=other, allowed=f"between or {name}")
        first, second = pair(between, "between is not a pair of instants", "(t0, t1)")
        low, high = instant_us(first, "start of between"), instant_us(second, "end of between")
        span = from_us(low), from_us(high)
        if low > high:
            raise BadQuery(
                "between starts after it ends",
                value=tuple(format_instant(t) for t in span),
                allowed="t0 <= t1",
            )
    object.__setattr__(query, "last", _duration(last, "last"))
    object.__setattr__(query, "as_of", None if as_of is None else from_us(instant_us(as_of, "as_of")))
    object.__setattr__(query, "between", span)


def _times_to_dict(query: Query) -> dict[str, object]:
    form: dict[str, object] = {}
    if query.last is not None:
        form["last"] = format_duration(duration_us(query.last))
    if query.as_of is not None:
        form["as_of"] = format_instant(query.as_of)
    if query.between is not None:
        form["between"] = [format_instant(moment) for moment in query.between]
    return form


def _fields(data: Mapping[str, object], kind: str, needed: set[str], optional: set[str]) -> dict[str, object]:
    """The fields of a JSON form without its kind, after checking their names."""
    given = dict(mapping(data, f"a {kind} query"))
    if given.pop("kind", None) != kind:
        raise BadQuery(f"not a {kind} query", value=data, allowed=f"an object with 'kind': '{kind}'")
    if missing := needed - set(given):
        raise BadQuery(f"a {kind} query lacks {', '.join(sorted(missing))}", value=given)
    if unknown := set(given) - needed - optional:
        raise BadQuery(
            f"a {kind} query has unknown fields",
            value=sorted(unknown),
            allowed=", ".join(sorted(needed | optional)),
        )
    return given
