"""The arrays of a relaxed search have the values of the tables and functions that they were made of."""

from __future__ import annotations

import itertools

import numpy as np

import sepset as ss
from sepset.factors.table import Table
from sepset.inference.buckets.causearrays import causes_of, coupled, fixed_logs
from sepset.kernels.buckets.causes import value_of
from support.tolerances import CLOSE


def random_functions(rng, vs):
    """Observed noisy-ors and softmaxes, some of whose parents change nothing."""
    found = []
    for i in range(rng.integers(0, 5)):
        chosen = [vs[j] for j in rng.permutation(len(vs))[: rng.integers(1, len(vs) + 1)]]
        if rng.random() < 0.5:
            effects = {v: np.r_[0.0, rng.choice([0.0, 0.3, 0.9], v.num_states - 1)] for v in chosen}
            cpd, code = ss.NoisyOr(ss.Discrete(f"y{i}"), effects, leak=0.01), 1
        else:
            child = ss.Discrete(f"y{i}", 3)
            weights = {v: rng.normal(size=(v.num_states, 3)) * (rng.random() < 0.7) for v in chosen}
            cpd, code = ss.LogisticCPD(child, weights, bias=rng.normal(size=3)), int(rng.integers(3))
        found.append(cpd.concave({cpd.child: code}))
    return found


def random_tables(rng, vs):
    """Tables of single variables and of some pairs, also far from one, and with zeros."""
    scopes = [(v,) for v in vs for _ in range(rng.integers(0, 3))]
    scopes += [tuple(vs[j] for j in rng.permutation(len(vs))[:2]) for _ in range(rng.integers(0, 3))]
    tables = []
    for scope in scopes:
        shape = [v.num_states for v in scope]
        logs = rng.normal(size=shape) + rng.choice([0.0, 2000.0, -900.0])
        logs = logs * rng.choice([1.0, 5000.0]) if rng.random() < 0.3 else logs
        logs.flat[0] = -np.inf if rng.random() < 0.2 and logs.size > 1 else logs.flat[0]
        tables.append(Table.from_log(scope, logs))
    return tables


def test_values_are_those_of_tables_and_functions():
    for seed in range(150):
        rng = np.random.default_rng(seed)
        vs = [ss.Discrete(f"c{i}", int(card)) for i, card in enumerate(rng.choice([1, 2, 3], 5, p=[0.1, 0.6, 0.3]))]
        functions, tables = random_functions(rng, vs), random_tables(rng, vs)
        groups = coupled(tables, vs)
        parts = [[t for t in tables if t.scope[0] in group] for group in groups]
        causes = causes_of(groups, parts, functions)
        sums = np.zeros(len(causes.sums))
        for codes in itertools.islice(itertools.product(*(range(v.num_states) for v in vs)), 0, None, 7):
            known = dict(zip(vs, codes, strict=True))
            expected = sum(t.log_value(known) for t in tables)
            for f in functions:
                argument = f.start + sum(terms[known[v]] for v, terms in zip(f.variables, f.terms, strict=True))
                own = sum(row[known[v]] for v, row in zip(f.variables, f.fixed, strict=True))
                expected += own + f.value(argument[None])[0]
            joint = [np.ravel_multi_index([known[v] for v in g], [v.num_states for v in g]) for g in groups]
            np.testing.assert_allclose(value_of(causes, np.array(joint), sums), expected, rtol=CLOSE, atol=1e-9)
        terms = np.split(causes.terms, causes.blocks[1:-1])
        widths = np.diff(causes.starts)
        assert all(part.reshape(-1, w).any(axis=0).all() for part, w in zip(terms, widths, strict=True) if w)


def test_linear_parts_of_one_variable_are_added():
    x = ss.Discrete("x", 3)
    cpds = [ss.NoisyMax(ss.Discrete(f"y{i}", 3), {x: [[1, 0, 0], [0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]}) for i in range(2)]
    functions = [cpd.concave({cpd.child: 1}) for cpd in cpds]
    expected = functions[0].fixed[0] + functions[1].fixed[0]
    assert fixed_logs(functions)[x].tolist() == expected.tolist()
