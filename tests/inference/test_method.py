"""Every direct method compared with enumeration, on a couple of thousand small models under all kinds of evidence."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.engine.engine import Engine
from sepset.inference.method import Method, Prepared
from support.method_contract import Truth, check_method, check_sampling
from support.random_models import KINDS, random_case, random_evidence

METHODS = {
    "brute force": ss.inference.BruteForce(),
    "elimination": ss.VariableElimination(),
    "elimination, min-fill": ss.VariableElimination(order=ss.graphs.MinFill()),
    "elimination, min-weight, unpruned": ss.VariableElimination(order=ss.graphs.MinWeight(), prune=False),
    "elimination, max cardinality": ss.VariableElimination(order=ss.graphs.MaxCardinality()),
    "clique tree": ss.CliqueTree(),
    "clique tree, min-neighbors": ss.CliqueTree(order=ss.graphs.MinNeighbors()),
    "belief update": ss.inference.BeliefUpdate(),
    "Shafer-Shenoy": ss.inference.ShaferShenoy(),
    "recursive conditioning": ss.inference.RecursiveConditioning(),
    "recursive conditioning, nothing kept": ss.inference.RecursiveConditioning(memory=0),
    "cutset conditioning": ss.inference.CutsetConditioning(),
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_answer_is_what_was_promised(name, kind):
    for seed in range(32):
        rng = np.random.default_rng([seed, len(name), KINDS.index(kind)])
        case = kind(rng)
        given, weights = random_evidence(rng, case)
        check_method(METHODS[name], case, given, weights, rng)


@pytest.mark.parametrize("name", METHODS)
def test_draws_have_the_posterior_frequencies(name):
    for seed in range(12):
        rng = np.random.default_rng([seed, 7])
        case = random_case(rng)
        given, weights = random_evidence(rng, case)
        check_sampling(METHODS[name], case, given, weights, num_rows=1500)


PROPAGATION = {
    "loopy": ss.LoopyBP(until=200),
    "loopy, by residuals": ss.LoopyBP(schedule="residual", until=100),
    "tree-reweighted": ss.TreeReweighted(until=200),
    "convex": ss.inference.ConvexBP(until=200),
}


@pytest.mark.parametrize("name", PROPAGATION)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_messages_keep_their_promises(name, kind):
    method = PROPAGATION[name]
    for seed in range(8):
        rng = np.random.default_rng([seed, len(name), KINDS.index(kind)])
        case = kind(rng)
        given, weights = random_evidence(rng, case)
        truth, engine = Truth(case.factors, case.cards, weights), Engine(case.model, method)
        try:
            log_z = engine.log_partition(given=given)
        except ss.errors.NotApplicable:
            continue
        if truth.log_z == -np.inf:
            continue  # messages around loops need not see it
        guarantee = log_z.guarantees["log_partition"]
        if guarantee is ss.Guarantee.UPPER_BOUND:
            assert float(log_z) >= truth.log_z - 1e-8
        if guarantee is ss.Guarantee.EXACT:
            assert float(log_z) == pytest.approx(truth.log_z, abs=1e-8)
        answers = engine.marginals(given=given)
        for variable in truth.names:
            values = answers[variable].values
            assert values.sum() == pytest.approx(1.0)
            if answers.guarantees["marginals"] is ss.Guarantee.EXACT:
                assert values == pytest.approx(truth.marginal([variable]), abs=1e-8)


@pytest.mark.parametrize("method", [*METHODS.values(), *PROPAGATION.values()], ids=[*METHODS, *PROPAGATION])
def test_methods_are_frozen_values_that_meet_the_protocol(method):
    problem = ss.MarkovNet(variables=[ss.Discrete("a")]).problem()
    assert isinstance(method, Method)
    assert isinstance(method.prepare(problem), Prepared)
    assert method == type(method)(**{f: getattr(method, f) for f in type(method).__dataclass_fields__})
    with pytest.raises(AttributeError):
        setattr(method, next(iter(type(method).__dataclass_fields__)), 1)
    assert set(method.promises(problem)) == {"log_partition", "marginals", "moments", "assignment"}


@pytest.mark.parametrize(
    "kind",
    [
        ss.CliqueTree,
        ss.VariableElimination,
        ss.inference.BeliefUpdate,
        ss.inference.ShaferShenoy,
        ss.inference.RecursiveConditioning,
        ss.inference.CutsetConditioning,
    ],
)
def test_settings_are_checked_when_a_method_is_made(kind):
    for memory in (-1, "1GB", None, True, float("nan")):
        with pytest.raises(ss.errors.ArgumentError, match=r"memory= \(bytes\) is a number >= 0"):
            kind(memory=memory)
    for order in ("minfill", ss.graphs.MinFill, ["a"], None):
        with pytest.raises(ss.errors.ArgumentError, match=r"as MinFill\(\) or GivenOrder"):
            kind(order=order)
    assert kind(memory=8e9, order=ss.graphs.MinFill()).memory == 8e9
