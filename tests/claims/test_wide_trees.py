"""Trees and rules whose branches test many parents in different orders, against sums over their contexts.

A context fixes the states of a few parents; what remains is a product, or a chain that is summed from its end:

$$P(y, \\mathbf e) = \\sum_\\ell P(y \\mid \\ell) \\sum_{\\mathbf u \\in \\ell} P(\\mathbf u, \\mathbf e)$$
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sepset as ss
from support.tolerances import CLOSE

NUM, DEPTH = 40, 8
Y = ss.Discrete("y", 3)
EVIDENCE = {
    "nothing": {},
    "the child": {"y": 2},
    "some parents": {"y": 1, **{f"p{i}": i % 2 for i in range(0, NUM, 5)}},
    "uncertain": {"y": ss.Likelihood([0.2, 0.9, 0.5]), "p3": ss.Likelihood([0.3, 0.8]), "p7": 1},
}


class World:
    """A network of parents, independent or in a chain, under one tree of tests; and sums over its contexts."""

    def __init__(self, form, is_chain, seed=0):
        self.rng = np.random.default_rng(seed)
        self.parents = [ss.Discrete(f"p{i}") for i in range(NUM)]
        rows = self.rng.dirichlet([2, 2], size=(NUM, 2))
        self.moves = [r if is_chain and i else np.tile(r[0], (2, 1)) for i, r in enumerate(rows)]
        self.contexts = list(self.grown({}, DEPTH))
        given = [self.parents[i] for i in self.rng.permutation(NUM)]
        self.cpd = (
            ss.TreeCPD(Y, self.tree({}), given=given) if form == "tree" else ss.RuleCPD(Y, self.rules(), given=given)
        )
        roots = [
            ss.TableCPD(
                v,
                self.moves[i] if is_chain and i else self.moves[i][0],
                given=self.parents[i - 1 : i] if is_chain else (),
            )
            for i, v in enumerate(self.parents)
        ]
        self.net = ss.BayesNet([*roots, self.cpd])

    def grown(self, context, depth):
        """Contexts and their distributions: each branch tests parents of its own."""
        if depth == 0 or (depth < DEPTH - 2 and self.rng.random() < 0.15):
            yield context, self.rng.dirichlet([1.0] * 3)
            return
        tested = int(self.rng.choice([i for i in range(NUM) if i not in context]))
        for state in (0, 1):
            yield from self.grown({**context, tested: state}, depth - 1)

    def tree(self, context):
        """The tests below a context."""
        below = [(c, row) for c, row in self.contexts if context.items() <= c.items()]
        if len(below) == 1:
            return list(below[0][1])
        tested = list(below[0][0])[len(context)]
        return ss.cpds.Split(self.parents[tested], {s: self.tree({**context, tested: s}) for s in (0, 1)})

    def rules(self):
        return [
            ({**{self.parents[i]: s for i, s in c.items()}, Y: k}, row[k]) for c, row in self.contexts for k in range(3)
        ]

    def pieces(self, given):
        """For each context the weights of the states of y, and of the states of each parent."""
        weights = [weight_of(given.get(f"p{i}"), 2) for i in range(NUM)]
        for context, row in self.contexts:
            inside = [w * (np.arange(2) == context[i]) if i in context else w for i, w in enumerate(weights)]
            yield row * weight_of(given.get("y"), 3), inside

    def forward(self, inside, best=False):
        """The sum, or the best product, over all parents, by the state of the last."""
        found = self.moves[0][0] * inside[0]
        for move, weight in zip(self.moves[1:], inside[1:], strict=True):
            step = found[:, None] * move
            found = (step.max(axis=0) if best else step.sum(axis=0)) * weight
        return found

    def total(self, given):
        return sum(row * self.forward(inside).sum() for row, inside in self.pieces(given))

    def joint(self, given, names):
        """The weights of the joint states of two parents."""
        cells = itertools.product((0, 1), repeat=2)
        told = [dict(zip(names, cell, strict=True)) for cell in cells]
        return np.reshape([self.total(with_state(given, one)).sum() for one in told], (2, 2))


def with_state(given, states):
    """The findings, and the states of parents, weighted as the findings about these say."""
    known = {name: ss.Likelihood(weight_of(given.get(name), 2) * (np.arange(2) == s)) for name, s in states.items()}
    return {**given, **known}


def weight_of(finding, states):
    if finding is None:
        return np.ones(states)
    return np.array(finding.weights) if isinstance(finding, ss.Likelihood) else np.arange(states) == finding


@pytest.fixture(scope="module", params=[(f, c) for f in ("tree", "rules") for c in (False, True)], ids=str)
def world(request):
    return World(*request.param)


@pytest.mark.parametrize("given", EVIDENCE.values(), ids=EVIDENCE)
def test_probabilities_of_findings_and_variables(world, given):
    weights = world.total(given)
    assert float(ss.log_probability(world.net, given=given)) == pytest.approx(np.log(weights.sum()), abs=CLOSE)
    found = ss.marginals(world.net, given=given)
    if given.get("y") in (None, given.get("p3")) or isinstance(given.get("y"), ss.Likelihood):
        np.testing.assert_allclose(found["y"].values, weights / weights.sum(), rtol=0, atol=CLOSE)
    expected = world.joint(given, ["p3", "p11"])
    asked = ss.query(world.net, ["p3", "p11"], given=given)
    np.testing.assert_allclose(asked.values, expected / expected.sum(), rtol=0, atol=CLOSE)
    np.testing.assert_allclose(found["p11"].values, expected.sum(axis=0) / expected.sum(), rtol=0, atol=CLOSE)


@pytest.mark.parametrize("given", EVIDENCE.values(), ids=EVIDENCE)
def test_best_values(world, given):
    best = max(row.max() * world.forward(inside, best=True).max() for row, inside in world.pieces(given))
    found = ss.map_assignment(world.net, given=given)
    assert float(found.log_value) == pytest.approx(np.log(best), abs=CLOSE)
    some = ss.map_assignment(world.net, over=["p3", "p11"], given=given)
    assert float(some.log_value) == pytest.approx(np.log(world.joint(given, ["p3", "p11"]).max()), abs=CLOSE)
    assert str(some.guarantees["assignment"]) == str(found.guarantees["assignment"]) == "exact"


def test_classes_of_rows_with_missing_parents(world):
    rows = ss.sample(world.net, 6, seed=1).to_frame("pandas").astype(object)
    rows.loc[:, [f"p{i}" for i in range(0, NUM, 2)]] = None
    found = ss.predict(world.net, rows.drop(columns="y"), targets="y").probabilities("y")
    for row, probabilities in zip(rows.drop(columns="y").to_dict("records"), found, strict=True):
        expected = world.total({name: state for name, state in row.items() if state is not None})
        np.testing.assert_allclose(probabilities, expected / expected.sum(), rtol=0, atol=CLOSE)


def test_a_step_of_em_counts_contexts(world):
    """The new row of a context is the share of its expected rows in each state of the child."""
    rows = ss.sample(world.net, 8, seed=2).to_frame("pandas").astype(object)
    rows.loc[:, [f"p{i}" for i in range(0, NUM, 3)]] = None
    counts = np.zeros((len(world.contexts), 3))
    for row in rows.to_dict("records"):
        given = {name: state for name, state in row.items() if state is not None}
        weights = np.array([r * world.forward(inside).sum() for r, inside in world.pieces(given)])
        counts += weights / weights.sum()
    fitted = ss.fit(world.net, rows, ss.EM(ss.priors.Dirichlet(2.0), start="model"), until=1).model.cpd("y")
    for (context, _), count in zip(world.contexts, counts, strict=True):
        states = {v: np.array([context.get(i, 0)]) for i, v in enumerate(world.parents)}
        if isinstance(fitted, ss.TreeCPD):
            expected = (count + 2.0) / (count.sum() + 6.0)
            np.testing.assert_allclose(fitted.probabilities(states, 1)[0], expected, rtol=0, atol=CLOSE)
        else:
            assert fitted.probabilities(states, 1)[0].sum() == pytest.approx(1.0)


def test_the_divergence_of_trees_that_test_other_parents():
    """With one tree for another over the same independent parents, all pairs of contexts that meet are summed."""
    one, other = World("tree", False), World("tree", False, seed=5)
    net = ss.BayesNet([*(one.net.cpd(p.name) for p in one.parents), other.cpd])
    total = 0.0
    for (context, row), (theirs, found) in itertools.product(one.contexts, other.contexts):
        if all(theirs.get(i, s) == s for i, s in context.items()):
            chance = np.prod([one.moves[i][0][s] for i, s in {**context, **theirs}.items()])
            total += chance * float(row @ np.log(row / found))
    assert ss.evaluation.divergence(one.net, net).total == pytest.approx(total, abs=CLOSE)
