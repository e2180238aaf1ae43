"""Random networks with the scores of all assignments of some variables, by enumeration."""

from __future__ import annotations

import itertools

import numpy as np

import sepset as ss
from sepset.inference.assignment import AssignmentTask
from sepset.problem import Problem
from sepset.variables.evidence import Evidence
from support.wired import random_problem


def random_question(rng: np.random.Generator) -> tuple[Problem, Evidence, tuple[int, ...]]:
    """A problem with zeros, findings, likelihoods, and variables to maximize."""
    problem = random_problem(rng)
    n = len(problem.variables)
    mixed = rng.permutation(n).tolist()
    known, weighted = mixed[: int(rng.integers(0, 2))], mixed[1:3] if rng.random() < 0.3 else []
    cards = problem.variables.cards
    evidence = Evidence(
        {v: int(rng.integers(cards[v])) for v in known}, {v: rng.gamma(1.0, size=cards[v]) for v in weighted}
    )
    rest = [v for v in mixed if v not in known]
    return problem, evidence, tuple(rest[: int(rng.integers(0, len(rest) + 1))])


def scored(problem: Problem, evidence: Evidence, over: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """The log score of every assignment, by a sum over all joint states."""
    task = AssignmentTask(problem, evidence)
    wiring, found = task.wiring, {}
    free = wiring.free.tolist()
    for codes in itertools.product(*(range(int(c)) for c in wiring.plugs.cards)):
        key = tuple(codes[free.index(v)] for v in over)
        found[key] = np.logaddexp(found.get(key, -np.inf), wiring.log_value(codes))
    return found


def chain(n: int, rng: np.random.Generator) -> ss.BayesNet:
    """Inputs that each meet the chain before them: narrow for queries, wide for maxima of all inputs."""
    x = [ss.Discrete(f"x{i}", 2) for i in range(n + 1)]
    y = [ss.Discrete(f"y{i}", 2) for i in range(n + 1)]
    cpds = [ss.TableCPD(x[0], rng.dirichlet([1, 1]))]
    for i in range(1, n + 1):
        cpds.append(ss.TableCPD(y[i], rng.dirichlet([2, 2])))
        cpds.append(ss.TableCPD(x[i], rng.dirichlet([1, 1], size=(2, 2)), given=[x[i - 1], y[i]]))
    return ss.BayesNet(*cpds)
