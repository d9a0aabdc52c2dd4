"""SSTD's Equations 1 and 2 against numbers worked out by hand and the formulas written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.partition.cost import sstd

HAND = sstd.cost_model([0.1, 0.2, 0.3, 0.1, 0.2, 0.1], [0, 1], [0, 0, 1], [10, 20, 30])
P = np.array([0.5, 0.25, 0.4, 0.2, 0.1, 1.0])


def test_equation_1_by_hand():
    """0.5 * 0.5 + 0.3 * 0.25 + 0.2 * 0.125 = 0.35."""
    lengths = np.array([0.0, 0.5, 0.3, 0.2])
    assert sstd.covered(0.5, lengths) == pytest.approx(0.35)
    assert sstd.covered(0.0, np.array([0.25, 0.75])) == 0.25  # queries without keywords visit every list


def test_equation_2_by_hand():
    """100 objects, 2 a second: 2.5 + 1.25 + 12 + 0.4 + 0.8 + 6."""
    assert sstd.workload(HAND, P, 100.0, 2.0, 0.5, 0.5) == pytest.approx(22.95)


unit = st.floats(0, 1)


@given(
    st.lists(st.tuples(st.lists(unit, min_size=6, max_size=6), st.integers(0, 500), unit, unit, unit), max_size=5),
    st.lists(unit, min_size=6, max_size=6),
    st.lists(unit, min_size=1, max_size=5),
    st.lists(unit, min_size=1, max_size=5),
)
def test_equation_2_written_out(partitions, types, srq, skq):
    model = sstd.cost_model(types, srq, skq, [3.0, 5.0, 7.0])
    expected = []
    for p, objects, rate, h_srq, h_skq in partitions:
        w_srq = p[0] * sum(chance * h_srq**n for n, chance in enumerate(srq)) * objects
        w_skq = p[1] * sum(chance * h_skq**n for n, chance in enumerate(skq)) * objects
        w_stq = p[2] * objects
        w_crq, w_ckq, w_ctq = (p[3 + i] * rate * seconds for i, seconds in enumerate((3.0, 5.0, 7.0)))
        w = (w_srq, w_skq, w_stq, w_crq, w_ckq, w_ctq)
        expected.append(sum(a * b for a, b in zip(types, w, strict=True)))
    p = np.array([row[0] for row in partitions]).reshape(-1, 6)
    columns = [np.array([row[i] for row in partitions], np.float64) for i in range(1, 5)]
    assert sstd.partition_workloads(model, p, *columns) == pytest.approx(expected)


def test_figures_2_and_3():
    """One SRQ for one keyword over 5 objects: all are visited unsplit, 2 under a textual split, a spatial one between.

    The keyword's objects are two; the query overlaps two quarters with 2 and 1 objects. Every quarter that it overlaps
    has the keyword.
    """
    model = sstd.cost_model([1, 0, 0, 0, 0, 0], [0, 1], [1], [0, 0, 0])
    everywhere, nowhere = [1, 0, 0, 0, 0, 0], [0] * 6
    none = np.zeros(4)
    unsplit = sstd.partition_workloads(model, [everywhere], [5], [0], [1], [0]).sum()
    textual = sstd.partition_workloads(model, [everywhere] * 4, [1, 1, 2, 1], none, [0, 0, 1, 0], none).sum()
    p = [nowhere, everywhere, nowhere, everywhere]
    spatial = sstd.partition_workloads(model, p, [1, 2, 1, 1], none, [0, 1, 0, 1], none).sum()
    assert (unsplit, spatial, textual) == (5, 3, 2)
