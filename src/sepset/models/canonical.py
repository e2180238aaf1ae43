r"""The canonical parameterization: the factors of a positive distribution over a graph.

$$\epsilon_D(\mathbf d) = \sum_{Z \subseteq D} (-1)^{|D - Z|}\, \log P(\mathbf d_Z, \xi^*_{-Z}), \qquad
  P(\mathbf x) = \exp \sum_D \epsilon_D(\mathbf x_D)$$

The sum runs over all cliques D of a graph that is an I-map of P, including the empty one: this proves the
Hammersley-Clifford theorem, and shows why it needs a positive P.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.foreign import translated
from sepset.base.text import brief, rounded
from sepset.errors import ModelError, NotApplicable, TooLarge
from sepset.factors.algebra import num_entries
from sepset.factors.table import Table
from sepset.graphs.graph import UndirectedGraph
from sepset.models.markovnet import MarkovNet, markov_graph
from sepset.models.model import Model, NamedModel
from sepset.variables.variable import Discrete

MOST_ENTRIES = 2**24
"""The most entries of the joint table, and of all factors: what takes seconds."""


@translated
def canonical_form(
    joint: Table | Model, graph: UndirectedGraph | None = None, *, reference: Mapping[Any, Any] | None = None
) -> MarkovNet:
    """The Markov network with one factor per clique of `graph`, for a positive joint of which the graph is an I-map.

    Args:
        joint: a positive table over all variables, or a small discrete model, whose joint is computed and normalized.
        graph: its cliques get factors. By default that of the model; for a table every subset gets a factor, and those
            that P does not need equal one.
        reference: the assignment $\\xi^*$ relative to which factors are defined; the first states by default.

    Cost: the entries of the joint and of all factors; too many are refused.
    Reference: Koller & Friedman, section 4.4.2.1 and theorem 4.8.
    Guarantee: exact.
    Tested by: models/test_canonical.py::test_the_cliques_of_an_i_map_are_enough

    >>> a, b = Discrete("a"), Discrete("b")
    >>> net = canonical_form(Table((a, b), [[0.4, 0.1], [0.2, 0.3]]))
    >>> [len(net.problem().scope(i)) for i in range(4)]
    [0, 1, 1, 2]
    """
    if isinstance(joint, NamedModel):
        model, joint = joint, _joint_table(joint)
        graph = markov_graph(model.problem()) if graph is None else graph
    if not isinstance(joint, Table):
        raise ModelError(f"The canonical parameterization is of a Table or a model; found {brief(joint)}.")
    logs = joint.log_values
    if (logs == -math.inf).any():
        raise ModelError("The canonical parameterization needs a positive distribution; this table has zeros.")
    scope = joint.scope
    base = tuple(v.code((reference or {}).get(v.name, v.states[0])) for v in scope)
    factors = [_energy(logs, scope, base, axes) for axes in _affordable(scope, graph)]
    return MarkovNet(*factors, variables=scope)


def _joint_table(model: NamedModel) -> Table:
    """The normalized product of a model's factors, its hidden variables summed out."""
    if not model.variables.all_discrete:
        raise NotApplicable("The canonical parameterization is of a Table; continuous variables have none.")
    scope = tuple(v for v in model.variables if isinstance(v, Discrete))
    problem = model.problem()
    _check_entries(num_entries(problem.variables), "The joint table")
    product = functools.reduce(operator.mul, problem.factors(), Table.ones(scope))
    assert isinstance(product, Table)  # a product with a table is one
    return product.marginalize([v for v in product.scope if v not in scope]).align(scope).normalize()


def _check_entries(entries: float, what: str) -> None:
    if entries > MOST_ENTRIES:
        raise TooLarge(
            f"{what} of the canonical parameterization would have {rounded(entries)} entries; the limit is "
            f"{MOST_ENTRIES:.3g}. Take fewer variables, or a graph with smaller cliques."
        )


def _affordable(scope: tuple[Discrete, ...], graph: UndirectedGraph | None) -> list[tuple[int, ...]]:
    """The axes of every clique, after checking how many entries their factors have."""
    cards = [v.num_states for v in scope]
    if graph is None:
        _check_entries(math.prod(float(card + 1) for card in cards), "The factors of all subsets")
    found, entries = [], 0
    for axes in _cliques(scope, graph):
        found.append(axes)
        entries += math.prod(cards[i] for i in axes)
        _check_entries(entries, "The factors")
    return found


def _cliques(scope: tuple[Discrete, ...], graph: UndirectedGraph | None) -> Iterator[tuple[int, ...]]:
    """The axes of every clique, small ones first; without a graph, of every subset."""
    places = range(len(scope))
    near = [{j for j in places if graph is None or (j != i and graph.has_edge(scope[i], scope[j]))} for i in places]
    level: list[tuple[int, ...]] = [()]
    while level:
        yield from level
        level = [
            (*axes, new)
            for axes in level
            for new in places[axes[-1] + 1 if axes else 0 :]
            if near[new].issuperset(axes)
        ]


def _energy(logs: Floats, scope: tuple[Discrete, ...], base: tuple[int, ...], axes: tuple[int, ...]) -> Table:
    r"""The factor of one clique, one axis after the other; the others stay at the reference.

    $$\epsilon_D = \prod_{i \in D} (1 - R_i)\, \log P(\cdot, \xi^*_{-D})$$

    where $R_i$ sets axis $i$ to its reference: the product is the alternating sum over subsets.
    """
    total = logs[tuple(slice(None) if i in axes else base[i] for i in range(len(scope)))]
    for place, axis in enumerate(axes):
        total = total - total.take([base[axis]], axis=place)
    return Table.from_log([scope[i] for i in axes], np.asarray(total))
