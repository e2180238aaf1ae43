r"""Factor graphs: variables on one side, factors on the other, an edge from a factor to each variable of its scope."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, overload

import numpy as np

from sepset.base.extras import require
from sepset.base.lazy import lazy
from sepset.errors import ScopeError
from sepset.factors.algebra import Factor
from sepset.graphs.pictures.sketch import Box, Link, Sketch
from sepset.models.markovnet import MarkovNet
from sepset.models.model import Model, NamedModel
from sepset.problem import Problem
from sepset.variables.variable import VariableLike


class FactorGraph(NamedModel):
    r"""The bipartite graph of any model; it keeps the structure inside a clique that an undirected graph loses.

    $$P(\mathbf x) \propto \prod_a \phi_a(\mathbf x_{N(a)})$$

    Args:
        model: the model whose factors to show; hidden variables of decomposed CPDs are nodes too.

    Factors are those of the model, in its order.

    Reference: Koller & Friedman, section 4.4.1.
    Guarantee: exact.
    Tested by: models/test_factorgraph.py::test_round_trip_keeps_the_measure

    >>> from sepset.factors.table import Table
    >>> from sepset.variables.variable import Discrete
    >>> a, b = Discrete("a"), Discrete("b")
    >>> graph = FactorGraph(MarkovNet(Table((a, b), [[1, 2], [3, 4]]), Table(a, [1, 2])))
    >>> graph, graph.neighbors("a"), graph.neighbors(0)
    (FactorGraph(2 variables, 2 factors, 3 edges), (0, 1), ('a', 'b'))
    """

    _CONTENTS = ("model",)

    model: Model

    def __init__(self, model: Model) -> None:
        self._fill(model.name, model.notes, model=model, variables=model.variables)

    @classmethod
    def of_factors(cls, *factors: Factor, name: str = "") -> FactorGraph:
        """The factor graph of these factors."""
        return cls(MarkovNet(*factors, name=name))

    @property
    def num_factors(self) -> int:
        """The number of factor nodes."""
        return self.as_written().num_factors

    @property
    def num_edges(self) -> int:
        """The number of edges: the sum of all arities."""
        return sum(int(b.scopes.size) for b in self.as_written().blocks)

    @lazy
    def factors(self) -> tuple[Factor, ...]:
        """Every factor as an object of its own, by number."""
        return tuple(self.as_written().factors())

    @overload
    def neighbors(self, node: int) -> tuple[str, ...]: ...
    @overload
    def neighbors(self, node: VariableLike) -> tuple[int, ...]: ...
    def neighbors(self, node: VariableLike | int) -> tuple[str, ...] | tuple[int, ...]:
        """The names in a factor's scope, given its number; or the numbers of the factors over a variable."""
        problem = self.as_written()
        if isinstance(node, int | np.integer) and not isinstance(node, bool):
            if not 0 <= node < problem.num_factors:
                raise ScopeError(f"There are {problem.num_factors} factors; no factor {node}.")
            return tuple(problem.variables[i].name for i in problem.scope(int(node)))
        place = problem.variables.id(node)  # type: ignore[arg-type]
        return tuple(self._by_variable.indices[slice(*self._by_variable.indptr[place : place + 2])].tolist())

    @lazy
    def _by_variable(self) -> Any:
        matrix = self.as_written().incidence.tocsc()
        matrix.sort_indices()
        return matrix

    @property
    def edges(self) -> tuple[tuple[str, int], ...]:
        """Every pair of a variable's name and a factor's number, by factor."""
        problem = self.as_written()
        numbers = range(problem.num_factors)
        return tuple((problem.variables[i].name, number) for number in numbers for i in problem.scope(number))

    @property
    def is_tree(self) -> bool:
        """Whether the graph has no cycle, so that message passing on it is exact."""
        from scipy import sparse
        from scipy.sparse.csgraph import connected_components

        links = self.as_written().incidence.tocoo()
        num_nodes = sum(links.shape)
        ends = (links.row, links.col + links.shape[0])
        bipartite = sparse.coo_array((links.data, ends), shape=(num_nodes, num_nodes))
        parts = connected_components(bipartite, directed=False)[0] if num_nodes else 0
        return bool(self.num_edges == num_nodes - parts)

    def markov_net(self) -> MarkovNet:
        """The same factors as a Markov network."""
        problem = self.as_written()
        own = problem.variables[: problem.num_visible] if problem.num_visible < len(problem.variables) else None
        hidden: Iterable[Any] = problem.variables[problem.num_visible :]
        visible = problem.variables.parts if own is None else own
        return MarkovNet(*problem.blocks, variables=visible, auxiliaries=hidden, name=self.name)  # type: ignore[arg-type]

    def to_networkx(self) -> Any:
        """A bipartite networkx `Graph`: variables by name, factors as `("factor", number)` with their scope."""
        nx = require("networkx", "networkx", "Exporting a factor graph")
        graph = nx.Graph()
        graph.add_nodes_from(self.as_written().variables.names, bipartite=0)
        graph.add_nodes_from((("factor", i) for i in range(self.num_factors)), bipartite=1)
        graph.add_edges_from((name, ("factor", number)) for name, number in self.edges)
        return graph

    def _build(self) -> Problem:
        return self.model.problem()

    def as_written(self) -> Problem:
        """The normal form with the factors as the model gives them."""
        return self.model.as_written() if isinstance(self.model, NamedModel) else self.model.problem()

    def _sketch(self) -> Sketch:
        names = self.as_written().variables.names
        index = {name: k for k, name in enumerate(names)}
        factors = [Box(f"f{number}", "factor", title=self._scope_text(number)) for number in range(self.num_factors)]
        links = tuple(Link(index[name], len(names) + number) for name, number in self.edges)
        return Sketch((*map(Box, names), *factors), links, self.name)

    def _scope_text(self, number: int) -> str:
        return f"factor {number}: {', '.join(map(str, self.neighbors(number)))}"

    def _facts(self) -> Iterator[tuple[str, str]]:
        yield "variables", str(len(self))
        yield "factors", str(self.num_factors)
        yield "edges", str(self.num_edges)
