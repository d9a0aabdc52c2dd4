"""``sightline search``: one ad-hoc query over what was committed."""

from __future__ import annotations

import time

from sightline.cli.options import JsonOption, StoreArgument, opened, spread
from sightline.cli.output import console, print_json, print_rows
from sightline.cli.query_options import SnapshotText


@spread
def search(store: StoreArgument, typed: SnapshotText, json: JsonOption = False) -> None:
    """Search the committed posts.

    Examples:

      sightline search store "flood AND rescue" --box -95.8,29.5,-95.0,30.1 --last 72h

      sightline search store "noodle OR ramen" --near 139.70,35.69 -k 5

      sightline search store --top 10 --circle -0.12,51.5,20000 --last 1h
    """
    asked = typed.build()
    with opened(store) as engine:
        asked = typed.placed(asked, engine.space)
        began = time.perf_counter()
        rows = engine.search(asked).to_pylist()
        seconds = time.perf_counter() - began
    if json:
        print_json({"query": asked.to_dict(), "count": len(rows), "seconds": round(seconds, 6), "rows": rows})
        return
    print_rows(f"{len(rows):,} rows", rows)
    console().print(f"answered in {seconds * 1000:,.1f} ms", style="dim")
