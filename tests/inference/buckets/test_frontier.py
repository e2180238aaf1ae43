"""Best assignments from frontiers of partial ones, against enumeration and undominated pairs kept by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import sepset as ss
from sepset.factors.decomposition import Concave
from sepset.factors.table import Table
from sepset.inference.buckets import frontier
from sepset.inference.buckets.frontier import FrontierSearch
from support.tolerances import CLOSE

ON = ss.Discrete("y")


def close(found, expected, rtol=CLOSE):
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=CLOSE)


def log_rest(s):
    return math.log1p(-math.exp(s)) if s < 0 else -math.inf


def causes(rng, shape):
    """Variables and tables that couple them: none, a chain, a common parent, or all pairs of neighbors on a ring."""
    vs = [ss.Discrete(f"c{i}", 3 if i % 4 == 2 else 2) for i in range(7)]
    pairs = {
        "independent": [],
        "chain": list(itertools.pairwise(vs)),
        "star": [(vs[0], v) for v in vs[1:]],
        "ring": [*itertools.pairwise(vs), (vs[-1], vs[0])],
    }[shape]
    tables = [Table((v,), rng.dirichlet(np.ones(v.num_states))) for v in vs]
    for a, b in pairs:
        values = rng.gamma(1.0, size=(a.num_states, b.num_states))
        values[0, 1] *= rng.integers(2)
        tables.append(Table((a, b), values))
    return vs, tables


def function(rng, vs, kind):
    """A concave function of some variables, as the library's own conditionals give it, and in plain numbers."""
    if kind == "noisy":
        cpd = ss.NoisyOr(ON, {v: np.r_[0.0, rng.uniform(0.05, 1.0, v.num_states - 1)] for v in vs}, leak=0.0)
    elif kind == "leaky":
        cpd = ss.NoisyOr(ON, {v: np.r_[0.0, rng.uniform(0.05, 0.9, v.num_states - 1)] for v in vs}, leak=0.01)
    else:
        child = ss.Discrete("y", 2 if kind == "logistic" else 4)
        cpd = ss.LogisticCPD(
            child, {v: rng.normal(size=(v.num_states, child.num_states)) for v in vs}, bias=np.zeros(child.num_states)
        )
    return cpd, cpd.concave({cpd.child: 1})


def by_hand(tables, cpds, vs):
    """The log value of every assignment of the variables, from the tables and the conditionals' own probabilities."""
    shape = [v.num_states for v in vs]
    codes = np.indices(shape).reshape(len(shape), -1)
    columns = dict(zip(vs, codes, strict=True))
    with np.errstate(divide="ignore"):
        total = np.zeros(codes.shape[1])
        for table in tables:
            total = total + np.log(table.values[tuple(columns[v] for v in table.scope)])
        for cpd in cpds:
            rows = {**{v: columns[v] for v in cpd.parents}, cpd.child: np.ones(codes.shape[1], np.int64)}
            total = total + cpd.log_probability(rows)
    return codes.T, total


@pytest.mark.parametrize("kinds", [("noisy",), ("leaky",), ("logistic",), ("softmax",), ("leaky", "noisy", "logistic")])
@pytest.mark.parametrize("shape", ["independent", "chain", "star", "ring"])
def test_best_assignments_are_those_of_enumeration(shape, kinds):
    rng = np.random.default_rng(len(shape) + 10 * len(kinds))
    vs, tables = causes(rng, shape)
    made = [function(rng, vs[i : i + 6], kind) for i, kind in enumerate(kinds)]
    codes, values = by_hand(tables, [cpd for cpd, _ in made], vs)
    order = [vs[i] for i in rng.permutation(len(vs))]
    for k in (1, 7, 400):
        found = FrontierSearch(tables, [f for _, f in made], order).run(k)
        expected = np.sort(values[values > -np.inf])[::-1][:k]
        assert found.is_proved
        close(found.log_values, expected)
        places = [int(np.flatnonzero((codes == [row[v] for v in vs]).all(axis=1))[0]) for row in found.assignments]
        assert len(set(places)) == len(places)
        close(values[places], expected)


def test_only_assignments_above_a_value():
    rng = np.random.default_rng(3)
    vs, tables = causes(rng, "chain")
    cpd, f = function(rng, vs, "leaky")
    _, values = by_hand(tables, [cpd], vs)
    top = values.max()
    assert FrontierSearch(tables, [f], vs).run(1, above=top + 1e-6).assignments == []
    assert len(FrontierSearch(tables, [f], vs).run(1, above=top - 1e-6).assignments) == 1


