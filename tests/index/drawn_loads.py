"""Larger loads of standing range queries, drawn at random."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.index.standing.block import QueryBlock
from sightline.model.time import MAX_US, MIN_US
from sightline.testing.small_worlds import Row, config_of

Floats = npt.NDArray[np.float64]


def drawn_block(keywords: list[list[str]], west: Floats, south: Floats, width: Floats, height: Floats) -> QueryBlock:
    """Queries for boxes of these sides."""
    columns = {"keywords": keywords, "west": west, "south": south, "east": west + width, "north": south + height}
    return QueryBlock.from_table(pa.table(columns), np.arange(len(west)), MIN_US, MAX_US, config_of())


def drawn_rows(rng: np.random.Generator, texts: npt.NDArray[np.str_]) -> list[Row]:
    """Objects anywhere, with the words of a row of ``texts`` each."""
    places = rng.uniform((-180, -90), (180, 90), (len(texts), 2))
    return [Row(x, y, 0, " ".join(text)) for (x, y), text in zip(places, texts, strict=True)]


def uniform_load(
    n: int, m: int, seed: int, words: int = 60, sides: tuple[float, float] = (-2.0, 1.0)
) -> tuple[QueryBlock, list[Row]]:
    """m queries of one to three words, of sides between two powers of ten (degrees); n objects of eight words."""
    rng = np.random.default_rng(seed)
    vocabulary = np.array([f"w{i}" for i in range(words)])
    west, south, side = rng.uniform(-180, 160, m), rng.uniform(-90, 70, m), 10 ** rng.uniform(*sides, m)
    keywords = [rng.choice(vocabulary, rng.integers(1, 4), replace=False).tolist() for _ in range(m)]
    return drawn_block(keywords, west, south, side, side), drawn_rows(rng, rng.choice(vocabulary, (n, 8)))
