"""What belongs together is found by name: variables, parents and states may come in any order in either object.

A network is the same whatever the order of its CPDs, of the parents of one, and of the states of a variable. Wherever
one object meets another (a start for EM, labels of a frame, a network to score), the answer may not depend on it.
"""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import dirichlet

import sepset as ss
from sepset.sklearn import BayesNetClassifier, BayesNetImputer
from support.blocks import in_blocks
from support.tolerances import CLOSE, EXACT

DRAWN = np.random.default_rng(3)
P_H = {"u": 0.3, "v": 0.7}
P_X = {
    (h, w): dict(zip("pqr", row, strict=True))
    for (h, w), row in zip(itertools.product("uv", "kl"), DRAWN.dirichlet(np.ones(3), size=4).tolist(), strict=True)
}
P_W = {"k": 0.6, "l": 0.4}
ROWS = {
    "h": ["u", None, None, "v", "v", None, None, "u", None],
    "w": ["k", "l", "k", "k", "l", "l", "k", "k", "l"],
    "x": ["p", "q", "r", "r", None, "p", "p", "q", None],
}


def table(child, parents, rows):
    """A table CPD from probabilities by state, whatever order the variables have their states in."""
    shape = [v.num_states for v in (*parents, child)]
    cells = [rows(*states)[s] for *states, s in itertools.product(*(v.states for v in (*parents, child)))]
    return ss.TableCPD(child, np.reshape(cells, shape), given=parents)


def network(h="uv", w="kl", x="pqr", parents="hw", order="hwx"):
    """h -> x <- w with states, parents and CPDs in these orders; always the same distribution."""
    v = {"h": ss.Discrete("h", tuple(h)), "w": ss.Discrete("w", tuple(w)), "x": ss.Discrete("x", tuple(x))}
    cpds = {
        "h": table(v["h"], [], lambda: P_H),
        "w": table(v["w"], [], lambda: P_W),
        "x": table(v["x"], [v[p] for p in parents], lambda a, b: P_X[(a, b) if parents == "hw" else (b, a)]),
    }
    return ss.BayesNet(*(cpds[name] for name in order))


SAME = {
    "same": {},
    "cpds": {"order": "xhw"},
    "cpds of one shape": {"order": "whx"},
    "parents": {"parents": "wh"},
    "states": {"h": "vu", "x": "rpq"},
    "everything": {"order": "xwh", "parents": "wh", "h": "vu", "x": "qrp"},
}
BY_STATES = {"states", "everything"}


def own_em(num_steps):
    """EM by hand: expected counts over the completions of each row, then shares; P(h), P(w), P(x | h, w) by state."""
    p_h, p_w, p_x = dict(P_H), dict(P_W), {key: dict(row) for key, row in P_X.items()}
    for _ in range(num_steps):
        n_h, n_x = dict.fromkeys("uv", 0.0), {key: dict.fromkeys("pqr", 0.0) for key in p_x}
        for h, w, x in zip(*ROWS.values(), strict=True):
            cells = list(itertools.product([h] if h else "uv", [x] if x else "pqr"))
            weights = np.array([p_h[a] * p_x[a, w][b] for a, b in cells])
            for (a, b), share in zip(cells, (weights / weights.sum()).tolist(), strict=True):
                n_h[a] += share
                n_x[a, w][b] += share
        p_h = {a: n / len(ROWS["h"]) for a, n in n_h.items()}
        p_w = {w: ROWS["w"].count(w) / len(ROWS["w"]) for w in "kl"}
        p_x = {key: {b: n / sum(row.values()) for b, n in row.items()} for key, row in n_x.items()}
    return flat(p_h, p_w, p_x)


def flat(p_h, p_w, p_x):
    """All parameters under names of their own."""
    cells = {f"x={b}|h={h},w={w}": p for (h, w), row in p_x.items() for b, p in row.items()}
    return {f"h={a}": p for a, p in p_h.items()} | {f"w={a}": p for a, p in p_w.items()} | cells


def parameters_of(net):
    """The parameters of a fitted network under the same names, read through its own orders."""
    cpd = net.cpd("x")
    roots = [dict(zip(net[name].states, net.cpd(name).values.tolist(), strict=True)) for name in "hw"]
    rows = {}
    for states in itertools.product(*(v.states for v in cpd.parents)):
        context = {v.name: s for v, s in zip(cpd.parents, states, strict=True)}
        rows[context["h"], context["w"]] = dict(zip(net["x"].states, cpd[states].tolist(), strict=True))
    return flat(*roots, rows)


