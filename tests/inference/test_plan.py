"""Plans: what a question costs, before anything is allocated."""

from __future__ import annotations

import itertools
import pickle
import time
import tracemalloc

import numpy as np
import pytest

import sepset as ss
from sepset.base.text import readable
from sepset.errors import TooLarge
from sepset.graphs import costs
from sepset.graphs.csr import csr
from sepset.inference import costs as prices, plan as plans
from sepset.inference.compiled.store import FactorStore
from sepset.inference.plan import interaction_graph, refuse_contexts
from support.terminal import printed


def chain(length, states=2):
    variables = [ss.Discrete(f"x{i}", states) for i in range(length)]
    pairs = itertools.pairwise(variables)
    return ss.MarkovNet(*(ss.Table(pair, np.ones((states, states))) for pair in pairs))


def test_a_plan_prints_what_it_knows():
    found = ss.plan(chain(5, 3), "x4", given=["x0"])
    text = str(found)
    assert found.width == 1
    assert found.largest == 9
    # Four factors of nine entries laid out, then copied as inputs, reduced by the finding, with messages and an answer.
    assert 8 * (4 * 9 + 3 * 9) < found.memory < 8 * 3 * 4 * 9
    assert found.order[-1] == "x4"
    assert "x0" not in found.order
    for part in ("4 of 5 variables", "targets       x4", "observed      x0", "width         1", "9 entries"):
        assert part in text
    for name in ("targets", "observed", "order", "width", "largest table", "total", "memory", "cost"):
        assert name in printed(found)


def test_without_targets_a_plan_is_one_tree_over_everything():
    model = chain(12)
    engine = ss.prepare(model)
    engine.sample(1)
    found = engine.plan()
    assert found.targets == ()
    assert "every variable" in str(found)
    assert len(found.order) == 12
    assert "(12 in all)" not in str(found)
    assert "(13 in all)" in str(ss.plan(chain(13)))


def test_observed_variables_may_be_named_or_be_evidence():
    model = chain(4)
    expected = ss.plan(model, "x3", given=["x1"]).order
    assert ss.plan(model, "x3", given="x1").order == expected
    assert ss.plan(model, "x3", given={"x1": 0}).order == expected
    # Missing values and likelihoods leave a variable in the graph.
    assert "x1" in ss.plan(model, "x3", given={"x1": None, "x0": ss.Likelihood([1, 2])}).order
    assert ss.plan(model, ["x1", "x3"], given=["x1"]).targets == ("x3",)


def test_barren_and_separated_parts_do_not_enter():
    names = [ss.Discrete(n) for n in "abcd"]
    a, b, c, d = names
    rows = [[0.9, 0.1], [0.2, 0.8]]
    net = ss.BayesNet(
        ss.TableCPD(a, [0.5, 0.5]),
        ss.TableCPD(b, rows, given=a),
        ss.TableCPD(c, rows, given=b),
        ss.TableCPD(d, rows, given=a),
    )
    found = ss.plan(net, "b")
    assert set(found.order) == {"a", "b"}
    assert len(found.relevant.factors) == 2


def test_targets_are_kept_together_so_their_table_counts():
    model = chain(20, 4)
    assert ss.plan(model, ["x0", "x10", "x19"]).largest >= 64
    assert ss.plan(model, "x0").largest == 16


def test_a_plan_too_large_is_refused_and_nothing_is_allocated():
    pixels = ss.Discrete.array("p", (60, 60), states=4)
    engine = ss.prepare(ss.MarkovNet.potts(pixels, 0.5), method=ss.VariableElimination(order=ss.graphs.MinFill()))
    engine.plan("p[0,0]")
    tracemalloc.start()
    with pytest.raises(ss.TooLarge, match=r"largest .* entries \(width \d+\), about 10\^\d+ bytes .* raise `memory=`"):
        engine.query("p[0,0]")
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()


def test_memory_is_a_setting_of_the_method():
    model = chain(4, 10)
    with pytest.raises(ss.TooLarge):
        ss.query(model, "x0", method=ss.VariableElimination(memory=100))
    assert ss.query(model, "x0", method=ss.VariableElimination(memory=10_000)).values.sum() == pytest.approx(1.0)


def test_the_interaction_graph_joins_scopes_and_those_together():
    problem = chain(4).problem()
    everything = problem.relevant(range(4), prune=False)
    graph = interaction_graph(problem, everything, (0, 3))
    assert set(map(frozenset, graph.edges)) == {
        frozenset(p) for p in [("x0", "x1"), ("x1", "x2"), ("x2", "x3"), ("x0", "x3")]
    }
    observed = problem.relevant([3], [1], prune=False)
    assert "x1" not in interaction_graph(problem, observed).nodes


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (3_400_000, "3.2 MiB"),
        (5 * 2**40, "5.0 TiB"),
        (3 * 2**300, "10^91 bytes"),
    ],
)
def test_bytes_for_people(size, text):
    assert readable(size) == text


