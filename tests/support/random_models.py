"""Random small models beside their plain data, which the oracle takes: built side by side, never one from the other.

Names have spaces, slashes, quotes and several scripts; states are strings, ints, bools and floats.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np

import oracle
import sepset as ss
from sepset.cpds.deterministic import DeterministicCPD, MultiplexerCPD
from sepset.cpds.logistic import LogisticCPD
from sepset.cpds.noisy import NoisyMax, NoisyOr
from sepset.cpds.rules import RuleCPD
from sepset.cpds.tree import Split, TreeCPD
from sepset.models.chaincomponent import ChainComponent
from support.strategies import AWKWARD, DOMAINS


class Case(NamedTuple):
    """A model, its factors and cards by name as the oracle takes them, and whether it is normalized."""

    model: Any
    factors: list
    cards: dict
    normalized: bool

    @property
    def variables(self):
        return list(self.model.variables)


def variables_of(rng, num, least=1):
    """Variables with awkward names and domains, each name once."""
    names = [AWKWARD[i] for i in rng.permutation(len(AWKWARD))[:num]]
    domains = [d for d in DOMAINS if len(d) >= least]
    return [ss.Discrete(name, domains[rng.integers(len(domains))]) for name in names]


def cards_of(variables):
    return {v.name: v.num_states for v in variables}


def names_of(scope):
    return tuple(v.name for v in scope)


def rows(rng, shape):
    return oracle.random_rows(rng, shape, deterministic=0.2, zeros=0.15)


def shape_of(scope):
    return tuple(v.num_states for v in scope)


def table_net(rng):
    """A Bayesian network of tables, parts of it unconnected, in an order of its own."""
    variables = variables_of(rng, int(rng.integers(0, 6)))
    parents = oracle.random_parents(rng, variables, most=3, parts=int(rng.integers(1, 3)))
    tables = {v: rows(rng, shape_of((*parents[v], v))) for v in variables}
    order = [variables[i] for i in rng.permutation(len(variables))]
    net = ss.BayesNet(*(ss.TableCPD(v, tables[v], given=parents[v]) for v in order))
    return Case(net, [(names_of((*parents[v], v)), tables[v]) for v in variables], cards_of(order), True)


def noisy_or(rng, parents):
    """The child is off where the leak and every parent fail."""
    child = ss.Discrete("child", ("off", "on"))
    leak = float(rng.choice([0.0, 0.1, 1.0], p=[0.4, 0.5, 0.1]))
    chances = {p: np.concatenate([[0.0], rng.uniform(0, 1, p.num_states - 1)]) for p in parents}
    table = np.empty((*shape_of(parents), 2))
    for cell in np.ndindex(*shape_of(parents)):
        off = (1 - leak) * math.prod(1 - chances[p][state] for p, state in zip(parents, cell, strict=True))
        table[cell] = off, 1 - off
    return NoisyOr(child, chances, leak=leak), table


def noisy_max(rng, parents):
    """The child is at most x where the leak and every contribution are."""
    child = ss.Discrete("child", 3)
    effects = {p: rows(rng, (p.num_states, 3)) for p in parents}
    leak = rows(rng, (3,))
    table = np.empty((*shape_of(parents), 3))
    for cell in np.ndindex(*shape_of(parents)):
        below = np.cumsum(leak) * np.prod(
            [np.cumsum(effects[p][s]) for p, s in zip(parents, cell, strict=True)], axis=0
        )
        table[cell] = np.diff(below, prepend=0.0)
    return NoisyMax(child, effects, leak=leak), table


def logistic(rng, parents):
    child = ss.Discrete("child", 3)
    weights = {p: rng.integers(-2, 3, (p.num_states, 3)).astype(float) for p in parents}
    bias = rng.normal(size=3)
    table = np.empty((*shape_of(parents), 3))
    for cell in np.ndindex(*shape_of(parents)):
        score = np.exp(bias + sum((weights[p][s] for p, s in zip(parents, cell, strict=True)), np.zeros(3)))
        table[cell] = score / score.sum()
    return LogisticCPD(child, weights, bias=bias), table


def deterministic(rng, parents):
    child = ss.Discrete("child", 3)
    codes = rng.integers(0, 3, shape_of(parents))
    mapping = {
        joint: int(codes[tuple(p.code(s) for p, s in zip(parents, joint, strict=True))])
        for joint in itertools.product(*(p.states for p in parents))
    }
    return DeterministicCPD(child, lambda *states: mapping[states], given=parents), np.eye(3)[codes]


def tree(rng, parents):
    """The first parent decides whether the others matter."""
    child = ss.Discrete("child", ("x", "y"))
    first, rest = parents[0], parents[1:]
    table = np.empty((*shape_of(parents), 2))
    branches = {}
    for code, state in enumerate(first.states):
        if not rest or rng.random() < 0.5:
            leaf = rows(rng, (2,))
            branches[state], table[code] = leaf.tolist(), leaf
        else:
            inner = rows(rng, (rest[0].num_states, 2))
            branches[state] = Split(rest[0], {s: inner[i].tolist() for i, s in enumerate(rest[0].states)})
            table[code] = inner.reshape(inner.shape[0], *(1,) * len(rest[1:]), 2)
    return TreeCPD(child, Split(first, branches), given=parents), table


def rules(rng, parents):
    """One rule a state of the first parent and of the child."""
    child = ss.Discrete("child", (False, True))
    first = parents[0]
    inner = rows(rng, (first.num_states, 2))
    table = np.empty((*shape_of(parents), 2))
    table[:] = inner.reshape(first.num_states, *(1,) * len(parents[1:]), 2)
    listed = [
        ({first: s, child: x}, inner[i, j]) for i, s in enumerate(first.states) for j, x in enumerate(child.states)
    ]
    return RuleCPD(child, listed, given=parents), table


def multiplexer(rng, parents):
    """The child copies the parent that the last one picks: needs equal domains, so it makes its own."""
    selector = ss.Discrete("pick", 2)
    left, right, child = (ss.Discrete(name, ("u", "v", "w")) for name in ("left", "right", "child"))
    table = np.zeros((2, 3, 3, 3))
    for pick, x, y in np.ndindex(2, 3, 3):
        table[pick, x, y, (x, y)[pick]] = 1.0
    return MultiplexerCPD(child, selector, inputs=(left, right)), table


FORMS = (noisy_or, noisy_max, logistic, deterministic, tree, rules, multiplexer)


def structured_net(rng):
    """A network with one CPD that is not a table, above one or two that are, with a child of its own."""
    make = FORMS[rng.integers(len(FORMS))]
    drawn = variables_of(rng, int(rng.integers(1, 5)), least=2)
    cpd, table = make(rng, drawn)
    scope, child = cpd.scope, cpd.child
    below = ss.Discrete("below", 2)
    tables = {(): []}
    cpds, factors = [cpd], [(names_of(scope), table)]
    for parent in cpd.parents:
        prior = rows(rng, (parent.num_states,))
        cpds.append(ss.TableCPD(parent, prior))
        factors.append(((parent.name,), prior))
    tables = rows(rng, (child.num_states, 2))
    cpds.append(ss.TableCPD(below, tables, given=child))
    factors.append(((child.name, below.name), tables))
    net = ss.BayesNet(*(cpds[i] for i in rng.permutation(len(cpds))))
    return Case(net, factors, cards_of(net.variables), True)


def markov_net(rng, ties=None):
    """Factors on random scopes with zeros, empty scopes, isolated variables, unconnected parts."""
    variables = variables_of(rng, int(rng.integers(0, 6)))
    ties = bool(rng.random() < 0.3) if ties is None else ties
    cards = cards_of(variables)
    factors = oracle.random_factors(rng, cards, int(rng.integers(0, 6)), ties=ties)
    by_name = {v.name: v for v in variables}
    made = [ss.Table([by_name[n] for n in scope], table) for scope, table in factors]
    kinds = [f if rng.random() < 0.8 else ss.factors.SparseTable.from_table(f) for f in made]
    return Case(ss.MarkovNet(*kinds, variables=variables), factors, cards, False)


def extreme_net(rng):
    """Factors far from one, and with entries far from each other: products leave float64 unless scales are carried."""
    case = markov_net(rng)
    by_name = {v.name: v for v in case.variables}
    span = int(rng.choice([0, 100, 250]))
    factors = []
    for scope, table in case.factors:
        scale = 10.0 ** float(rng.integers(-45, 45) if span else rng.integers(-250, 250))
        factors.append((scope, table * scale * 10.0 ** -rng.integers(0, span + 1, table.shape).astype(float)))
    made = [ss.Table([by_name[n] for n in scope], table) for scope, table in factors]
    return Case(ss.MarkovNet(*made, variables=case.variables), factors, case.cards, False)


def chain_graph(rng):
    """Components of one or two variables, each given earlier ones; the plain data divides by Z(parents)."""
    variables = variables_of(rng, int(rng.integers(1, 5)))
    components, factors, used = [], [], 0
    while used < len(variables):
        own = variables[used : used + int(rng.integers(1, 3))]
        earlier = variables[:used]
        given = [earlier[i] for i in rng.permutation(len(earlier))[: int(rng.integers(0, 3))]]
        scope = (*given, *own)
        table = rng.uniform(0.1, 2.0, shape_of(scope))
        components.append(ChainComponent(own, ss.Table(scope, table)))
        axes = tuple(range(len(given), len(scope)))
        factors.append((names_of(scope), table / table.sum(axis=axes, keepdims=True)))
        used += len(own)
    model = ss.ChainGraph(*components)
    return Case(model, factors, cards_of(model.variables), True)


KINDS = (table_net, structured_net, markov_net, extreme_net, chain_graph)


def random_case(rng):
    return KINDS[rng.integers(len(KINDS))](rng)


def random_evidence(rng, case, most=0.5):
    """Evidence of all kinds but soft on some variables, beside the weights it means."""
    given, plain = {}, {}
    for v in case.variables:
        if rng.random() > most * rng.random():
            continue
        finding, weights = random_finding(rng, v)
        given[v if rng.random() < 0.5 else v.name] = finding
        if weights is not None:
            plain[v.name] = weights
    return given, plain


def random_finding(rng, v):
    count = v.num_states
    code = int(rng.integers(count))
    kind = rng.choice(["state", "subset", "not", "likelihood", "missing"])
    if kind == "missing":
        return (None if rng.random() < 0.5 else math.nan), None
    if kind == "subset":
        chosen = {code, int(rng.integers(count))}
        return {v.states[c] for c in chosen}, np.array([float(c in chosen) for c in range(count)])
    if kind == "not" and count > 1:
        return ss.Not(v.states[code]), np.array([float(c != code) for c in range(count)])
    if kind == "likelihood":
        weights = rng.choice([0.0, 0.3, 1.0, 2.5], size=count)
        weights[code] = 0.7
        spelled = weights.tolist() if rng.random() < 0.5 else dict(zip(v.states, weights.tolist(), strict=True))
        return ss.Likelihood(spelled), weights
    return v.states[code], np.array([float(c == code) for c in range(count)])
