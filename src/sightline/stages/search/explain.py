"""How an answer came about: which segments were read, which were not and why, and where the time went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from sightline.flat.arrays import U8
from sightline.stages.search.progress import Progress, SegmentRead
from sightline.stages.search.search_view import Fate
from sightline.store.files import FileEntry

PRUNED = {Fate.TIME: "time", Fate.PLACE: "place", Fate.TERMS: "terms", Fate.OLDER: "time", Fate.FARTHER: "place"}


class Explain(NamedTuple):
    """The report of a search that is over. It is kept as numbers; words are made of it when somebody asks.

    A tuple, because one is made for every search: a frozen dataclass takes 3 us longer.
    """

    entries: list[FileEntry]  # of the segments
    span: tuple[int, int]
    fate: U8  # per segment, see search_view
    read: Mapping[int, SegmentRead]
    absent: Mapping[int, list[str]]  # words for the want of which a segment was left out
    version: int
    threads: int
    rows: int
    us: Mapping[str, float]  # plan, segments, merge

    @classmethod
    def of(cls, search: Progress, threads: int, rows: int, us: Mapping[str, float]) -> Explain:
        """What became of a search."""
        view = search.view
        return cls(view.entries, search.span, search.fate, search.read, search.absent, view.version, threads, rows, us)

    @property
    def searched(self) -> int:
        return int(np.count_nonzero(self.fate == Fate.SEARCHED))

    @property
    def candidates(self) -> int:
        return sum(read.candidates for read in self.read.values())

    @property
    def segments(self) -> list[dict[str, Any]]:
        """Per segment its name, rows, and either pruned (time, place or terms) and why, or what was read and found."""
        said = []
        for i, (entry, fate) in enumerate(zip(self.entries, self.fate.tolist(), strict=True)):
            one: dict[str, Any] = {"name": entry.name, "rows": entry.rows}
            if fate == Fate.SEARCHED:
                read = self.read.get(i, SegmentRead())
                one |= {"candidates": read.candidates, "found": read.found, "microseconds": round(read.us, 1)}
            else:
                one |= {"pruned": PRUNED[fate], "why": self._why(i, fate)}
            said.append(one)
        return said

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        detail = self.segments
        total = sum(self.us.values())
        return {
            "version": self.version,
            "rows": self.rows,
            "segments": len(detail),
            "searched": self.searched,
            "pruned": dict(Counter(one["pruned"] for one in detail if "pruned" in one)),
            "candidates": self.candidates,
            "threads": self.threads,
            "seconds": round(total / 1e6, 9),
            "microseconds": {phase: round(us, 1) for phase, us in self.us.items()},
            "detail": detail,
        }

    def _why(self, segment: int, fate: int) -> str:
        entry = self.entries[segment]
        if fate == Fate.TIME and self.span[0] > self.span[1]:
            return "no time is asked for"
        if fate == Fate.TIME and entry.high < self.span[0]:
            return f"ends {_instant(entry.high)}, before {_instant(self.span[0])}"
        if fate == Fate.TIME:
            return f"begins {_instant(entry.low)}, after {_instant(self.span[1])}"
        if fate == Fate.PLACE:
            return "lies within " + ", ".join(f"{edge:g}" for edge in entry.meta["bbox"])
        if fate == Fate.TERMS:
            return "no object has " + ", ".join(repr(word) for word in dict.fromkeys(self.absent[segment]))
        if fate == Fate.OLDER:
            return f"ends {_instant(entry.high)}, and newer ones fill the limit"
        return "lies beyond the k nearest of other segments"


def _instant(us: int) -> str:
    second, fraction = divmod(us, 1_000_000)
    return f"{np.datetime64(second, 's')}{f'.{fraction:06}'.rstrip('0') if fraction else ''}Z"
