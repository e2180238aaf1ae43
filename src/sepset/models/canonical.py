r"""The canonical parameterization: the factors of a positive distribution over a graph.

$$\epsilon_D(\mathbf d) = \sum_{Z \subseteq D} (-1)^{|D - Z|}\, \log P(\mathbf d_Z, \xi^*_{-Z}), \qquad
  P(\mathbf x) = \exp \sum_D \epsilon_D(\mathbf x_D)$$

The sum runs over all cliques D of a graph that is an I-map of P, including the empty one: this proves the
Hammersley-Clifford theorem, and shows why it needs a positive P.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.foreign import translated
from sepset.base.text import brief
from sepset.errors import ModelError, NotApplicable
from sepset.factors.algebra import check_size
from sepset.factors.table import Table
from sepset.graphs.graph import UndirectedGraph
from sepset.models.markovnet import MarkovNet, markov_graph
from sepset.models.model import Model, NamedModel
from sepset.variables.variable import Discrete


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

    Cost: the number of cliques times their subsets.
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
    factors = [_energy(logs, scope, base, axes) for axes in _cliques(scope, graph)]
    return MarkovNet(*factors, variables=scope)


def _joint_table(model: NamedModel) -> Table:
    """The normalized product of a model's factors, its hidden variables summed out."""
    if not model.variables.all_discrete:
        raise NotApplicable("The canonical parameterization is of a Table; continuous variables have none.")
    scope = tuple(v for v in model.variables if isinstance(v, Discrete))
    check_size(scope)
    factors = model.problem().factors()
    product = functools.reduce(operator.mul, factors, Table.ones(scope))
    assert isinstance(product, Table)  # a product with a table is one
    return product.marginalize([v for v in product.scope if v not in scope]).align(scope).normalize()


def _cliques(scope: tuple[Discrete, ...], graph: UndirectedGraph | None) -> Iterator[tuple[int, ...]]:
    """The axes of every clique, small ones first; without a graph, of every subset."""
    for size in range(len(scope) + 1):
        for axes in itertools.combinations(range(len(scope)), size):
            pairs = itertools.combinations(axes, 2)
            if graph is None or all(graph.has_edge(scope[i], scope[j]) for i, j in pairs):
                yield axes


def _energy(logs: Floats, scope: tuple[Discrete, ...], base: tuple[int, ...], axes: tuple[int, ...]) -> Table:
    """The factor of one clique: an alternating sum over subsets of axes; the others stay at the reference."""
    shape = [scope[i].num_states for i in axes]
    total = np.zeros(shape)
    for size in range(len(axes) + 1):
        for free in itertools.combinations(axes, size):
            part = logs[tuple(slice(None) if i in free else base[i] for i in range(len(scope)))]
            wide = [scope[i].num_states if i in free else 1 for i in axes]
            total = total + (-1) ** (len(axes) - size) * np.reshape(part, wide)
    return Table.from_log([scope[i] for i in axes], total)
