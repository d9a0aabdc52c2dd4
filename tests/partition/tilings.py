"""What tests of tilings share: small histories, and what must hold for any tiling."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pyarrow as pa

import sightline as sl
from sightline.index.protocol import ObjectColumns
from sightline.index.standing.block import QueryBlock
from sightline.model.config import StoreConfig
from sightline.partition.history import History
from sightline.text.tokeniser import tokenise

GLOBE = sl.Space()
SPACES = [
    GLOBE,
    sl.Space.planar((-3.0, -2.0, -1.0, 5.0)),
    sl.Space.planar((0.0, 0.0, 1e-300, 1e11)),
    sl.Space.planar((0.0, 0.0, 5e-324, 5e-324)),  # no number between its edges
    sl.Space.planar((0.1, -0.3, 0.1 + 3e-16, 0.3)),
]
SPACE_NAMES = ["globe", "plane", "sliver", "speck", "narrow"]


def config_of(space):
    return StoreConfig(seed=1, space=space)


def objects_at(places, texts=None, space=GLOBE):
    config = config_of(space)
    lon, lat = np.array(places, np.float64).reshape(-1, 2).T
    terms = tokenise(pa.array(texts or ["flood"] * len(lon), pa.string()), config.text, config.seed)
    return ObjectColumns(lon.copy(), lat.copy(), np.zeros(len(lon), np.int64), terms)


def block_of(queries, space=GLOBE):
    n = len(queries)
    return QueryBlock.from_queries(queries, [str(i) for i in range(n)], np.arange(n), 0, 1, config_of(space))


def history_of(places, queries=(), texts=None, space=GLOBE):
    nothing = block_of([], space)
    return History(objects_at(places, texts, space), block_of(list(queries), space), nothing, 1)


def crowd(n, space=GLOBE, seed=0):
    """Places of a city, a road and a countryside, all inside the space."""
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.normal(0.3, 0.01, n // 2), rng.random(n // 4), rng.random(n - n // 2 - n // 4)])
    y = np.concatenate([rng.normal(0.7, 0.02, n // 2), np.full(n // 4, 0.5), rng.random(n - n // 2 - n // 4)])
    west, south, east, north = space.bounds
    return np.column_stack([west + np.clip(x, 0, 1) * (east - west), south + np.clip(y, 0, 1) * (north - south)])


def assert_tiles(routing):
    """Leaves are rectangles that cover all cells once, and the table shows them with their edges."""
    rows, columns = routing.raster.shape
    owner = np.full((rows, columns), -1)
    for leaf, (left, bottom, right, top) in enumerate(routing.spans.tolist()):
        assert 0 <= left <= right < columns
        assert 0 <= bottom <= top < rows
        assert (owner[bottom : top + 1, left : right + 1] == -1).all()
        owner[bottom : top + 1, left : right + 1] = leaf
    assert (owner == routing.raster).all()
    assert (routing.raster >= 0).all()
    assert len(routing.leaf_worker) == len(routing.spans)
    assert ((routing.leaf_worker >= 0) & (routing.leaf_worker < routing.workers)).all()
    table = routing.leaf_table().to_pydict()
    assert table["leaf"] == list(range(len(routing.spans)))
    edges = [min(table["west"]), min(table["south"]), max(table["east"]), max(table["north"])]
    assert edges == routing.bounds.tolist()
    assert all(west <= east for west, east in zip(table["west"], table["east"], strict=True))


def _awkward(edges, rng, most=12):
    inner = rng.choice(edges, min(most, len(edges)), replace=False)
    low, high = edges[0], edges[-1]
    near = [np.nextafter(inner, -np.inf), inner, np.nextafter(inner, np.inf)]
    values = np.concatenate([*near, [low, high, (low + high) / 2, -0.0, 0.0, 5e-324, -5e-324]])
    return values[(values >= low) & (values <= high)]


def assert_complete(routing, seed=0):
    """A point of a closed box is in a leaf that the box visits: edges, corners, their neighbours, zeros, bounds."""
    rng = np.random.default_rng(seed)
    x, y = (_awkward(edges, rng) for edges in routing.edges())
    lon, lat = (grid.ravel() for grid in np.meshgrid(x, y))
    leaf = routing.leaves_at(lon, lat)
    w, e = np.sort(rng.choice(x, (2, 150)), axis=0)
    s, n = np.sort(rng.choice(y, (2, 150)), axis=0)
    far = np.array([[-1e300, -1e300, 1e300, 1e300], [routing.bounds[2], routing.bounds[3], 1e300, 1e300]])
    box = np.concatenate([np.column_stack([w, s, e, n]), far])
    block = SimpleNamespace(piece_query=np.arange(len(box), dtype=np.int32), piece_box=box)
    (query, visited), _ = routing.searched(block)
    pairs = list(zip(query.tolist(), visited.tolist(), strict=True))
    assert pairs == sorted(set(pairs))
    met = np.zeros((len(box), len(routing.spans)), bool)
    met[query, visited] = True
    inside = (lon >= box[:, :1]) & (lon <= box[:, 2:3]) & (lat >= box[:, 1:2]) & (lat <= box[:, 3:])
    assert met[:, leaf][inside].all()
    assert met[-2].all()


def assert_mapped_alike(routing, places):
    """Arrays from a file are read-only; the routing made of them says the same."""
    arrays = {name: np.array(array) for name, array in routing.to_arrays().items()}
    for array in arrays.values():
        array.flags.writeable = False
    again = type(routing).from_arrays(arrays)
    mine, theirs = (one.route_objects(objects_at(places)) for one in (routing, again))
    assert all((a == b).all() for a, b in zip(mine, theirs, strict=True))
    assert again.workers == routing.workers
    assert again.leaf_table().equals(routing.leaf_table())
