"""Adjoints of a clique tree's steps, compiled and as plain Python, beside derivatives by enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sepset.inference.compiled.contraction import Groups, Inputs, contract
from sepset.kernels.compiled import planning, steps
from support.blocks import in_blocks
from support.kernel_calls import NONE, adjacency, eliminate
from support.small_contractions import compressed, follow, product, random_inputs, uncompile
from support.tolerances import EXACT

SEEDS = range(50)


@pytest.fixture(params=["compiled", "plain"])
def either(request, monkeypatch):
    """As Python, a step beyond the room that was made is an error."""
    if request.param == "plain":
        uncompile(monkeypatch, steps)


def swept(inputs, num_kept=0, **reads):
    """The sweeps in rank order."""
    n = len(inputs.cards)
    kept = tuple(range(n - num_kept, n))
    rows = adjacency(*compressed([*inputs.scopes, kept]), n)
    start, scopes, _, absorbed = eliminate(*rows, np.arange(n))
    cliques = Groups(*planning.maximal_cliques(start, scopes, absorbed, n - num_kept))
    given = Inputs(*inputs.rows, np.arange(len(inputs.scopes)), np.arange(n), NONE)
    return contract(given, inputs.floats, cliques, kept=np.array(kept, dtype=np.int64), **reads)


def operands(made, tensor, read):
    """A tensor and its adjoint, from the step that multiplies them; where there is none the adjoint is one."""
    found = {d: (a, b) for d, a, b in made.steps}.get(read, (tensor, steps.ONE))
    return found if tensor in (found[0], None) else found[::-1]


def path_to_root(tensor, made, roots):
    """The tensors that a tensor is multiplied into, itself first, a root last."""
    into = {t: d for d, a, b in made for t in (a, b) if t != steps.ONE}
    path = [tensor]
    while path[-1] not in roots:
        path.append(into[path[-1]])
    return path


@pytest.mark.parametrize("fold", [np.sum, np.max])
@in_blocks("seed", SEEDS)
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


@in_blocks("seed", SEEDS)
@pytest.mark.usefixtures("either")
def test_adjoints_are_derivatives(seed):
    """The sum is linear in each table: its derivative by an entry is the sum of the other tables' product there."""
    inputs = random_inputs(np.random.default_rng(seed), most=4)
    made = swept(inputs, num_factors=len(inputs.scopes))
    adjoints = {t: operands(made, t, read)[1] for t, read in enumerate(made.reads.tolist(), start=1)}
    scopes = made.scopes
    tensors = follow(made.steps, scopes, inputs)
    for t in adjoints:
        root = path_to_root(t, made.steps[: made.num_forward], made.roots)[-1]
        others = math.prod(float(tensors[other]) for other in made.roots if other != root)
        rest = [table for i, table in enumerate(inputs.tables, start=1) if i != t]
        apart = [scope for i, scope in enumerate(inputs.scopes, start=1) if i != t]
        expected = product(rest, apart, inputs.cards, inputs.ranks, scopes[t])
        found = product([tensors[adjoints[t]]], [scopes[adjoints[t]]], inputs.cards, scopes[t], scopes[t])
        np.testing.assert_allclose(found * others, expected, rtol=EXACT)


@in_blocks("seed", SEEDS)
def test_one_adjoint_takes_no_more_steps_than_its_path_to_the_root(seed):
    rng = np.random.default_rng(seed)
    inputs = random_inputs(rng, most=6)
    if not inputs.scopes:
        return
    mentioned = sorted({r for scope in inputs.scopes for r in scope})
    if not mentioned:
        return
    made = swept(inputs, targets=np.array([int(rng.choice(mentioned))]))
    (read,) = made.reads.tolist()
    home = next((a for d, a, _ in made.steps[made.num_forward :] if d == read), read)
    path = path_to_root(home, made.steps[: made.num_forward], made.roots)
    assert len(made.steps) - made.num_forward <= len(path)
