"""Random discrete problems of every kind of block, for what runs on wired models."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import linprog

from sepset.factors.block import FactorBlock, Single
from sepset.factors.potentials import (
    AllDifferent,
    AtLeastOne,
    Cardinality,
    Ising,
    Parity,
    Potts,
    RobustPotts,
    TruncatedLinear,
    TruncatedQuadratic,
)
from sepset.factors.table import Table
from sepset.inference.assignment import AssignmentTask
from sepset.inference.wiring import Wiring
from sepset.problem import Problem
from sepset.variables.evidence import Evidence
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete

BINARY = [
    Potts(0.7),
    Potts(-0.3),
    Ising(0.4),
    TruncatedLinear(0.8, 0.5),
    TruncatedLinear(-0.6),
    TruncatedQuadratic(0.9),
]
METRICS = [Potts(0.6), TruncatedLinear(0.5, 1.5), TruncatedLinear(0.3), Potts(1.4)]
PAIRS = [Potts(1.3), Potts(-0.4), TruncatedLinear(0.7, 1.5), TruncatedLinear(-0.2), TruncatedQuadratic(0.3, 2.0)]


def random_problem(rng: np.random.Generator) -> Problem:
    """Tables, shared tables, named potentials and single factors, with zeros."""
    cards = rng.integers(1, 4, rng.integers(0, 7)).tolist()
    variables = [Discrete(f"v{i}", card) for i, card in enumerate(cards)]
    blocks = []
    for _ in range(rng.integers(0, 8)):
        arity = int(rng.integers(0, min(4, len(cards)) + 1))
        scope = rng.permutation(len(cards))[:arity].tolist()
        blocks.append(block_over(scope, [cards[v] for v in scope], variables, rng))
    return Problem(Universe(variables), tuple(blocks))


def block_over(scope, shape, variables, rng):
    values = rng.gamma(1.0, size=shape) * (rng.random(shape) > 0.2)
    if len(shape) == 2 and shape[0] == shape[1] and rng.random() < 0.6:
        return FactorBlock([scope], shape, values=PAIRS[rng.integers(len(PAIRS))])
    if shape and set(shape) == {2} and rng.random() < 0.6:
        counted = Cardinality(np.where(rng.random(len(shape) + 1) < 0.2, -np.inf, rng.normal(size=len(shape) + 1)))
        return FactorBlock([scope], shape, values=[Parity(), AtLeastOne(), AllDifferent(), counted][rng.integers(4)])
    if len(shape) >= 2 and len(set(shape)) == 1 and rng.random() < 0.4:
        limit = rng.uniform(0.3, len(shape) / 2)
        return FactorBlock([scope], shape, values=RobustPotts(rng.normal(), limit))
    if rng.random() < 0.5:
        return Single(Table([variables[v] for v in scope], values), scope)
    return FactorBlock(np.array([scope, scope], np.int64).reshape(2, -1), shape, values=values)


def random_binary(rng, *, zeros=0.0, submodular=False, one_state=0.1, integer=False):
    """A problem of pairs of binary variables."""
    n = int(rng.integers(0, 7))
    variables = [Discrete(f"v{i}", 1 if rng.random() < one_state else 2) for i in range(n)]
    draw = (lambda shape: rng.integers(-3, 4, shape).astype(float)) if integer else (lambda s: rng.normal(size=s))
    blocks = [
        FactorBlock([[i]], (v.num_states,), values=draw(v.num_states), space="log") for i, v in enumerate(variables)
    ]
    for _ in range(int(rng.integers(0, 10)) if n > 1 else 0):
        i, j = (int(v) for v in rng.permutation(n)[:2])
        shape = variables[i].num_states, variables[j].num_states
        if shape == (2, 2) and rng.random() < 0.4:
            blocks.append(
                FactorBlock([[i, j]], shape, values=BINARY[rng.integers(len(BINARY) if not submodular else 1)])
            )
            continue
        if shape == (2, 2) and zeros and rng.random() < 0.2:
            blocks.append(FactorBlock([[i, j]], shape, values=[Parity(), AtLeastOne()][rng.integers(2)]))
            continue
        logs = draw(shape)
        if submodular and shape == (2, 2) and logs[0, 0] + logs[1, 1] < logs[0, 1] + logs[1, 0]:
            logs = logs[:, ::-1].copy()
        blocks.append(
            FactorBlock([[i, j]], shape, values=np.where(rng.random(shape) < zeros, -np.inf, logs), space="log")
        )
    return Problem(Universe(variables), tuple(blocks))


def random_pairs(rng, *, potentials=METRICS, tables=False, zeros=0.0):
    n, states = int(rng.integers(1, 6)), int(rng.integers(2, 4))
    variables = [Discrete(f"v{i}", states) for i in range(n)]
    blocks = [FactorBlock([[i]], (states,), values=rng.normal(size=states), space="log") for i in range(n)]
    for i, j in itertools.combinations(range(n), 2):
        if rng.random() < 0.3:
            continue
        if tables:
            logs = np.where(rng.random((states, states)) < zeros, -np.inf, rng.normal(size=(states, states)))
            blocks.append(FactorBlock([[i, j]], (states, states), values=logs, space="log"))
        else:
            blocks.append(FactorBlock([[i, j]], (states, states), values=potentials[rng.integers(len(potentials))]))
    return Wiring.of(Problem(Universe(variables), tuple(blocks)))


def local_polytope(wiring):
    """The maximum of the linear program over consistent pseudo-marginals, by a general solver."""
    n, m = wiring.num_variables, wiring.num_factors
    gain = [*wiring.unary, *(wiring.table(f).reshape(-1) for f in range(m))]
    objective = -np.concatenate([np.atleast_1d(g) for g in gain]) if gain else np.zeros(0)
    rows, right = [], []
    for i in range(n):
        row = np.zeros(2 * n + 4 * m)
        row[2 * i : 2 * i + 2] = 1.0
        rows.append(row)
        right.append(1.0)
    for f in range(m):
        for axis, i in enumerate(wiring.scope(f)):
            for state in range(2):
                row = np.zeros(2 * n + 4 * m)
                cells = np.zeros((2, 2))
                cells[(state, slice(None)) if axis == 0 else (slice(None), state)] = 1.0
                row[2 * n + 4 * f : 2 * n + 4 * f + 4] = cells.reshape(-1)
                row[2 * i + state] = -1.0
                rows.append(row)
                right.append(0.0)
    if not rows:
        return wiring.constant
    solved = linprog(objective, A_eq=np.array(rows), b_eq=np.array(right), bounds=(0, None))
    return wiring.constant - solved.fun


def problem_of(wiring):
    """The problem of the unobserved variables of a wiring, a table for each factor."""
    variables = [Discrete(wiring.name(i), int(card)) for i, card in enumerate(wiring.plugs.cards)]
    blocks = [FactorBlock([[i]], (v.num_states,), values=wiring.logs(i), space="log") for i, v in enumerate(variables)]
    for f in range(wiring.num_factors):
        table = wiring.table(f)
        blocks.append(FactorBlock([wiring.scope(f).tolist()], table.shape, values=table, space="log"))
    return Problem(Universe(variables), tuple(blocks))


def task_of(wiring, **more):
    task = AssignmentTask(problem_of(wiring), Evidence(), **more)
    task.__dict__["wiring"] = wiring
    return task


def best_value(wiring):
    return max(wiring.log_value(codes) for codes in itertools.product(*(range(int(c)) for c in wiring.plugs.cards)))
