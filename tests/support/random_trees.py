"""Random clique trees, plain accounts of what merging their cliques costs, and calibrated random networks."""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np

import oracle
import sepset as ss
from sepset.graphs.clusters import ClusterTree
from sepset.inference.exact.messages import Calibration
from sepset.inference.treequery.orders import MergeOrder
from sepset.variables.evidence import Evidence, resolve


def random_tree(rng, most=7, cards=(1, 2, 2, 3, 4), parts=True):
    """A clique tree, or a forest, whose cliques share random parts; and the number of states by name."""
    clusters, edges = [], []
    count = itertools.count()
    for i in range(int(rng.integers((most + 1) // 2, most + 1))):
        fresh = {f"v{next(count)}" for _ in range(int(rng.integers(1, 3)))}
        if i and not (parts and rng.random() < 0.1):
            other = i - 1 if rng.random() < 0.6 else int(rng.integers(i))
            shared = {name for name in sorted(clusters[other]) if rng.random() < 0.5}
            edges.append((other, i))
            fresh |= shared
        clusters.append(fresh)
    tree = ClusterTree([sorted(c) for c in clusters], edges)
    return tree, {name: int(rng.choice(cards)) for name in tree.variables}


def random_order(query, rng, *, absorb=True):
    """A uniformly random merge order."""
    return MergeOrder(query, tuple(rng.permutation(len(query.edges)).tolist()), name="random", absorb=absorb)


def random_targets(rng, tree, most=5, least=0):
    names = list(tree.variables)
    return [names[i] for i in rng.permutation(len(names))[: int(rng.integers(least, most + 1))]]


def entries(names, cards):
    return math.prod(cards[name] for name in names)


class Plain:
    """A tree query as sets of names: nodes with scopes, edges with sepsets."""

    def __init__(self, query):
        self.scopes = [set(query.scope_names(c)) for c in query.cliques]
        self.edges = list(query.edges)
        self.sepsets = [set(query.scope_names(s)) for s in query.sepsets]
        self.targets = set(query.scope_names(query.targets))
        self.cards = dict(zip(query.names, query.cards, strict=True))

    def cost(self, order, absorb=False):
        """Multiplications when edges merge in this order."""
        groups = [{i} for i in range(len(self.scopes))]
        scopes = {frozenset(g): s for g, s in zip(groups, self.scopes, strict=True)}
        left, total = set(range(len(self.edges))), 0
        for edge in order:
            left.discard(edge)
            a, b = (next(g for g in scopes if end in g) for end in self.edges[edge])
            first, second = scopes.pop(a), scopes.pop(b)
            if not (absorb and (first <= second or second <= first)):
                total += entries(first | second, self.cards)
            group = a | b
            around = [self.sepsets[e] for e in left if set(self.edges[e]) & group]
            scopes[group] = (first | second) & self.targets.union(*around)
        return total

    def best(self, absorb=False):
        """The least cost over every order."""
        return min(self.cost(order, absorb) for order in itertools.permutations(range(len(self.edges))))

    def connected(self):
        """Every connected set of nodes."""
        found = []
        for size in range(1, len(self.scopes) + 1):
            for nodes in itertools.combinations(range(len(self.scopes)), size):
                inside = [e for e in self.edges if set(e) <= set(nodes)]
                if len(inside) == size - 1:
                    found.append(set(nodes))
        return found

    def retained(self, nodes):
        """What a part keeps: targets and the sepsets of edges that leave it."""
        leaving = [s for s, e in zip(self.sepsets, self.edges, strict=True) if len(set(e) & nodes) == 1]
        return self.targets.union(*leaving) & set().union(*(self.scopes[i] for i in nodes))


class Calibrated(NamedTuple):
    """A calibrated random network beside its posterior as one array."""

    problem: Any
    evidence: Evidence
    result: Calibration
    cards: dict
    posterior: np.ndarray

    def marginal(self, names):
        order = list(self.cards)
        rest = tuple(i for i, name in enumerate(order) if name not in names)
        kept = [name for name in order if name in names]
        return self.posterior.sum(axis=rest).transpose([kept.index(name) for name in names])


def calibrated(rng, num=7, observed=0.2):
    """A random network with zeros, one-state variables and loose parts under evidence; None where it is impossible."""
    families, cards = oracle.random_network(rng, num, most=2, parts=int(rng.integers(1, 3)))
    variables = {name: ss.Discrete(name, card) for name, card in cards.items()}
    cpds = [ss.TableCPD(variables[c], t, given=[variables[p] for p in ps]) for c, ps, t in families]
    net = ss.BayesNet(*cpds)
    given, plain = {}, {}
    for name, card in cards.items():
        code = int(rng.integers(card))
        if rng.random() < observed:
            given[name] = plain[name] = code
        elif rng.random() < observed:
            weights = np.where(np.arange(card) == code, 1.0, rng.choice([0.0, 0.4], size=card))
            given[name], plain[name] = ss.Likelihood(weights.tolist()), weights
    array = oracle.joint(oracle.bayes_factors(families), cards, plain)
    if array.sum() == 0:
        return None
    problem = net.problem()
    evidence = resolve(given, net.variables)
    prepared = ss.inference.BeliefUpdate().prepare(problem)
    return Calibrated(problem, evidence, prepared.calibrate(evidence), cards, array / array.sum())