def own_log_likelihood(p):
    """The log-likelihood of the cells that are there."""
    total = 0.0
    for h, w, x in zip(*ROWS.values(), strict=True):
        cells = itertools.product([h] if h else "uv", [x] if x else "pqr")
        total += np.log(p[f"w={w}"] * sum(p[f"h={a}"] * p[f"x={b}|h={a},w={w}"] for a, b in cells))
    return total


def unless_refused(change, ask):
    """The answer; None where an object with other orders of states is refused, as divergences refuse it."""
    try:
        return ask()
    except ss.errors.ScopeError:
        if change in BY_STATES:
            return None
        raise


CLIMBERS = {
    "EM": lambda start: ss.EM(start=start),
    "IncrementalEM": lambda start: ss.learning.IncrementalEM(start=start),
    "StepwiseEM": lambda start: ss.StepwiseEM(start=start),
    "HardEM": lambda start: ss.HardEM(start=start),
    "GradientAscent": lambda start: ss.GradientAscent(start=start),
}
CLOSED = {
    "EM": CLIMBERS["EM"],
    "IncrementalEM of one part": lambda start: ss.learning.IncrementalEM(start=start, parts=1),
}


def starts(methods):
    """One case for each method and change of order."""
    return [
        pytest.param(method, change, id=f"{name}-{change}")
        for (name, method), change in itertools.product(methods.items(), SAME)
    ]


def fitted(method, change):
    start = network(**SAME[change])
    until = ss.Until(steps=3, tolerance=None)
    return unless_refused(change, lambda: ss.fit(network(), ROWS, method(start), until=until, seed=1))


@pytest.mark.parametrize(("method", "change"), starts(CLOSED))
def test_em_takes_the_parameters_of_a_start_by_name(method, change):
    found = fitted(method, change)
    assert found is None or parameters_of(found.model) == pytest.approx(own_em(3), abs=CLOSE)


@pytest.mark.parametrize(("method", "change"), starts(CLIMBERS))
def test_every_method_goes_the_same_way_from_the_same_start(method, change):
    """The order of CPDs, parents and states in the start says nothing; the figure belongs to the fitted parameters."""
    found = fitted(method, change)
    if found is not None:
        assert parameters_of(found.model) == pytest.approx(parameters_of(fitted(method, "same").model), abs=CLOSE)
        assert found.log_likelihood == pytest.approx(own_log_likelihood(parameters_of(found.model)), abs=1e-6)


def edges(*cpds):
    """a -> m with the given CPD of m."""
    return ss.BayesNet(ss.TableCPD(A, [0.5, 0.5]), *cpds)


A, M = ss.Discrete("a"), ss.Discrete("m")
TABLED = edges(ss.TableCPD(M, [[0.9, 0.1], [0.4, 0.6]], given=A))
NOISY = edges(ss.NoisyOr(M, {A: 0.3}, leak=0.1))
UNLINKED = edges(ss.TableCPD(M, [0.4, 0.6]))


@pytest.mark.parametrize(
    ("structure", "start"),
    [
        pytest.param(NOISY, TABLED, id="a table where a noisy-or is"),
        pytest.param(TABLED, NOISY, id="a noisy-or where a table is"),
        pytest.param(TABLED, UNLINKED, id="a parent less"),
        pytest.param(UNLINKED, TABLED, id="a parent more"),
    ],
)
def test_a_start_of_another_form_is_refused_by_the_name_of_its_cpd(structure, start):
    rows = {"a": [0, 1, None, 1], "m": [0, 1, 1, None]}
    with pytest.raises(ss.SepsetError, match=r"\bm\b"):
        ss.fit(structure, rows, ss.EM(start=start))


COMPLETE = pd.DataFrame({"h": list("uuvvuvuvvu"), "w": list("kllkkllkkl"), "x": list("pqrrppqqrp")})


def own_log_loss():
    rows = COMPLETE.itertuples(index=False)
    return -np.mean([np.log(P_H[r.h] * P_W[r.w] * P_X[r.h, r.w][r.x]) for r in rows])


def own_posteriors():
    """P(h | w, x) of every row."""
    found = []
    for r in COMPLETE.itertuples(index=False):
        weights = {h: P_H[h] * P_X[h, r.w][r.x] for h in "uv"}
        found.append({h: p / sum(weights.values()) for h, p in weights.items()})
    return found


