"""Recursive conditioning: the same answers in any memory, and less memory takes more time."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.inference.exact import recursive as module
from sepset.inference.exact.dtree import RESULT_BYTES
from sepset.inference.exact.dtreevalues import Recursion
from sepset.inference.exact.recursive import RecursiveConditioning, duration
from sepset.inference.method import Method, Prepared
from sepset.inference.result import Guarantee
from sepset.variables.evidence import Evidence
from support.method_contract import check_method, check_sampling
from support.random_gaussians import linear_net
from support.random_models import KINDS, random_case, random_evidence
from support.tolerances import CLOSE, EXACT

MEMORIES = (0, 60, 2**20)


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_answer_is_exact_in_any_memory(memory, kind):
    for seed in range(12):
        rng = np.random.default_rng([seed, 31, KINDS.index(kind)])
        case = kind(rng)
        given, weights = random_evidence(rng, case)
        check_method(RecursiveConditioning(memory=memory), case, given, weights, rng)


@pytest.mark.parametrize("memory", [0, 2**20])
def test_draws_have_the_posterior_frequencies(memory):
    for seed in range(5):
        rng = np.random.default_rng([seed, 32])
        case = random_case(rng)
        given, weights = random_evidence(rng, case)
        check_sampling(RecursiveConditioning(memory=memory), case, given, weights, num_rows=1500)


@pytest.mark.parametrize("memory", [200, 2**20])
@pytest.mark.parametrize("name", ["asia", "alarm", "child"])
def test_it_agrees_with_elimination_on_published_networks(name, memory):
    net = ss.datasets.load(name)
    rng = np.random.default_rng(1)
    row = next(iter(ss.sample(net, 1, seed=3).rows()))
    given = {net.variables[i].name: row[net.variables[i].name] for i in rng.permutation(len(net.variables))[:4]}
    mine = ss.prepare(net, method=RecursiveConditioning(memory=memory))
    other = ss.prepare(net, method=ss.VariableElimination())
    assert float(mine.log_probability(given=given)) == pytest.approx(
        float(other.log_probability(given=given)), abs=CLOSE
    )
    answers = mine.marginals(given=given)
    for v in list(net.variables)[::3]:
        np.testing.assert_allclose(answers[v.name].values, other.query(v, given=given).values, atol=EXACT)
    pair = [net.variables[0].name, net.variables[5].name]
    np.testing.assert_allclose(mine.query(pair, given=given).values, other.query(pair, given=given).values, atol=EXACT)
    best = mine.map_assignment(given=given)
    assert best.log_value == pytest.approx(other.map_assignment(given=given).log_value, abs=CLOSE)
    reached = float(other.log_probability(given={**given, **best.assignment}))
    assert reached == pytest.approx(best.log_value, abs=CLOSE)
    some = [v.name for v in list(net.variables)[:3]]
    mixed = mine.map_assignment(given=given, over=some)
    assert mixed.log_value == pytest.approx(other.map_assignment(given=given, over=some).log_value, abs=CLOSE)


def grid(side, field=True):
    pixels = ss.Discrete.array("s", (side, side), states=(-1, 1))
    rng = np.random.default_rng(5)
    return ss.MarkovNet.ising(pixels, 0.4, field=rng.normal(size=(side, side)) if field else 0.0)


def run_counted(monkeypatch, model, memory):
    """The log partition, the bytes that were allocated for kept results, and the states visited."""
    made = []
    start = Recursion.__init__

    def init(self, *args):
        start(self, *args)
        made.append(self)

    with monkeypatch.context() as patch:
        patch.setattr(Recursion, "__init__", init)
        prepared = RecursiveConditioning(memory=memory).prepare(model.problem())
        value = prepared.log_partition(Evidence())
    (only,) = made
    filled = int((only.cache_exponents != only.machine.EMPTY).sum())
    return value, only.cache.nbytes + only.cache_exponents.nbytes, filled, only.num_steps


def test_memory_is_respected_and_more_of_it_never_takes_more_steps(monkeypatch):
    model = grid(6)
    problem = model.problem()
    truth = ss.VariableElimination().prepare(problem).log_partition(Evidence())
    full = RecursiveConditioning().prepare(problem).plan([], []).full_memory
    counts = []
    for memory in [0, *(full * 2**i // 64 for i in range(7))]:
        value, allocated, filled, steps = run_counted(monkeypatch, model, memory)
        assert value == pytest.approx(truth, abs=CLOSE)
        assert RESULT_BYTES * filled == allocated <= memory
        planned = RecursiveConditioning(memory=memory).prepare(problem).plan((), ())
        assert steps == planned.steps
        assert planned.memory == allocated
        counts.append(steps)
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 40 * counts[-1]


def test_a_long_chain_without_memory_is_balanced():
    rng = np.random.default_rng(7)
    variables = [ss.Discrete(f"x{i}", 2) for i in range(200)]
    tables = [ss.Table(pair, rng.random((2, 2)) * 1e-9) for pair in itertools.pairwise(variables)]
    model = ss.MarkovNet(*tables)
    expected = float(ss.prepare(model, method=ss.VariableElimination()).log_partition())
    engine = ss.prepare(model, method=RecursiveConditioning(memory=0))
    assert engine.plan().tree.height <= 12
    assert float(engine.log_partition()) == pytest.approx(expected, rel=1e-12)
    assert expected < -3000


def test_zeros_prune_far_below_the_planned_steps(monkeypatch):
    variables = [ss.Discrete(f"x{i}", 4) for i in range(40)]
    cpds = [ss.TableCPD(variables[0], [0.1, 0.2, 0.3, 0.4])]
    cpds += [
        ss.TableCPD(v, np.roll(np.eye(4), i, axis=1), given=u) for i, (u, v) in enumerate(itertools.pairwise(variables))
    ]
    net = ss.BayesNet(*cpds)
    engine = ss.prepare(net, method=RecursiveConditioning(memory=0))
    given = {"x39": 2}
    shift = sum(range(39)) % 4
    assert math.exp(float(engine.log_probability(given=given))) == pytest.approx([0.1, 0.2, 0.3, 0.4][(2 - shift) % 4])


def test_a_plan_tells_memory_and_time():
    engine = ss.prepare(grid(6), method=RecursiveConditioning(memory=1000))
    plan = engine.plan()
    assert plan.memory <= 1000 < plan.full_memory
    assert plan.steps == plan.tree.steps(plan.kept)
    text = str(plan)
    for part in ("36 of 36 variables", "dtree    height", "useful results", "steps at most, about"):
        assert part in text
    assert engine.plan("s[0,0]", given=["s[1,1]"]).targets == ("s[0,0]",)
    assert engine.plan("s[0,0]").tree.names[-1] == "s[0,0]"


def test_too_many_steps_are_refused_with_the_figure_and_what_memory_would_do():
    engine = ss.prepare(grid(20), method=RecursiveConditioning(memory=1000, order=ss.graphs.MinFill()))
    with pytest.raises(ss.TooLarge, match=r"would visit 10\^\d+\.\d states, about .* days; .*all results take .*iB"):
        engine.log_partition()
    small = ss.prepare(grid(4), method=RecursiveConditioning(memory=0, steps=100))
    with pytest.raises(ss.TooLarge, match=r"visit [\d,]+ states, about .* ms; the limit is 100 states. Raise `memory="):
        small.query("s[0,0]")


def test_continuous_variables_are_refused():
    net = linear_net(oracle.random_linear_gaussian(np.random.default_rng(0), 3)).markov_net()
    with pytest.raises(ss.errors.NotApplicable, match=r"'x0' is continuous. Use VariableElimination"):
        ss.prepare(net, method=RecursiveConditioning())


def test_empty_models_constants_and_isolated_variables():
    for model, expected in (
        (ss.MarkovNet(), 0.0),
        (ss.MarkovNet(ss.Table((), [3.0]), ss.Table((), [2.0])), math.log(6)),
        (ss.MarkovNet(ss.Table((), [3.0]), variables=[ss.Discrete("a", 5), ss.Discrete("b", 1)]), math.log(15)),
        (ss.MarkovNet(ss.Table((), [0.0]), variables=[ss.Discrete("a", 5)]), -math.inf),
    ):
        prepared = RecursiveConditioning().prepare(model.problem())
        assert prepared.log_partition(Evidence()) == pytest.approx(expected)
        best = prepared.best(Evidence(), range(len(model.variables)))
        assert len(best.values) == (0 if expected == -math.inf else len(model.variables))
    assert prepared.best(Evidence(), []).log_value == -math.inf


def test_no_rows_are_drawn_when_none_are_asked():
    drawn = (
        RecursiveConditioning()
        .prepare(ss.datasets.load("asia").problem())
        .sample(0, Evidence(), np.random.default_rng(0))
    )
    assert all(len(column) == 0 for column in drawn.values())


def test_it_is_a_method():
    problem = ss.datasets.load("asia").problem()
    assert isinstance(RecursiveConditioning(), Method)
    assert isinstance(RecursiveConditioning().prepare(problem), Prepared)
    assert set(RecursiveConditioning().promises(problem).values()) == {Guarantee.EXACT}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.5, "500.0 ms"), (60, "60.0 s"), (600, "10.0 minutes"), (36000, "10.0 hours"), (8.64e8, "1e+04 days")],
)
def test_times_for_people(seconds, text):
    assert duration(seconds) == text


def test_a_hopeless_model_is_refused_without_a_dtree(monkeypatch):
    monkeypatch.setattr(module, "make_dtree", None)
    engine = ss.prepare(grid(40), method=RecursiveConditioning(order=ss.graphs.MinFill()))
    for ask in (engine.log_partition, engine.map_assignment, lambda: engine.query("s[0,0]")):
        with pytest.raises(ss.TooLarge, match=r"would visit 10\^\d+\.\d states"):
            ask()
