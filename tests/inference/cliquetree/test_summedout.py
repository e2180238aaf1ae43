"""The best states of some variables by sums of parts and one maximization: those of enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sepset as ss
from sepset.inference.cliquetree.summedout import SummedOut
from sepset.inference.cliquetree.tables import PreparedTables
from sepset.problem import Problem
from sepset.variables.evidence import Evidence, resolve
from support.blocks import in_blocks
from support.marginal import random_question, scored
from support.random_dags import random_dag
from support.tolerances import CLOSE


def parts_of(problem, over, evidence):
    """The problem with all but `over` summed out."""
    method = ss.CliqueTree()
    return SummedOut.of(problem, over, evidence, lambda part: PreparedTables.of(part, method), math.inf)


@in_blocks("seed", range(300))
def test_sums_and_maxima_are_those_of_enumeration(seed):
    """Directed and undirected, with zeros, likelihoods of all variables, one-state variables, and none connected."""
    problem, evidence, over = random_question(np.random.default_rng(seed))
    over = tuple(v for v in over if v not in evidence.codes)
    expected = scored(problem, evidence, over)
    plain = Problem(problem.variables, problem.blocks, conditionals=problem.conditionals)
    made = parts_of(plain, over, evidence)
    found = made.best(evidence)
    best = max(expected.values())
    assert found.log_value == pytest.approx(best, abs=CLOSE)
    if best > -math.inf:
        assert set(found.values) == set(over)
        assert expected[tuple(int(found.values[v]) for v in over)] == pytest.approx(best, abs=CLOSE)


@in_blocks("seed", range(60))
def test_new_findings_and_likelihoods_of_the_same_variables_use_the_same_parts(seed, monkeypatch):
    made, of = [], SummedOut.of
    monkeypatch.setattr(SummedOut, "of", lambda *args: made.append(args) or of(*args))
    rng = np.random.default_rng(seed)
    net = ss.BayesNet.random(random_dag(9, 0.3, seed), states=3, seed=seed)
    names = rng.permutation([v.name for v in net.variables]).tolist()
    over, seen, weighed = names[:3], names[3:5], [names[0], names[5]]
    engine = ss.prepare(net)
    problem, prepared = engine.prepared.problem, engine.prepared
    for _ in range(3):
        given = {n: net[n].states[rng.integers(net[n].num_states)] for n in seen}
        given |= {n: ss.Likelihood(rng.random(net[n].num_states)) for n in weighed}
        evidence = resolve(given, problem.variables)
        places = [net.variables.names.index(n) for n in over]
        found = prepared.best(evidence, places)
        best = max(scored(problem, evidence, places).values())
        assert found.log_value == pytest.approx(best, abs=CLOSE)
        assert engine.map_assignment(over=over, given=given).log_value == pytest.approx(best, abs=CLOSE)
    assert len(made) == 1


def test_hidden_variables_that_no_factor_connects_are_summed_apart():
    x, y, a, b, lone = (ss.Discrete(name, states=k) for name, k in zip("xyabl", (2, 3, 2, 2, 4), strict=True))
    rng = np.random.default_rng(0)
    tables = [ss.Table(s, rng.random([v.num_states for v in s])) for s in ((x, a), (a, y), (y, b), (x, y))]
    net = ss.MarkovNet(*tables, variables=[x, y, a, b, lone])
    problem = net.problem()
    order = [v.name for v in problem.variables]
    over = tuple(order.index(n) for n in "xy")
    made = parts_of(problem, over, Evidence())
    assert sorted(len(part.outer) for part in made.sums) == [0, 1, 2]
    joint = np.einsum("xa,ay,yb,xy->xy", *(t.values for t in tables)) * 4
    best = made.best(Evidence())
    assert best.log_value == pytest.approx(np.log(joint.max()), abs=CLOSE)
    assert (best.values[over[0]], best.values[over[1]]) == np.unravel_index(joint.argmax(), joint.shape)


def test_sums_beyond_the_range_of_floats_are_left_to_logarithms():
    x, a = ss.Discrete("x", states=2), ss.Discrete("a", states=2)
    chain = [ss.Table((x, a), [[1e-300, 1e-300], [1.0, 1.0]]), ss.Table((x, a), [[1e-300, 1e-300], [1.0, 0.5]])]
    net = ss.MarkovNet(
        *chain, ss.Table((x,), [1.0, 1e-300]), ss.Table((x,), [1.0, 1e-300]), ss.Table((x,), [1.0, 1e-5])
    )
    best = ss.map_assignment(net, over=["x"])
    assert best.assignment["x"] == 0
    assert best.log_value == pytest.approx(math.log(2.0) + 2 * math.log(1e-300), abs=1e-9)


def test_a_boundary_too_large_for_a_table_is_refused_before_it_is_made():
    """Thirty causes of one effect: all of them are the boundary of the effect."""
    causes, effect = [ss.Discrete(f"c{i}") for i in range(30)], ss.Discrete("y")
    net = ss.MarkovNet(*(ss.Table((c, effect), [[0.9, 0.1], [0.3, 0.7]]) for c in causes))
    problem = net.problem()
    over = tuple(i for i, v in enumerate(problem.variables) if v.name != "y")
    with pytest.raises(ss.TooLarge, match="more memory than one elimination"):
        SummedOut.of(problem, over, Evidence(), lambda part: PreparedTables.of(part, ss.CliqueTree()), 2**40)
    with pytest.raises(ss.TooLarge, match="the limit is"):
        ss.map_assignment(net, over=[c.name for c in causes], method=ss.CliqueTree(memory=2**30))
