"""The sizes of the parts of a question, counted from the graph of the regressions."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

import sepset as ss
from sepset.inference import costs
from sepset.inference.gaussian.components import components
from sepset.inference.gaussian.coordinates import Coordinates
from sepset.inference.gaussian.widths import Widths, all_regressions
from sepset.variables.evidence import Evidence
from support.blocks import in_blocks


def random_network(rng, num):
    """Real variables, one in three a vector of two, and coins; parents at random."""
    coins = [ss.Discrete(f"c{i}") for i in range(3)]
    x = [ss.Vector(f"x{i}", 2) if i % 3 == 2 else ss.Real(f"x{i}") for i in range(num)]
    cpds = [ss.TableCPD(c, [0.5, 0.5]) for c in coins]
    for i, child in enumerate(x):
        given = [x[j] for j in range(i) if rng.random() < 1.5 / num]
        by = [c for c in coins if rng.random() < 0.2]
        shape, size, width = (2,) * len(by), child.size, sum(v.size for v in given)
        a, B = rng.normal(size=(*shape, size)), rng.normal(size=(*shape, size, width))
        C = np.broadcast_to(np.eye(size), (*shape, size, size))
        cpds.append(ss.LinearGaussian(child, a, coefficients=B, covariance=C, given=given, by=by))
    return ss.BayesNet(*cpds)


@in_blocks("seed", range(20))
def test_sizes_are_those_of_the_parts(seed):
    rng = np.random.default_rng(seed)
    problem = random_network(rng, 15).problem()
    coordinates, widths = Coordinates.of(problem), Widths(problem)
    real = np.flatnonzero(problem.variables.cards == 0)
    for _ in range(10):
        wanted, found = np.array_split(rng.permutation(real)[: rng.integers(1, len(real))], [rng.integers(0, 4)])
        own = [[int(i) for v in chosen for i in coordinates.families[v].own] for chosen in (wanted, found)]
        made = components(coordinates, *own, {})
        expected = sorted(len(part.hidden) for part in made if len(part.hidden))
        assert sorted(widths.part_sizes(wanted, found).tolist()) == expected


def test_problems_of_regressions_alone():
    x, y = ss.Real("x"), ss.Real("y")
    net = ss.BayesNet(
        ss.LinearGaussian(x, 0.0, covariance=1.0), ss.LinearGaussian(y, 0.0, coefficients=1.0, covariance=1.0, given=x)
    )
    assert all_regressions(net.problem())
    assert not all_regressions(ss.datasets.load("asia").problem())
    assert not all_regressions(ss.MarkovNet(ss.factors.CanonicalGaussian([x], [[1.0]], h=[0.0])).problem())


@lru_cache(1)
def _random_numbers():
    """A network of many numbers with five random parents each."""
    rng = np.random.default_rng(0)
    num = 20 * costs.NUMBERS_SWEPT
    x = [ss.Real(f"x{i}") for i in range(num)]
    above = [sorted(set(rng.integers(0, i, 5).tolist())) if i else [] for i in range(num)]
    return ss.BayesNet(
        *(
            ss.LinearGaussian(x[i], 0.0, coefficients=[0.1] * len(p), covariance=1.0, given=[x[j] for j in p])
            for i, p in enumerate(above)
        )
    )


@pytest.mark.parametrize(
    "ask",
    [
        lambda net, rows: ss.predict(net, rows, targets="x3"),
        lambda net, rows: ss.evaluate(net, rows, ss.evaluation.LogLoss()),
        lambda net, rows: ss.impute(net, {name: rows.get(name, [None, None]) for name in net.variables.names}),
    ],
    ids=["predict", "evaluate", "impute"],
)
def test_rows_that_are_too_wide_are_refused_before_regressions_are_laid_out(ask, monkeypatch):
    def never(*_):
        raise AssertionError("coordinates were made")

    net = _random_numbers()
    monkeypatch.setattr(Coordinates, "of_regressions", never)
    with pytest.raises(ss.TooLarge, match="real variables that depend on each other"):
        ask(net, {name: [0.1, 0.2] for name in net.variables.names[6::7]})


def test_a_refusal_reads_no_regression(monkeypatch):
    """What is refused for its width is refused by its graph: no coordinate is made."""
    net = _random_numbers()

    def refuse(*_):
        raise AssertionError("a regression was read")

    monkeypatch.setattr(Coordinates, "with_values", refuse)
    for ask in (ss.plan, ss.marginals):
        with pytest.raises(ss.TooLarge, match="real variables that depend on each other"):
            ask(net)


@pytest.mark.parametrize("seed", range(10))
def test_joint_states_are_those_of_the_parts(seed, monkeypatch):
    """A limit is exceeded in the graph where it is by the parts themselves; observed contexts do not count."""
    rng = np.random.default_rng(seed)
    problem = random_network(rng, 12).problem()
    coordinates = Coordinates.of(problem)
    real, coins = (np.flatnonzero(problem.variables.cards == n).tolist() for n in (0, 2))
    monkeypatch.setattr(costs, "NUMBERS_SWEPT", 0)
    for _ in range(6):
        wanted, found = (chosen.tolist() for chosen in np.array_split(rng.permutation(real)[:5], [3]))
        codes = {v: 0 for v in coins if rng.random() < 0.3}
        own = [[int(i) for v in chosen for i in coordinates.families[v].own] for chosen in (wanted, found)]
        parts = [part for part in components(coordinates, *own, codes) if len(part.hidden)]
        largest = max(part.num_states * (len(part.places) + 1) for part in parts)
        evidence = Evidence(codes, reals={v: np.zeros(problem.variables[v].size) for v in found})
        monkeypatch.setattr(costs, "MOST_CONTEXT_ENTRIES", largest)
        Widths(problem).check_contexts(wanted, evidence)
        monkeypatch.setattr(costs, "MOST_CONTEXT_ENTRIES", largest - 1)
        with pytest.raises(ss.errors.TooLarge, match="so many joint states"):
            Widths(problem).check_contexts(wanted, evidence)


ROWS = {"c1": [0, None], "x7": [0.5, None], "x2999": [None, 1.0]}


@pytest.mark.parametrize(
    "ask",
    [
        lambda net: ss.query(net, "x2999"),
        lambda net: ss.query(net, "c1", given={"x2999": 1.0}),
        lambda net: ss.predict(net, ROWS, targets=["x2999"]),
        lambda net: ss.impute(net, ROWS),
        lambda net: ss.fit(net, ROWS, ss.EM(), until=1),
    ],
)
def test_too_many_joint_states_are_counted_before_regressions_are_laid_out(ask, monkeypatch):
    """Every number has a coin of its own and two earlier numbers above it."""
    rng = np.random.default_rng(0)
    coins, x = [ss.Discrete(f"c{i}") for i in range(3000)], [ss.Real(f"x{i}") for i in range(3000)]
    cpds = [ss.TableCPD(c, [0.5, 0.5]) for c in coins]
    for i, child in enumerate(x):
        given = [x[j] for j in sorted(set(rng.integers(0, i, 2).tolist()))] if i else []
        slopes = np.full((2, len(given)), 0.5)
        cpds.append(
            ss.LinearGaussian(child, [0.0, 1.0], coefficients=slopes, covariance=[1.0, 1.0], given=given, by=coins[i])
        )
    net = ss.BayesNet(cpds)

    def never(*arguments):
        raise AssertionError("coordinates were made")

    monkeypatch.setattr(Coordinates, "of_regressions", never)
    with pytest.raises(ss.errors.TooLarge, match="so many joint states"):
        ask(net)


def test_few_targets_and_findings_are_carried(monkeypatch):
    """A chain of four and a pair apart: weights are counted in each of the parts."""
    names = [ss.Real(n) for n in "abcdxy"]
    cpds = [ss.LinearGaussian(v, 0.0, covariance=1.0) for v in (names[0], names[4])]
    for above, child in [(0, 1), (1, 2), (2, 3), (4, 5)]:
        cpds.append(ss.LinearGaussian(names[child], 0.0, coefficients=[1.0], covariance=1.0, given=names[above]))
    problem = ss.BayesNet(cpds).problem()
    place = {v.name: i for i, v in enumerate(problem.variables)}
    # c and y asked for, d found: a, b and c are hidden, and so are x and y.
    evidence = Evidence(reals={place["d"]: 1.0})
    for most, carried in ((3 * 2 + 2 * 1, True), (3 * 2 + 2 * 1 - 1, False)):
        monkeypatch.setattr(costs, "WEIGHTS_CARRIED_BACK", most)
        assert Widths(problem).carries([place["c"], place["y"]], evidence) is carried
    monkeypatch.setattr(costs, "WEIGHTS_CARRIED_BACK", 1000)
    for most, carried in ((3 * 4 + 2 * 1, True), (3 * 4 + 2 * 1 - 1, False)):
        monkeypatch.setattr(costs, "PAIRS_CARRIED_BACK", most)
        assert Widths(problem).carries([place["c"], place["y"]], evidence) is carried
    assert not Widths(problem, prune=False).carries([place["c"]], evidence)
    # a, b and c are asked for with one finding, in one go, over three arcs; x and y apart.
    monkeypatch.setattr(costs, "TARGETS_TOGETHER", 4)
    for most, carried in ((3.75 * 3 * 1.25 + 2.25 * 2, True), (3.75 * 3 * 1.25 + 2.25 * 2 - 0.01, False)):
        monkeypatch.setattr(costs, "WEIGHTS_OF_ALL", most)
        assert Widths(problem).carries_all(evidence) is carried
    assert not Widths(problem, prune=False).carries_all(evidence)