def test_ties_and_certain_states():
    """Equal causes, one that is always present and one that never is; the effect is sure of two of them."""
    vs = [ss.Discrete(f"c{i}") for i in range(8)]
    priors = [[0.9, 0.1]] * 5 + [[0.0, 1.0], [1.0, 0.0], [0.9, 0.1]]
    tables = [Table((v,), row) for v, row in zip(vs, priors, strict=True)]
    cpd = ss.NoisyOr(ON, dict(zip(vs, [0.5, 0.5, 0.5, 1.0, 1.0, 1e-4, 0.9, 0.5], strict=True)), leak=0.0)
    _, values = by_hand(tables, [cpd], vs)
    for k in (1, 2, 5, 300):
        found = FrontierSearch(tables, [cpd.concave({ON: 1})], vs).run(k)
        close(found.log_values, np.sort(values[values > -np.inf])[::-1][:k])
        assert len({tuple(row[v] for v in vs) for row in found.assignments}) == len(found.assignments)
    assert FrontierSearch(tables, [cpd.concave({ON: 1})], vs).run().assignments[0][vs[6]] == 0


def test_impossible_findings_have_no_assignment():
    vs = [ss.Discrete(f"c{i}") for i in range(3)]
    cpd = ss.NoisyOr(ON, dict.fromkeys(vs, 0.5), leak=0.0)
    found = FrontierSearch([Table((v,), [1.0, 0.0]) for v in vs], [cpd.concave({ON: 1})], vs).run(2)
    assert (found.assignments, found.is_proved) == ([], True)


def test_a_search_without_proof_says_so(monkeypatch):
    monkeypatch.setattr(frontier, "MOST_WORK", 0)
    rng = np.random.default_rng(3)
    vs, tables = causes(rng, "ring")
    cpd, f = function(rng, vs, "leaky")
    _, values = by_hand(tables, [cpd], vs)
    found = FrontierSearch(tables, [f], vs).run()
    assert not found.is_proved
    assert found.log_values[0] <= values.max() + 1e-12


def undominated(weights, survivals, leak=0.0):
    """The best of log(1 - product of survivals) plus weights over independent binary causes."""
    pairs = [(0.0, leak)]
    for (off, on), gone in zip(weights, survivals, strict=True):
        pairs = sorted(
            [(w + off, s) for w, s in pairs] + [(w + on, s + gone) for w, s in pairs], key=lambda p: (p[1], -p[0])
        )
        kept, top = [], -math.inf
        for w, s in pairs:
            if w > top:
                kept.append((w, s))
                top = w
        pairs = kept
    return max(w + log_rest(s) for w, s in pairs)


@pytest.mark.parametrize("leak", [0.0, 0.001])
@pytest.mark.parametrize(("low", "high"), [(0.01, 0.05), (0.02, 0.2)])
def test_many_rare_causes(low, high, leak):
    """Two of them together are less probable than the best one alone."""
    rng = np.random.default_rng(200)
    vs = [ss.Discrete(f"c{i}") for i in range(200)]
    priors, strengths = rng.uniform(low, high, 200), rng.uniform(0.01, 0.9, 200)
    net = ss.BayesNet(
        *(ss.TableCPD(v, [1 - p, p]) for v, p in zip(vs, priors, strict=True)),
        ss.NoisyOr(ON, dict(zip(vs, strengths.tolist(), strict=True)), leak=leak),
    )
    gains, gone = np.log(priors / (1 - priors)), np.log1p(-strengths)
    base, start = np.log1p(-priors).sum(), math.log1p(-leak)
    best = base + max(log_rest(start), *(gain + log_rest(start + s) for gain, s in zip(gains, gone, strict=True)))
    assert base + np.sort(gains)[-2:].sum() < best  # so at most one cause is present
    found = ss.map_assignment(net, given={"y": 1})
    close(found.log_value, best)
    close(found.log_value, net.log_probability({**found.assignment, "y": 1}))
    assert found.guarantees["assignment"] is ss.Guarantee.EXACT


