"""The benchmarks of partitioners: their data, their yardstick, their figures, and that wrong answers stop them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import sightline as sl
from sightline.bench import partition, six_types
from sightline.bench.makespan import Makespan, makespan
from sightline.bench.partition_plot import PANELS
from sightline.bench.registry import run_bench
from sightline.bench.six_types import SixTypes, Stream, stream_of
from sightline.bench.workload import bounds_of, posts, table_of
from sightline.bench.yardstick import WorkerChecks, Yardstick, kth_distances, search_regions
from sightline.cli.app import app
from sightline.geo.bounds import pieces
from sightline.index.protocol import NO_BOUND
from sightline.index.registry import STANDING_INDEXES
from sightline.index.standing.block import KIND_NEAREST, KIND_RANGE, KIND_TOP_TERMS, QueryBlock
from sightline.model.config import StoreConfig
from sightline.model.errors import BadConfig, UnknownPlugin
from sightline.model.space import GEOGRAPHIC_BOUNDS, Space
from sightline.partition import PARTITIONERS, routing_class
from sightline.partition.broadcast import BroadcastRouting
from sightline.partition.protocol import QueryRoutes
from sightline.partition.statistics.distribution import TYPES

SPACE = Space()
SMALL: dict[str, Any] = {"objects": 300, "queries": 60, "workers": 3, "rounds": 1, "area": "0.01", "quick": True}
ROUTED: dict[str, Any] = {"objects": 2_000, "queries": 500, "subscriptions": 20, "mix": "Z", "rounds": 1}
PROMISED = {
    "total_workload", "max_over_mean", "max_over_min", "replication_objects", "replication_queries", "build_s",
    "route_s", "makespan_s", "workload_64", "workload_4096",
}  # fmt: skip


class Forgetful(BroadcastRouting):
    """A partitioner that puts every second query nowhere."""

    name: ClassVar[str] = "forgetful"

    def route_queries(self, block: QueryBlock) -> QueryRoutes:
        whole = super().route_queries(block)
        return QueryRoutes(whole.query[::2], whole.worker[::2])


class Everywhere(BroadcastRouting):
    """A partitioner with everything on all workers."""

    name: ClassVar[str] = "everywhere"
    duplicates: ClassVar[bool] = True

    def route_queries(self, block: QueryBlock) -> QueryRoutes:
        worker, query = np.divmod(np.arange(self.workers * len(block)), max(len(block), 1))
        return QueryRoutes(query.astype(np.int32), worker.astype(np.int32))


def world_of(objects: int = 120, queries: int = 36, area: float = 0.01, seed: int = 3) -> SixTypes:
    return six_types.six_types(stream_of("gaussian", objects, seed), queries, "Z", area, seed)


@pytest.fixture
def few_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition, "STREAMS", ("uniform",))


# Data


@pytest.mark.parametrize("name", six_types.STREAMS)
def test_streams_have_a_past_and_go_on(name: str) -> None:
    stream = stream_of(name, 2_000, 4)
    assert (len(stream.past), len(stream.objects)) == (2_000, 2_000)
    ts = np.concatenate([stream.past.ts, stream.objects.ts])
    assert set(np.diff(ts)) == {six_types.STEP_US}
    assert not np.intersect1d(stream.past.lon, stream.objects.lon).size
    again = stream_of(name, 2_000, 4)
    assert np.array_equal(again.objects.lon, stream.objects.lon)
    assert np.array_equal(again.objects.terms.ids, stream.objects.terms.ids)
    spread = float(stream.objects.lon.std()), float(stream.objects.lat.std())
    if name == "uniform":
        assert spread == pytest.approx((360 / math.sqrt(12), 180 / math.sqrt(12)), rel=0.05)
    if name == "gaussian":
        assert spread == pytest.approx((18, 9), rel=0.05)


def test_streams_of_files(tmp_path: Path) -> None:
    rows = table_of(posts(50, 2))
    years = np.arange(50) * 10**13  # far apart, and brought to an even rate
    pq.write_table(rows.set_column(3, "ts", pa.array(years).cast(rows.schema.field("ts").type)), tmp_path / "a.parquet")
    stream = stream_of(tmp_path / "a.parquet", 10, 1)
    assert (stream.name, len(stream.past), len(stream.objects)) == ("a", 10, 10)
    assert stream.objects.ts[-1] - stream.past.ts[0] == 19 * six_types.STEP_US
    assert stream.bounds == bounds_of(posts(50, 2))
    assert len(stream_of(tmp_path / "a.parquet", 1_000, 1).past) == 25
    with pytest.raises(BadConfig, match="cities, uniform, gaussian"):
        stream_of("moon", 10, 1)


def test_six_types_in_equal_shares() -> None:
    world = world_of(queries=36)
    for block in (world.history.standing, world.history.asked, world.asked):
        assert np.bincount(block.kind, minlength=3).tolist() == [6, 6, 6]
        assert block.num.tolist() == list(range(18))
        assert set(block.k[block.kind == KIND_NEAREST].tolist()) == {10}
        assert np.diff(block.pos_offsets).tolist() == [1] * 12 + [0] * 6
    standing = world.history.standing
    assert not np.array_equal(world.asked.piece_box, world.history.asked.piece_box)
    # They stand exactly while the posts after the fit come.
    assert set(standing.start.tolist()) == {int(world.objects.ts[0])}
    assert set(standing.end.tolist()) == {int(world.objects.ts[-1]) + six_types.STEP_US}
    assert world.history.span_us == 120 * six_types.STEP_US
    assert sum(table.num_rows for table in world.tables) == len(standing)
    area = np.prod(standing.piece_box[:, 2:] - standing.piece_box[:, :2], axis=1)
    assert area[standing.kind == KIND_RANGE] == pytest.approx(np.full(6, 648.0))  # 1 % of the globe


# The yardstick


def words_of(objects: Any) -> list[set[str]]:
    return [set(objects.terms.row_strings(row)) for row in range(len(objects))]


def keyword_of(block: QueryBlock, row: int) -> str:
    """The one keyword of a query of these worlds."""
    (conjunct,) = np.flatnonzero(block.conj_query == row)
    (term,) = block.pos[block.pos_offsets[conjunct] : block.pos_offsets[conjunct + 1]]
    return str(block.dictionary.strings()[int(term)].as_py())


def metres(a: tuple[float, float], b: tuple[float, float]) -> float:
    (x1, y1), (x2, y2) = ([math.radians(v) for v in p] for p in (a, b))
    h = math.sin((y2 - y1) / 2) ** 2 + math.cos(y1) * math.cos(y2) * math.sin((x2 - x1) / 2) ** 2
    return 2 * 6_371_008.8 * math.asin(math.sqrt(h))


def kth_by_hand(world: SixTypes, block: QueryBlock, row: int) -> float:
    word, at = keyword_of(block, row), tuple(block.at[row].tolist())
    matching = [i for i, words in enumerate(words_of(world.objects)) if word in words]
    found = sorted(metres(at, (world.objects.lon[i], world.objects.lat[i])) for i in matching)
    return found[block.k[row] - 1] if len(found) >= block.k[row] else math.inf


def test_regions_of_nearest_queries_are_their_kth_distance() -> None:
    world = world_of(objects=150, queries=90)
    block = world.history.standing
    rows = np.flatnonzero(block.kind == KIND_NEAREST)
    radius = kth_distances(block, rows, world.objects, SPACE)
    by_hand = [kth_by_hand(world, block, row) for row in rows.tolist()]
    assert {NO_BOUND} < {*radius.tolist()}  # both kinds occur
    for got, want in zip(radius.tolist(), by_hand, strict=True):
        assert (got == NO_BOUND) if math.isinf(want) else got == pytest.approx(want * 1000, rel=1e-6)
    regions = search_regions(block, world.objects, SPACE)
    for row in range(len(block)):
        box = regions.box[regions.offsets[row] : regions.offsets[row + 1]]
        if block.kind[row] != KIND_NEAREST or radius[np.searchsorted(rows, row)] == NO_BOUND:
            assert box.tolist() == block.piece_box[block.piece_query == row].tolist()
        else:
            circle = sl.Circle(*block.at[row], radius[np.searchsorted(rows, row)] / 1000)
            assert box.tolist() == pieces(circle, SPACE).tolist()


def by_hand(world: SixTypes, routing: Any) -> tuple[dict[str, list[int]], int]:
    """Every pair, one after the other."""
    workers, words = routing.workers, words_of(world.objects)
    routes = routing.router().route_objects(world.objects)
    standing, asked = world.history.standing, world.asked
    at = {(q, w) for q, w in zip(*map(np.ndarray.tolist, routing.route_queries(standing)), strict=True)}
    leaves = {row["leaf"]: row for row in routing.leaf_table().to_pylist()}

    def boxes(block: QueryBlock, row: int) -> list[list[float]]:
        if block.kind[row] == KIND_NEAREST and not math.isinf(kth := kth_by_hand(world, block, row)):
            return pieces(sl.Circle(*block.at[row], round(kth, 3)), SPACE).tolist()
        return block.piece_box[block.piece_query == row].tolist()

    def met(some: list[list[float]], leaf: int) -> bool:
        to = leaves[leaf]
        return any(w <= to["east"] and e >= to["west"] and s <= to["north"] and n >= to["south"] for w, s, e, n in some)

    sent = set(zip(routes.row.tolist(), routes.worker.tolist(), strict=True))
    owned = set(enumerate(routes.owner.tolist()))
    if sent != owned:
        worded = [q for q in range(len(standing)) if standing.kind[q] != KIND_TOP_TERMS]
        waits = {(keyword_of(standing, q), w) for q in worded for w in range(workers) if (q, w) in at}
        sent = owned | {(o, w) for o, w in sent if any((word, w) in waits for word in words[o])}
    there: dict[int, set[str]] = {}
    for o, _ in owned:
        there.setdefault(int(routes.leaf[o]), set()).update(words[o])
    checks = {name: [0] * workers for name in TYPES}
    names = {KIND_RANGE: ("srq", "crq"), KIND_NEAREST: ("skq", "ckq"), KIND_TOP_TERMS: ("stq", "ctq")}
    for q in range(len(asked)):
        region = boxes(asked, q)
        for o, w in owned:
            leaf = int(routes.leaf[o])
            covered = asked.kind[q] == KIND_TOP_TERMS or keyword_of(asked, q) in there[leaf]
            checks[names[int(asked.kind[q])][0]][w] += met(region, leaf) and covered
    for q in range(len(standing)):
        region = boxes(standing, q)
        for o, w in owned if standing.kind[q] == KIND_TOP_TERMS else sent:
            checks[names[int(standing.kind[q])][1]][w] += met(region, routes.leaf[o]) and (q, w) in at
    return checks, len(sent)


@pytest.mark.parametrize("name", [*sorted(PARTITIONERS), "everywhere"])
def test_the_workload_is_every_pair_counted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sightline.bench.yardstick._CELLS", 64)  # several parts
    world = world_of(objects=70, queries=24)
    kind = Everywhere if name == "everywhere" else routing_class(name)
    routing = kind.fitted(world.history, SPACE, 3)
    objects = routing.router().route_objects(world.objects)
    got = Yardstick(world, SPACE).measure(routing, objects, routing.route_queries(world.history.standing))
    checks, sent = by_hand(world, routing)
    assert dict(zip(TYPES, got.checks.T.tolist(), strict=True)) == checks
    assert (got.queries, got.sent) == (24, sent)
    assert got.total == pytest.approx(sum(map(sum, checks.values())) / 24)


def test_the_summary_of_a_workload() -> None:
    checks = np.zeros((2, 6))
    checks[0], checks[1, 0] = [1, 2, 3, 4, 5, 15], 10
    load = WorkerChecks(checks, 4, 0)
    assert load.total == 10
    assert (load.max_over_mean, load.max_over_min) == (1.5, 3)
    assert load.by_type == {"srq": 2.75, "skq": 0.5, "stq": 0.75, "crq": 1, "ckq": 1.25, "ctq": 3.75}
    idle = WorkerChecks(np.array([[1.0] * 6, [0.0] * 6]), 1, 0)
    assert (idle.max_over_mean, idle.max_over_min) == (2, None)
    assert WorkerChecks(np.zeros((2, 6)), 1, 0).max_over_mean is None


# The work stage


@pytest.mark.parametrize("name", ["grid", "broadcast"])
def test_the_work_stage_finds_what_a_scan_finds(name: str) -> None:
    world = world_of(objects=200, queries=60)
    done = makespan(name, 3, world, 2)
    config = StoreConfig()
    crqs = QueryBlock.from_table(world.tables[0], np.arange(10), 0, 1, config)
    pairs = STANDING_INDEXES["scan"].build(crqs, SPACE).match(world.objects)
    assert pairs.object.size > 0
    assert done.found["matches"] == 2 * pairs.object.size
    assert done.found["objects"] == 400
    assert 0 < done.makespan_s < done.work_s


# The benchmarks


def test_partition_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sightline.bench.partition_plot.PANELS", PANELS[:2])  # drawing takes longer than measuring
    result = run_bench("partition", {**SMALL, "out": tmp_path / "out", "partitioners": "grid, broadcast"})
    assert list(result["metrics"]) == ["grid", "broadcast"]
    assert list(result["loads"]) == ["cities", "uniform", "gaussian"]
    for figures in [result["metrics"], *result["loads"].values()]:
        assert all(set(one) >= PROMISED for one in figures.values())
        assert figures["broadcast"]["replication_objects"] == 3
        assert figures["grid"]["replication_objects"] == figures["grid"]["sent_per_object"] == 1
        assert figures["broadcast"]["replication_queries"] == pytest.approx(5 / 3, rel=1e-3)  # top terms everywhere
        assert figures["grid"]["total_workload"] < figures["broadcast"]["total_workload"]
    workloads = [result["loads"][name]["grid"]["total_workload"] for name in result["loads"]]
    assert result["metrics"]["grid"]["total_workload"] == pytest.approx(math.prod(workloads) ** (1 / 3), rel=1e-3)
    assert [(row["data"], row["partitioner"]) for row in result["table"]][:3] == [
        ("cities", "grid"), ("cities", "broadcast"), ("uniform", "grid"),
    ]  # fmt: skip
    stored = json.loads((tmp_path / "out" / partition.PARTITION_FILE).read_text(encoding="utf-8"))
    assert stored["metrics"] == result["metrics"]
    (picture,) = map(Path, result["pictures"])
    assert picture.read_bytes().startswith(b"\x89PNG")
    picture.unlink()
    again = run_bench("partition", {"out": tmp_path / "out", "redraw": True})
    assert again["loads"] == result["loads"]
    assert picture.exists()


def test_no_load_on_a_worker_is_infinite_and_has_no_mean() -> None:
    figures = [
        {"max_over_min": 4.0, "build_s": 1.0, "t": {"srq": 0.0}},
        {"max_over_min": None, "build_s": 4.0, "t": {"srq": 2.0}},
    ]
    assert partition.mean_of(figures) == {"max_over_min": None, "build_s": pytest.approx(2), "t": {"srq": 0.0}}


@pytest.mark.usefixtures("few_streams")
def test_every_partitioner_is_measured_without_being_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition, "makespan", lambda *_: Makespan(1.0, 1.0, {}))  # the slowest part, tested above
    result = run_bench("partition", SMALL)
    assert list(result["metrics"]) == list(PARTITIONERS)
    assert "pictures" not in result
    sized = {name for name, figures in result["metrics"].items() if figures["workload_64"] is not None}
    assert sized == set(partition.SIZED)
    assert all(figures["workload_4096"] is None for figures in result["metrics"].values())


def test_leaves_that_can_be_chosen_are_as_many() -> None:
    history, grid = world_of().history, partition.SIZED["grid"]
    made = {name: make(history, SPACE, 4, 64) for name, make in partition.SIZED.items()}
    leaves = {name: one.leaf_table().num_rows for name, one in made.items()}
    assert 56 <= leaves.pop("r-tree") <= 64  # whole slices of whole nodes
    assert leaves == dict.fromkeys(leaves, 64)
    cells = grid(history, SPACE, 4, 64).leaf_table()
    assert {round(e - w, 9) for e, w in zip(*(cells[c].to_pylist() for c in ("east", "west")), strict=True)} == {45.0}


@pytest.mark.usefixtures("few_streams")
def test_a_partitioner_that_loses_queries_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PARTITIONERS, "forgetful", Forgetful)
    with pytest.raises(AssertionError, match="forgetful disagrees with grid on uniform"):
        run_bench("partition", {**SMALL, "partitioners": "grid,forgetful"})
    with pytest.raises(AssertionError, match=r"forgetful: of \d+ pairs that match \d+ do not meet, 0 meet more"):
        run_bench("route", {**ROUTED, "partitioners": "forgetful"})


def test_a_partitioner_that_repeats_must_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {**ROUTED, "partitioners": "everywhere"}
    monkeypatch.setitem(PARTITIONERS, "everywhere", Everywhere)
    assert run_bench("route", sizes)["metrics"]["everywhere"]["queries_per_s"] > 0
    monkeypatch.setattr(Everywhere, "duplicates", False)
    with pytest.raises(AssertionError, match=r"0 do not meet, [1-9]"):
        run_bench("route", sizes)


def test_route_figures() -> None:
    result = run_bench("route", {"objects": 3_000, "queries": 400, "subscriptions": 50, "rounds": 1})
    assert list(result["metrics"]) == list(PARTITIONERS)
    for figures in result["metrics"].values():
        assert {"objects_per_s", "queries_per_s", "ratio_grid", "build_s", "leaves", "bytes"} <= set(figures)
        assert min(figures.values()) > 0
    assert result["baseline"]["objects_per_s"] > 0
    assert result["params"]["fitted_to"] == 3_000


def test_bad_options() -> None:
    with pytest.raises(UnknownPlugin, match="hexagons"):
        run_bench("route", {"partitioners": "grid,hexagons"})
    with pytest.raises(BadConfig, match="one size"):
        run_bench("partition", {"area": "both"})
    for name in ("route", "partition"):
        with pytest.raises(BadConfig, match="mix"):
            run_bench(name, {"mix": "Q"})


def test_several_files_on_the_command_line(tmp_path: Path) -> None:
    files = []
    for seed in (1, 2):
        pq.write_table(table_of(posts(200, seed)), tmp_path / f"posts{seed}.parquet")
        files += ["--dataset", str(tmp_path / f"posts{seed}.parquet")]
    asked = ["bench", "partition", "--quick", "--workers", "2", "--partitioners", "grid", "--queries", "30"]
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, [*asked, *files])
    assert result.exit_code == 0, result.stderr
    assert "posts1" in result.stdout
    assert "posts2" in result.stdout
    assert "max/mean" in result.stdout
    refused = CliRunner().invoke(app, ["bench", "crq", *files])
    assert refused.exit_code == 2
    assert "datasets" in refused.stderr


def test_streams_and_bounds_are_of_the_globe() -> None:
    assert isinstance(stream_of("uniform", 10, 1), Stream)
    assert stream_of("uniform", 10, 1).bounds == GEOGRAPHIC_BOUNDS
