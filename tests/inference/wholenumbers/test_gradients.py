"""Derivatives in whole numbers against sums over all joint states in fractions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import sepset as ss
from sepset.inference.compiled.gradients import Derivatives
from sepset.inference.wholenumbers.gradients import whole_gradient
from sepset.variables.evidence import resolve
from support.random_models import markov_net, random_evidence, table_net


def enumerated(factors, names, cards, weights):
    """The sum over all joint states, and for each factor that with a unit in place of each entry."""
    tables = [{at: Fraction(float(x)) for at, x in np.ndenumerate(table)} for _, table in factors]
    total, parts = Fraction(0), [dict.fromkeys(table, Fraction(0)) for table in tables]
    for codes in itertools.product(*(range(cards[name]) for name in names)):
        at = dict(zip(names, codes, strict=True))
        places = [tuple(at[name] for name in scope) for scope, _ in factors]
        entries = [table[place] for table, place in zip(tables, places, strict=True)]
        weight = math.prod((Fraction(float(w[at[name]])) for name, w in weights.items()), start=Fraction(1))
        total += weight * math.prod(entries, start=Fraction(1))
        for i, (part, place) in enumerate(zip(parts, places, strict=True)):
            part[place] += weight * math.prod(entries[:i] + entries[i + 1 :], start=Fraction(1))
    return total, parts


def exact(numbers):
    scale = Fraction(2) ** numbers.exponent
    return {at: scale * int(value) for at, value in np.ndenumerate(numbers.values)}


@pytest.mark.parametrize("made", [table_net, markov_net])
@pytest.mark.parametrize("seed", range(8))
def test_sums_and_derivatives_have_no_rounding(made, seed):
    rng = np.random.default_rng([seed, 71])
    case = made(rng)
    if not case.variables or math.prod(case.cards.values()) > 500:
        return
    given, plain = random_evidence(rng, case)
    engine = ss.prepare(case.model)
    derivatives = Derivatives(engine.prepared.problem, prune=False)
    found = whole_gradient(derivatives, resolve(given, engine.known), most=math.inf)
    names = [v.name for v in case.variables]
    weights = {name: np.eye(case.cards[name])[w] if np.ndim(w) == 0 else w for name, w in plain.items()}
    total, parts = enumerated(case.factors, names, case.cards, weights)
    assert exact(found.partition)[()] == total
    by_scope = {tuple(scope): part for (scope, _), part in zip(case.factors, parts, strict=True)}
    for number, one in found.parts.items():
        scope = tuple(names[v] for v in derivatives.problem.scope(number))
        if sum(tuple(s) == scope for s, _ in case.factors) == 1:
            assert exact(one) == by_scope[scope]


def test_what_takes_too_long_is_left_to_floats():
    engine = ss.prepare(ss.datasets.load("asia"))
    evidence = resolve({"xray": "yes"}, engine.known)
    derivatives = Derivatives(engine.prepared.problem)
    assert whole_gradient(derivatives, evidence, most=1.0) is None
    assert whole_gradient(derivatives, evidence, most=1e9) is not None