@pytest.mark.parametrize(("size", "leak"), [(1e-9, 0.0), (1e-13, 0.0), (1e-17, 0.0), (1e-20, 1e-20)])
@pytest.mark.parametrize("num", [8, 40])
def test_causes_of_tiny_strengths(num, size, leak):
    """One cause alone is most probable: with two, the effect is at most about twice as probable."""
    rng = np.random.default_rng(0)
    vs = [ss.Discrete(f"c{i}") for i in range(num)]
    priors, strengths = rng.uniform(0.01, 0.1, num), size * rng.uniform(0.5, 1.5, num)
    net = ss.BayesNet(
        *(ss.TableCPD(v, [1 - p, p]) for v, p in zip(vs, priors, strict=True)),
        ss.NoisyOr(ON, dict(zip(vs, strengths.tolist(), strict=True)), leak=leak),
    )
    gains, base = np.log(priors / (1 - priors)), np.log1p(-priors).sum()
    values = [base + math.log(leak)] if leak else []
    for count in (1, 2):
        for chosen in itertools.combinations(range(num), count):
            gone = math.log1p(-leak) + np.log1p(-strengths[list(chosen)]).sum()
            values.append(base + gains[list(chosen)].sum() + math.log(-math.expm1(gone)))
    close(ss.map_assignment(net, given={"y": 1}).log_value, max(values))


def test_many_causes_of_one_class():
    """A hidden class makes its causes likely: the best class is found by one frontier for each."""
    rng = np.random.default_rng(5)
    group, vs = ss.Discrete("group", 3), [ss.Discrete(f"c{i}") for i in range(60)]
    rows = rng.uniform(0.01, 0.4, size=(60, 3))
    strengths = rng.uniform(0.01, 0.9, 60)
    net = ss.BayesNet(
        ss.TableCPD(group, [0.2, 0.3, 0.5]),
        *(ss.TableCPD(v, np.stack([1 - row, row], axis=1), given=group) for v, row in zip(vs, rows, strict=True)),
        ss.NoisyOr(ON, dict(zip(vs, strengths.tolist(), strict=True)), leak=0.0),
    )
    given = {"y": 1, "c7": 0, "c9": ss.Likelihood([0.3, 0.8])}
    gone = np.log1p(-strengths)
    expected = -math.inf
    for code, prior in enumerate([0.2, 0.3, 0.5]):
        weights = np.log(np.stack([1 - rows[:, code], rows[:, code]], axis=1))
        weights[7, 1] = -math.inf
        weights[9] += np.log([0.3, 0.8])
        expected = max(expected, math.log(prior) + undominated(weights.tolist(), gone.tolist()))
    close(ss.map_assignment(net, given=given).log_value, expected)


def test_several_findings_of_shared_causes_and_the_next_best():
    """Three findings of the same 40 causes; the best assignments of pairs of causes, enumerated up to four present."""
    rng = np.random.default_rng(8)
    vs, findings = [ss.Discrete(f"c{i}") for i in range(40)], [ss.Discrete(f"f{j}") for j in range(3)]
    priors = rng.uniform(0.001, 0.01, 40)
    strengths = rng.uniform(0.1, 0.9, size=(3, 40))
    net = ss.BayesNet(
        *(ss.TableCPD(v, [1 - p, p]) for v, p in zip(vs, priors, strict=True)),
        *(
            ss.NoisyOr(f, dict(zip(vs, row.tolist(), strict=True)), leak=0.01)
            for f, row in zip(findings, strengths, strict=True)
        ),
    )
    gains, base = np.log(priors / (1 - priors)), np.log1p(-priors).sum()
    values = []
    for size in range(4):
        for chosen in itertools.combinations(range(40), size):
            gone = math.log1p(-0.01) + np.log1p(-strengths[:, chosen]).sum(axis=1)
            values.append(base + gains[list(chosen)].sum() + sum(log_rest(s) for s in gone))
    found = ss.map_assignment(net, given=dict.fromkeys(("f0", "f1", "f2"), 1), k=5)
    close(found.log_values, sorted(values, reverse=True)[:5])


def test_the_convention_of_concave_functions():
    """Values fall where arguments rise, gradients are those of values, and points lie in between."""
    rng = np.random.default_rng(1)
    vs = [ss.Discrete(f"c{i}", 3) for i in range(3)]
    for kind in ("leaky", "logistic", "softmax"):
        _, f = function(rng, vs, kind)
        assert isinstance(f, Concave)
        points = f.between(f.start - 3.0, f.start - 0.5, 5)
        slopes = f.slope(points)
        assert (slopes <= 0).all()
        for axis in range(points.shape[1]):
            step = 1e-6 * np.eye(points.shape[1])[axis]
            numeric = (f.value(points + step) - f.value(points - step)) / 2e-6
            close(slopes[:, axis], numeric, rtol=1e-5)
