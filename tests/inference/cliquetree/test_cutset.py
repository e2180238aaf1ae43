"""Cutset conditioning: cases that fit, added up; impossible ones never asked."""

from __future__ import annotations

import math

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.graphs.graph import UndirectedGraph
from sepset.graphs.ordering import GivenOrder
from sepset.graphs.symbolic import symbolic_elimination
from sepset.inference.cliquetree import cutset as module
from sepset.inference.cliquetree.cutset import CutsetConditioning, choose_cutset
from sepset.inference.method import Method, Prepared
from sepset.inference.plan import make_plan
from sepset.inference.result import Guarantee
from sepset.variables.evidence import Evidence, resolve
from support.method_contract import check_method, check_sampling
from support.random_gaussians import linear_net
from support.random_models import KINDS, random_case, random_evidence
from support.tolerances import CLOSE, EXACT


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("memory", [400, 2**20])
def test_every_answer_is_exact_or_refused_for_size(memory, kind):
    refused = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, 41, KINDS.index(kind)])
        case = kind(rng)
        given, weights = random_evidence(rng, case)
        try:
            check_method(CutsetConditioning(memory=memory), case, given, weights, rng)
        except ss.TooLarge:
            refused += 1
    assert refused == 0 if memory == 2**20 else refused <= 6


def test_draws_have_the_posterior_frequencies():
    for seed in range(8):
        rng = np.random.default_rng([seed, 42])
        case = random_case(rng)
        given, weights = random_evidence(rng, case)
        check_sampling(CutsetConditioning(memory=250), case, given, weights, num_rows=1500)


@pytest.mark.parametrize(("name", "memory"), [("asia", 200), ("alarm", 9000), ("child", 6000)])
def test_it_agrees_with_elimination_on_published_networks(name, memory):
    net = ss.datasets.load(name)
    given = {net.variables[1].name: net.variables[1].states[0]}
    mine = ss.prepare(net, method=CutsetConditioning(memory=memory))
    other = ss.prepare(net, method=ss.VariableElimination())
    assert 1 < mine.plan(given=given).num_cases < 1000
    assert float(mine.log_probability(given=given)) == pytest.approx(
        float(other.log_probability(given=given)), abs=CLOSE
    )
    answers = mine.marginals(given=given)
    for v in net.variables:
        np.testing.assert_allclose(answers[v.name].values, other.query(v, given=given).values, atol=EXACT)
    best = mine.map_assignment(given=given)
    assert best.log_value == pytest.approx(other.map_assignment(given=given).log_value, abs=CLOSE)


def grid(side):
    pixels = ss.Discrete.array("s", (side, side), states=(-1, 1))
    return ss.MarkovNet.ising(pixels, 0.4, field=np.random.default_rng(5).normal(size=(side, side)))


def test_less_memory_fixes_more_variables_and_every_case_fits():
    model = grid(6)
    truth = float(ss.prepare(model, method=ss.VariableElimination()).log_partition())
    sizes = []
    for memory in (600, 1600, 6400, 2**20):
        engine = ss.prepare(model, method=CutsetConditioning(memory=memory))
        plan = engine.prepared.plan((), ())
        assert 8 * max(3 * plan.largest, 2 * plan.total_size) <= memory
        assert plan.num_cases == 2 ** len(plan.cutset)
        assert plan.total_cost == plan.num_cases * plan.cost
        if plan.num_cases <= 64:
            assert float(engine.log_partition()) == pytest.approx(truth, abs=CLOSE)
        sizes.append(len(plan.cutset))
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 0 < sizes[-2]


def test_a_cutset_covers_all_large_cliques_with_the_name_in_most():
    graph = UndirectedGraph.parse("A - B; A - C; A - D; B - C; C - D; E - F")
    rows = tuple(np.array(part, dtype=np.int64) for part in graph.neighbor_csr)
    order = symbolic_elimination(graph.nodes, rows, [3] * 6, np.zeros(6, np.int64), GivenOrder("BDACEF"))

    def chosen(limit, candidates, most=math.inf):
        found = choose_cutset(order, limit, np.array([name in candidates for name in order.names]), most)
        return [order.names[rank] for rank in found]

    assert chosen(27, "ABCDEF") == []
    assert chosen(9, "ABCDEF") == ["A"]
    assert chosen(9, "BD") == ["B", "D"]
    assert chosen(9, "EF") == []
    assert chosen(9, "BD", most=2) == ["B"]  # three cases are too many already


