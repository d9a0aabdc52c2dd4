"""Blocks of standing queries: tables and objects compile alike, and nothing is lost on the way."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.index.standing.block import KIND_NEAREST, KIND_RANGE, KIND_TOP_TERMS, QueryBlock
from sightline.model.errors import BadExpression, BadQuery
from sightline.model.expression import all_of
from sightline.model.queries import NearestQuery, Query, RangeQuery, TopTermsQuery, query_from_dict
from sightline.model.regions import Box, Circle
from sightline.model.time import MAX_US, MIN_US
from sightline.store.array_file import ArrayFile, write_array_file
from sightline.testing.small_worlds import PLANE, WORDS, block_of, config_of, expressions, regions

some_queries = st.lists(
    st.one_of(
        st.builds(RangeQuery, expressions, regions),
        st.builds(lambda e, k: NearestQuery(e, (179.5, -12.25), k), expressions, st.integers(1, 9)),
        st.builds(lambda r: TopTermsQuery(r, 4, window="90min", every="1h"), regions),
    ),
    max_size=7,
)


def meaning(block: QueryBlock) -> list[tuple[object, ...]]:
    """Everything a block says about each query, free of term numbers."""
    strings = block.dictionary.strings().to_pylist()
    out = []
    for i in range(len(block)):
        conjuncts = sorted(
            (
                tuple(sorted(strings[t] for t in block.pos[block.pos_offsets[c] : block.pos_offsets[c + 1]])),
                tuple(sorted(strings[t] for t in block.neg[block.neg_offsets[c] : block.neg_offsets[c + 1]])),
            )
            for c in np.flatnonzero(block.conj_query == i)
        )
        out.append(
            (
                int(block.num[i]),
                int(block.kind[i]),
                int(block.start[i]),
                int(block.end[i]),
                block.at[i].tolist(),
                int(block.k[i]),
                int(block.window[i]),
                int(block.every[i]),
                int(block.anchor[i]),
                block.regions.region(i),
                block.piece_box[block.piece_query == i].tolist(),
                conjuncts,
                block.ids[i].as_py(),
                query_from_dict(json.loads(block.queries[i].as_py())),
            )
        )
    return out


@given(asked=some_queries, bits=st.sampled_from([64, 8]), data=st.data())
@settings(max_examples=60, deadline=None)
def test_take_concat_and_arrays_keep_the_meaning(asked: list[Query], bits: int, data: st.DataObject) -> None:
    block = block_of(asked, config_of(bits))
    whole = meaning(block)
    assert [row[-1] for row in whole] == asked
    rows = data.draw(st.lists(st.integers(0, len(asked) - 1), max_size=9)) if asked else []
    assert meaning(block.take(rows)) == [whole[r] for r in rows]
    cut = len(asked) // 2
    parts = [block.take(range(cut)), block.take(range(cut, len(asked)))]
    assert meaning(QueryBlock.concat(parts)) == whole
    assert meaning(QueryBlock.from_arrays(block.to_arrays("b_"), prefix="b_")) == whole


def test_arrays_survive_a_file(tmp_path: Path) -> None:
    block = block_of([RangeQuery("#東京 NOT rain", Circle(1, 2, 3)), NearestQuery("", (0, 0), 2)], config_of())
    write_array_file(tmp_path / "b.sl", block.to_arrays(), {}, durable=False)
    file = ArrayFile.open(tmp_path / "b.sl")
    assert meaning(QueryBlock.from_arrays({n: file.array(n) for n in file.names})) == meaning(block)


lists = st.lists(
    st.lists(st.sampled_from([*WORDS, "Flood!", "new york", "@me #you", 'quo"te', "ΣΑΣ"]), max_size=4),
    min_size=1,
    max_size=6,
)


@given(keywords=lists, bits=st.sampled_from([64, 8]))
@settings(max_examples=60, deadline=None)
def test_a_table_of_lists_compiles_like_objects(keywords: list[list[str]], bits: int) -> None:
    config, n = config_of(bits), len(keywords)
    west = [170.0, -1e-7, 0.1, -180.0, 5.0, 1 / 3][:n]
    table = pa.table(
        {
            "id": [f"q{i}" for i in range(n)],
            "keywords": pa.array(keywords, pa.list_(pa.string())),
            "west": west,
            "south": [-1.5] * n,
            "east": [-170.0] * n,
            "north": [2.0] * n,
        }
    )
    asked: list[Query] = [
        RangeQuery(all_of(words), Box(w, -1.5, -170.0, 2.0)) for words, w in zip(keywords, west, strict=True)
    ]
    block = QueryBlock.from_table(table, np.arange(n), MIN_US, MAX_US, config)
    assert meaning(block) == meaning(block_of(asked, config))


def test_a_table_of_all_kinds() -> None:
    config = config_of()
    table = pa.table(
        {
            "kind": ["range", "nearest", "top_terms", "range"],
            "keywords": ["flood OR (boat NOT rain)", "", None, None],
            "lon": [1.0, 2.0, 3.0, None],
            "lat": [4.0, 5.0, 6.0, None],
            "radius_m": [1000.0005, None, 12.0, None],
            "west": [None, None, None, 170.0],
            "south": [None, None, None, 0.0],
            "east": [None, None, None, -170.0],
            "north": [None, None, None, 1.0],
            "k": [None, 7, 3, None],
            "window": [None, None, "1h", None],
            "every": [None, None, "1500ms", None],
        }
    )
    asked: list[Query] = [
        RangeQuery("flood OR (boat NOT rain)", Circle(1, 4, 1000.0005)),
        NearestQuery("", (2, 5), 7),
        TopTermsQuery(Circle(3, 6, 12), 3, window="1h", every="1500ms"),
        RangeQuery("", Box(170, 0, -170, 1)),
    ]
    block = QueryBlock.from_table(table, [5, 6, 7, 8], 100, MAX_US, config)
    expected = QueryBlock.from_queries(asked, ["5", "6", "7", "8"], [5, 6, 7, 8], 100, MAX_US, config)
    assert meaning(block) == meaning(expected)
    assert block.kind.tolist() == [KIND_RANGE, KIND_NEAREST, KIND_TOP_TERMS, KIND_RANGE]
    assert block.anchor.tolist() == [100] * 4
    unnamed = QueryBlock.from_table(table.drop_columns("kind"), [5, 6, 7, 8], 100, MAX_US, config)
    assert meaning(unnamed) == meaning(expected)


def test_a_planar_table() -> None:
    config = config_of(space=PLANE)
    table = pa.table({"lon": [150.5], "lat": [99.0], "k": [2]})
    block = QueryBlock.from_table(table, [0], MIN_US, MAX_US, config)
    assert query_from_dict(json.loads(block.queries[0].as_py())) == NearestQuery("", (150.5, 99.0), 2, planar=True)
    assert block.piece_box.tolist() == [[-200.0, -100.0, 200.0, 100.0]]


BOX = {"west": [0.0, 0.0], "south": [0.0, 0.0], "east": [1.0, 1.0], "north": [1.0, 1.0]}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({**BOX, "north": [1.0, 95.0]}, "row 1: north of the box"),
        ({**BOX, "south": [0.0, math.nan]}, "row 1: south of the box"),
        ({**BOX, "south": [0.0, 3.0]}, "row 1: south of the box is above its north"),
        ({**BOX, "west": [None, 0.0]}, "row 0: no region"),
        ({**BOX, "size": [1, 2]}, "unknown columns"),
        ({**BOX, "west": ["a", "b"]}, "column west is not numeric"),
        ({**BOX, "kind": ["range", "rang"]}, "unknown kind"),
        ({**BOX, "kind": ["range", "nearest"]}, "row 1: k is missing"),
        ({**BOX, "k": [3, 3], "window": ["1h", "1h"]}, "row 0: top terms need window and every"),
        ({**BOX, "keywords": [["a"], ["b", None]]}, "null"),
        ({**BOX, "keywords": [["a"], ["..."]]}, "keyword without terms"),
        ({**BOX, "keywords": ["a", "a AND NOT a"]}, "a AND NOT a"),
        ({**BOX, "keywords": [1, 2]}, "keywords are neither"),
        ({**BOX, "keywords": [[1], [2]]}, "keywords are neither"),
        ({**BOX, "id": ["a", None]}, "no id"),
        ({"lon": [0.0], "lat": [0.0], "radius_m": [-1.0]}, "row 0: radius_m"),
        ({"lon": [0.0], "lat": [0.0], "k": [-1]}, "row 0: k is missing or below 1"),
    ],
)
def test_bad_tables_name_the_row(columns: dict[str, list[object]], message: str) -> None:
    with pytest.raises((BadQuery, BadExpression), match=message):
        QueryBlock.from_table(
            pa.table(columns), np.arange(2)[: len(next(iter(columns.values())))], MIN_US, MAX_US, config_of()
        )


def test_objects_are_checked_as_subscriptions() -> None:
    with pytest.raises(BadQuery, match="last has no meaning"):
        block_of([RangeQuery("a", Box(0, 0, 1, 1), last="1h")], config_of())
