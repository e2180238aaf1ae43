"""Problems whose factors depend on the question: every verb against enumeration, for every method."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest

import sepset as ss
from sepset.cpds import discrete
from sepset.cpds.influences import Influences
from sepset.inference.forms import PreparedForms
from sepset.inference.method import Prepared, prepare
from sepset.inference.rewriting import needed_factors
from support.tolerances import CLOSE, STANDARD_ERRORS

METHODS = [
    ss.CliqueTree(),
    ss.VariableElimination(),
    ss.inference.ShaferShenoy(),
    ss.inference.BeliefUpdate(),
    ss.inference.RecursiveConditioning(),
    ss.inference.CutsetConditioning(),
]


@pytest.fixture(params=[(0, 2**16), (0, 0), (2**20, 2**16)], ids=["deferred", "unfilled", "built"])
def threshold(request, monkeypatch):
    """Whether factors of structured CPDs wait for the evidence, for a plan too, or are built first."""
    monkeypatch.setattr(discrete, "MOST_ENTRIES", request.param[0])
    monkeypatch.setattr(discrete, "FILLED_AT_ONCE", request.param[1])
    return request.param


def network(seed=0):
    """Two wide CPDs, one below the other, with roots and a leaf of tables; some states are impossible."""
    rng = np.random.default_rng(seed)
    a, b, c, d = ss.Discrete("a"), ss.Discrete("b", "xyz"), ss.Discrete("c"), ss.Discrete("d")
    y, w, z = ss.Discrete("y", 3), ss.Discrete("w"), ss.Discrete("z")

    def rows(*shape):
        return rng.dirichlet(np.ones(shape[-1]), shape[:-1])

    return ss.BayesNet(
        ss.TableCPD(z, rows(3, 2), given=y),
        ss.NoisyOr(w, {y: [0.0, 0.4, 0.9], d: 0.7, a: 1.0, c: 0.3}, leak=0.1),
        ss.TableCPD(a, rows(2)),
        ss.LogisticCPD(y, {a: rng.normal(size=(2, 3)), b: rng.normal(size=(3, 3)), c: rng.normal(size=(2, 3))}),
        ss.TableCPD(b, rows(2, 3), given=a),
        ss.TableCPD(c, [0.3, 0.7]),
        ss.TableCPD(d, [[1.0, 0.0], [0.4, 0.6]], given=c),
        name="wide",
    )


def cells(net):
    """Every joint assignment in codes, and its probability by the CPDs' own scores."""
    grid = np.array(list(itertools.product(*(range(v.num_states) for v in net.variables))))
    rows = ss.Dataset.from_codes(net.variables, grid)
    return grid, np.exp(net.log_probability(rows))


FOUND = [{}, {"w": 1}, {"y": 2}, {"a": 1, "b": "z", "c": 0}, {"z": 1, "a": 0}, {"w": 0, "z": 0, "b": "x"}]


def consistent(net, grid, given):
    places = [(net.variables.id(name), net[name].code(state)) for name, state in given.items()]
    return np.all([grid[:, i] == code for i, code in places], axis=0) if places else np.ones(len(grid), bool)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_every_question_is_enumeration(threshold, method):
    net = network()
    grid, weight = cells(net)
    for given in FOUND:
        inside = consistent(net, grid, given)
        total = weight[inside].sum()
        assert float(ss.log_probability(net, given=given, method=method)) == pytest.approx(np.log(total), abs=CLOSE)
        free = [v for v in net.variables if v.name not in given]
        marginals = ss.marginals(net, given=given, method=method)
        for v in free:
            column = grid[inside, net.variables.id(v)]
            expected = np.bincount(column, weight[inside], v.num_states) / total
            np.testing.assert_allclose(ss.query(net, v, given=given, method=method).values, expected, atol=CLOSE)
            np.testing.assert_allclose(marginals[v.name].values, expected, atol=CLOSE)
        best = ss.map_assignment(net, given=given, method=method)
        assert best.log_value == pytest.approx(np.log(weight[inside].max()), abs=CLOSE)
        codes = [net[v.name].code(best.assignment.get(v.name, given.get(v.name))) for v in net.variables]
        assert weight[(grid == codes).all(axis=1)] == pytest.approx(weight[inside].max())


