"""``sightline explain``: how a search is answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sightline.cli.options import JsonOption, StoreArgument, opened, spread
from sightline.cli.output import console, print_json, print_rows
from sightline.cli.partitions import region_text
from sightline.cli.query_options import SnapshotText


@spread
def explain(store: StoreArgument, typed: SnapshotText, json: JsonOption = False) -> None:
    """Search, and say what it took: segments read or left out and why, candidates, time; and where it would go.

    The query is run twice and the second run is shown: the first one also opens and checks files.

    Where it would go: the leaves of the partitioner that may own a post it asks for, and their workers.

    Examples:

      sightline explain store "flood AND rescue" --box -95.8,29.5,-95.0,30.1 --last 72h

      sightline explain store "noodle OR ramen" --near 139.70,35.69 -k 5 --json
    """
    asked = typed.build()
    with opened(store) as engine:
        asked = typed.placed(asked, engine.space)
        engine.explain(asked)
        said = engine.explain(asked)
    if json:
        print_json({"query": asked.to_dict(), **said})
        return
    screen = console()
    screen.print(
        f"[bold]{said['rows']:,} rows[/] of version {said['version']:,}: {said['searched']:,} of "
        f"{said['segments']:,} segments read, {said['candidates']:,} candidates looked at"
    )
    read, left_out = [], []
    for segment in said["detail"]:
        row = {"segment": segment["name"].removeprefix("segment/")[:8], "rows": segment["rows"]}
        if "pruned" in segment:
            left_out.append({**row, "by": segment["pruned"], "why": segment["why"]})
        else:
            read.append({**row, **{name: segment[name] for name in ("candidates", "found", "microseconds")}})
    print_rows("read", read)
    if left_out:
        counts = ", ".join(f"{count:,} by {why}" for why, count in said["pruned"].items())
        print_rows(f"left out: {counts}", left_out)
    phases = ", ".join(f"{phase} {us:,.0f}" for phase, us in said["microseconds"].items())
    threads = "1 thread" if said["threads"] == 1 else f"{said['threads']} threads"
    screen.print(f"{said['seconds'] * 1e6:,.0f} µs: {phases}; {threads}", style="dim")
    if "routes" in said:
        _print_routes(said["routes"])


def _print_routes(routes: Mapping[str, Any]) -> None:
    workers, stands = (", ".join(map(str, routes[name])) for name in ("workers", "stands"))
    console().print(
        f"[bold]epoch {routes['epoch']}[/] ({routes['partitioner']}): visits {routes['total']:,} of {routes['of']:,} "
        f"leaves, on workers {workers or '-'}; as a subscription it would stand on {stands or '-'}"
    )
    if not routes["total"]:
        return
    rows = [
        {"leaf": leaf["leaf"], "worker": leaf["worker"], "region": region_text(leaf), "why": leaf["why"]}
        for leaf in routes["leaves"]
    ]
    listed = "" if len(rows) == routes["total"] else f", {len(rows)} of them"
    print_rows(f"leaves{listed}: " + "; ".join(f"{n:,} because {why}" for why, n in routes["why"].items()), rows)
