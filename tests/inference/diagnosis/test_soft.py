"""Soft evidence: Jeffrey's rule for one finding, proportional fitting for several."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.inference.diagnosis.soft import resolve_soft
from sepset.variables.evidence import Evidence, resolve
from support.blocks import in_blocks
from support.tolerances import CLOSE, EXACT

A, B, C = ss.Discrete("a", ("x", "y")), ss.Discrete("b", 3), ss.Discrete("c", 2)
METHODS = [ss.inference.BruteForce(), ss.VariableElimination(), ss.CliqueTree()]


def net(seed=0):
    rng = np.random.default_rng(seed)
    return ss.BayesNet(
        ss.TableCPD(A, rng.dirichlet(np.ones(2))),
        ss.TableCPD(B, rng.dirichlet(np.ones(3), 2), given=A),
        ss.TableCPD(C, rng.dirichlet(np.ones(2), 3), given=B),
    )


def joint(model):
    factors = [((*(p.name for p in c.parents), c.child.name), np.asarray(c.values)) for c in model.cpds]
    return oracle.joint(factors, {"a": 2, "b": 3, "c": 2})


def fitted(p, targets, rounds=3000):
    """Proportional fitting of the whole joint, axis by axis."""
    for _ in range(rounds):
        for axis, target in targets.items():
            rest = tuple(i for i in range(p.ndim) if i != axis)
            now = p.sum(axis=rest, keepdims=True)
            shape = [1] * p.ndim
            shape[axis] = -1
            p = np.divide(p * np.reshape(target, shape), now, out=np.zeros_like(p), where=now > 0)
    return p


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_one_finding_is_jeffreys_rule(method):
    # P'(a) = sum over c of P(a | c) q(c).
    model, p = net(1), joint(net(1))
    q = np.array([0.3, 0.7])
    pair = p.sum(axis=1)
    expected = (pair / pair.sum(axis=0)) @ q
    answer = ss.query(model, "a", given={"c": ss.Soft(q)}, method=method)
    np.testing.assert_allclose(answer.values, expected, atol=EXACT)
    np.testing.assert_allclose(ss.marginals(model, given={"c": ss.Soft(q)}, method=method)["c"].values, q, atol=1e-11)


@in_blocks("seed", range(6))
def test_several_findings_are_met_at_once_by_the_nearest_joint(seed):
    rng = np.random.default_rng([seed, 9])
    model = net(seed)
    q, r = rng.dirichlet(np.ones(2)), rng.dirichlet(np.ones(3))
    expected = fitted(joint(model), {2: q, 1: r})
    given = {"c": ss.Soft(q), "b": ss.Soft(dict(enumerate(r.tolist())))}
    answer = ss.query(model, ["a", "b", "c"], given=given)
    np.testing.assert_allclose(answer.values, expected, atol=1e-10)


def random_joint(rng, smallest):
    """A table with zeros and entries of many sizes, and marginals that its support allows."""
    shape = tuple(int(n) for n in rng.choice([2, 3], 3))
    table = rng.dirichlet(np.ones(shape).reshape(-1)).reshape(shape) * smallest ** rng.integers(0, 3, shape)
    table *= rng.random(shape) < 0.85
    table[0, 0, 0] = 1.0
    other = rng.dirichlet(np.ones(shape).reshape(-1)).reshape(shape) * (table > 0)
    other /= other.sum()
    return table / table.sum(), [other.sum(axis=tuple(i for i in range(3) if i != axis)) for axis in range(3)]


@pytest.mark.parametrize("smallest", [1e-3, 1e-12, 1e-20, 1e-40])
@in_blocks("seed", range(12))
def test_findings_that_a_hardly_possible_state_meets_are_met(smallest, seed):
    """The answer has the given marginals, and its log ratio to the prior is a sum of terms of one variable each."""
    table, targets = random_joint(np.random.default_rng([seed, 3]), smallest)
    variables = [ss.Discrete(name, size) for name, size in zip("abc", table.shape, strict=True)]
    given = {v.name: ss.Soft(q) for v, q in zip(variables, targets, strict=True)}
    found = ss.query(ss.MarkovNet(ss.Table(variables, table)), ["a", "b", "c"], given=given).values
    for axis, target in enumerate(targets):
        rest = tuple(i for i in range(3) if i != axis)
        np.testing.assert_allclose(found.sum(axis=rest), target, atol=1e-11)
    cells = np.argwhere(found > 0)
    ratio = np.log(found[found > 0]) - np.log(table[found > 0])
    design = np.concatenate([np.eye(size)[cells[:, axis]] for axis, size in enumerate(table.shape)], axis=1)
    np.testing.assert_allclose(design @ np.linalg.lstsq(design, ratio, rcond=None)[0], ratio, atol=1e-6)


def test_soft_beside_hard_evidence():
    model, p = net(2), joint(net(2))
    q = [0.2, 0.8]
    expected = fitted(p[1] / p[1].sum(), {1: q})
    answer = ss.query(model, ["b", "c"], given={"a": "y", "c": ss.Soft(q)})
    np.testing.assert_allclose(answer.values, expected, atol=1e-10)
    best = ss.map_assignment(model, given={"a": "y", "c": ss.Soft(q)})
    cell = np.unravel_index(expected.argmax(), expected.shape)
    assert tuple(best.assignment.values()) == cell
    assert best.probability == pytest.approx(expected.max(), abs=CLOSE)
    rows = list(ss.sample(model, 4000, given={"a": "y", "c": ss.Soft(q)}).rows())
    assert abs(np.mean([row["c"] for row in rows]) - 0.8) < 5 * np.sqrt(0.16 / 4000)
    assert {row["a"] for row in rows} == {"y"}


def test_a_certain_finding_is_hard_evidence():
    model = net(3)
    soft = ss.query(model, "a", given={"c": ss.Soft([0, 1])})
    np.testing.assert_allclose(soft.values, ss.query(model, "a", given={"c": 1}).values, atol=EXACT)


def test_findings_that_cannot_be_met_are_refused_by_name():
    copy = ss.BayesNet(ss.TableCPD(A, [0.5, 0.5]), ss.TableCPD(C, np.eye(2), given=A))
    with pytest.raises(ss.ImpossibleEvidence, match=r"c=1 a positive probability, but the model or the other"):
        ss.query(copy, "a", given={"a": "x", "c": ss.Soft([0.5, 0.5])})
    with pytest.raises(ss.ImpossibleEvidence, match=r"Soft evidence on 'a', 'c' cannot be satisfied together"):
        ss.query(copy, "a", given={"a": ss.Soft([0.5, 0.5]), "c": ss.Soft([0.4, 0.6])})
    impossible = ss.BayesNet(ss.TableCPD(A, [1, 0]), ss.TableCPD(C, [0.5, 0.5]))
    with pytest.raises(ss.ImpossibleEvidence, match="probability zero: a='y' is impossible under the model"):
        ss.query(impossible, "c", given={"a": "y", "c": ss.Soft([0.5, 0.5])})


def test_a_state_beyond_the_reach_of_likelihoods_is_not_called_impossible():
    weights = ss.MarkovNet(ss.Table.from_log((A,), [0.0, -1000.0]), ss.Table((A, C), [[1, 2], [2, 1]]))
    with pytest.raises(ss.ImpossibleEvidence, match=r"a='y' a positive .* its probability is below 2e-308"):
        ss.query(weights, "c", given={"a": ss.Soft([0.5, 0.5])})
    answer = ss.query(weights, "c", given={"a": ss.Soft([1.0, 0.0])})
    np.testing.assert_allclose(answer.values, [1 / 3, 2 / 3], atol=EXACT)


def test_soft_evidence_has_no_probability_of_its_own():
    for ask in (ss.log_probability, ss.log_partition):
        with pytest.raises(ss.errors.NotApplicable, match="Soft evidence on 'c' fixes a posterior"):
            ask(net(), given={"c": ss.Soft([0.5, 0.5])})


def test_evidence_without_soft_findings_passes_through():
    model = net()
    evidence = resolve({"a": "x"}, model.variables)
    assert resolve_soft(ss.inference.BruteForce().prepare(model.problem()), evidence) is evidence
    assert resolve_soft(ss.inference.BruteForce().prepare(model.problem()), Evidence()) == Evidence()


def test_sparse_factors_meet_soft_evidence_too():
    pair = ss.factors.SparseTable.from_table(ss.Table((A, C), [[0.5, 0.0], [0.25, 0.25]]))
    answer = ss.query(ss.MarkovNet(pair), ["a", "c"], given={"a": ss.Soft([0.2, 0.8])})
    np.testing.assert_allclose(answer.values, [[0.2, 0.0], [0.4, 0.4]], atol=EXACT)


@pytest.mark.parametrize("gap", [0.0, 1e-9, 1e-4])
def test_findings_at_the_border_of_what_is_possible(gap):
    """x and y with 1/3 each in three states, equal with 1 - gap: the joint is diagonal up to the gap."""
    x, y, same = ss.Discrete("x", 3), ss.Discrete("y", 3), ss.Discrete("same", 2)
    equal = np.eye(3)
    model = ss.BayesNet(
        ss.TableCPD(x, [0.5, 0.3, 0.2]),
        ss.TableCPD(y, [[0.2, 0.4, 0.4], [0.3, 0.3, 0.4], [0.1, 0.1, 0.8]], given=x),
        ss.TableCPD(same, np.stack([1 - equal, equal], axis=-1), given=[x, y]),
    )
    third = np.full(3, 1 / 3)
    given = {"x": ss.Soft(third), "y": ss.Soft(third), "same": ss.Soft([gap, 1 - gap])}
    found = ss.query(model, ["x", "y"], given=given).values
    np.testing.assert_allclose(found.sum(axis=0), third, atol=1e-11)
    np.testing.assert_allclose(found.sum(axis=1), third, atol=1e-11)
    assert np.trace(found) == pytest.approx(1 - gap, abs=1e-11)
    if gap == 0.0:
        np.testing.assert_allclose(found, np.eye(3) / 3, atol=1e-11)
