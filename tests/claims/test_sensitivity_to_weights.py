"""The weights of logistic CPDs and a posterior: derivatives, values and ranges, against joints written out by hand.

The expected posterior is a sum over all joint states of softmax probabilities that are computed here, and derivatives
are its central differences.
"""

from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
import pytest

import sepset as ss
from support.tolerances import CLOSE

STEP = 1e-5
SLOPE = 1e-7  # central differences of values of size one


class Plain:
    """Parents, a logistic child, and a finding of the child, in plain arrays."""

    def __init__(self, cards, num_states, seed):
        rng = np.random.default_rng(seed)
        self.priors = [rng.dirichlet(np.ones(card)) for card in cards]
        self.bias = rng.normal(size=num_states)
        self.weights = [rng.normal(size=(card, num_states)) for card in cards]
        self.finding = rng.dirichlet(np.ones(2), size=num_states)
        self.cards, self.k = cards, num_states

    @property
    def net(self):
        ps = [ss.Discrete(f"p{i}", card) for i, card in enumerate(self.cards)]
        y, z = ss.Discrete("y", self.k), ss.Discrete("z")
        return ss.BayesNet(
            *(ss.TableCPD(p, row) for p, row in zip(ps, self.priors, strict=True)),
            ss.LogisticCPD(y, dict(zip(ps, self.weights, strict=True)), bias=self.bias),
            ss.TableCPD(z, self.finding, given=y),
        )

    def joint(self, changes):
        """The joint of parents, child and finding, with some weights changed: (parent or -1, state, child's state)."""
        bias, weights = self.bias.copy(), [w.copy() for w in self.weights]
        for (parent, state, code), change in changes.items():
            (bias if parent < 0 else weights[parent][state])[code] += change
        table = np.zeros([*self.cards, self.k, 2])
        for codes in itertools.product(*map(range, self.cards)):
            logs = bias + sum(w[c] for w, c in zip(weights, codes, strict=True))
            share = np.exp(logs - logs.max())
            prior = np.prod([row[c] for row, c in zip(self.priors, codes, strict=True)])
            table[codes] = prior * (share / share.sum())[:, None] * self.finding
        return table

    def posterior(self, target, state, weigh, changes):
        """The posterior of one state of a variable, after the joint is weighed by findings."""
        table = weigh(self.joint(changes))
        place = [*(f"p{i}" for i in range(len(self.cards))), "y", "z"].index(target)
        found = table.sum(axis=tuple(i for i in range(table.ndim) if i != place))
        return found[state] / found.sum()


def masked(**codes):
    """Findings: a weight for each state of some variables."""

    def weigh(table):
        names = [*(f"p{i}" for i in range(table.ndim - 2)), "y", "z"]
        for name, row in codes.items():
            shape = [1] * table.ndim
            shape[names.index(name)] = -1
            table = table * np.reshape(row, shape)
        return table

    return weigh


def fitted(target):
    """A soft finding of z: Jeffrey's rule."""

    def weigh(table):
        now = table.sum(axis=tuple(range(table.ndim - 1)))
        return table * (np.array(target) / now)

    return weigh


QUESTIONS = {
    "child": ("p0", 1, {"y": 1}, masked(y=[0, 1, 0])),
    "finding and parent": ("p0", 1, {"z": 1, "p2": 1}, masked(z=[0, 1], p2=[0, 1])),
    "forward": ("z", 0, {"p1": 2}, masked(p1=[0, 0, 1])),
    "likelihood": ("p1", 2, {"z": ss.Likelihood([0.2, 0.9]), "y": ss.Not(0)}, masked(z=[0.2, 0.9], y=[0, 1, 1])),
    "soft": ("p0", 1, {"z": ss.Soft([0.3, 0.7])}, fitted([0.3, 0.7])),
}


def weights_of(plain):
    """Every free weight: the name that the library prints, and the place in plain arrays."""
    found = {f"bias for y={code}": (-1, 0, code) for code in range(1, plain.k)}
    for i, card in enumerate(plain.cards):
        for state in range(1, card):
            found |= {f"weight of p{i}={state} for y={code}": (i, state, code) for code in range(1, plain.k)}
    return found


