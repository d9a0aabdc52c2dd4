"""SSTD's Equations 1-3 against numbers worked out by hand and the formulas written out."""

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
    assert sstd.covers_probability([0.5, 1.0, 0.0], lengths) == pytest.approx([0.35, 1.0, 0.0])
    assert sstd.covered(0.0, np.array([0.25, 0.75])) == 0.25  # queries without keywords visit every list


def test_equation_2_by_hand():
    """100 objects, 2 a second: 2.5 + 1.25 + 12 + 0.4 + 0.8 + 6."""
    assert sstd.workload(HAND, P, 100.0, 2.0, 0.5, 0.5) == pytest.approx(22.95)
    by_type = sstd.workloads_by_type(HAND, [P], [100], [2], [0.5], [0.5])
    assert by_type[0] == pytest.approx([25, 6.25, 40, 4, 4, 60])
    assert by_type[0] @ HAND.types == pytest.approx(22.95)


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
    assert sstd.workloads_by_type(model, p, *columns) @ np.array(types) == pytest.approx(expected)


def test_new_terms_raise_the_mass():
    listed = np.array([True, False, False])
    mass = np.array([0.2, 0.3, 0.5])
    assert sstd.added_mass(listed, np.array([0, 2, -1], np.int32), mass) == 0.5
    assert sstd.added_mass(listed, np.array([], np.int32), mass) == 0


@given(st.lists(st.sets(st.integers(0, 9), max_size=4), max_size=12))
def test_mass_kept_up_to_date_is_the_mass_of_the_union(objects):
    mass = np.arange(1, 11) / 55
    listed, h = np.zeros(10, np.bool_), 0.0
    for terms in objects:
        ids = np.array(sorted(terms), np.int32)
        h += sstd.added_mass(listed, ids, mass)
        listed[ids] = True
    assert h == pytest.approx(sum(mass[term] for term in set().union(*objects)))


def test_textual_children_share_the_arrivals():
    assert sstd.shared_rates(6.0, [1, 2, 0, 3]).tolist() == [1, 2, 0, 3]
    assert sstd.shared_rates(6.0, [0, 0, 0, 0]).tolist() == [0, 0, 0, 0]


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


def test_equation_3_is_a_ratio():
    """1/4 if each query overlaps one child, 1 if each overlaps all four; spatial where nothing is known."""
    parent = np.array([0.4, 0, 0, 0.2, 0, 0])
    assert sstd.split_similarity(parent, [parent] * 4) == pytest.approx(1.0)
    assert sstd.split_similarity(parent, [parent, parent * 0, parent * 0, parent * 0]) == pytest.approx(0.25)
    assert sstd.split_similarity(parent, [parent / 2] * 4) == pytest.approx(0.5)
    assert sstd.split_similarity(np.zeros(6), np.zeros((4, 6))) == 0.0
