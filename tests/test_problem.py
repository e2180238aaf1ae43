"""Pruning a problem never changes an answer: every question is asked of the kept factors and of all of them."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import oracle
from sepset.cpds.noisy import NoisyOr
from sepset.cpds.table import TableCPD
from sepset.factors.block import Single
from sepset.factors.table import Table
from sepset.graphs.graph import DAG
from sepset.models.bayesnet import BayesNet
from sepset.models.markovnet import MarkovNet
from sepset.problem import Problem
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete
from support import strategies
from support.tolerances import EXACT

MODELS = strategies.bayes_nets(max_variables=5) | strategies.chain_graphs(2) | strategies.markov_nets(max_variables=4)


@st.composite
def questions(draw):
    """A model, targets, and evidence on other variables."""
    model = draw(MODELS)
    variables = list(model.variables)
    targets = draw(strategies.scopes(variables, max_size=2))
    given_ = draw(strategies.evidence([v for v in variables if v not in targets]))
    return model, targets, given_


def answer(model, factors, targets, given_):
    """The unnormalized posterior over targets from some of the factors, over the variables that are spoken of."""
    cards = {v.name: v.num_states for v in model.problem().variables}
    plain = strategies.plain_evidence(given_, model)
    touched = {n for scope, _ in factors for n in scope} | set(plain) | {t.name for t in targets}
    used = {name: card for name, card in cards.items() if name in touched}
    return oracle.marginal(factors, used, [t.name for t in targets], plain)


def subsets(positions):
    return itertools.chain.from_iterable(itertools.combinations(positions, k) for k in range(len(positions) + 1))


def resolved(model, given_):
    """Positions with one known value, and positions with weights."""
    plain = strategies.plain_evidence(given_, model)
    known = [n for n, w in plain.items() if (w > 0).sum() == 1 and w.max() == 1.0]
    return [model.variables.id(n) for n in known], [model.variables.id(n) for n in plain if n not in known]


def normalized(array):
    return array / array.sum()


@given(questions())
@settings(max_examples=150, deadline=None)
def test_pruned_posterior_is_the_unpruned_one(case):
    model, targets, given_ = case
    factors, _ = strategies.plain_factors(model)
    observed, touched = resolved(model, given_)
    ids = [model.variables.id(t) for t in targets]
    kept = model.problem().relevant(ids, observed, touched=touched)
    full = answer(model, factors, targets, given_)
    if full.sum() == 0:
        return
    inside = {i: w for i, w in given_.items() if _is_kept(model, i, kept, observed)}
    pruned = answer(model, [factors[i] for i in kept.factors], targets, inside)
    np.testing.assert_allclose(normalized(pruned), normalized(full), atol=EXACT)


def _is_kept(model, key, kept, observed):
    place = model.variables.id(key)
    return place in kept.variables or place in observed


@given(questions())
@settings(max_examples=150, deadline=None)
def test_with_constants_the_probability_of_evidence_survives(case):
    model, _, given_ = case
    factors, cards = strategies.plain_factors(model)
    observed, touched = resolved(model, given_)
    kept = model.problem().relevant([], observed, touched=touched, constants=True)
    full = oracle.log_z(factors, cards, strategies.plain_evidence(given_, model))
    part = answer(model, [factors[i] for i in kept.factors], (), given_)
    isolated = math.prod(
        v.num_states
        for i, v in enumerate(model.problem().variables)
        if not any(v.name in scope for scope, _ in factors) and i not in observed and i not in touched
    )
    got = math.log(float(part)) + math.log(isolated) if part > 0 else -math.inf
    if full == -math.inf:
        assert got == -math.inf
    else:
        assert got == pytest.approx(full, abs=1e-9)


@given(questions())
@settings(max_examples=60, deadline=None)
def test_prune_false_keeps_everything(case):
    model, targets, given_ = case
    observed, _ = resolved(model, given_)
    problem = model.problem()
    kept = problem.relevant([model.variables.id(t) for t in targets], observed, prune=False)
    assert kept.factors == tuple(range(problem.num_factors))


def chain(length: int) -> BayesNet:
    names = [f"x{i}" for i in range(length)]
    return BayesNet.random(DAG(names, list(itertools.pairwise(names))), seed=1)


def test_barren_tail_and_separated_head_are_dropped():
    problem = chain(6).problem()
    assert problem.relevant([3], [2]).factors == (3,)
    assert problem.relevant([3], [2]).variables == (3,)
    assert problem.relevant([3]).factors == (0, 1, 2, 3)
    assert problem.relevant([0], [2]).factors == (0, 1, 2)
    assert problem.relevant([], [2], constants=True).factors == (0, 1, 2)
    assert problem.relevant([0], touched=[4]).factors == (0, 1, 2, 3, 4)


def test_nothing_is_barren_in_an_undirected_model():
    a, b, c = (Discrete(n) for n in "abc")
    problem = MarkovNet(Table((a, b), [[1, 2], [3, 4]]), Table((b, c), [[1, 1], [2, 1]])).problem()
    assert problem.relevant([0]).factors == (0, 1)
    assert problem.relevant([0], [1]).factors == (0,)
    assert problem.relevant([0], [1], constants=True).factors == (0, 1)


def test_numbering_views_and_empty_problem():
    a, b = Discrete("a"), Discrete("b", 3)
    variables = Universe([a, b])
    tables = [Table(a, [1, 2]), Table((b, a), np.arange(6).reshape(3, 2))]
    problem = Problem(variables, tuple(Single(t, variables.ids(t.scope)) for t in tables))
    assert problem.num_factors == 2
    assert problem.factor(1) is tables[1]
    assert problem.scope(1) == (1, 0)
    assert list(problem.factors([1, 0])) == tables[::-1]
    assert problem.incidence.toarray().tolist() == [[1, 0], [1, 1]]
    assert repr(problem) == "Problem(2 variables, 2 factors in 2 blocks)"
    empty = Problem(Universe(), ())
    assert empty.relevant([]).factors == ()
    assert empty.num_factors == 0


def test_hidden_variables_of_a_cpd_go_and_stay_with_it():
    causes = [Discrete(f"c{i}") for i in range(4)]
    effect, tail = Discrete("effect"), Discrete("tail")
    net = BayesNet(
        *(TableCPD(c, [0.5, 0.5]) for c in causes),
        NoisyOr(effect, dict.fromkeys(causes, 0.5)),
        TableCPD(tail, [[0.5, 0.5], [0.1, 0.9]], given=effect),
    )
    problem = net.problem()
    hidden = set(range(problem.num_visible, len(problem.variables)))
    assert hidden
    assert problem.relevant([0]).variables == (0,)
    assert set(problem.relevant([4]).variables) == {0, 1, 2, 3, 4, *hidden}
    assert set(problem.relevant([0], [4]).variables) == {0, 1, 2, 3, *hidden}
    assert problem.relevant([5], [4]).factors == (problem.num_factors - 1,)


def test_other_factors_over_the_same_scopes_share_their_scopes():
    first, second = (BayesNet.random(DAG.parse("a -> b"), seed=seed).problem() for seed in (1, 2))
    assert first.shapes == ((2,), (2, 2))
    made = first.with_blocks(second.blocks)
    assert made.scopes is first.scopes
    assert made.shapes is first.shapes
    assert made.kept is not first.kept
    assert made.factor(1) is second.factor(1)


def test_a_problem_of_factors_is_that_of_their_blocks():
    net = BayesNet.random(DAG.parse("a -> b <- c; b -> d"), seed=3)
    known = net.problem()
    scopes = [known.scope(i) for i in range(known.num_factors)]
    blocks = tuple(Single(known.factor(i), scope) for i, scope in enumerate(scopes))
    plain = Problem(known.variables, blocks, conditionals=known.conditionals)
    made = Problem.of_factors(known.variables, tuple(known.factors()), scopes=scopes, conditionals=known.conditionals)
    for mine, other in zip((*made.scopes, made.offsets), (*plain.scopes, plain.offsets), strict=True):
        np.testing.assert_array_equal(mine, other)
    assert (made.shapes, made.num_visible) == (plain.shapes, plain.num_visible)
    assert [b.scopes.tolist() for b in made.blocks] == [b.scopes.tolist() for b in blocks]
    assert all(made.factor(i) is known.factor(i) for i in range(known.num_factors))
    assert Problem.of_factors(Universe([]), (), scopes=()).num_factors == 0


@pytest.mark.parametrize("text", ["a", "a -> b <- c; b -> d", "d -> a; a -> b; c -> b; d -> b"])
def test_conditionals_that_are_one_factor_each_are_read_without_a_loop(text):
    made = BayesNet.random(DAG.parse(text), seed=3).problem()
    one_by_one = replace(made)  # which does not know that its factors are in the order of the variables
    everyone = range(len(made.variables))
    for targets, observed in itertools.product(subsets(everyone), subsets(everyone)):
        for constants in (False, True):
            asked = targets, set(observed).difference(targets)
            assert made.relevant(*asked, constants=constants) == one_by_one.relevant(*asked, constants=constants)
    assert [group.factors for group in made.conditionals] == [(i,) for i in range(made.num_factors)]
    assert [(*g.parents, g.child) for g in made.conditionals] == [*map(made.scope, range(made.num_factors))]
