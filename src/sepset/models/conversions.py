r"""Conversions between models that need no inference: the distribution stays the same, its representation changes."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from sepset.base.foreign import translated
from sepset.errors import ModelError, NotApplicable
from sepset.factors.algebra import Factor, check_size, num_entries
from sepset.factors.table import Table
from sepset.graphs.graph import UndirectedGraph, connected_components
from sepset.models.bayesnet import BayesNet
from sepset.models.chaincomponent import ChainComponent
from sepset.models.chaingraph import ChainGraph
from sepset.models.markovnet import MarkovNet
from sepset.variables.variable import Discrete


@translated
def to_chain_graph(model: BayesNet | MarkovNet | ChainGraph) -> ChainGraph:
    """The model as a chain graph: one component per CPD, or one per connected component of a Markov network.

    Reference: Koller & Friedman 4.6.2.
    Guarantee: exact.
    Tested by: models/test_conversions.py::test_any_model_is_a_chain_graph

    >>> a, b = Discrete("a"), Discrete("b")
    >>> to_chain_graph(MarkovNet(Table(a, [1, 2]), Table(b, [1, 1]))).components
    (ChainComponent(a), ChainComponent(b))
    """
    if isinstance(model, ChainGraph):
        return model
    if isinstance(model, BayesNet):
        return ChainGraph(*model.cpds, name=model.name, notes=model.notes)
    if model.auxiliaries:
        raise NotApplicable(f"{model!r} has hidden variables; a chain graph needs a model without any.")
    for factor in model.factors:
        if not factor.scope and factor.log_total == -np.inf:
            raise ModelError(f"{model!r} has a factor that is zero everywhere: there is no distribution to convert.")
    return ChainGraph(*_parts(model), name=model.name, notes=model.notes)


def _parts(model: MarkovNet) -> Iterator[ChainComponent]:
    """A component for each connected part of the graph, with its factors."""
    groups = connected_components(model.graph)
    own = {name: group for group, names in enumerate(groups) for name in names}
    variables: list[list[Any]] = [[] for _ in groups]
    factors: list[list[Factor]] = [[] for _ in groups]
    for variable in model.variables:
        variables[own[variable.name]].append(variable)
    for factor in model.factors:
        if factor.scope:
            factors[own[factor.scope[0].name]].append(factor)
    return itertools.starmap(ChainComponent, ((v, *f) for v, f in zip(variables, factors, strict=True)))


@translated
def maximal_form(net: MarkovNet) -> MarkovNet:
    """The same network with one factor for each maximal clique of its graph, the coarsest factorization.

    Each table's size is checked before it is built.

    Reference: Koller & Friedman 4.4.1; Bron & Kerbosch (1973).
    Guarantee: exact.
    Tested by: models/test_conversions.py::test_maximal_form_has_one_factor_a_clique

    >>> import sepset as ss
    >>> net = ss.datasets.load("student").markov_net()
    >>> len(net.factors), len(maximal_form(net).factors)
    (5, 3)
    """
    cliques = sorted(maximal_cliques(net.graph), key=lambda c: [net.graph.index[n] for n in c])
    groups: list[list[Factor]] = [[] for _ in cliques]
    loose: list[Factor] = []
    for factor in net.factors:
        names = {v.name for v in factor.scope}
        home = next((i for i, c in enumerate(cliques) if names <= set(c)), None)
        (loose if home is None or not names else groups[home]).append(factor)
    tables = [_clique_table(net, c, group) for c, group in zip(cliques, groups, strict=True)]
    return MarkovNet(*tables, *loose, variables=net.variables.parts, name=net.name)


def _clique_table(net: MarkovNet, clique: tuple[str, ...], factors: list[Factor]) -> Factor:
    scope = [net.variables[n] for n in clique]
    check_size(scope)
    return functools.reduce(operator.mul, factors, Table.ones(scope))  # type: ignore[arg-type]


def maximal_cliques(graph: UndirectedGraph) -> Iterator[tuple[str, ...]]:
    """The maximal cliques, each in node order, by the pivoting search of Bron and Kerbosch (1973).

    >>> sorted(maximal_cliques(UndirectedGraph.parse("a - b; b - c; c - a; c - d")))
    [('a', 'b', 'c'), ('c', 'd')]
    """
    around = {n: set(graph.neighbors(n)) for n in graph.nodes}
    stack: list[tuple[set[str], set[str], set[str]]] = [(set(), set(graph.nodes), set())]
    while stack:
        clique, open_nodes, closed = stack.pop()
        if not open_nodes and not closed:
            if clique:
                yield tuple(n for n in graph.nodes if n in clique)
            continue
        pivot = max(sorted(open_nodes | closed), key=lambda n: len(around[n] & open_nodes))
        for node in sorted(open_nodes - around[pivot]):
            stack.append((clique | {node}, open_nodes & around[node], closed & around[node]))
            open_nodes = open_nodes - {node}
            closed = closed | {node}


@translated
def pairwise_form(net: MarkovNet) -> MarkovNet:
    r"""The same distribution with factors of at most two variables.

    A factor over more variables becomes a hidden variable $A$ with one state per joint state of its scope, a factor
    $\phi(A)$, and one factor $1[A_i = x_i]$ for each variable; summing out the hidden ones gives the original network.

    Reference: Koller & Friedman, section 4.4.1 and exercise 4.2.
    Guarantee: exact after summing them out.
    Tested by: models/test_conversions.py::test_pairwise_form_has_factors_of_two

    >>> import sepset as ss
    >>> net = ss.datasets.load("student").markov_net()
    >>> [max(len(f.scope) for f in form.factors) for form in (net, pairwise_form(net))]
    [3, 2]
    """
    parts: list[Factor] = []
    hidden: list[Discrete] = list(net.auxiliaries)  # type: ignore[arg-type]
    for number, factor in enumerate(net.factors):
        if len(factor.scope) <= 2:
            parts.append(factor)
            continue
        joint, tables = _split(factor, number)
        hidden.append(joint)
        parts += tables
    return MarkovNet(*parts, variables=net.variables.parts, auxiliaries=hidden, name=net.name)


def _split(factor: Factor, number: int) -> tuple[Discrete, Iterable[Factor]]:
    """The hidden variable of one factor and its factors of one and two variables."""
    table = factor if isinstance(factor, Table) else factor.to_table()  # type: ignore[attr-defined]
    first = table.scope[0]
    joint = Discrete(first.base, num_entries(table.scope), index=first.index, lag=first.lag, part=f"factor {number}")
    cells = np.array(list(itertools.product(*(range(v.num_states) for v in table.scope))))
    links = [Table((joint, v), np.eye(v.num_states)[cells[:, i]]) for i, v in enumerate(table.scope)]
    return joint, [Table.from_log(joint, table.log_values.reshape(-1)), *links]
