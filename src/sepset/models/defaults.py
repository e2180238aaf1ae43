"""Networks that a graph and columns suggest: tables for discrete variables, linear Gaussians for real ones."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from sepset.base.membership import among
from sepset.base.memory import uncollected
from sepset.base.text import listing, nearest
from sepset.cpds.cpd import CPD
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.data.frames import is_lazy, opened_frame
from sepset.data.scatter import check_products
from sepset.data.sources import names_of
from sepset.data.suggestions import suggested_variables
from sepset.errors import DataError, ModelError, ScopeError
from sepset.factors.algebra import AnyVariable
from sepset.graphs.base import way_to_graph
from sepset.graphs.graph import DAG, MixedGraph, UndirectedGraph
from sepset.models.bayesnet import BayesNet
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, VariableLike, Vector

PURPOSE = "Learning from a graph"

DISCRETE = frozenset((Discrete,))
"""The type of the variables that tables are over."""

MANY = 1000
"""Real parents from which the products of their columns may be too large to be fitted."""


def way_to_dag(value: object) -> str:
    """A clause that says how a directed graph is made of what was given instead of one.

    >>> way_to_dag("a -> b"), way_to_dag(3)
    (" Use DAG.parse('a -> b').", ' Make one by DAG.')
    """
    if isinstance(value, str):
        return f" Use DAG.parse({value!r})."
    graph = getattr(value, "graph", value)
    if isinstance(graph, DAG) or hasattr(value, "dag"):
        return way_to_graph(value)
    if isinstance(graph, UndirectedGraph):
        return " Undirected models are not fitted to rows; graphs.directed_imap makes a DAG of an undirected graph."
    return (
        " graphs.consistent_extension makes a DAG of a mixed graph."
        if isinstance(graph, MixedGraph)
        else " Make one by DAG."
    )


class Inferred(NamedTuple):
    """Variables inferred from columns.

    Attributes:
        variables: by name.
        coded: the columns, where they had to be coded to find their states.
        notes: the columns that could also mean something else.
    """

    variables: dict[str, AnyVariable]
    coded: Dataset | None
    notes: tuple[str, ...]


class Template(NamedTuple):
    """A network whose parameters are to be learned.

    Attributes:
        network: says which CPDs there are, and which of them share parameters.
        coded: the columns that had to be coded to find their states; None where nothing had to be.
    """

    network: BayesNet
    coded: Dataset | None

    @classmethod
    def of(cls, structure: DAG | BayesNet, data: object, variables: Iterable[AnyVariable] | None = None) -> Template:
        """The network itself, or one over a graph; see `template_of`."""
        if isinstance(structure, BayesNet):
            if variables is not None:
                raise ModelError("A network knows its variables; variables= goes with a graph.")
            return cls(structure, None)
        if not isinstance(structure, DAG):
            found = f"{type(structure).__name__}.{way_to_dag(structure)}"
            raise ModelError(f"fit takes a DAG or a BayesNet; found {found}")
        known, coded, notes = _variables(structure, data, () if variables is None else Universe(variables))
        rows = data if isinstance(data, Dataset) and variables is None else coded
        shared = rows.variables if rows is not None and rows.variables.names == structure.nodes else None
        return cls(default_network(structure, known, notes=notes, shared=shared), coded)


def template_of(structure: DAG | BayesNet, data: object, variables: Iterable[AnyVariable] | None = None) -> BayesNet:
    """The network itself, or one over a graph with a CPD for each column that its kind suggests.

    Tables for discrete variables, linear Gaussians for real ones (one regression for each joint state of discrete
    parents).

    Args:
        structure: a graph over names of columns, or a network.
        data: the rows, from which states are inferred.
        variables: the meaning of some of the columns, or hidden variables without a column.

    >>> template_of(DAG.parse("x -> y"), {"x": ["a", "b"], "y": [0.5, 1.0]}).cpd("y")
    LinearGaussian(y | x[2])
    """
    return Template.of(structure, data, variables).network


def default_network(
    dag: DAG,
    variables: Mapping[str, AnyVariable],
    *,
    notes: tuple[str, ...] = (),
    shared: Universe | None = None,
) -> BayesNet:
    """The network over a graph with the default CPD of each variable.

    Args:
        shared: the variables in the order of the nodes, where a dataset has them.

    >>> default_network(DAG.parse("x -> y"), {"x": Discrete("x"), "y": Discrete("y")}).cpd("y").values.tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    own = list(map(variables.__getitem__, dag.nodes))
    start, parents = dag.parent_csr
    flat = list(map(own.__getitem__, parents.tolist()))
    families = zip(own, itertools.pairwise(start.tolist()), strict=True)
    with uncollected():
        cpds: list[CPD]
        if DISCRETE.issuperset(map(type, own)):
            scopes: Any = ((*flat[i:j], child) for child, (i, j) in families)
            cpds = [*TableCPD._uniform_over(scopes)]
        else:
            cpds = [default_cpd(child, flat[i:j]) for child, (i, j) in families]
        return BayesNet._over(dag, cpds, notes=notes, variables=shared)


