"""One CPD of every form over the same few variables, and networks that hold them."""

from __future__ import annotations

import numpy as np

from sepset.cpds.deterministic import DeterministicCPD, MultiplexerCPD
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.logistic import LogisticCPD
from sepset.cpds.noisy import NoisyMax, NoisyOr
from sepset.cpds.partition import PartitionCPD
from sepset.cpds.rules import RuleCPD
from sepset.cpds.table import TableCPD
from sepset.cpds.tree import Split, TreeCPD
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Real

A, B, X, G = Discrete("a"), Discrete("b"), Discrete("x"), Discrete("g", 3)
R, S = Real("r"), Real("s")


def rows(rng, count, states):
    """Random distributions."""
    return rng.dirichlet(np.ones(states), count)


def discrete_forms(rng):
    """CPDs of X (or G) given A and B, one of each discrete form that has numbers."""
    p, q, u = (float(v) for v in rng.uniform(0.1, 0.9, 3))
    leaves = rows(rng, 3, 2)
    rules = [({A: 0, X: 0}, p), ({A: 0, X: 1}, 1 - p), ({A: 1, B: 0, X: 0}, q), ({A: 1, B: 0, X: 1}, 1 - q)]
    return {
        "table": TableCPD(X, rows(rng, 4, 2).reshape(-1), given=(A, B)),
        "tree": TreeCPD(X, Split(A, {0: leaves[0], 1: Split(B, {0: leaves[1], 1: leaves[2]})})),
        "rules": RuleCPD(X, [*rules, ({A: 1, B: 1}, 0.5)]),
        "partition": PartitionCPD(X, [[0, 1], [1, 0]], leaves[:2], given=(A, B)),
        "noisy-or": NoisyOr(X, {A: p, B: q}, leak=0.3 * u),
        "noisy-max": NoisyMax(G, {A: rows(rng, 2, 3), B: rows(rng, 2, 3)}, rows(rng, 1, 3)[0]),
        "logistic": LogisticCPD(X, {A: rng.normal(), B: rng.normal()}, bias=rng.normal()),
    }


def all_forms(rng):
    """Those, with functions and lines."""
    return discrete_forms(rng) | {
        "function": DeterministicCPD(X, lambda a, b: a ^ b, given=(A, B)),
        "multiplexer": MultiplexerCPD(X, A, (B, Discrete("c"))),
        "line": LinearGaussian(
            S, rng.normal(size=2), coefficients=rng.normal(size=2), covariance=[0.5, 2.0], given=R, by=A
        ),
    }


def network(cpd, rng):
    """The CPD below roots for its parents, with two children of each root so that hidden ones can be learned."""
    roots = [TableCPD(p, rows(rng, 1, p.num_states)[0]) for p in cpd.parents]
    below = [
        TableCPD(Discrete(f"{p.name}{i}"), rows(rng, p.num_states, 2), given=p) for p in cpd.parents for i in (1, 2)
    ]
    return BayesNet(*roots, cpd, *below)
