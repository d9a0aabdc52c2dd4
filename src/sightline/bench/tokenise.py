"""The text kernel against the plain Python tokeniser of the same rules, in one run, on the same rows."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sightline.generate.posts import PostGenerator
from sightline.model.terms import terms_of
from sightline.text import TermBatch, tokenise

_SEED = 20240101
_REPEATS = 3


def run(rows: int = 200_000, quick: bool = False, dataset: Path | None = None) -> dict[str, Any]:
    """Measure both tokenisers on two sets: posts of the generator, and a Parquet file with a ``text`` column.

    Without a file the second set is made-up ASCII words.

    Returns
    -------
    dict
        ``params``, and ``metrics`` with the worst ``ratio`` over the sets and its rates, and each set's own figures.

    Raises
    ------
    AssertionError
        The two disagree about a row.
    """
    rows = min(rows, 20_000) if quick else rows
    sets = {"generator": PostGenerator(_SEED).table(rows)["text"].combine_chunks()}
    if dataset is None:
        sets["words"] = _made_up(rows)
    else:
        sets[Path(dataset).stem] = _stored(Path(dataset), rows)
    tokenise(pa.array(["warm", "wärm", "ｗａｒｍ"]))
    measured = {name: _measure(texts) for name, texts in sets.items()}
    worst = min(measured.values(), key=lambda figures: figures["ratio"])
    return {
        "params": {"rows": rows, "quick": quick, "dataset": None if dataset is None else str(dataset)},
        "metrics": worst,
        "sets": measured,
    }


def _made_up(rows: int) -> pa.Array:
    """Rows of about ten words, Zipf-distributed over 50,000, every tenth a tag."""
    rng = np.random.default_rng(_SEED)
    letters = rng.integers(97, 123, (50_000, 9), dtype=np.uint8)
    vocabulary = np.array([bytes(word[: 3 + i % 7]).decode() for i, word in enumerate(letters)], dtype=object)
    lengths = rng.poisson(10, rows)
    drawn = vocabulary[(rng.zipf(1.3, int(lengths.sum())) - 1) % vocabulary.size]
    drawn[::10] = "#" + drawn[::10]
    cuts = np.concatenate(([0], np.cumsum(lengths)))
    return pa.array([" ".join(drawn[a:b]) for a, b in pairwise(cuts.tolist())], pa.string())


def _stored(path: Path, rows: int) -> pa.Array:
    """An even sample of a file's texts."""
    column = pq.read_table(path, columns=["text"])["text"].drop_null()
    wanted = np.unique(np.linspace(0, len(column) - 1, min(rows, len(column)), dtype=np.int64))
    return pa.concat_arrays(column.take(pa.array(wanted)).chunks)


def _measure(texts: pa.Array) -> dict[str, Any]:
    """Both rates, each the best of three taken in turn, and a row by row comparison outside the clock."""
    strings = texts.to_pylist()
    terms_of("wärm")  # compiles the patterns
    python_s = kernel_s = float("inf")
    for _ in range(_REPEATS):
        started = time.perf_counter()
        plain = [terms_of(text) for text in strings]
        python_s = min(python_s, time.perf_counter() - started)
        started = time.perf_counter()
        batch = tokenise(texts, seed=_SEED)
        kernel_s = min(kernel_s, time.perf_counter() - started)
    _compare(batch, plain, strings)
    return {
        "ratio": round(python_s / kernel_s, 2),
        "rows_per_s": round(len(strings) / kernel_s),
        "python_rows_per_s": round(len(strings) / python_s),
        "rows": len(strings),
        "terms_per_row": round(batch.ids.size / max(1, len(strings)), 2),
    }


def _compare(batch: TermBatch, plain: list[dict[str, int]], strings: list[str]) -> None:
    terms = batch.dictionary.strings().to_pylist()
    for row, (low, high) in enumerate(pairwise(batch.offsets.tolist())):
        ids, counts = batch.ids[low:high].tolist(), batch.counts[low:high].tolist()
        found = {terms[term]: count for term, count in zip(ids, counts, strict=True)}
        if found != {term: min(count, 65535) for term, count in plain[row].items()}:
            message = f"the tokenisers disagree on {strings[row]!r}: {found} against {plain[row]}"
            raise AssertionError(message)