def marginal_map(net, grid, weight, given, over):
    """The largest sum over everything but `over`."""
    inside = consistent(net, grid, given)
    _, which = np.unique(grid[inside][:, [net.variables.id(v) for v in over]], axis=0, return_inverse=True)
    return np.bincount(which.reshape(-1), weight[inside])


def test_equal_causes_next_to_a_parent_that_is_summed_out(monkeypatch):
    for name in ("cpds.discrete.MOST_TABLED", "cpds.discrete.MOST_ENTRIES", "inference.rewriting.MOST_TABLED"):
        monkeypatch.setattr(f"sepset.{name}", 64)
    rng = np.random.default_rng(0)
    causes, other = [ss.Discrete(f"p{i}") for i in range(8)], ss.Discrete("q")
    net = ss.BayesNet(
        *(ss.TableCPD(v, [0.7, 0.3]) for v in (*causes, other)),
        ss.NoisyOr(ss.Discrete("w"), dict.fromkeys(causes, 0.5)),
        ss.LogisticCPD(ss.Discrete("y"), {v: rng.normal() for v in (*causes, other)}),
    )
    grid, weight = cells(net)
    given = {"w": 1, "y": 1}
    sums = marginal_map(net, grid, weight, given, [v.name for v in causes])
    engine = ss.prepare(net)
    assert engine.map_assignment(given=given, over=causes).log_value == pytest.approx(np.log(sums.max()), abs=CLOSE)


