r"""Chain graphs: directed edges between components, undirected edges inside them.

$$P(\mathbf x) = \prod_{\mathbf K} P(\mathbf k \mid \mathbf{pa}_{\mathbf K})$$

With one variable per component it is a Bayesian network; with a single component, a Markov network.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sepset.base.arraytypes import AnyArray, Floats
from sepset.base.checks import generator, whole
from sepset.base.lazy import lazy
from sepset.base.memory import row_blocks
from sepset.cpds.cpd import CPD
from sepset.cpds.table import TableCPD
from sepset.data.codes import DrawnColumns
from sepset.data.dataset import Dataset
from sepset.errors import ModelError
from sepset.factors.algebra import Factor, Scope
from sepset.graphs.graph import DAG, MixedGraph
from sepset.graphs.pictures.sketch import Sketch
from sepset.models.bayesnet import BayesNet
from sepset.models.chaincomponent import ChainComponent, check_parents, owners
from sepset.models.chainnormalizers import normalize_together
from sepset.models.factorgraph import FactorGraph
from sepset.models.markovnet import MarkovNet
from sepset.models.model import NamedModel, is_cpd
from sepset.models.rows import complete
from sepset.problem import ConditionalGroup, Problem
from sepset.variables.universe import Universe
from sepset.variables.variable import VariableLike


class ChainGraph(NamedModel):
    r"""A discrete chain graph: a product of conditional Gibbs distributions, one per component.

    Its independences are those of Lauritzen, Wermuth and Frydenberg (LWF).

    Args:
        components: chain components, or CPDs for components of one variable; parents may follow their children.
        name: the name of the model.
        notes: notes about it, such as those of a file reader.

    Reference: Koller & Friedman, section 4.6.2.
    Guarantee: exact.
    Tested by: models/test_chaingraph.py::test_lauritzen_wermuth_frydenberg_reading

    >>> from sepset.factors.table import Table
    >>> from sepset.variables.variable import Discrete
    >>> u, a, b = Discrete("u"), Discrete("a"), Discrete("b")
    >>> pair = ChainComponent((a, b), Table((u, a), [[1, 2], [3, 1]]), Table((a, b), [[5, 1], [1, 5]]))
    >>> model = ChainGraph(TableCPD(u, [0.5, 0.5]), pair)
    >>> model, model.graph
    (ChainGraph(3 variables, 2 components, 2 edges), MixedGraph(u -> a; a - b))
    """

    _CONTENTS = ("components",)

    components: tuple[ChainComponent, ...]
    graph: MixedGraph

    def __init__(self, *components: ChainComponent | CPD, name: str = "", notes: Iterable[str] = ()) -> None:
        parts = tuple(_component(c) for c in components)
        owner = owners(parts)
        for part in parts:
            check_parents(part, owner)
        order = _ordered(parts, owner)
        variables = Universe(v for part in parts for v in part.variables)
        graph = _graph(parts, variables)
        self._fill(name, notes, components=parts, variables=variables, graph=graph, _owner=owner, _order=order)

    _owner: dict[str, ChainComponent]
    _order: tuple[ChainComponent, ...]

    @lazy
    def _normalized(self) -> tuple[ChainComponent, ...]:
        """The components, with the normalizers of small ones found together."""
        normalize_together(self.components)
        return self.components

    def component(self, variable: VariableLike) -> ChainComponent:
        """The chain component of a variable."""
        return self._owner[self[variable].name]

    def log_probability(self, data: object) -> Floats:
        r"""$\log P(\mathbf x)$ of every row of data; zero probability is $-\infty$.

        Args:
            data: complete assignments: a dataset, any data frame, a mapping of columns, or one assignment.
        """
        columns, num_rows = complete(data, self.variables)
        return sum((part.log_probability(columns, num_rows) for part in self._normalized), np.zeros(num_rows))

    def sample(self, num_rows: int, seed: int | np.random.Generator = 0) -> Dataset:
        """Independent complete assignments: components in an ancestral order, each drawn exactly given its parents."""
        columns = DrawnColumns.of(self.variables, whole("num_rows", num_rows))
        rng = generator(seed)
        for rows in row_blocks(num_rows, len(columns)):
            drawn: dict[Any, AnyArray] = {}
            for part in self._order:
                drawn.update(part.sample({v: drawn[v] for v in part.parents}, rows.stop - rows.start, rng))
            columns.fill(rows, {i: drawn[v] for i, v in enumerate(self.variables)})
        return Dataset._drawn(self.variables, columns.by_name, num_rows)

    def markov_net(self) -> MarkovNet:
        r"""The same distribution as a product of factors with $Z = 1$: the components' own and each $1/Z$."""
        factors = [f for part in self._normalized for f in part.all_factors()]
        return MarkovNet(*factors, variables=self.variables.parts, name=self.name)

    def bayes_net(self) -> BayesNet:
        """The same distribution as a Bayesian network, by the chain rule inside each component.

        Eliminating a component may add edges between its variables. Rows for parent states of probability zero are
        uniform; they have no effect.
        """
        return BayesNet(*(_cpd(c) for part in self.components for c in part.conditionals), name=self.name)

    def factor_graph(self) -> FactorGraph:
        """The factor graph of the model."""
        return FactorGraph(self)

    def to_networkx(self) -> Any:
        """The mixed graph as a networkx graph."""
        return self.graph.to_networkx()

    def _build(self) -> Problem:
        factors, groups = list[Factor](), list[ConditionalGroup]()
        owned = self._places([part.variables for part in self.components])
        given = self._places([part.parents for part in self.components])
        for part, own, parents in zip(self._normalized, owned, given, strict=True):
            first = len(factors)
            factors += part.all_factors()
            groups.append(ConditionalGroup(own[0], tuple(parents), tuple(range(first, len(factors))), tuple(own[1:])))
        scopes = self._places([factor.scope for factor in factors])
        return Problem.of_factors(self.variables, factors, scopes=scopes, conditionals=groups)

    def _places(self, scopes: Sequence[Scope]) -> list[list[int]]:
        """The positions of the variables of each scope."""
        found = iter(self.variables.found_places([v for scope in scopes for v in scope]).tolist())
        return [list(itertools.islice(found, len(scope))) for scope in scopes]

    def _sketch(self) -> Sketch:
        return replace(self.graph._sketch(), name=self.name)

    def _facts(self) -> Iterator[tuple[str, str]]:
        yield "variables", str(len(self))
        yield "components", str(len(self.components))
        yield "edges", str(self.graph.num_edges)
        yield "largest component", f"{max((len(c.variables) for c in self.components), default=0)} variables"


