"""Soft findings and likelihoods on joints, in every question, against proportional fitting of the whole joint."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest

import sepset as ss
from sepset.engine.jointfindings import takes_joints
from support.tolerances import CLOSE

STUDENT = ss.datasets.load("student")
NAMES = STUDENT.variables.names


def joint(net=STUDENT):
    letters = {name: chr(97 + place) for place, name in enumerate(net.variables.names)}
    axes = ["".join(letters[v.name] for v in (*cpd.parents, cpd.child)) for cpd in net.cpds]
    return np.einsum(",".join(axes) + "->" + "".join(letters.values()), *(cpd.to_table().values for cpd in net.cpds))


def along(net, names, weights):
    """An array with one axis per name, in their order, shaped to multiply the joint."""
    everyone = net.variables.names
    ordered = np.transpose(weights, np.argsort([everyone.index(name) for name in names]))
    sizes = iter(ordered.shape)
    return ordered.reshape([next(sizes) if name in names else 1 for name in everyone])


def marginal(net, table, names):
    everyone = net.variables.names
    kept = table.sum(axis=tuple(i for i, name in enumerate(everyone) if name not in names))
    order = [name for name in everyone if name in names]
    return kept.transpose([order.index(name) for name in names])


def fitted(given, net=STUDENT, rounds=400):
    """Factors for states and likelihoods, then proportional fitting of soft findings, on the whole joint."""
    table, soft = joint(net), {}
    for key, finding in given.items():
        names = key if isinstance(key, tuple) else (key,)
        shape = [net[name].num_states for name in names]
        if isinstance(finding, ss.Soft):
            soft[names] = np.reshape(finding.probabilities, shape)
        elif isinstance(finding, ss.Likelihood):
            table = table * along(net, names, np.reshape(finding.weights, shape))
        else:
            table = table * along(net, names, np.array([float(s == finding) for s in net[key].states]))
    for _ in range(rounds if soft else 0):
        for names, target in soft.items():
            now = marginal(net, table, names)
            table = table * along(net, names, np.divide(target, now, out=np.zeros(now.shape), where=now > 0))
    return table / table.sum()


PAIR = ss.Soft([[0.1, 0.2], [0.3, 0.4]])
TRIPLE = ss.Soft(np.random.default_rng(0).dirichlet(np.ones(12)).reshape(3, 2, 2))
GIVENS = {
    "a pair": {("letter", "sat"): PAIR},
    "the other order": {("sat", "letter"): PAIR},
    "beside a state": {("letter", "sat"): PAIR, "grade": "B"},
    "beside a soft finding": {("letter", "sat"): PAIR, "difficulty": ss.Soft([0.3, 0.7])},
    "overlapping": {("letter", "sat"): PAIR, ("sat", "difficulty"): ss.Soft([[0.15, 0.25], [0.2, 0.4]])},
    "three variables": {("grade", "letter", "sat"): TRIPLE},
    "a likelihood": {("letter", "sat"): ss.Likelihood([[0.9, 0.1], [0.2, 0.7]])},
    "with zeros": {("letter", "sat"): ss.Soft([[0.0, 0.5], [0.5, 0.0]])},
}
each = pytest.mark.parametrize("given", GIVENS.values(), ids=GIVENS)


@each
def test_every_marginal_and_joint(given):
    table = fitted(given)
    found = ss.marginals(STUDENT, given=given)
    for name in NAMES:
        np.testing.assert_allclose(found[name].values, marginal(STUDENT, table, [name]), rtol=0, atol=1e-9)
    assert len(found) == len(NAMES)
    for pair in itertools.permutations(NAMES, 2):
        if not set(pair) & {key for key in given if isinstance(key, str) and not isinstance(given[key], ss.Soft)}:
            answer = ss.query(STUDENT, pair, given=given).values
            np.testing.assert_allclose(answer, marginal(STUDENT, table, pair), rtol=0, atol=1e-9)


@each
def test_the_most_probable_assignment(given):
    table = fitted(given)
    codes = np.unravel_index(table.argmax(), table.shape)
    best = ss.map_assignment(STUDENT, given=given)
    seen = {key for key, finding in given.items() if isinstance(finding, str)}
    expected = {name: STUDENT[name].states[c] for name, c in zip(NAMES, codes, strict=True) if name not in seen}
    assert best.assignment == expected
    over = ss.map_assignment(STUDENT, over=["intelligence", "difficulty"], given=given).assignment
    part = marginal(STUDENT, table, ["intelligence", "difficulty"])
    i, d = np.unravel_index(part.argmax(), part.shape)
    assert over == {"intelligence": STUDENT["intelligence"].states[i], "difficulty": STUDENT["difficulty"].states[d]}


@each
def test_rows_views_and_draws(given):
    rows = {"intelligence": ["low", "high", None]}
    free = {name: f for name, f in given.items() if name != "intelligence"}
    found = ss.predict(STUDENT, rows, targets="difficulty", given=free).probabilities("difficulty")
    for row, state in zip(found, rows["intelligence"], strict=True):
        told = free if state is None else {**free, "intelligence": state}
        expected = marginal(STUDENT, fitted(told), ["difficulty"])
        np.testing.assert_allclose(row, expected, rtol=0, atol=1e-9)
    view = ss.prepare(STUDENT).observe(given)
    again = pickle.loads(pickle.dumps(view)).observe({"intelligence": "high"})
    expected = marginal(STUDENT, fitted({**given, "intelligence": "high"}), ["difficulty"])
    np.testing.assert_allclose(again.query("difficulty").values, expected, rtol=0, atol=1e-9)
    dropped = again.observe(dict.fromkeys(given))
    assert dict(dropped.given) == {"intelligence": "high"}
    drawn = ss.prepare(STUDENT).sample(4000, given=given, seed=0)
    share = np.mean(drawn.codes("letter") == 1)
    assert share == pytest.approx(marginal(STUDENT, fitted(given), ["letter"])[1], abs=0.04)
    assert set(drawn.variables.names) == set(NAMES)


@pytest.mark.parametrize(
    "method",
    [
        ss.VariableElimination(),
        ss.inference.BruteForce(),
        ss.inference.ShaferShenoy(),
        ss.inference.RecursiveConditioning(),
    ],
    ids=repr,
)
def test_other_methods(method):
    given = GIVENS["overlapping"]
    found = ss.query(STUDENT, "intelligence", given=given, method=method).values
    np.testing.assert_allclose(found, marginal(STUDENT, fitted(given), ["intelligence"]), rtol=0, atol=1e-9)


def test_states_by_name_in_any_order():
    numbers = {("strong", "high"): 0.4, ("weak", "low"): 0.1, ("strong", "low"): 0.3, ("weak", "high"): 0.2}
    one = ss.query(STUDENT, "intelligence", given={("letter", "sat"): ss.Soft(numbers)}).values
    two = ss.query(
        STUDENT, "intelligence", given={(STUDENT["sat"], "letter"): ss.Soft(np.transpose(PAIR.probabilities))}
    )
    np.testing.assert_allclose(one, two.values, rtol=0, atol=CLOSE)


def test_retraction_fits_the_others_again():
    given = {("letter", "sat"): PAIR, "difficulty": ss.Soft([0.3, 0.7]), "grade": "B"}
    found = ss.prepare(STUDENT).retracted_marginals(given=given)
    rest = {key: finding for key, finding in given.items() if key != "difficulty"}
    np.testing.assert_allclose(
        found["difficulty"].values, marginal(STUDENT, fitted(rest), ["difficulty"]), rtol=0, atol=1e-9
    )
    rest = {key: finding for key, finding in given.items() if key != ("letter", "sat")}
    np.testing.assert_allclose(
        found["(letter, sat)"].values,
        marginal(STUDENT, fitted(rest), ["letter", "sat"]),
        rtol=0,
        atol=1e-9,
    )


def test_findings_that_disagree_are_refused():
    """The two say different things about the score of the test."""
    given = {("letter", "sat"): PAIR, ("sat", "difficulty"): ss.Soft([[0.1, 0.2], [0.25, 0.45]])}
    with pytest.raises(ss.errors.ImpossibleEvidence, match="cannot be satisfied together"):
        ss.query(STUDENT, "intelligence", given=given)


def test_a_likelihood_has_a_probability_and_a_soft_finding_has_none():
    weights = np.array([[0.9, 0.1], [0.2, 0.7]])
    expected = (marginal(STUDENT, joint(), ["letter", "sat"]) * weights).sum()
    found = ss.log_probability(STUDENT, given={("letter", "sat"): ss.Likelihood(weights)})
    assert float(found) == pytest.approx(np.log(expected), abs=CLOSE)
    with pytest.raises(ss.errors.NotApplicable, match=r"\(letter, sat\)"):
        ss.log_probability(STUDENT, given={("letter", "sat"): PAIR})


def test_undirected_models_and_wide_cpds():
    net = ss.datasets.load("misconception")
    names = net.variables.names[:2]
    given = {tuple(names): ss.Soft([[0.1, 0.2], [0.3, 0.4]])}
    np.testing.assert_allclose(ss.query(net, names, given=given).values, PAIR.probabilities, rtol=0, atol=1e-9)
    causes = [ss.Discrete(f"c{i}") for i in range(40)]
    alarm = ss.NoisyOr(ss.Discrete("alarm"), dict.fromkeys(causes, 0.3), leak=0.1)
    wide = ss.BayesNet(*(ss.TableCPD(c, [0.95, 0.05]) for c in causes), alarm)
    asked = {("alarm", "c3"): ss.Soft([[0.2, 0.1], [0.3, 0.4]])}
    np.testing.assert_allclose(
        ss.query(wide, ["c3", "alarm"], given=asked).values, [[0.2, 0.3], [0.1, 0.4]], rtol=0, atol=1e-9
    )
    rest = ss.query(wide, "c5", given=asked).values
    prior = {
        state: ss.query(wide, "c5", given={"alarm": state[0], "c3": state[1]}).values
        for state in itertools.product((0, 1), (0, 1))
    }
    shares = {(0, 0): 0.2, (0, 1): 0.1, (1, 0): 0.3, (1, 1): 0.4}
    np.testing.assert_allclose(rest, sum(shares[s] * prior[s] for s in shares), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({("letter", "sta"): PAIR}, ss.errors.ScopeError, "sat"),
        ({("letter",): ss.Soft([0.5, 0.5])}, ss.errors.ScopeError, "two or more"),
        ({("sat", "sat"): PAIR}, ss.errors.ScopeError, "different"),
        ({("letter", "sat"): ss.Soft([0.5, 0.5])}, ss.errors.StateError, "shape"),
        ({("letter", "sat"): ss.Soft([[0.5, 0.4], [0.3, 0.2]])}, ss.errors.StateError, "sums to"),
        ({("letter", "sat"): ss.Soft([[0.5, -0.4], [0.7, 0.2]])}, ss.errors.StateError, "weights >= 0"),
        ({("letter", "sat"): ("weak", "low")}, ss.errors.StateError, "Give each its own"),
        ({("letter", "sat"): ss.Soft({("weak", "hihg"): 1.0})}, ss.errors.StateError, "high"),
        ({("letter", "sat"): ss.Soft({"weak": 1.0})}, ss.errors.StateError, "tuples"),
        ({"sat": PAIR}, ss.errors.StateError, "give them together"),
        ({("letter", "sat"): PAIR, "letter": "weak"}, ss.errors.ImpossibleEvidence, "cannot be|excludes"),
    ],
)
def test_errors_say_what_to_do(given, error, text):
    with pytest.raises(error, match=text):
        ss.query(STUDENT, "intelligence", given=given)


def test_real_variables_and_large_joints_are_refused():
    x = ss.Real("x")
    net = ss.BayesNet(ss.TableCPD(ss.Discrete("d"), [0.5, 0.5]), ss.LinearGaussian(x, covariance=1.0))
    with pytest.raises(ss.errors.ScopeError, match="continuous"):
        ss.query(net, "d", given={("d", "x"): PAIR})
    many = [ss.Discrete(f"v{i}") for i in range(13)]
    net = ss.BayesNet(*(ss.TableCPD(v, [0.5, 0.5]) for v in many))
    with pytest.raises(ss.errors.TooLarge, match="8,192 joint states"):
        ss.query(net, "v0", given={tuple(v.name for v in many): PAIR})


@pytest.mark.parametrize("seed", range(4))
def test_random_networks(seed):
    """States of one, zeros, and findings on parents and children."""
    rng = np.random.default_rng(seed)
    sizes = [2, 3, 1, 2, 3]
    vs = [ss.Discrete(f"v{i}", n) for i, n in enumerate(sizes)]
    cpds = []
    for i, v in enumerate(vs):
        parents = [vs[j] for j in range(i) if rng.random() < 0.6]
        rows = rng.dirichlet(np.ones(v.num_states), size=int(np.prod([p.num_states for p in parents])))
        cpds.append(ss.TableCPD(v, rows.reshape(-1), given=parents))
    net = ss.BayesNet(*cpds)
    order = rng.permutation(5)[:3]
    names = tuple(vs[i].name for i in order)
    target = rng.dirichlet(np.ones(int(np.prod([sizes[i] for i in order])))).reshape([sizes[i] for i in order])
    given = {names: ss.Soft(target)}
    table = fitted(given, net)
    for v in vs:
        np.testing.assert_allclose(
            ss.query(net, v.name, given=given).values, marginal(net, table, [v.name]), rtol=0, atol=1e-9
        )


def test_ctrl_c_as_a_compiled_function_is_entered_is_ctrl_c():
    """Numba reports it as a SystemError; others stay what they are."""

    @takes_joints
    def asked(engine, cause):
        raise SystemError from cause

    with pytest.raises(KeyboardInterrupt):
        asked(None, KeyboardInterrupt())
    with pytest.raises(SystemError):
        asked(None, None)