def test_cases_that_a_factor_rules_out_are_not_asked():
    names = [ss.Discrete(n, 3) for n in "abc"]
    a, b, c = names
    rng = np.random.default_rng(0)
    factors = [
        ss.Table((a, b), np.eye(3)),
        ss.Table((b, c), rng.random((3, 3))),
        ss.Table((a, c), rng.random((3, 3))),
        ss.Table(a, [1, 0, 1]),
    ]
    model = ss.MarkovNet(*factors)
    prepared = CutsetConditioning(memory=220).prepare(model.problem())
    evidence = resolve({"a": ss.Likelihood([0.5, 1.0, 0.0])}, model.variables)
    plan = prepared.plan([], [])
    assert plan.num_cases >= 3
    assert len(list(prepared.cases(plan, evidence))) < plan.num_cases
    plain = [(tuple(v.name for v in f.scope), f.values) for f in factors]
    truth = oracle.log_z(plain, dict.fromkeys("abc", 3), {"a": np.array([0.5, 1.0, 0.0])})
    assert prepared.log_partition(evidence) == pytest.approx(truth, abs=CLOSE)


def test_a_plan_tells_the_cutset_and_the_cases():
    text = str(ss.prepare(grid(6), method=CutsetConditioning(memory=400)).plan())
    assert "cutset        s[" in text
    assert "each as above" in text
    assert "cutset        none" in str(ss.prepare(grid(2), method=CutsetConditioning()).plan())


def test_too_many_cases_are_refused_with_the_figure_and_the_alternative():
    engine = ss.prepare(grid(14), method=CutsetConditioning(memory=1000, order=ss.graphs.MinFill()))
    with pytest.raises(ss.TooLarge, match=r"fix \d+ variables .* 10\^\d+\.\d cases, .* RecursiveConditioning\(memory="):
        engine.log_partition()


def test_answers_larger_than_memory_are_refused():
    engine = ss.prepare(ss.datasets.load("alarm"), method=CutsetConditioning(memory=9000))
    names = [v.name for v in engine.model.variables][:8]
    with pytest.raises(ss.TooLarge, match=r"one case still takes .* the limit is 8.8 KiB. .* ask for fewer targets"):
        engine.query(names)


def test_impossible_models_and_constants():
    a = ss.Discrete("a", 3)
    dead = CutsetConditioning().prepare(ss.MarkovNet(ss.Table(a, [0, 0, 0])).problem())
    assert dead.log_partition(Evidence()) == -math.inf
    assert dead.marginals(Evidence())[1] == -math.inf
    assert dead.best(Evidence(), [0]).log_value == -math.inf
    constant = CutsetConditioning().prepare(ss.MarkovNet(ss.Table((), [6.0])).problem())
    assert constant.log_partition(Evidence()) == pytest.approx(math.log(6))


def test_continuous_variables_are_refused_and_promises_are_exact():
    net = linear_net(oracle.random_linear_gaussian(np.random.default_rng(0), 3)).markov_net()
    with pytest.raises(ss.errors.NotApplicable, match=r"CutsetConditioning enumerates states; 'x0' is continuous"):
        ss.prepare(net, method=CutsetConditioning())
    problem = ss.datasets.load("asia").problem()
    assert isinstance(CutsetConditioning(), Method)
    assert isinstance(CutsetConditioning().prepare(problem), Prepared)
    assert set(CutsetConditioning().promises(problem).values()) == {Guarantee.EXACT}


def test_a_hopeless_model_is_refused_after_one_plan(monkeypatch):
    plans = []
    monkeypatch.setattr(module, "make_plan", lambda *args, **about: plans.append(1) or make_plan(*args, **about))
    engine = ss.prepare(grid(40), method=CutsetConditioning(order=ss.graphs.MinFill()))
    with pytest.raises(ss.TooLarge, match=r"would fix 6\d variables"):
        engine.log_partition()
    assert len(plans) == 1