def _component(part: ChainComponent | CPD) -> ChainComponent:
    if isinstance(part, ChainComponent):
        return part
    if is_cpd(part):
        return ChainComponent.of_cpd(part)
    raise ModelError(f"A chain graph is made of chain components and CPDs; found {part!r}.")


def _ordered(parts: tuple[ChainComponent, ...], owner: dict[str, ChainComponent]) -> tuple[ChainComponent, ...]:
    """The components, parents first; a cycle between them raises an error that names it."""
    label = {id(part): "{" + ", ".join(v.name for v in part.variables) + "}" for part in parts}
    edges = [(label[id(owner[p.name])], label[id(part)]) for part in parts for p in part.parents]
    dag = DAG((label[id(part)] for part in parts), edges)
    by_label = {label[id(part)]: part for part in parts}
    return tuple(by_label[n] for n in dag.topological_order)


def _graph(parts: tuple[ChainComponent, ...], variables: Universe) -> MixedGraph:
    directed: dict[tuple[str, str], None] = {}
    for part in parts:
        for factor in part.factors:
            own = [v.name for v in factor.scope if v in part.members]
            directed.update(((v.name, k), None) for v in factor.scope if v not in part.members for k in own)
    undirected = [edge for part in parts if len(part.variables) > 1 for edge in part.graph.edges]
    return MixedGraph(variables.names, directed=directed, undirected=undirected)


def _cpd(conditional: Any) -> TableCPD:
    """The table CPD of a conditional distribution of one variable."""
    (child,) = conditional.frontal
    source = conditional.table
    table = source if not hasattr(source, "to_table") else source.to_table()
    rows = table.align((*conditional.parents, child)).normalize([child]).values.reshape(-1, child.num_states)
    filled = np.where(rows.sum(axis=1, keepdims=True) > 0, rows, 1.0)
    return TableCPD.normalized(child, filled.reshape(-1), given=conditional.parents)
