"""What a batch decided before its job, so that a re-run decides the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from sightline.store.log_store import LocalLogStore
from sightline.store.sealed_json import seal, unseal

_RUN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_SUFFIX = ".plan.json"


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """Inputs of a batch that are not its rows.

    Attributes
    ----------
    run, batch
        Which batch.
    control : int
        Control-log position it includes, -1 for none.
    epoch : int
        Number of the routing epoch.
    version : int
        Commit version whose state it starts from.
    high_us : int or None
        High mark of that version.
    reject_after_us : int or None
        Rows with a later ts are rejected as `future`; the one use of the wall clock.
    created : float
        Wall clock second.
    """

    run: str
    batch: int
    control: int
    epoch: int
    version: int
    high_us: int | None
    reject_after_us: int | None
    created: float


class PlanStore:
    """Plans of batches that have begun, one small file each, until they are discarded after the commit."""

    def __init__(self, folder: str | Path, *, durable: bool = True) -> None:
        self._store = LocalLogStore(folder, durable=durable)

    def get(self, run: str, batch: int) -> BatchPlan | None:
        """The plan of a batch that has begun, else None."""
        name = _name(run, batch)
        try:
            return BatchPlan(**unseal(self._store.read(name), name))
        except FileNotFoundError:
            return None

    def get_or_create(self, run: str, batch: int, make: Callable[[], BatchPlan]) -> BatchPlan:
        """The batch's plan; the first caller makes it, durably, everyone later gets that one."""
        plan = self.get(run, batch)
        if plan is not None:
            return plan
        plan = make()
        if (plan.run, plan.batch) != (run, batch):
            raise ValueError(f"plan of batch {plan.batch} of {plan.run} made for batch {batch} of {run}")
        if self._store.put_if_absent(_name(run, batch), seal(asdict(plan))):
            return plan
        other = self.get(run, batch)
        return plan if other is None else other

    def discard(self, run: str, batch: int) -> None:
        """Forget the plan of a committed batch; not durable, because the commit log decides."""
        self._store.delete(_name(run, batch))

    def discard_run(self, run: str) -> None:
        """Forget every plan of a run that will not be run again (a load that failed)."""
        for plan in self.open_plans():
            if plan.run == run:
                self.discard(run, plan.batch)

    def open_plans(self) -> list[BatchPlan]:
        """Plans not discarded, by run and batch."""
        plans = []
        for name in self._store.names():
            if not name.endswith(_SUFFIX):
                continue
            try:
                plans.append(BatchPlan(**unseal(self._store.read(name), name)))
            except FileNotFoundError:  # discarded meanwhile
                continue
        return plans


def _name(run: str, batch: int) -> str:
    if not _RUN.fullmatch(run) or batch < 0:
        raise ValueError(f"run {run!r}, batch {batch}: a run is letters, digits, '_.-', a batch is >= 0")
    return f"{run}-{batch:020d}{_SUFFIX}"