@pytest.mark.parametrize("method", [*METHODS[:2], METHODS[4]], ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("over", [("a", "c"), ("y",), ("d", "z"), ("a", "b", "d", "y")], ids="".join)
def test_the_best_of_some_variables(threshold, method, over):
    net = network(1)
    grid, weight = cells(net)
    for given in ({}, {"w": 1}, {"w": 0}):
        sums = marginal_map(net, grid, weight, given, over)
        found = ss.map_assignment(net, given=given, over=over, k=3, method=method)
        expected = np.sort(sums[sums > 0])[::-1][:3]
        np.testing.assert_allclose(found.log_values, np.log(expected), atol=CLOSE)


def test_rows_are_answered_together(threshold):
    net = network(2)
    grid, weight = cells(net)
    rng = np.random.default_rng(0)
    rows = grid[rng.integers(0, len(grid), 60)]
    rows = np.where(rng.random(rows.shape) < 0.4, -1, rows)
    data = ss.Dataset.from_codes(net.variables, rows)
    possible = [bool(((grid == row) | (row < 0)).all(axis=1) @ weight > 0) for row in rows]
    data, rows = data.take(np.flatnonzero(possible)), rows[possible]
    scores = ss.prepare(net).log_probabilities(data)
    filled = ss.impute(net, data, kind="map").dataset
    for i, row in enumerate(rows):
        inside = ((grid == row) | (row < 0)).all(axis=1)
        assert scores[i] == pytest.approx(np.log(weight[inside].sum()), abs=CLOSE)
        codes = [int(filled.codes(v)[i]) for v in net.variables]
        assert weight[(grid == codes).all(axis=1)] == pytest.approx(weight[inside].max(), abs=CLOSE)
    for target in ("y", "w", "a", "d"):
        place = net.variables.id(target)
        found = ss.predict(net, data, targets=target).probabilities(target)
        for i, row in enumerate(rows):
            others = row.copy()
            others[place] = -1
            inside = ((grid == others) | (others < 0)).all(axis=1)
            expected = np.bincount(grid[inside, place], weight[inside], net[target].num_states)
            np.testing.assert_allclose(found[i], expected / expected.sum(), atol=CLOSE)


@pytest.mark.parametrize("given", [{}, {"z": 1}, {"w": 1, "b": "y"}], ids=["nothing", "a leaf", "two"])
def test_draws_have_the_joint_distribution(threshold, given):
    net = network(3)
    grid, weight = cells(net)
    inside = consistent(net, grid, given)
    num = 20_000
    rows = ss.prepare(net).sample(num, given=given, seed=0)
    codes = np.stack([rows.codes(v) for v in net.variables], axis=1)
    for pair in itertools.combinations(range(len(net.variables)), 2):
        cards = [net.variables[i].num_states for i in pair]
        expected = np.bincount(np.ravel_multi_index(grid[inside][:, pair].T, cards), weight[inside], np.prod(cards))
        expected = expected / expected.sum()
        shares = np.bincount(np.ravel_multi_index(codes[:, pair].T, cards), minlength=np.prod(cards)) / num
        assert (np.abs(shares - expected) <= STANDARD_ERRORS * np.sqrt(expected * (1 - expected) / num) + 1e-12).all()


def test_all_factors_are_needed_where_all_variables_are_asked_for_or_observed():
    problem = network().problem()
    for seen in ([], [0], [problem.num_visible - 1, 1]):
        over = [v for v in range(problem.num_visible) if v not in seen]
        assert needed_factors(problem, over, seen) == {*problem.relevant(over, seen, constants=True).factors}


def test_permuted_parents_and_cpds_change_nothing(threshold):
    net = network(4)
    _, weight = cells(net)
    shuffled = ss.BayesNet(*reversed(net.cpds))
    for given in FOUND:
        best, other = (ss.map_assignment(n, given=given).log_value for n in (net, shuffled))
        assert best == pytest.approx(other, abs=CLOSE)
    assert weight.sum() == pytest.approx(1.0)


def test_views_and_pairs(threshold):
    net = network(5)
    grid, weight = cells(net)
    seen = ss.prepare(net).observe({"w": 1})
    inside = consistent(net, grid, {"w": 1})
    for _ in range(6):
        joint = seen.query(["a", "z"]).values
    places = [net.variables.id("a"), net.variables.id("z")]
    expected = np.bincount(np.ravel_multi_index(grid[inside][:, places].T, (2, 2)), weight[inside], 4)
    np.testing.assert_allclose(joint.reshape(-1), expected / expected.sum(), atol=CLOSE)
    pairs = ss.prepare(net).pairwise_marginals(given={"w": 1})
    np.testing.assert_allclose(pairs["a", "z"].values.reshape(-1), expected / expected.sum(), atol=CLOSE)


def test_a_problem_without_forms_is_prepared_as_it_is():
    problem = ss.datasets.load("asia").problem()
    assert not isinstance(prepare(ss.CliqueTree(), problem), PreparedForms)


def test_the_protocol(threshold):
    assert isinstance(prepare(ss.CliqueTree(), network().problem()), Prepared)


def test_impossible_rows_are_reported(threshold):
    net = network()
    with pytest.raises(ss.errors.ImpossibleEvidence):
        ss.query(net, "a", given={"c": 0, "d": 1})
    assert float(ss.log_probability(net, given={"c": 0, "d": 1})) == -np.inf
    with pytest.raises(ss.errors.ImpossibleEvidence):
        ss.predict(net, {"c": [0, 1], "d": [1, 1]}, targets="y")


def wide(number, child):
    return ss.LogisticCPD(child, {ss.Discrete(f"p{i}"): 0.1 + 0.37 * np.sqrt(i) for i in range(number)}, bias=-1.0)


def roots(number):
    return [ss.TableCPD(ss.Discrete(f"p{i}"), [0.7, 0.3]) for i in range(number)]


def test_a_wide_child_that_nothing_observed_depends_on_is_drawn_from_its_parents():
    net = ss.BayesNet(*roots(40), wide(40, ss.Discrete("y")))
    rows = ss.sample(net, 4000, given={"p0": 1}, seed=0).to_frame("pandas")
    assert (rows["p0"] == 1).all()
    columns = {v: rows[v.name].to_numpy() for v in net.cpds[-1].parents}
    p = np.exp(net.cpds[-1].log_probability({**columns, net["y"]: np.ones(4000, int)}))
    assert abs(rows["y"].mean() - p.mean()) < STANDARD_ERRORS * np.sqrt(0.25 / 4000)


def test_descendants_of_a_wide_child_are_drawn_by_their_own_factors():
    """A tree of 31 parents, whose product of factors is no table; its leaves are certain: each draw is known."""
    y, t, p = ss.Discrete("y"), ss.Discrete("t"), [ss.Discrete(f"p{i}") for i in range(30)]
    tree = [0.0, 1.0]
    for i in range(30):
        tree = ss.cpds.Split(p[i], {0: [0.0, 1.0] if i % 2 else [1.0, 0.0], 1: tree})
    own = ss.TreeCPD(t, ss.cpds.Split(y, {0: [1.0, 0.0], 1: tree}))
    net = ss.BayesNet(*(ss.TableCPD(v, [0.1, 0.9]) for v in p), wide(30, y), own)
    rows = ss.sample(net, 300, given={"p29": 1}, seed=0).to_frame("pandas")
    stops = rows[[f"p{i}" for i in reversed(range(29))]].to_numpy().argmin(axis=1)
    clear = (rows[[v.name for v in p]] == 1).all(axis=1)
    expected = (rows["y"] == 1) & (clear | ((28 - stops) % 2 == 1))
    assert 0 < expected.sum() < 300
    assert (rows["t"] == expected).all()


def test_what_no_evidence_makes_small_is_refused_with_its_size():
    net = ss.BayesNet(*roots(40), wide(40, ss.Discrete("y")))
    with pytest.raises(ss.TooLarge, match="parents observed"):
        ss.query(net, "p0", given={"y": 1})
    assert ss.plan(net, "p0", given=["y"]).largest >= 2**40
    assert ss.plan(net, over=["p0", "p1"], given=["y"]).largest >= 2**40
    assert ss.marginals(net)["p3"].values[1] == pytest.approx(0.3)


def test_many_rows_with_all_parents_observed_need_one_entry_each():
    net = ss.BayesNet(*roots(40), wide(40, ss.Discrete("y")))
    data = net.sample(2000, seed=1)
    found = ss.predict(net, data, targets="y").probabilities("y")
    columns = {v: data.codes(v) for v in net.variables}
    for code in (0, 1):
        expected = np.exp(net.cpds[-1].log_probability({**columns, net["y"]: np.full(2000, code)}))
        np.testing.assert_allclose(found[:, code], expected, atol=CLOSE)


@pytest.mark.parametrize("form", ["noisy-or", "tree", "parity"])
def test_the_best_of_wide_forms_are_ranked(form):
    """Thirty bits: the ten best by ranking all subsets of few changes from the best."""
    num = 30
    bits = [ss.Discrete(f"b{i}") for i in range(num)]
    chances = np.linspace(0.05, 0.45, num)
    if form == "parity":
        unary = [ss.Table(b, [1.0 - q, q]) for b, q in zip(bits, chances, strict=True)]
        net, given = ss.MarkovNet(*unary, ss.potentials.over_scopes([bits], ss.potentials.Parity())), {}
    else:
        child = ss.Discrete("y")
        tables = [ss.TableCPD(b, [1.0 - q, q]) for b, q in zip(bits, chances, strict=True)]
        last = [0.1, 0.9] if form == "tree" else None
        for b in reversed(bits):
            last = ss.cpds.Split(b, {0: last, 1: [0.3, 0.7]}) if form == "tree" else None
        wide = ss.TreeCPD(child, last, given=bits) if form == "tree" else ss.NoisyOr(child, dict.fromkeys(bits, 0.5))
        net, given = ss.BayesNet(*tables, wide), {"y": 1}
    sets = [on for size in range(5) for on in itertools.combinations(range(num), size)]
    words = np.zeros((len(sets), num), dtype=bool)
    for word, on in zip(words, sets, strict=True):
        word[list(on)] = True
    logs = np.where(words, np.log(chances), np.log(1.0 - chances)).sum(axis=1)
    with np.errstate(divide="ignore"):
        if form == "parity":
            logs = np.where(words.sum(axis=1) % 2 == 0, logs, -np.inf)
        elif form == "tree":
            logs = logs + np.log(np.where(words.any(axis=1), 0.7, 0.9))
        else:
            logs = logs + np.log(1.0 - 0.5 ** words.sum(axis=1))
    found = ss.map_assignment(net, given=given, k=10)
    np.testing.assert_allclose(found.log_values, np.sort(logs)[::-1][:10], atol=CLOSE)


def test_descendants_of_wide_children_are_drawn_after_them():
    """z depends on y, x on z and on a root; nothing below y is observed."""
    y, z, x = ss.Discrete("y"), ss.Discrete("z"), ss.Real("x")
    below = ss.TableCPD(z, [[0.9, 0.1], [0.2, 0.8]], given=y)
    real = ss.LinearGaussian(x, [-3.0, 3.0], covariance=0.01, by=z)
    net = ss.BayesNet(real, below, *roots(30), wide(30, y))
    rows = ss.sample(net, 4000, given={"p0": 1}, seed=0).to_frame("pandas")
    for state, p in ((0, 0.1), (1, 0.8)):
        part = rows[rows["y"] == state]
        assert abs(part["z"].mean() - p) < STANDARD_ERRORS * np.sqrt(p * (1.0 - p) / max(len(part), 1))
    assert ((rows["x"] > 0) == (rows["z"] == 1)).all()


def test_a_network_reduced_by_evidence_needs_no_table_of_its_wide_cpds():
    net = ss.BayesNet(*roots(30), wide(30, ss.Discrete("y")))
    given = {f"p{i}": i % 2 for i in range(2, 30)} | {"y": 1}
    reduced = net.condition(given)
    assert [v.name for v in reduced.variables] == ["p0", "p1"]
    assert float(ss.log_partition(reduced)) == pytest.approx(float(ss.log_probability(net, given=given)), abs=CLOSE)
    np.testing.assert_allclose(ss.query(reduced, "p1").values, ss.query(net, "p1", given=given).values, atol=CLOSE)


# Kernel densities: conditionals of real variables whose factors depend on what is observed.

CLASS, POINT, NOISE = ss.Discrete("class"), ss.Real("point"), ss.Real("noise")
STORED = {0: [0.0, 1.0], 1: [2.0, 3.0, 5.0]}
PRIOR, WIDTH = np.array([0.3, 0.7]), 0.5
KERNELS = ss.KernelCPD(POINT, {"class": [0, 0, 1, 1, 1], "point": [0.0, 1.0, 2.0, 3.0, 5.0]}, width=WIDTH, by=CLASS)
MIDDLE = ss.BayesNet(
    ss.LinearGaussian(NOISE, 0.0, coefficients={POINT: 2.0}, covariance=1.0, given=POINT),
    KERNELS,
    ss.TableCPD(CLASS, PRIOR),
)
METHODS_WITH_REALS = [None, ss.VariableElimination(), ss.inference.BeliefUpdate()]


def parts_of_the_mixture(value):
    """Class, weight, mean and variance of the point for every stored row, given the noisy value if there is one."""
    found = []
    for c, points in STORED.items():
        for at in points:
            weight, mean, variance = PRIOR[c] / len(points), at, WIDTH**2
            if value is not None:
                total = 4 * variance + 1.0
                weight *= np.exp(-0.5 * (value - 2 * at) ** 2 / total) / np.sqrt(2 * np.pi * total)
                mean, variance = at + 2 * variance / total * (value - 2 * at), variance / total
            found.append((c, weight, mean, variance))
    return [np.array(column) for column in zip(*found, strict=True)]


@pytest.mark.parametrize("method", METHODS_WITH_REALS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("value", [None, 3.0, -1.0, 40.0])
def test_a_kernel_density_in_the_middle_is_a_mixture_of_its_rows(method, value):
    given = {} if value is None else {"noise": value}
    classes, weights, means, variances = parts_of_the_mixture(value)
    share = weights / weights.sum()
    found = ss.query(MIDDLE, "class", given=given, method=method)
    np.testing.assert_allclose(found.values, [share[classes == c].sum() for c in (0, 1)], atol=1e-9)
    point = ss.query(MIDDLE, "point", given=given, method=method)
    mean = share @ means
    assert float(point.mean()) == pytest.approx(mean, abs=1e-8)
    assert float(point.variance()) == pytest.approx(share @ (variances + (means - mean) ** 2), abs=1e-8)
    if value is not None:
        log_probability = float(ss.log_probability(MIDDLE, given=given, method=method))
        assert log_probability == pytest.approx(np.log(weights.sum()), abs=1e-9)


def test_predictions_and_draws_around_a_kernel_density():
    rows = {"noise": [3.0, None, -1.0, 3.0], "class": [None, None, 1, 0]}
    found = ss.predict(MIDDLE, rows, targets="point").mean("point")
    for row, (value, known) in enumerate(zip(*rows.values(), strict=True)):
        classes, weights, means, _ = parts_of_the_mixture(value)
        kept = np.ones(len(classes)) if known is None else classes == known
        assert found[row] == pytest.approx((weights * kept) @ means / (weights @ kept), abs=1e-8)
    backward = {name: column[::-1] for name, column in rows.items()}
    np.testing.assert_allclose(ss.predict(MIDDLE, backward, targets="point").mean("point"), found[::-1], atol=1e-12)
    drawn = ss.sample(MIDDLE, 4000, given={"noise": 3.0}, seed=0).to_frame("pandas")
    classes, weights, means, variances = parts_of_the_mixture(3.0)
    share = weights / weights.sum()
    mean = share @ means
    error = np.sqrt(share @ (variances + (means - mean) ** 2) / 4000)
    assert abs(drawn["point"].mean() - mean) < 5 * error
    assert abs(drawn["class"].mean() - share[classes == 1].sum()) < 5 * np.sqrt(0.25 / 4000)


def test_best_classes_around_a_kernel_density():
    classes, weights, _, _ = parts_of_the_mixture(3.0)
    shares = np.array([weights[classes == c].sum() for c in (0, 1)])
    best = ss.map_assignment(MIDDLE, over="class", given={"noise": 3.0}, k=2)
    assert [one["class"] for one in best.assignments] == np.argsort(-shares).tolist()
    np.testing.assert_allclose(best.log_values, np.log(np.sort(shares)[::-1]), atol=1e-9)


def test_a_vector_with_kernels_is_weighed_at_a_point():
    place = ss.Vector("place", 2)
    points = np.array([[0.0, 1.0], [2.0, 0.5], [1.0, 3.0]])
    kernels = ss.KernelCPD(place, {"class": [0, 1, 1], "place": points}, width=[0.5, 0.8], by=CLASS)
    net = ss.BayesNet(ss.TableCPD(CLASS, PRIOR), kernels)
    at = np.array([1.0, 1.0])
    logs = -0.5 * (((at - points) / [0.5, 0.8]) ** 2).sum(axis=1)
    weights = PRIOR * [np.exp(logs[0]), np.exp(logs[1:]).mean()]
    np.testing.assert_allclose(ss.query(net, "class", given={"place": at}).values, weights / weights.sum(), atol=1e-12)
    np.testing.assert_allclose(ss.query(net, "place", given={"class": 1}).mean(), points[1:].mean(axis=0), atol=1e-12)


def noisy(num, rng):
    """Every variable has all earlier ones as causes, each with a strength of its own."""
    vs = [ss.Discrete(f"v{i}") for i in range(num)]
    pairs = [(v, {u: float(rng.uniform(0.1, 0.6)) for u in vs[:i]}) for i, v in enumerate(vs)]
    return ss.BayesNet(*(ss.NoisyOr(v, given, leak=float(rng.uniform(0.1, 0.4))) for v, given in pairs))


@pytest.mark.parametrize("num", [27, 30, 60])
@pytest.mark.parametrize("ask", [ss.map_assignment, ss.max_marginals], ids=lambda f: f.__name__)
def test_a_plan_that_is_too_large_is_refused_before_a_large_table_is_filled(monkeypatch, ask, num):
    net, sizes, table = noisy(num, np.random.default_rng(num)), [], Influences.table
    monkeypatch.setattr(Influences, "table", lambda self: sizes.append(2 ** len(self.effects)) or table(self))
    with pytest.raises(ss.TooLarge):
        ask(net)
    assert max(sizes, default=0) <= discrete.FILLED_AT_ONCE


def test_the_best_causes_are_found_without_a_plan_that_sums_their_maxima(monkeypatch):
    """One hundred causes of different strengths: the best of all ways to have none, one or two of them."""
    rng = np.random.default_rng(3)
    vs, chances, strengths = [ss.Discrete(f"c{i}") for i in range(100)], rng.uniform(0.02, 0.3, 100), rng.random(100)
    roots = [ss.TableCPD(v, [1.0 - p, p]) for v, p in zip(vs, chances, strict=True)]
    net = ss.BayesNet(*roots, ss.NoisyOr(ss.Discrete("y"), dict(zip(vs, strengths, strict=True)), leak=0.001))
    monkeypatch.setattr(PreparedForms, "for_best", lambda *_: pytest.fail("a plan was made"))
    found = ss.map_assignment(net, given={"y": 1})
    odds, off = np.log(chances / (1.0 - chances)), np.log(1.0 - chances).sum()
    sets = [on for size in range(3) for on in itertools.combinations(range(100), size)]
    logs = [off + odds[list(on)].sum() + np.log1p(-0.999 * np.prod(1.0 - strengths[list(on)])) for on in sets]
    assert found.log_value == pytest.approx(max(logs), abs=1e-9)
    assert [i for i, v in enumerate(vs) if found.assignment[v.name] == 1] == list(sets[int(np.argmax(logs))])


def test_a_table_that_is_not_filled_can_be_sent_to_another_process():
    made = wide(18, ss.Discrete("y")).decomposed({})
    assert not made.is_filled
    sent = pickle.loads(pickle.dumps(made.factors[0])).filled()
    np.testing.assert_array_equal(sent.values, wide(18, ss.Discrete("y")).to_table().values)


def test_a_function_is_not_filled_before_it_is_found_too_large(monkeypatch):
    vs = [ss.Discrete(f"p{i}") for i in range(30)]
    cpd = ss.TreeCPD(ss.Discrete("y"), ss.cpds.Split(vs[0], {0: [0.1, 0.9], 1: [0.3, 0.7]}), given=vs)
    monkeypatch.setattr(discrete, "chunks", lambda _: pytest.fail("a table was filled"))
    with pytest.raises(ss.TooLarge, match="1 of 30 parents observed"):
        cpd.decomposed({vs[0]: 1})


def test_tables_wait_for_a_plan_that_fits(monkeypatch):
    """Forty functions of 25 of 60 causes each: a clique of most causes."""
    rng, causes = np.random.default_rng(0), [ss.Discrete(f"c{i}") for i in range(60)]
    cpds = [ss.TableCPD(v, [0.7, 0.3]) for v in causes]
    for i in range(40):
        chosen = [causes[j] for j in rng.choice(60, 25, replace=False)]
        weights = {v: [0.0, float(rng.normal(0.0, 2.0))] for v in chosen}
        cpds.append(ss.LogisticCPD(ss.Discrete(f"f{i}"), weights))
    net, found = ss.BayesNet(*cpds), {f"f{i}": i % 2 for i in range(40)}
    monkeypatch.setattr(ss.LogisticCPD, "to_factor", lambda *_: pytest.fail("a table was filled"))
    with pytest.raises(ss.TooLarge, match="entries"):
        ss.prepare(net).query(["c0", "c1"], given=found)


@pytest.mark.parametrize("method", [ss.inference.ICM(), ss.inference.MPLP(), ss.inference.HybridBestFirst()])
def test_searches_take_no_auxiliaries_that_are_to_be_summed_out(monkeypatch, method):
    """Their maxima would be those of another function."""
    net = noisy(6, np.random.default_rng(0))
    _, weight = cells(net)
    monkeypatch.setattr(discrete, "MOST_TABLED", 48)  # the chain fits, the table does not
    with pytest.raises(ss.TooLarge, match="A search needs factors for maxima"):
        ss.map_assignment(net, method=method)
    assert ss.map_assignment(net).log_value == pytest.approx(np.log(weight.max()), abs=CLOSE)


def test_the_maximum_of_a_kernel_density_is_refused_with_what_to_do():
    with pytest.raises(
        ss.errors.NotClosed, match=r"Query its distribution; or leave out `over=` .* if none has kernels"
    ):
        ss.map_assignment(MIDDLE)


def test_rows_that_miss_a_dozen_of_many_parents_are_counted():
    """Expected counts of a family against a sum over all completions of the row."""
    rng, missing = np.random.default_rng(5), 12
    weights, chances = rng.normal(size=32), rng.uniform(0.2, 0.8, 32)
    x, y = [ss.Discrete(f"x{i}") for i in range(32)], ss.Discrete("y")
    tables = (ss.TableCPD(v, [1.0 - p, p]) for v, p in zip(x, chances, strict=True))
    net = ss.BayesNet(*tables, ss.LogisticCPD(y, dict(zip(x, weights.tolist(), strict=True)), bias=-1.0))
    row = rng.integers(0, 2, 32)
    cell = {v.name: [None if i < missing else int(row[i])] for i, v in enumerate(x)}
    found = ss.learning.expected_counts(net, ss.Dataset({**cell, "y": [1]}, net.variables), families=[(x[0], y)])
    hidden = np.array(list(itertools.product((0, 1), repeat=missing)))
    odds = hidden @ weights[:missing] + row[missing:] @ weights[missing:] - 1.0
    mass = np.where(hidden, chances[:missing], 1.0 - chances[:missing]).prod(axis=1) / (1.0 + np.exp(-odds))
    expected = np.bincount(hidden[:, 0], mass, 2) / mass.sum()
    np.testing.assert_allclose(found.tables[0].reshape(2, 2)[:, 1], expected, atol=CLOSE)
