"""CPDs of every form: one of each over the same few variables, the list of the contract suite, and networks."""

from __future__ import annotations

import numpy as np

from sepset.cpds.deterministic import DeterministicCPD, MultiplexerCPD
from sepset.cpds.kerneldensity import KernelCPD
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.logistic import LogisticCPD
from sepset.cpds.noisy import NoisyMax, NoisyOr
from sepset.cpds.partition import PartitionCPD
from sepset.cpds.rules import RuleCPD
from sepset.cpds.table import TableCPD
from sepset.cpds.tree import Split, TreeCPD
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Real, Vector

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
        "partition": PartitionCPD(X, [[0, 1], [1, 0]], distributions=leaves[:2], given=(A, B)),
        "noisy-or": NoisyOr(X, {A: p, B: q}, leak=0.3 * u),
        "noisy-max": NoisyMax(G, {A: rows(rng, 2, 3), B: rows(rng, 2, 3)}, leak=rows(rng, 1, 3)[0]),
        "logistic": LogisticCPD(X, {A: rng.normal(), B: rng.normal()}, bias=rng.normal()),
    }


def all_forms(rng):
    """Those, with functions and lines."""
    return discrete_forms(rng) | {
        "function": DeterministicCPD(X, lambda a, b: a ^ b, given=(A, B)),
        "multiplexer": MultiplexerCPD(X, A, inputs=(B, Discrete("c"))),
        "line": LinearGaussian(
            S, rng.normal(size=2), coefficients=rng.normal(size=2), covariance=[0.5, 2.0], given=R, by=A
        ),
    }


def every_cpd():
    """The CPDs of the contract suite: every class, several forms each."""
    rng = np.random.default_rng(7)
    coin, one, plane = Discrete("x", ("heads", "tails")), Discrete("one", 1), Vector("p", 2)
    graded = {A: rows(rng, 2, 3), G: rows(rng, 3, 3)}
    shared = [({X: 0, A: 0}, 0.2), ({X: 1, A: 0}, 0.8), ({X: 0, A: 1}, 0.6), ({X: 1, A: 1}, 0.4)]
    middle = Discrete("x", 3)
    overlapping = [({middle: 0}, 0.2), ({A: 0, middle: 1}, 0.3), ({A: 0, middle: 2}, 0.5)]
    points = {"a": rng.integers(2, size=30), "r": rng.normal(size=30), "s": rng.normal(size=30)}
    named = {f"{name}, two parents": cpd for name, cpd in all_forms(rng).items()}
    return named | {
        "table, a root": TableCPD(coin, [0.3, 0.7]),
        "table, three states": TableCPD(X, rows(rng, 6, 2).reshape(-1), given=(A, G), block="shared"),
        "table, a parent of one state": TableCPD(X, rows(rng, 2, 2).reshape(-1), given=(one, A)),
        "tree, one leaf": TreeCPD(X, [0.4, 0.6], given=A),
        "tree, merged states": TreeCPD(X, Split(G, {0: [0.1, 0.9], (1, 2): Split(A, {0: [0.5, 0.5], 1: [0.7, 0.3]})})),
        "rules, one parent": RuleCPD(X, shared),
        "rules, contexts that overlap": RuleCPD(
            middle, [*overlapping, ({A: 1, middle: 1}, 0.4), ({A: 1, middle: 2}, 0.4)]
        ),
        "partition, three states": PartitionCPD(X, [0, 1, 1], distributions=rows(rng, 2, 2), given=G),
        "noisy-or, no leak": NoisyOr(X, {A: 0.7, G: [0.0, 0.2, 0.6]}),
        "noisy-or, on in its first state": NoisyOr(coin, {A: 0.7, B: 0.4}, leak=0.1, on="heads"),
        "noisy-or, a chain": NoisyOr(X, {Discrete(f"u{i}"): 0.1 + 0.15 * i for i in range(5)}, leak=0.05),
        "noisy-max, no leak": NoisyMax(Discrete("x", 3), graded),
        "logistic, a root": LogisticCPD(X, {}, bias=0.4),
        "logistic, three states": LogisticCPD(G, {A: rng.normal(size=(2, 3)), B: rng.normal(size=(2, 3))}),
        "function, of one parent": DeterministicCPD(G, lambda a: 2 * a, given=A),
        "line, a root": LinearGaussian(S, 1.5, covariance=0.5),
        "line, a vector": LinearGaussian(
            plane, [0.5, -1.0], coefficients=[[1.0], [-2.0]], covariance=[[1.0, 0.3], [0.3, 0.5]], given=R
        ),
        "kernel, a root": KernelCPD(S, {"s": points["s"]}, width=0.4),
        "kernel, both kinds of parents": KernelCPD(S, points, width=[0.5, 0.4], given=R, by=A),
    }


def network(cpd, rng):
    """The CPD below roots for its parents, with two children of each root so that hidden ones can be learned."""
    roots = [_root(p, rng) for p in cpd.parents]
    below = [
        TableCPD(Discrete(f"{p.name}{i}"), rows(rng, p.num_states, 2), given=p)
        for p in cpd.parents
        if p.is_discrete
        for i in (1, 2)
    ]
    return BayesNet(*roots, cpd, *below)


def _root(variable, rng):
    if variable.is_discrete:
        return TableCPD(variable, rows(rng, 1, variable.num_states)[0])
    return LinearGaussian(variable, covariance=np.eye(variable.size))
