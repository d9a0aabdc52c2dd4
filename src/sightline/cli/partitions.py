"""``sightline partitions``: who has what, as a table, a map or GeoJSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from sightline.cli.options import JsonOption, StoreArgument, opened
from sightline.cli.output import console, print_json, table, to_json

_HEAVIEST = 20
_ORDER = [("load", "descending"), ("objects", "descending"), ("subscriptions", "descending"), ("leaf", "ascending")]
_SIDES = ("west", "south", "east", "north")


def partitions(
    store: StoreArgument,
    all: Annotated[bool, typer.Option("--all", help="Every leaf, not only the heaviest.")] = False,
    geojson: Annotated[
        Path | None, typer.Option("--geojson", metavar="FILE", help="Write the leaves as GeoJSON polygons.")
    ] = None,
    png: Annotated[
        Path | None, typer.Option("--png", metavar="FILE", help="Draw the leaves and the load of each worker.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Show how the work is divided: the workers, and the leaves they serve, heaviest first.

    The load of a leaf is objects x (1 + subscriptions): what it owned so far, and the subscriptions that visit it now.
    Drawing needs the extra "bench".

    Examples:

      sightline partitions store

      sightline partitions store --geojson leaves.geojson --png leaves.png
    """
    with opened(store) as engine:
        found = engine.partitions().sort_by(_ORDER)
    said = found.explain or {}
    leaves = found.to_pylist()
    if png is not None:
        from sightline.cli.partitions_map import draw

        draw(found.table, said, png)
    if geojson is not None:
        geojson.write_text(to_json(to_geojson(leaves)) + "\n", encoding="utf-8")
    written = [str(path) for path in (geojson, png) if path is not None]
    if json:
        print_json({**said, "written": written, "count": len(leaves), "leaves": leaves})
        return
    screen = console()
    screen.print(
        f"[bold]epoch {said['epoch']}[/] ({said['why']}): partitioner {said['partitioner']}, {len(leaves):,} leaves, "
        f"{len(said['workers']):,} workers, {said['subscriptions']:,} subscriptions"
    )
    total = sum(row["load"] for row in said["workers"])
    shares = [{**row, "share": f"{row['load'] / total:.1%}" if total else "-"} for row in said["workers"]]
    screen.print(table(None, shares))
    shown = leaves if all else leaves[:_HEAVIEST]
    screen.print(table(None, [_short(leaf) for leaf in shown]))
    if len(shown) < len(leaves):
        screen.print(f"... the {len(shown):,} heaviest of {len(leaves):,} leaves; --all prints the rest")
    for path in written:
        screen.print(f"wrote {path}", markup=False)


def to_geojson(leaves: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The leaves as a FeatureCollection; everything but the region is a property."""
    features = []
    for leaf in leaves:
        west, south, east, north = (leaf[side] for side in _SIDES)
        ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
        features.append(
            {
                "type": "Feature",
                "id": leaf["leaf"],
                "geometry": {"type": "Polygon", "coordinates": [ring]},
                "properties": {name: value for name, value in leaf.items() if name not in _SIDES},
            }
        )
    return {"type": "FeatureCollection", "features": features}


def region_text(leaf: Mapping[str, Any]) -> str:
    """West, south, east and north in one cell."""
    return ", ".join(f"{leaf[side]:.6g}" for side in _SIDES)


def _short(leaf: Mapping[str, Any]) -> dict[str, Any]:
    row = {"leaf": leaf["leaf"], "split": leaf["split"], "region": region_text(leaf)}
    return row | {name: value for name, value in leaf.items() if name not in (*row, *_SIDES)}
