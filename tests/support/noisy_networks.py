"""Random networks of noisy-ors, noisy-maxes and tables, and their joint weights by the formulas of these."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

import sepset as ss


def _distribution(rng, size):
    """Some have zeros, some are certain, and some have equal numbers."""
    kind, found = rng.choice(["any", "zero", "certain", "equal"], p=[0.5, 0.2, 0.1, 0.2]), rng.dirichlet(np.ones(size))
    if kind == "zero" and size > 1:
        found[rng.integers(size)] = 0.0
    return {"certain": np.eye(size)[rng.integers(size)], "equal": np.ones(size) / size}.get(kind, found / found.sum())


def _noisy_or(rng, child, parents):
    strengths = [0.0, 1.0, 1e-9, 1.0 - 1e-9, 0.5, *rng.random(5)]
    given = {p: [float(rng.choice(strengths)) for _ in range(p.num_states)] for p in parents}
    leak, on = float(rng.choice([0.0, 1.0, 0.1, rng.random()], p=[0.4, 0.05, 0.25, 0.3])), int(rng.integers(2))
    table = np.zeros([*(p.num_states for p in parents), 2])
    for codes in itertools.product(*(range(p.num_states) for p in parents)):
        off = (1 - Fraction(leak)) * math.prod(1 - Fraction(given[p][c]) for p, c in zip(parents, codes, strict=True))
        table[codes][on], table[codes][1 - on] = float(1 - off), float(off)
    return ss.NoisyOr(child, given, leak=leak, on=child.states[on]), table


def _noisy_max(rng, child, parents):
    size = child.num_states
    given = {p: np.array([_distribution(rng, size) for _ in range(p.num_states)]) for p in parents}
    leak = _distribution(rng, size) if rng.random() < 0.6 else np.eye(size)[0]
    table = np.zeros([*(p.num_states for p in parents), size])
    for codes in itertools.product(*(range(p.num_states) for p in parents)):
        rows = [leak, *(given[p][c] for p, c in zip(parents, codes, strict=True))]
        table[codes] = np.diff(np.prod(np.cumsum(rows, axis=1), axis=0), prepend=0.0)
    return ss.NoisyMax(child, given, leak=leak), table


def _table(rng, child, parents):
    table = np.array([_distribution(rng, child.num_states) for _ in range(math.prod(p.num_states for p in parents))])
    table = table.reshape([*(p.num_states for p in parents), child.num_states])
    return ss.TableCPD(child, table, given=parents) if parents else ss.TableCPD(child, table), table


def noisy_network(rng, size, *, is_tree):
    """A network with names and CPDs in any order, its variables, and the weights of all their joint states.

    Args:
        is_tree: whether every variable has one child at most.
    """
    names, vs, cpds, joint, used = rng.permutation(size), [], [], np.ones(()), set()
    for i in range(size):
        free = [v for v in vs if not is_tree or v not in used]
        num = rng.choice([0, 4, 4]) * (len(free) > 3) if is_tree else rng.choice([0, 0, 3, 4, 4, 5])
        parents = [free[j] for j in rng.permutation(len(free))[:num]]
        used.update(parents)
        make = rng.choice([_noisy_or, _noisy_max, _table], p=[0.5, 0.3, 0.2] if parents else [0.1, 0.1, 0.8])
        card = 2 if make is _noisy_or else int(rng.choice([1, 2, 3], p=[0.05, 0.75, 0.2]))
        child = ss.Discrete(f"v{names[i]}", [f"s{j}" for j in range(card)])
        cpd, table = make(rng, child, parents)
        scope = [*(vs.index(p) for p in parents), i]
        shape = [*(v.num_states if j in scope else 1 for j, v in enumerate(vs)), card]
        joint = joint[..., None] * np.transpose(table, np.argsort(scope)).reshape(shape)
        vs.append(child)
        cpds.append(cpd)
    return ss.BayesNet(*(cpds[i] for i in rng.permutation(size))), vs, joint


def noisy_findings(rng, num_causes, num_findings):
    """Independent causes and findings that share them; the variables, causes first, and the joint weights."""
    vs, cpds, joint = [], [], np.ones(())
    for i, name in enumerate(rng.permutation(num_causes + num_findings)):
        make = _table if i < num_causes else rng.choice([_noisy_or, _noisy_max])
        card = 2 if make is _noisy_or else int(rng.choice([1, 2, 3], p=[0.05, 0.6, 0.35]))
        child = ss.Discrete(f"v{name}", [f"s{j}" for j in range(card)])
        num = 0 if i < num_causes else rng.integers(4, 6)
        places = rng.permutation(num_causes)[:num].tolist()
        cpd, table = make(rng, child, [vs[j] for j in places])
        scope = [*places, i]
        shape = [*(v.num_states if j in scope else 1 for j, v in enumerate(vs)), card]
        joint = joint[..., None] * np.transpose(table, np.argsort(scope)).reshape(shape)
        vs.append(child)
        cpds.append(cpd)
    return ss.BayesNet(*cpds), vs, joint


def findings(rng, vs, joint):
    """Random findings and likelihoods, and the weights of the joint states with them."""
    given = {}
    for i, v in enumerate(vs):
        kind = rng.random()
        if kind < 0.2:
            code = int(rng.integers(v.num_states))
            given[v.name], weights = v.states[code], np.eye(v.num_states)[code]
        elif kind < 0.3:
            weights = rng.random(v.num_states) * rng.choice([1.0, 1e-3])
            given[v.name] = ss.Likelihood(weights.tolist())
        else:
            continue
        joint = joint * weights.reshape([-1 if j == i else 1 for j in range(len(vs))])
    return given, joint


def assert_best(net, vs, joint, given, over, k):
    """The k best values of some variables, or of all, are the largest weights, and those of their assignments."""
    summed = tuple(i for i, v in enumerate(vs) if over is not None and v.name not in over)
    weights = joint.sum(axis=summed, keepdims=True)
    ranked = np.sort(weights.reshape(-1))[::-1]
    try:
        found = ss.map_assignment(net, given=given, over=over, k=k)
    except ss.ImpossibleEvidence:
        assert ranked[0] < 1e-300
        return
    assert str(found.guarantees["assignment"]) == "exact"
    expected = [math.log(x) for x in ranked[:k] if x > 1e-12 * ranked[0]]  # smaller ones may be rounding
    assert len(found.log_values) >= len(expected)
    np.testing.assert_allclose(found.log_values[: len(expected)], expected, rtol=1e-9, atol=1e-9)
    for assignment, expected_log in zip(found.assignments, expected, strict=False):
        known = {**given, **assignment}
        place = tuple(0 if i in summed else v.states.index(known[v.name]) for i, v in enumerate(vs))
        np.testing.assert_allclose(math.log(weights[place]), expected_log, rtol=1e-9, atol=1e-9)
