"""The structural intervention distance against effects computed by enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.errors import ModelError, TooLarge
from sepset.learning.structure import interventiondistance
from sepset.learning.structure.exact.enumeration import all_dags

distance = ss.structure.intervention_distance


def random_dag(rng, names):
    order = rng.permutation(names)
    return ss.DAG(names, [(a, b) for a, b in itertools.combinations(order.tolist(), 2) if rng.random() < 0.5])


def joint_of(dag, rng, intervened=None):
    """The joint of binary variables with random tables, as an array in node order; one variable may be uniform."""
    joint = np.ones((2,) * len(dag.nodes))
    for i, name in enumerate(dag.nodes):
        parents = [dag.nodes.index(p) for p in dag.parents(name)]
        table = rng.uniform(0.1, 0.9, (2,) * len(parents))
        if name == intervened:
            table = np.full_like(table, 0.5)
        for codes in np.ndindex(joint.shape):
            chance = table[tuple(codes[p] for p in parents)]
            joint[codes] *= chance if codes[i] else 1.0 - chance
    return joint


def effect(joint, i, j):
    """P(x_j | x_i) of a joint."""
    pair = joint.sum(tuple(k for k in range(joint.ndim) if k not in (i, j)))
    pair = pair if i < j else pair.T
    return pair / pair.sum(1, keepdims=True)


def adjusted(joint, i, j, given):
    """The sum over z of P(x_j | x_i, z) P(z)."""
    kept = [i, j, *given]
    table = np.moveaxis(joint, kept, range(len(kept)))
    table = table.reshape(2, 2, 2 ** len(given), -1).sum(-1)
    return (table / table.sum(1, keepdims=True) * table.sum((0, 1))).sum(2)


def test_wrong_effects_by_enumeration():
    rng = np.random.default_rng(0)
    names = list("abcd")
    for trial in range(40):
        truth, learned = random_dag(rng, names), random_dag(rng, names)
        observed = joint_of(truth, np.random.default_rng(trial))
        wrong = []
        for i, j in itertools.permutations(range(4), 2):
            real = effect(joint_of(truth, np.random.default_rng(trial), names[i]), i, j)
            given = [names.index(p) for p in learned.parents(names[i])]
            if j in given:
                said = np.tile(effect(observed, i, j).T @ observed.sum(tuple(set(range(4)) - {i})), (2, 1))
            else:
                said = adjusted(observed, i, j, given)
            if not np.allclose(real, said, atol=1e-9):
                wrong.append((names[i], names[j]))
        found = distance(truth, learned)
        assert set(found.wrong) == set(wrong)
        assert found.lower == found.upper == len(wrong)


def test_published_examples():
    truth = ss.DAG.parse("x1 -> x2; x1 -> y1; x1 -> y2; x1 -> y3; x2 -> y1; x2 -> y2; x2 -> y3")
    more = ss.DAG([*truth.nodes], [*truth.edges, ("y1", "y2")])
    turned = ss.DAG([*truth.nodes], [("x2", "x1"), *(edge for edge in truth.edges if edge != ("x1", "x2"))])
    assert distance(truth, more).lower == 0
    assert distance(truth, turned).lower == 8


def test_bounds_over_a_class_are_those_of_its_members():
    rng = np.random.default_rng(1)
    members = {}
    for dag in all_dags(list("abcd")):
        members.setdefault(ss.graphs.cpdag(dag), []).append(dag)
    for learned in rng.permutation(np.array(list(members), object))[:15]:
        truth = random_dag(rng, list("abcd"))
        found = distance(truth, learned)
        each = [distance(truth, member) for member in members[learned]]
        assert (found.lower, found.upper) == (min(d.lower for d in each), max(d.upper for d in each))
        assert set(found.wrong) == set.intersection(*(set(d.wrong) for d in each))
    assert distance(truth, ss.graphs.cpdag(truth)).lower == 0


def test_extremes_and_refusals(monkeypatch):
    dag = ss.DAG.parse("a -> b -> c")
    assert distance(dag, dag).wrong == ()
    assert "0 of 6 pairs" in str(distance(dag, dag))
    assert distance(ss.DAG(["a"], []), ss.DAG(["a"], [])).num_pairs == 0
    with pytest.raises(ModelError, match="same nodes"):
        distance(dag, ss.DAG.parse("a -> b"))
    with pytest.raises(ModelError, match="class PDAG"):
        distance(dag, ss.MixedGraph.parse("a -> b; c"))
    monkeypatch.setattr(interventiondistance, "MOST_MEMBERS", 2)
    with pytest.raises(TooLarge, match="consistent_extension"):
        distance(dag, ss.MixedGraph.parse("a - b - c"))
