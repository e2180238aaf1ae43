"""Adjoints of a clique tree's steps, compiled and as plain Python, beside derivatives by enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sepset.inference.contraction import Groups, contract
from sepset.kernels import planning, steps
from small_contractions import compressed, follow, product, random_inputs, uncompile
from tolerances import EXACT

SEEDS = range(50)


@pytest.fixture(params=["compiled", "plain"])
def either(request, monkeypatch):
    """As Python, a step beyond the room that was made is an error."""
    if request.param == "plain":
        uncompile(monkeypatch, steps)


def swept(inputs, num_kept=0):
    """The forward sweep in rank order."""
    n = len(inputs.cards)
    kept = tuple(range(n - num_kept, n))
    rows = planning.adjacency(*compressed([*inputs.scopes, kept]), n)
    start, scopes, _, absorbed = planning.eliminate(*rows, np.arange(n))
    cliques = Groups(*planning.maximal_cliques(start, scopes, absorbed, n - num_kept))
    return contract(*inputs.rows, inputs.floats, cliques, kept)


def path_to_root(tensor, made, roots):
    """The tensors that a tensor is multiplied into, itself first, a root last."""
    into = {t: d for d, a, b in made for t in (a, b) if t != steps.ONE}
    path = [tensor]
    while path[-1] not in roots:
        path.append(into[path[-1]])
    return path


@pytest.mark.parametrize("fold", [np.sum, np.max])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.usefixtures("either")
def test_kept_variables_hold_the_sum_over_the_others(seed, fold):
    rng = np.random.default_rng(seed)
    inputs = random_inputs(rng)
    num_kept = int(rng.integers(0, len(inputs.cards) + 1))
    made = swept(inputs, num_kept)
    tensors = follow(made.steps, made.scopes, inputs, fold)
    kept = inputs.ranks[len(inputs.ranks) - num_kept :]
    parts = [tensors[t] for t in made.roots], [made.scopes[t] for t in made.roots]
    expected = product(inputs.tables, inputs.scopes, inputs.cards, inputs.ranks, kept, fold)
    np.testing.assert_allclose(product(*parts, inputs.cards, kept, kept), expected, rtol=EXACT)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.usefixtures("either")
def test_adjoints_are_derivatives(seed):
    """The sum is linear in each table: its derivative by an entry is the sum of the other tables' product there."""
    inputs = random_inputs(np.random.default_rng(seed), most=4)
    made = swept(inputs)
    wanted = np.arange(1, len(inputs.scopes) + 1)
    adjoints = steps.differentiate(made.ledger, wanted, np.array(made.roots, dtype=np.int64))
    scopes = made.scopes
    tensors = follow(made.steps, scopes, inputs)
    for t in wanted.tolist():
        root = path_to_root(t, made.steps[: made.num_forward], made.roots)[-1]
        others = math.prod(float(tensors[other]) for other in made.roots if other != root)
        rest = [table for i, table in enumerate(inputs.tables, start=1) if i != t]
        apart = [scope for i, scope in enumerate(inputs.scopes, start=1) if i != t]
        expected = product(rest, apart, inputs.cards, inputs.ranks, scopes[t])
        found = product([tensors[adjoints[t]]], [scopes[adjoints[t]]], inputs.cards, scopes[t], scopes[t])
        np.testing.assert_allclose(found * others, expected, rtol=EXACT)


@pytest.mark.parametrize("seed", SEEDS)
def test_one_adjoint_takes_no_more_steps_than_its_path_to_the_root(seed):
    rng = np.random.default_rng(seed)
    inputs = random_inputs(rng, most=6)
    if not inputs.scopes:
        return
    made = swept(inputs)
    t = int(rng.integers(1, len(inputs.scopes) + 1))
    steps.differentiate(made.ledger, np.array([t]), np.array(made.roots, dtype=np.int64))
    assert len(made.steps) - made.num_forward < len(path_to_root(t, made.steps[: made.num_forward], made.roots))
