"""CPDs of forty parents that have a few dozen parameters: what can be answered by their form needs no table of 2^41.

Evidence reaches a CPD before it becomes a factor; complete rows are scored by the CPD itself; a form that has factors
for sums has them for maxima too. Every expected value is the form's own definition, written out for the rows asked.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import expit, rel_entr

import sepset as ss
from support.tolerances import CLOSE, STANDARD_ERRORS

NUM = 40
RNG = np.random.default_rng(0)
PRIORS = RNG.uniform(0.1, 0.45, NUM)
WEIGHTS = RNG.normal(size=NUM)
LEAVES = RNG.uniform(0.05, 0.95, NUM + 1)
PARENTS = [ss.Discrete(f"p{i}") for i in range(NUM)]
Y = ss.Discrete("y")
LEAK, LINK, BIAS = 0.05, 0.6, -1.0
X = (RNG.random((60, NUM)) < PRIORS).astype(int)
ON = (RNG.random(60) < 0.5).astype(int)


def comb(place):
    """A tree that looks at one parent after the other until one is on."""
    if place == NUM:
        return [1.0 - LEAVES[NUM], LEAVES[NUM]]
    return ss.cpds.Split(PARENTS[place], {0: comb(place + 1), 1: [1.0 - LEAVES[place], LEAVES[place]]})


def teeth():
    """The same as rules: the parents up to the first that is on, and the child."""
    for place in range(NUM + 1):
        context = {PARENTS[i]: int(i == place) for i in range(min(place + 1, NUM))}
        for state, value in enumerate((1.0 - LEAVES[place], LEAVES[place])):
            yield {**context, Y: state}, value


FORMS = {
    "logistic": ss.LogisticCPD(Y, dict(zip(PARENTS, WEIGHTS, strict=True)), bias=BIAS),
    "noisy-or": ss.NoisyOr(Y, dict.fromkeys(PARENTS, LINK), leak=LEAK),
    "noisy-max": ss.NoisyMax(Y, {p: [[1.0, 0.0], [1.0 - LINK, LINK]] for p in PARENTS}, leak=[1.0 - LEAK, LEAK]),
    "tree": ss.TreeCPD(Y, comb(0), given=PARENTS),
    "rules": ss.cpds.RuleCPD(Y, teeth(), given=PARENTS),
}


def p_on(form, x):
    """P(y = 1 | x) for every row of x, by the definition of the form."""
    if form == "logistic":
        return expit(BIAS + x @ WEIGHTS)
    if form in ("tree", "rules"):
        return LEAVES[np.where(x.any(axis=1), x.argmax(axis=1), NUM)]
    return 1.0 - (1.0 - LEAK) * (1.0 - LINK) ** x.sum(axis=1)


def p_child(form, x, y):
    return np.where(y == 1, p_on(form, x), 1.0 - p_on(form, x))


def p_parents(x):
    return np.where(x == 1, PRIORS, 1.0 - PRIORS).prod(axis=1)


def network(form, priors=PRIORS):
    roots = [ss.TableCPD(p, [1.0 - q, q]) for p, q in zip(PARENTS, priors, strict=True)]
    return ss.BayesNet(*roots, FORMS[form])


def columns(x=X, y=ON, without=()):
    """The rows as a mapping of columns."""
    found = {p.name: x[:, i].tolist() for i, p in enumerate(PARENTS)} | {"y": y.tolist()}
    return {name: column for name, column in found.items() if name not in without}


def findings(row, without=()):
    return {name: column[row] for name, column in columns(without=without).items()}


def set_to(x, place, value):
    changed = x.copy()
    changed[:, place] = value
    return changed


def posterior_of_first(form):
    """P(p0 | everything else) in every row."""
    weights = [p_parents(set_to(X, 0, v)) * p_child(form, set_to(X, 0, v), ON) for v in (0, 1)]
    return np.stack(weights, axis=1) / np.sum(weights, axis=0)[:, None]


def both(p):
    return np.stack([1.0 - p, p], axis=1)


def risk(form, loss):
    return next(iter(ss.evaluate(network(form), columns(), loss).values())).mean


def own_zero_one(form):
    return np.mean((p_on(form, X) > 0.5) != ON)


def own_brier(form):
    return np.mean(2.0 * (p_on(form, X) - ON) ** 2)


def with_two_hidden(form):
    """P(y | all parents but the first two)."""
    cells = [np.where(np.arange(NUM) < 2, [*c, *[0] * (NUM - 2)], X[0]) for c in itertools.product((0, 1), repeat=2)]
    x = np.array(cells)
    weights = p_parents(x)
    return both(np.array([weights @ p_on(form, x) / weights.sum()]))[0]


def confidence(form):
    """The mean confidence in y and how often it is right, over all rows."""
    p = p_on(form, X)
    return np.maximum(p, 1.0 - p).mean(), np.mean((p > 0.5) == ON)


def found_confidence(form):
    curve = ss.evaluation.calibration_curve(network(form), columns(), target="y")
    shares = curve.weights / curve.weights.sum()
    return shares @ curve.predicted, shares @ curve.observed


HIDDEN = ("p0", "p1")
ASKED = {
    "the child given all parents": (
        lambda form: ss.query(network(form), "y", given=findings(0, without=["y"])).values,
        lambda form: both(p_on(form, X[:1]))[0],
    ),
    "the child given all parents but two": (
        lambda form: ss.query(network(form), "y", given=findings(0, without=["y", *HIDDEN])).values,
        with_two_hidden,
    ),
    "a parent given the rest": (
        lambda form: ss.query(network(form), "p0", given=findings(0, without=["p0"])).values,
        lambda form: posterior_of_first(form)[0],
    ),
    "a parent alone": (
        lambda form: ss.query(network(form), "p0").values,
        lambda form: [1.0 - PRIORS[0], PRIORS[0]],
    ),
    "the probability of a row": (
        lambda form: float(ss.log_probability(network(form), given=findings(0))),
        lambda form: np.log(p_parents(X[:1]) * p_child(form, X[:1], ON[:1]))[0],
    ),
    "predicting the child": (
        lambda form: ss.predict(network(form), columns(without=["y"]), targets="y").probabilities("y"),
        lambda form: both(p_on(form, X)),
    ),
    "predicting a parent": (
        lambda form: ss.predict(network(form), columns(without=["p0"]), targets="p0").probabilities("p0"),
        posterior_of_first,
    ),
    "classifying by the child": (
        lambda form: np.exp(
            ss.classify.Classifier(network(form), "y").predict(columns(without=["y"])).log_probabilities
        ),
        lambda form: both(p_on(form, X)),
    ),
    "classifying by a parent": (
        lambda form: np.exp(
            ss.classify.Classifier(network(form), "p0").predict(columns(without=["p0"])).log_probabilities
        ),
        posterior_of_first,
    ),
    "log-loss": (
        lambda form: risk(form, ss.evaluation.LogLoss()),
        lambda form: -np.mean(np.log(p_parents(X) * p_child(form, X, ON))),
    ),
    "conditional log-loss": (
        lambda form: risk(form, ss.evaluation.ConditionalLogLoss("y")),
        lambda form: -np.mean(np.log(p_child(form, X, ON))),
    ),
    "0/1 loss": (lambda form: risk(form, ss.evaluation.ZeroOne("y")), own_zero_one),
    "Brier score": (lambda form: risk(form, ss.evaluation.Brier("y")), own_brier),
    "calibration": (found_confidence, confidence),
    "goodness of fit": (
        lambda form: ss.evaluation.goodness_of_fit(network(form), columns(), num_draws=9).statistic,
        lambda form: -np.mean(np.log(p_parents(X) * p_child(form, X, ON))),
    ),
    "divergence from itself": (
        lambda form: ss.evaluation.divergence(network(form), network(form)).total,
        lambda form: 0.0,
    ),
    "divergence by families": (
        lambda form: ss.evaluation.divergence(network(form), network(form, np.full(NUM, 0.5))).families["y"],
        lambda form: 0.0,
    ),
    "divergence of the roots": (
        lambda form: ss.evaluation.divergence(network(form), network(form, np.full(NUM, 0.5))).total,
        lambda form: (rel_entr(PRIORS, 0.5) + rel_entr(1.0 - PRIORS, 0.5)).sum(),
    ),
}


def asks():
    return [pytest.param(form, *ASKED[name], id=f"{form}-{name}") for form, name in itertools.product(FORMS, ASKED)]


@pytest.mark.parametrize(("form", "ask", "expected"), asks())
def test_a_wide_cpd_answers_by_its_form(form, ask, expected):
    np.testing.assert_allclose(ask(form), expected(form), rtol=0, atol=CLOSE)


@pytest.mark.parametrize("form", FORMS)
def test_draws_given_all_parents(form):
    given = findings(0, without=["y"])
    rows = ss.sample(network(form), 4000, given=given, seed=0).to_frame("pandas")
    p = p_on(form, X[:1])[0]
    assert abs(rows["y"].mean() - p) < STANDARD_ERRORS * np.sqrt(p * (1.0 - p) / 4000)


def best_completion(form, row, hidden):
    """The best states of some parents of a row given everything else, and its log probability."""
    cells = list(itertools.product((0, 1), repeat=len(hidden)))
    x = np.repeat(X[row : row + 1], len(cells), axis=0)
    x[:, hidden] = cells
    values = p_parents(x) * p_child(form, x, np.full(len(cells), ON[row]))
    return list(cells[int(values.argmax())]), np.log(values.max())


@pytest.mark.parametrize("form", FORMS)
def test_the_best_states_of_two_parents(form):
    found = ss.map_assignment(network(form), given=findings(0, without=HIDDEN))
    states, value = best_completion(form, 0, [0, 1])
    assert [found.assignment[name] for name in HIDDEN] == states
    assert found.log_value == pytest.approx(value, abs=CLOSE)


def best_explanation(form, y):
    """The log probability of the best states of all parents, given the child.

    For noisy-or with equal links only the number of parents that are on matters to the child, so the best of each
    number has those with the best odds. A tree has one best completion for each leaf: the path, and modes elsewhere.
    """
    if form in ("tree", "rules"):
        x = np.array([(PRIORS > 0.5).astype(int)] * (NUM + 1))
        for leaf in range(NUM + 1):
            x[leaf, :leaf] = 0
            x[leaf, leaf : leaf + 1] = 1
    else:
        order = np.argsort(-PRIORS)
        x = np.zeros((NUM + 1, NUM), int)
        for number in range(NUM + 1):
            x[number, order[:number]] = 1
    return np.log(p_parents(x) * p_child(form, x, np.full(len(x), y))).max()


@pytest.mark.parametrize("y", [0, 1])
@pytest.mark.parametrize("form", ["noisy-or", "noisy-max", "tree", "rules"])
def test_the_best_explanation_of_the_child(form, y):
    """With the child off a noisy-or is a plain product."""
    found = ss.map_assignment(network(form), given={"y": y})
    assert found.log_value == pytest.approx(best_explanation(form, y), abs=CLOSE)
    x = np.array([[found.assignment[p.name] for p in PARENTS]])
    assert found.log_value == pytest.approx(np.log(p_parents(x) * p_child(form, x, np.array([y])))[0], abs=CLOSE)


def gaps():
    """The rows with two parents hidden in each, never the same two."""
    found = columns()
    for row in range(len(X)):
        for place in hidden_in(row):
            found[f"p{place}"][row] = None
    return found


def hidden_in(row):
    return [row % NUM, (row + 7) % NUM]


@pytest.mark.parametrize("method", [None, ss.VariableElimination(), ss.inference.RecursiveConditioning()], ids=repr)
@pytest.mark.parametrize("form", FORMS)
def test_the_best_states_of_all_parents_where_the_child_is_barren(form, method):
    """The child sums to one: each parent has its own best state, and the second best changes the closest one."""
    found = ss.map_assignment(network(form), over=[p.name for p in PARENTS], method=method, k=2)
    best = np.log(np.maximum(PRIORS, 1.0 - PRIORS))
    assert [found.assignment[p.name] for p in PARENTS] == (PRIORS > 0.5).astype(int).tolist()
    assert found.log_value == pytest.approx(best.sum(), abs=CLOSE)
    change = np.abs(np.log(PRIORS) - np.log1p(-PRIORS)).min()
    assert found.log_values[1] == pytest.approx(best.sum() - change, abs=CLOSE)
    plan = ss.plan(network(form), over=[p.name for p in PARENTS])
    assert plan.largest == 2


def test_divergences_that_have_no_closed_form_are_estimated_from_draws():
    """Contributions that all differ: no sum over 2^40 rows; the roots alone are known in closed form."""
    other = ss.NoisyOr(Y, dict(zip(PARENTS, np.linspace(0.1, 0.9, NUM), strict=True)), leak=0.2)
    changed = network("noisy-or").with_cpds(other)
    with pytest.raises(ss.TooLarge, match="samples="):
        ss.evaluation.divergence(network("noisy-or"), changed)
    x = (np.random.default_rng(1).random((200_000, NUM)) < PRIORS).astype(int)
    p, q = p_on("noisy-or", x), 1.0 - 0.8 * np.exp(x @ np.log1p(-np.linspace(0.1, 0.9, NUM)))
    expected = rel_entr(p, q) + rel_entr(1.0 - p, 1.0 - q)
    found = ss.evaluation.divergence(network("noisy-or"), changed, samples=100_000)
    spread = np.hypot(found.standard_error, expected.std() / np.sqrt(len(x)))
    assert abs(found.total - expected.mean()) < STANDARD_ERRORS * spread


@pytest.mark.parametrize("form", FORMS)
def test_families_that_are_the_same_add_no_divergence(form):
    """Whatever their marginals are, which for logistic CPDs of forty hidden parents no sum gives."""
    score = ss.Real("score")
    line = ss.LinearGaussian(score, [0.0, 1.0], covariance=0.5, by=Y)
    net = ss.BayesNet(*network(form).cpds, line)
    changed = net.with_cpds(ss.TableCPD(PARENTS[0], [0.5, 0.5]))
    found = ss.evaluation.divergence(net, changed)
    share = np.array([1.0 - PRIORS[0], PRIORS[0]])
    assert found.total == pytest.approx(rel_entr(share, 0.5).sum(), abs=CLOSE)
    assert ss.evaluation.divergence(net, net).total == 0.0


@pytest.mark.parametrize("form", FORMS)
def test_likelihoods_of_a_parent_in_rows_that_observe_the_others(form):
    given = {"p1": ss.Likelihood([0.3, 0.9])}
    found = ss.predict(network(form), columns(without=HIDDEN), targets="p0", given=given).probabilities("p0")
    weights = np.zeros((len(X), 2))
    for first, second in itertools.product((0, 1), repeat=2):
        x = set_to(set_to(X, 0, first), 1, second)
        weights[:, first] += p_parents(x) * p_child(form, x, ON) * (0.3, 0.9)[second]
    np.testing.assert_allclose(found, weights / weights.sum(axis=1, keepdims=True), rtol=0, atol=CLOSE)


@pytest.mark.parametrize("hard", [False, True], ids=["EM", "hard EM"])
@pytest.mark.parametrize("form", FORMS)
def test_em_with_a_real_child_of_the_child(form, hard):
    """The child is hidden: its states weigh the rows that its line is fitted to, or the best one has them."""
    means, score = np.array([100.0, 101.0]), ss.Real("score")
    line = ss.LinearGaussian(score, means, covariance=0.5, by=Y)
    scores = np.random.default_rng(2).normal(100.5, 12.0, len(X))
    rows = columns(without=["y"]) | {"score": scores.tolist()}
    method = ss.HardEM(start="model") if hard else ss.EM(start="model")
    found = ss.fit(ss.BayesNet(*network(form).cpds, line), rows, method, **one_step())
    distance = (scores[:, None] - means) ** 2
    weights = both(p_on(form, X)) * np.exp(distance.min(axis=1, keepdims=True) - distance)
    weights = np.eye(2)[weights.argmax(axis=1)] if hard else weights / weights.sum(axis=1, keepdims=True)
    expected = weights.T @ scores / weights.sum(axis=0)
    np.testing.assert_allclose(found.model.cpd("score").intercept.ravel(), expected, rtol=CLOSE)


@pytest.mark.parametrize("form", FORMS)
def test_rows_are_completed_by_their_best_states(form):
    filled = ss.impute(network(form), gaps(), kind="map").dataset
    for row in range(len(X)):
        place = hidden_in(row)
        assert [filled[f"p{i}"][row] for i in place] == best_completion(form, row, place)[0]


def one_step():
    return {"until": ss.Until(steps=1, tolerance=None)}


@pytest.mark.parametrize("form", FORMS)
def test_hard_em_completes_and_counts(form):
    found = ss.fit(network(form), gaps(), ss.HardEM(start="model"), **one_step())
    x = X.copy()
    for row in range(len(X)):
        x[row, hidden_in(row)] = best_completion(form, row, hidden_in(row))[0]
    shares = [found.model.cpd(p.name).values[1] for p in PARENTS]
    np.testing.assert_allclose(shares, x.mean(axis=0), rtol=0, atol=CLOSE)


@pytest.mark.parametrize("form", FORMS)
def test_em_counts_what_it_expects(form):
    found = ss.fit(network(form), gaps(), ss.EM(start="model"), **one_step())
    x = X.astype(float)
    for row in range(len(X)):
        place = hidden_in(row)
        cells = np.array(list(itertools.product((0, 1), repeat=2)))
        full = np.repeat(X[row : row + 1], 4, axis=0)
        full[:, place] = cells
        weights = p_parents(full) * p_child(form, full, np.full(4, ON[row]))
        x[row, place] = weights @ cells / weights.sum()
    shares = [found.model.cpd(p.name).values[1] for p in PARENTS]
    np.testing.assert_allclose(shares, x.mean(axis=0), rtol=0, atol=CLOSE)


def test_bde_gives_each_leaf_of_a_wide_tree_its_imaginary_rows():
    """A prior network of fair roots reaches leaf i with probability 2^-(i+1), and there has its own row."""
    prior, strength = network("tree", np.full(NUM, 0.5)), 8.0
    found = ss.fit(network("tree"), columns(), ss.Bayes(ss.priors.BDe(prior, strength))).model
    leaf = np.where(X.any(axis=1), X.argmax(axis=1), NUM)
    for place in range(6):
        x = np.zeros((1, NUM), int)
        x[0, place] = 1
        reach = strength * 0.5 ** (place + 1)
        here = leaf == place
        expected = (reach * LEAVES[place] + ON[here].sum()) / (reach + here.sum())
        row = {p.name: int(v) for p, v in zip(PARENTS, x[0], strict=True)}
        assert ss.query(found, "y", given=row).values[1] == pytest.approx(expected, abs=CLOSE)


@pytest.mark.parametrize("form", FORMS)
def test_planning_counts_what_a_question_needs_and_no_more(form):
    """With all parents seen, or the child barren, one variable of two states remains, and what auxiliaries it needs."""
    assert ss.plan(network(form), "p0").largest == 2
    assert ss.plan(network(form), "y", given=[p.name for p in PARENTS]).largest <= 16


@pytest.mark.parametrize("form", ["noisy-or", "noisy-max"])
def test_a_plan_names_no_more_variables_than_there_are(form):
    first = str(ss.plan(network(form))).splitlines()[0]
    relevant, all_of_them, *_ = (int(word) for word in first.split() if word.isdigit())
    assert relevant <= all_of_them == NUM + 1


def test_sums_over_hidden_parents_that_differ_are_refused_with_what_to_do():
    """Each piece of advice is taken: rounded weights, observed parents, draws."""
    with pytest.raises(ss.TooLarge, match=r"round the weights .*ss\.sample without given="):
        ss.query(network("logistic"), "y")
    step = 0.1
    rounded = ss.LogisticCPD(Y, dict(zip(PARENTS, step * np.rint(WEIGHTS / step), strict=True)), bias=BIAS)
    near = ss.query(network("logistic").with_cpds(rounded), "y")[1]
    drawn = ss.sample(network("logistic"), 20_000, seed=0).codes("y").mean()
    assert near == pytest.approx(drawn, abs=0.02)
    known = {p.name: 0 for p in PARENTS[10:]}
    x = np.array(list(itertools.product((0, 1), repeat=10)))
    x = np.concatenate([x, np.zeros((len(x), NUM - 10), int)], axis=1)
    expected = (p_parents(x) / p_parents(x).sum()) @ p_on("logistic", x)
    assert ss.query(network("logistic"), "y", given=known)[1] == pytest.approx(expected, abs=CLOSE)
