"""``sightline rejects``: rows that were not taken, and why."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer

from sightline.cli.options import JsonOption, StoreArgument, opened
from sightline.cli.output import print_json, print_rows


def rejects(
    store: StoreArgument,
    reason: Annotated[str | None, typer.Option("--reason", help="Only rows with this reason.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Newest rows to print.")] = 20,
    json: JsonOption = False,
) -> None:
    """List the rows that were rejected, newest last, with their reason and raw content; and how many have which reason.

    Examples:

      sightline rejects store

      sightline rejects store --reason "null ts" --limit 1000 --json
    """
    with opened(store) as engine:
        rows = [row for row in engine.rejects() if reason is None or row["reason"] == reason]
    reasons = dict(Counter(row["reason"] for row in rows).most_common())
    if json:
        print_json({"count": len(rows), "reasons": reasons, "rejects": rows[-limit:]})
        return
    print_rows("by reason", [{"reason": name, "rows": count} for name, count in reasons.items()])
    print_rows(f"{len(rows):,} rejected rows", rows[-limit:], limit=limit)