@pytest.mark.parametrize("narrow", [False, True], ids=["table", "two draws"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_derivatives_and_values_are_those_of_the_joint(monkeypatch, question, narrow):
    """Also if the table over child and parents counts as too large, so that two draws of the child are asked about."""
    plain = Plain([2, 3, 2], 3, seed=len(question))
    target, state, given, weigh = QUESTIONS[question]
    net = plain.net
    if narrow:
        monkeypatch.setattr("sepset.engine.weighteffects.MOST_TABLED", 0)
    found = ss.sensitivity(net, target, state=state, given=given)
    assert found.left_out == ()
    places = weights_of(plain)
    parameters = {one.name: one for one in found.of("y")}
    assert set(parameters) == set(places)
    assert found.probability == pytest.approx(plain.posterior(target, state, weigh, {}), abs=CLOSE)
    for name, place in places.items():
        one = parameters[name]
        ends = [plain.posterior(target, state, weigh, {place: step}) for step in (STEP, -STEP)]
        assert one.derivative == pytest.approx((ends[0] - ends[1]) / (2 * STEP), abs=SLOPE)
        for change in (-3.0, 0.7):
            expected = plain.posterior(target, state, weigh, {place: change})
            assert one.probability(one.value + change) == pytest.approx(expected, abs=CLOSE)


def test_ranges_and_solutions():
    plain = Plain([2, 2], 2, seed=3)
    found = ss.sensitivity(plain.net, "p0", state=1, given={"y": 1})
    one = next(one for one in found.of("y") if one.parents == {"p0": 1})
    low, high = one.range
    changes = [{(0, 1, 1): change} for change in np.linspace(-60, 60, 241)]
    posterior = [plain.posterior("p0", 1, masked(y=[0, 1]), change) for change in changes]
    assert low == pytest.approx(min(posterior), abs=1e-6)
    assert high == pytest.approx(max(posterior), abs=1e-6)
    theta = one.theta(0.5 * (low + high))
    middle = plain.posterior("p0", 1, masked(y=[0, 1]), {(0, 1, 1): theta - one.value})
    assert middle == pytest.approx(0.5 * (low + high), abs=CLOSE)
    assert one.theta(high + 0.01) is None


def wide(values, priors):
    ps, y = [ss.Discrete(f"p{i}") for i in range(len(values))], ss.Discrete("y")
    roots = [ss.TableCPD(p, [1 - q, q]) for p, q in zip(ps, priors, strict=True)]
    return ss.BayesNet(*roots, ss.LogisticCPD(y, dict(zip(ps, values, strict=True)), bias=-2.0))


def by_sums(values, priors, first, bias=-2.0):
    """P(p0 = 1 | y = 1) of many parents with few different weights, by the distribution of their sum."""
    sums = {0.0: 1.0}
    for w, q in zip(values[1:], priors[1:], strict=True):
        new = {}
        for s, p in sums.items():
            for step, share in ((0.0, 1 - q), (w, q)):
                key = round(s + step, 9)
                new[key] = new.get(key, 0.0) + p * share
        sums = new
    on, off = (sum(p / (1 + math.exp(-(bias + s + more))) for s, p in sums.items()) for more in (first, 0.0))
    return priors[0] * on / (priors[0] * on + (1 - priors[0]) * off)


def test_forty_hidden_parents():
    rng = np.random.default_rng(40)
    values, priors = rng.choice([-0.5, 0.25, 0.75], 40).tolist(), rng.uniform(0.1, 0.6, 40).tolist()
    found = ss.sensitivity(wide(values, priors), "p0", state=1, given={"y": 1})
    assert found.left_out == ()
    assert found.probability == pytest.approx(by_sums(values, priors, values[0]), abs=CLOSE)
    parameters = {one.name: one for one in found.of("y")}
    assert len(parameters) == 41
    ends = [by_sums(values, priors, values[0] + step) for step in (STEP, -STEP)]
    assert parameters["weight of p0=1 for y=1"].derivative == pytest.approx((ends[0] - ends[1]) / (2 * STEP), abs=SLOPE)
    ends = [by_sums(values, priors, values[0], bias=-2.0 + step) for step in (STEP, -STEP)]
    assert parameters["bias for y=1"].derivative == pytest.approx((ends[0] - ends[1]) / (2 * STEP), abs=SLOPE)
    other = [*values[:7], values[7] + STEP, *values[8:]], [*values[:7], values[7] - STEP, *values[8:]]
    ends = [by_sums(changed, priors, values[0]) for changed in other]
    assert parameters["weight of p7=1 for y=1"].derivative == pytest.approx((ends[0] - ends[1]) / (2 * STEP), abs=SLOPE)


def test_different_weights_with_most_parents_observed():
    """Sixty weights that all differ; given all parents but two the posterior is a sum over four states."""
    rng = np.random.default_rng(6)
    values, priors = rng.normal(size=60).tolist(), rng.uniform(0.2, 0.8, 60).tolist()
    given = {f"p{i}": i % 2 for i in range(2, 60)}
    found = ss.sensitivity(wide(values, priors), "p0", state=1, given={**given, "y": 1})
    start = sum(values[i] for i in range(2, 60) if i % 2)

    def expected(changes):
        w = [v + changes.get(i, 0.0) for i, v in enumerate(values)]
        base = -2.0 + start + sum(c for i, c in changes.items() if i == "bias" or (i > 1 and i % 2))
        table = np.zeros((2, 2))
        for a, b in itertools.product(range(2), repeat=2):
            chance = 1 / (1 + math.exp(-(base + a * w[0] + b * w[1])))
            table[a, b] = (priors[0] if a else 1 - priors[0]) * (priors[1] if b else 1 - priors[1]) * chance
        return table[1].sum() / table.sum()

    assert found.probability == pytest.approx(expected({}), abs=CLOSE)
    parameters = {one.name: one for one in found.of("y")}
    for key in (0, 1, 3, 4, "bias"):
        name = "bias for y=1" if key == "bias" else f"weight of p{key}=1 for y=1"
        slope = (expected({key: STEP}) - expected({key: -STEP})) / (2 * STEP)
        assert parameters[name].derivative == pytest.approx(slope, abs=SLOPE)


def test_tables_frames_and_pickles():
    found = ss.sensitivity(Plain([2, 2], 2, seed=3).net, "p0", state=1, given={"y": 1})
    assert "weight of p0=1 for y=1" in str(found)
    frame = found.to_frame().set_index("parameter")
    assert np.isnan(frame.loc["bias for y=1", "lowest"])
    listed = {one["parameter"]: one for one in found.to_dict()["parameters"]}
    assert "lowest" not in listed["bias for y=1"]
    again = pickle.loads(pickle.dumps(found))
    assert again[0].probability(0.25) == found[0].probability(0.25)