def own_brier():
    return np.mean(
        [sum((p - (h == r)) ** 2 for h, p in row.items()) for row, r in zip(own_posteriors(), COMPLETE.h, strict=True)]
    )


def own_density():
    """The posterior density of the parameters of `network()` after the ten rows, under uniform priors."""
    total = 0.0
    for column, p in (("h", P_H), ("w", P_W)):
        counts = [(COMPLETE[column] == s).sum() for s in p]
        total += dirichlet.logpdf(list(p.values()), np.add(counts, 1.0))
    for (h, w), row in P_X.items():
        part = COMPLETE[(COMPLETE.h == h) & (COMPLETE.w == w)]
        total += dirichlet.logpdf(list(row.values()), [(part.x == s).sum() + 1.0 for s in row])
    return total


def only(evaluation):
    (risk,) = evaluation.risks.values()
    return risk.mean


ASKED = {
    "divergence to it": (lambda net: ss.evaluation.divergence(network(), net).total, lambda: 0.0),
    "divergence from it": (lambda net: ss.evaluation.divergence(net, network()).total, lambda: 0.0),
    "distance of parameters": (lambda net: ss.evaluation.parameter_distance(network(), net), lambda: 0.0),
    "log-loss": (lambda net: only(ss.evaluate(net, COMPLETE, ss.evaluation.LogLoss())), own_log_loss),
    "Brier score": (lambda net: only(ss.evaluate(net, COMPLETE, ss.evaluation.Brier("h"))), own_brier),
    "observed likelihood": (
        lambda net: ss.prepare(net).log_probabilities(ROWS).sum(),
        lambda: own_log_likelihood(flat(P_H, P_W, P_X)),
    ),
    "posterior density": (
        lambda net: ss.fit(network(), COMPLETE, ss.Bayes(ss.K2())).posterior.log_density(net, "theta"),
        own_density,
    ),
}


@pytest.mark.parametrize(
    ("ask", "expected", "change"),
    [
        pytest.param(
            ask,
            expected,
            change,
            id=f"{name}-{change}",
        )
        for name, (ask, expected) in ASKED.items()
        for change in SAME
    ],
)
def test_an_equal_network_gets_an_equal_answer(ask, expected, change):
    found = unless_refused(change, lambda: ask(network(**SAME[change])))
    assert found is None or found == pytest.approx(expected(), abs=CLOSE)


@pytest.mark.parametrize("change", SAME)
def test_a_network_as_classifier_keeps_each_label_with_its_probability(change):
    """Laplace's rule by hand: the posterior of h under one imaginary row in every cell."""
    X, y = COMPLETE[["w", "x"]], COMPLETE["h"]
    model = BayesNetClassifier(network(**SAME[change]), target="h").fit(X, y)
    expected = []
    for r in X.itertuples(index=False):
        weights = {}
        for h in "uv":
            part = COMPLETE[(COMPLETE.h == h) & (COMPLETE.w == r.w)]
            weights[h] = ((y == h).sum() + 1) / (len(y) + 2) * ((part.x == r.x).sum() + 1) / (len(part) + 3)
        expected.append([weights[h] / sum(weights.values()) for h in model.classes_])
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=0, atol=CLOSE)
    assert list(model.predict(X)) == [model.classes_[np.argmax(row)] for row in expected]


def test_a_perfect_feature_classifies_perfectly():
    y, f = ss.Discrete("y", ("yes", "no")), ss.Discrete("f", ("a", "b"))
    net = ss.BayesNet(ss.TableCPD(y, [0.5, 0.5]), ss.TableCPD(f, [[0.9, 0.1], [0.1, 0.9]], given=y))
    X, labels = pd.DataFrame({"f": ["a"] * 20 + ["b"] * 20}), ["yes"] * 20 + ["no"] * 20
    assert BayesNetClassifier(net, target="y").fit(X, labels).score(X, labels) == 1.0