def default_cpd(child: AnyVariable, parents: Iterable[AnyVariable]) -> CPD:
    """The uniform table of a discrete child, or the standard normal of a real one, ready to be fitted.

    >>> default_cpd(Discrete("x", 4), [Discrete("u")]).values[0].tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    known = tuple(parents)
    reals = [p for p in known if isinstance(p, Vector)]
    if isinstance(child, Discrete):
        if reals:
            raise ModelError(
                f"{child.name!r} is discrete and has the real parent {reals[0].name!r}; such a network has no closed "
                "form. Discretize the parent, or reverse the edge; or, where its numbers are states, say which: "
                f"variables=[Discrete({reals[0].name!r}, ...)]."
            )
        return TableCPD.uniform(child, given=known)  # type: ignore[arg-type]  # none is real
    states = tuple(p for p in known if isinstance(p, Discrete))
    if len(reals) >= MANY:  # before anything is read for it
        check_products(math.prod(p.num_states for p in states), len(reals) + 1)
    return LinearGaussian.standard(child, tuple(reals), by=states)


def _variables(dag: DAG, data: object, given: Iterable[AnyVariable]) -> Inferred:
    """The variable of each node: as given, of the dataset, or inferred from its column, which is then coded."""
    known = {v.name: v for v in given}
    names = [n for n in dag.nodes if n not in known]
    if len(names) + len(known) > len(dag.nodes):
        strange = next(name for name in known if name not in dag.nodes)
        raise ScopeError(f"The graph has no node {strange!r}.{nearest(strange, dag.nodes)}")
    inferred, coded, notes = _inferred(data, names) if names else Inferred({}, None, ())
    if len(inferred) < len(names):
        absent = [n for n in names if n not in inferred]
        names_found = names_of(data)
        found = f"columns are {listing(names_found)}" if names_found else "there are no columns"
        raise DataError(
            f"No column for {absent[0]!r}; {found}.{nearest(absent[0], names_found)} "
            "Rename the column; or, where it is hidden, say variables=[Discrete(...)] and use EM."
        )
    return Inferred(inferred | known, coded, notes)


def _inferred(data: object, names: list[str]) -> Inferred:
    """The variables of a dataset, or those that columns suggest, which then must vary."""
    if isinstance(data, Dataset):
        return Inferred(_named(data.variables, names), None, data.notes)
    if isinstance(data, str | os.PathLike) or is_lazy(data):
        suggested, notes = suggested_variables(data, names)
        _refuse_constant(suggested.values())
        return Inferred({**suggested}, None, notes)
    if isinstance(data, Mapping):
        rows = Dataset({n: data[n] for n in names if n in data})
    else:
        opened = opened_frame(data)
        rows = Dataset(opened.select(among(opened.columns, names)).to_native())
    if rows.variables:
        require_rows(rows, PURPOSE)
    require_varying(rows, PURPOSE, [v for v in rows.variables if isinstance(v, Discrete) and v.num_states == 1])
    return Inferred({v.name: v for v in rows.variables}, rows, rows.notes)


def _named(variables: Universe, names: list[str]) -> dict[str, AnyVariable]:
    """The variables of these names, those that there are."""
    known = dict(zip(variables.names, variables, strict=True))
    if all(map(known.__contains__, names)):
        return {name: known[name] for name in names}
    return {name: variables[name] for name in names if name in variables}


def _refuse_constant(variables: Iterable[AnyVariable]) -> None:
    """Raise if a stored column has one value only, which leaves the other states unknown."""
    for variable in variables:
        if isinstance(variable, Discrete) and variable.num_states == 1:
            raise DataError(
                f"{PURPOSE} needs columns that vary; column {variable.name!r} holds {variable.states[0]!r} in every "
                f"row. Leave it out, or give all its states: variables=[Discrete({variable.name!r}, ...)]."
            )


def require_rows(dataset: Dataset, purpose: str) -> None:
    """Raise if a dataset has no rows, or if all of them have weight zero.

    Args:
        purpose: what needs rows, as the subject of the message.
    """
    if not dataset.num_rows:
        columns = ", ".join(repr(name) for name in dataset.variables.names[:6]) or "none"
        raise DataError(f"{purpose} needs rows; the frame has none (columns: {columns}).")
    if not dataset.total_weight > 0:
        raise DataError(f"{purpose} needs rows of some weight; all {dataset.num_rows:,} weigh zero.")


def require_varying(dataset: Dataset, purpose: str, variables: Iterable[VariableLike] | None = None) -> None:
    """Raise if a column has the same value in every row, naming it.

    A real one has no variance to estimate; a discrete one says nothing about its other states, unless those were given.

    Args:
        purpose: what needs columns that vary, as the subject of the message.
        variables: the columns that matter; all by default.
    """
    for asked in dataset.variables if variables is None else variables:
        variable = dataset.variables[asked]
        known = np.flatnonzero(~dataset.is_missing(variable))
        column = dataset.column(variable)[known]
        has_others = isinstance(variable, Discrete) and variable.num_states > 1
        if has_others or (len(column) and (column != column[0]).any()):
            continue
        found = (
            f"holds {dataset[variable][known[0]]} in every row from row {known[0]} on"
            if len(known)
            else "has no values"
        )
        remedy = (
            "Leave it out, or give the variable all its states" if isinstance(variable, Discrete) else "Leave it out"
        )
        raise DataError(f"{purpose} needs columns that vary; column {variable.name!r} {found}. {remedy}.")