def test_a_given_order_is_followed_as_far_as_the_question_allows():
    engine = ss.prepare(
        chain(5), method=ss.VariableElimination(order=ss.graphs.GivenOrder(["x3", "x0", "x4", "x1", "x2"]))
    )
    assert engine.plan().order == ("x3", "x0", "x4", "x1", "x2")
    assert engine.plan("x0").order == ("x3", "x4", "x1", "x2", "x0")
    assert engine.plan("x0", given=["x4"]).order == ("x3", "x1", "x2", "x0")
    partial = ss.prepare(chain(3), method=ss.VariableElimination(order=ss.graphs.GivenOrder(["x2"])))
    assert partial.plan().order == ("x2", "x0", "x1")
    with pytest.raises(ss.errors.ScopeError, match="Unknown variable 'x9'"):
        ss.query(chain(3), "x0", method=ss.VariableElimination(order=ss.graphs.GivenOrder(["x9"])))


def grid(side):
    pixel = ss.Discrete.array("pixel", (side, side), states=2)
    return pixel, ss.MarkovNet(
        ss.potentials.unary(pixel, np.zeros((side, side, 2))),
        ss.potentials.pairwise(pixel.grid_edges(), ss.potentials.Potts(1.5)),
    )


def test_hopeless_questions_are_refused_soon_without_names_or_numbers(monkeypatch):
    monkeypatch.setattr(type(ss.MarkovNet().variables), "names", None)
    monkeypatch.setattr(FactorStore, "settled", None)
    pixel, model = grid(150)
    before = time.process_time()
    for ask in (lambda: ss.query(model, pixel[3, 4]), lambda: ss.log_probability(model)):
        with pytest.raises(
            ss.TooLarge,
            match=r"order.* more than 2\^40 entries \(8.0 TiB at 8 bytes each\).*; the limit is 8.0 GiB\. Observe",
        ):
            ask()
    assert time.process_time() - before < 6.0  # three searches over the whole grid would take twenty


def test_a_plan_a_little_beyond_the_limit_is_shown_and_then_refused():
    pixel, model = grid(8)
    method = ss.CliqueTree(memory=1000)
    assert ss.plan(model, method=method).largest > 1000 / 8
    with pytest.raises(ss.TooLarge, match=r"entries \(width \d+\), about [0-9.]+ KiB in total; the limit is 1000 B"):
        ss.query(model, pixel[0, 0], method=method)


def test_plans_can_be_saved():
    found = pickle.loads(pickle.dumps(ss.plan(chain(4), "x1")))
    assert found.order[-1] == "x1"


def test_real_variables_with_hopeless_matrices_are_refused_unless_an_order_is_stated(monkeypatch):
    monkeypatch.setattr(costs, "SWEPT_REALS", 10)
    monkeypatch.setattr(costs, "MOST_OF_MATRICES", 100)
    rng = np.random.default_rng(0)
    x = [ss.Real(f"x{i}") for i in range(20)]
    pairs = [tuple(rng.choice(20, 2, replace=False).tolist()) for _ in range(50)]
    own = [ss.factors.CanonicalGaussian([v], [[9.0]], h=[1.0]) for v in x]
    both = [ss.factors.CanonicalGaussian([x[a], x[b]], [[1, 0.5], [0.5, 1]], h=[0, 0]) for a, b in pairs]
    net = ss.MarkovNet(*own, *both)
    for ask in (ss.plan, ss.marginals, ss.log_partition, lambda net: ss.query(net, "x3")):
        with pytest.raises(ss.TooLarge, match="of 20 real variables that depend on each other"):
            ask(net)
    stated = ss.CliqueTree(order=ss.graphs.GivenOrder([v.name for v in x]))
    found = ss.marginals(net, method=stated)["x3"]
    K = np.zeros((20, 20))
    for a, b in pairs:
        K[[a, b, a, b], [a, b, b, a]] += [1, 1, 0.5, 0.5]
    K += 9 * np.eye(20)
    np.testing.assert_allclose(found.mean(), np.linalg.solve(K, np.ones(20))[3], rtol=1e-9)


def test_contexts_are_refused_only_if_every_order_needs_them(monkeypatch):
    """The largest table of all orders of three real variables, before four discrete ones of several states."""
    monkeypatch.setattr(prices, "HOPELESS_FACTOR", 1)
    monkeypatch.setattr(plans, "SWEPT_REALS", 0)
    rng, is_real, num_refused = np.random.default_rng(0), np.arange(7) < 3, 0
    for _ in range(12):
        pairs = np.array([p for p in itertools.combinations(range(7), 2) if rng.random() < 0.4])
        states = np.where(is_real, 1, rng.integers(2, 6, 7))
        least = min(
            largest_table(pairs.tolist(), (*first, 3, 4, 5, 6), states) for first in itertools.permutations(range(3))
        )
        for limit in range(1, 12):
            try:
                refuse_contexts(csr(pairs.reshape(-1), pairs[:, ::-1].reshape(-1), 7), states, is_real, 8 * 2**limit)
            except TooLarge:
                assert least > 2**limit
                num_refused += 1
    assert num_refused > 10


def largest_table(pairs, order, states):
    """The most joint states of a clique of an elimination order."""
    near, largest = {i: {b for a, b in (*pairs, *((b, a) for a, b in pairs)) if a == i} for i in order}, 1
    for i in order:
        largest = max(largest, int(np.prod(states[[i, *near[i]]])))
        for a in near[i]:
            near[a] = (near[a] | near[i]) - {a, i}
        del near[i]
    return largest