@pytest.mark.parametrize("seen", [("no", "maybe"), ("yes", "no"), ("maybe", "yes")])
def test_there_is_one_column_of_probabilities_for_each_class(seen):
    y, f = ss.Discrete("y", ("yes", "no", "maybe")), ss.Discrete("f", ("a", "b"))
    net = ss.BayesNet(ss.TableCPD(y, np.full(3, 1 / 3)), ss.TableCPD(f, np.full((3, 2), 0.5), given=y))
    X, labels = pd.DataFrame({"f": ["a"] * 9 + ["b"] * 9}), [seen[0]] * 9 + [seen[1]] * 9
    model = BayesNetClassifier(net, target="y").fit(X, labels)
    assert model.predict_proba(X).shape == (18, len(model.classes_))
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=0, atol=CLOSE)
    assert model.score(X, labels) == 1.0


@pytest.mark.parametrize("change", SAME)
def test_a_network_as_imputer_fills_in_the_same_states(change):
    """The most probable h under one imaginary row in every cell, from complete rows."""
    model = BayesNetImputer(network(**SAME[change])).fit(COMPLETE)
    gaps = pd.DataFrame({"h": [None] * 4, "w": list("klkl"), "x": list("rrqp")}).astype(object)
    expected = []
    for r in gaps.itertuples(index=False):
        weights = {}
        for h in "uv":
            part = COMPLETE[(COMPLETE.h == h) & (COMPLETE.w == r.w)]
            weights[h] = ((COMPLETE.h == h).sum() + 1) * ((part.x == r.x).sum() + 1) / (len(part) + 3)
        expected.append(max(weights, key=weights.get))
    assert model.transform(gaps)["h"].tolist() == expected


@pytest.mark.parametrize("loss", ["brier", "log"])
def test_bias_and_variance_are_those_of_the_states_and_not_of_their_codes(loss):
    """The same rows as codes of the network and as text: the same draws, so the same figures."""
    asia = ss.datasets.load("asia")
    rows = asia.sample(400, seed=1)
    text = rows.to_frame("pandas").astype(str)
    learner = ss.evaluation.Learner(asia, ss.Bayes(ss.BDeu(5)))
    found, again = (
        ss.evaluation.bias_variance(learner, data, target="dysp", test=data, num_rows=100, repeats=5, loss=loss)
        for data in (rows, text)
    )
    assert (again.noise, again.bias, again.variance) == pytest.approx((found.noise, found.bias, found.variance))


@pytest.mark.parametrize("change", [change for change in SAME if change not in BY_STATES])
def test_a_learner_of_the_right_structure_has_no_bias(change):
    assert bias_of_the_truth(network(**SAME[change])) < 0.01


@pytest.mark.parametrize("change", sorted(BY_STATES))
def test_a_learner_with_states_in_another_order_has_no_bias_either(change):
    found = unless_refused(change, lambda: bias_of_the_truth(network(**SAME[change])))
    assert found is None or found < 0.01


def bias_of_the_truth(truth):
    learner = ss.evaluation.Learner(network(), ss.Bayes(ss.K2()))
    return ss.evaluation.bias_variance(learner, truth, target="x", test=COMPLETE, num_rows=4000, repeats=8).bias


GRADE, TALENT, EASE = (
    ss.Discrete("grade", ("A", "B", "C")),
    ss.Discrete("talent", ("low", "high")),
    ss.Discrete("ease", (1, 2)),
)
LETTERS = pd.DataFrame(
    [[0.3, 0.4, 0.3], [0.9, 0.08, 0.02]],
    index=pd.Index(["low", "high"], name="talent"),
    columns=pd.Index(["A", "B", "C"], name="grade"),
)


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(LETTERS, id="in order"),
        pytest.param(LETTERS.loc[["high", "low"]], id="rows swapped"),
        pytest.param(LETTERS[["C", "A", "B"]], id="columns moved"),
        pytest.param(LETTERS.loc[["high", "low"], ["B", "C", "A"]], id="both"),
    ],
)
@pytest.mark.parametrize("make", [ss.TableCPD, ss.TableCPD.normalized])
def test_a_table_from_a_frame_is_read_by_its_labels(make, frame):
    cpd = make(GRADE, frame, given=TALENT)
    for (talent, grade), p in LETTERS.stack().items():
        assert cpd[talent][GRADE.states.index(grade)] == pytest.approx(p, abs=EXACT)


def test_a_root_from_a_series_is_read_by_its_labels():
    cpd = ss.TableCPD(TALENT, pd.Series([0.3, 0.7], index=["high", "low"]))
    assert cpd.values.tolist() == [0.7, 0.3]


