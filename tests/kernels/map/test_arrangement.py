"""Orders of least degrees, connected parts, and functions whose variables are in another order."""

import math

import numpy as np
import pytest

from sepset.base.threads import NEVER
from sepset.inference.map.consistency.functions import CostFunctions
from sepset.kernels.map.arrangement import BITS, arrange, label, least_degrees
from sepset.kernels.map.reduction import ARITY, SIZE
from support.blocks import in_blocks
from support.cost_networks import random_wiring


def least_first(n, pairs):
    """The order of least degrees with sets."""
    near = {i: {j for p in pairs if i in p for j in p} - {i} for i in range(n)}
    order = []
    while near:
        chosen = min(near, key=lambda i: (len(near[i]), i))
        order.append(chosen)
        for j in near[chosen]:
            near[j] = (near[j] | near[chosen]) - {chosen, j}
        del near[chosen]
    return order


@pytest.mark.parametrize("n", [1, 2, 7, 40, BITS, BITS + 1, 150])
def test_orders_of_least_degrees(n):
    rng = np.random.default_rng(n)
    pairs = {tuple(sorted(rng.choice(n, 2, replace=False).tolist())) for _ in range(3 * n)} if n > 1 else set()
    functions = CostFunctions.empty((2,) * n)
    for i, j in pairs:
        functions.add((i, j), np.zeros((2, 2)))
    rows, degrees, order = np.zeros(-(-n // BITS) * n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    least_degrees(functions.pool, np.arange(n), rows, degrees, order, NEVER)
    assert order.tolist() == least_first(n, pairs)


@in_blocks("seed", range(20))
def test_parts_and_arranged_functions(seed):
    rng = np.random.default_rng(seed)
    functions = CostFunctions.of(random_wiring(rng))
    n, tables = len(functions.cards), functions.tables
    labels, wanted = np.zeros(n, np.int64), list(range(n))
    count = label(functions.pool, labels)
    for _ in range(n):
        for scope in tables:
            for i in scope:
                wanted[i] = min(wanted[j] for j in scope)
    touched = {i for scope in tables for i in scope}
    assert [i for i in range(n) if labels[i] >= 0] == sorted(touched)
    assert count == len({wanted[i] for i in touched})
    assert all((labels[i] == labels[j]) == (wanted[i] == wanted[j]) for i in touched for j in touched)
    place, left = rng.permutation(n), functions.left
    cards, pool = np.zeros(n, np.int64), functions.pool
    cards[place] = functions.cards
    starts = np.concatenate([[0], np.cumsum(pool.functions[ARITY, left])]).astype(np.int64)
    places = np.concatenate([[0], np.cumsum(pool.functions[SIZE, left])]).astype(np.int64)
    scope, steps = np.zeros((2, int(starts[-1])), np.int64)
    out = np.zeros(int(places[-1]))
    arrange(pool, left, place, cards, starts, scope, steps, places, out, np.zeros(n + 1, np.int64))
    for k, (variables, table) in enumerate(tables.items()):
        axes = np.argsort(place[list(variables)])
        moved = table.transpose(axes)
        assert scope[starts[k] : starts[k + 1]].tolist() == place[np.array(variables)[axes]].tolist()
        wanted_steps = [math.prod(moved.shape[axis + 1 :]) for axis in range(moved.ndim)]
        assert steps[starts[k] : starts[k + 1]].tolist() == wanted_steps
        np.testing.assert_array_equal(out[places[k] : places[k + 1]].reshape(moved.shape), moved)