@pytest.mark.parametrize("levels", [["talent", "ease"], ["ease", "talent"]])
def test_several_parents_are_the_levels_of_the_index(levels):
    rng = np.random.default_rng(0)
    index = pd.MultiIndex.from_product([["high", "low"], [2, 1]], names=["talent", "ease"])
    frame = pd.DataFrame(rng.dirichlet(np.ones(3), size=4), index=index, columns=["B", "A", "C"])
    cpd = ss.TableCPD(GRADE, frame.reorder_levels(levels), given=[TALENT, EASE])
    for talent, ease in itertools.product(TALENT.states, EASE.states):
        assert cpd[talent, ease].tolist() == frame.loc[(talent, ease), list("ABC")].tolist()


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(LETTERS.rename(index={"low": "lower"}), id="a state that is none"),
        pytest.param(LETTERS.rename(columns={"C": "D"}), id="a state of the child that is none"),
        pytest.param(LETTERS.set_axis(["low", "low"], axis=0), id="a state twice"),
    ],
)
def test_labels_that_are_no_states_are_refused(frame):
    with pytest.raises(ss.SepsetError):
        ss.TableCPD(GRADE, frame, given=TALENT)


ASIA = ss.datasets.load("asia")
DRAWN_ROWS = ASIA.sample(20, seed=1)
BY_NAME = {
    "variable of a model": lambda name: ASIA[name],
    "CPD": lambda name: ASIA.cpd(name),
    "parents": lambda name: ASIA.parents(name),
    "children": lambda name: ASIA.children(name),
    "subnetwork": lambda name: ASIA.subnetwork([name]),
    "intervention": lambda name: ASIA.do({name: "yes"}),
    "condition": lambda name: ASIA.condition({name: "yes"}),
    "component": lambda name: ss.models.to_chain_graph(ASIA).component(name),
    "Markov blanket": lambda name: ASIA.markov_net().markov_blanket(name),
    "node": lambda name: ASIA.dag.parents(name),
    "query": lambda name: ss.query(ASIA, [name]),
    "evidence": lambda name: ss.query(ASIA, "xray", given={name: "yes"}),
    "marginals": lambda name: ss.marginals(ASIA)[name],
    "view": lambda name: ss.prepare(ASIA).observe({}).query(name),
    "best assignment": lambda name: ss.map_assignment(ASIA, over=[name]),
    "best state": lambda name: ss.map_assignment(ASIA)[name],
    "sensitivity": lambda name: ss.sensitivity(ASIA, name, state="yes"),
    "information": lambda name: ss.value_of_information(ASIA, "xray", candidates=[name]),
    "prediction": lambda name: ss.predict(ASIA, DRAWN_ROWS.select(["xray"]), targets=[name]),
    "columns": lambda name: DRAWN_ROWS.select([name]),
    "codes": lambda name: DRAWN_ROWS.codes(name),
    "states": lambda name: DRAWN_ROWS.states(name),
    "axis of a table": lambda name: ss.query(ASIA, ["asia", "tub"]).distribution.marginalize([name]),
    "condition on a table": lambda name: ss.query(ASIA, ["asia", "tub"]).distribution.condition({name: "yes"}),
    "classifier": lambda name: ss.classify.Classifier(ASIA, name),
    "class of naive Bayes": lambda name: ss.classify.naive_bayes(DRAWN_ROWS, name),
    "parameters": lambda name: ss.fit(ASIA, DRAWN_ROWS, ss.Bayes(ss.K2())).posterior.block(name),
    "calibration": lambda name: ss.evaluation.calibration_curve(ASIA, DRAWN_ROWS, target=name),
    "independence": lambda name: ss.structure.independence_test(DRAWN_ROWS, between=(name, "xray")),
    "weights of cases": lambda name: ss.missing.inverse_probability_weights(DRAWN_ROWS, name, given="xray"),
    "entropy": lambda name: ss.prepare(ASIA).entropy([name]),
}


@in_blocks("name", list(BY_NAME))
@pytest.mark.parametrize("position", [0, -1, np.int64(0), True], ids=repr)
def test_a_position_is_no_name(name, position):
    with pytest.raises(ss.SepsetError):
        BY_NAME[name](position)


def test_the_sequence_of_variables_has_positions():
    assert [ASIA.variables[0], ASIA.variables[-1]] == [ASIA["asia"], ASIA["dysp"]]
    with pytest.raises(ss.SepsetError):
        ASIA.variables[True]
