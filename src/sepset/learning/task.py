"""What a learning method is given: a network to fit, rows, weights, randomness and when to stop."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.checks import row_weights
from sepset.base.lazy import lazy
from sepset.base.text import listing, nearest
from sepset.cpds.cpd import CPD
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.table import TableCPD
from sepset.data.columns import has_absent
from sepset.data.dataset import Dataset
from sepset.data.files import read_dataset
from sepset.data.frames import is_lazy, opened_frame
from sepset.data.requirements import require_rows, require_varying
from sepset.data.sources import Weights
from sepset.data.suggestions import column_names, suggested_variables
from sepset.errors import DataError, ModelError, ScopeError
from sepset.factors.algebra import AnyVariable, Columns, check_size, num_entries
from sepset.graphs.graph import DAG
from sepset.models.bayesnet import BayesNet
from sepset.models.rows import complete
from sepset.variables.variable import Discrete, Real, Vector

PURPOSE = "Learning from a graph"

ALIKE = 0.7
"""How alike the names of a variable and of an unused column are where one is taken for a misspelling of the other."""


class CompleteRows(NamedTuple):
    """Rows without missing cells: columns, how many, one weight each (or None), and the dataset that holds them.

    Vectors fit no dataset, so there is none where a network has some.
    """

    columns: Columns
    num_rows: int
    weights: Floats | None
    dataset: Dataset | None


@dataclass(frozen=True, eq=False)
class Task:
    """A network whose parameters are wanted, and all a method needs to find them.

    Attributes:
        template: the network to fit: its CPDs say which forms and which parameters are shared; their numbers are a
            starting point for methods that need one.
        source: the rows as they were given: a dataset, a frame (eager or lazy), or the path of a file.
        weights: one a row, or the name of a column; those of the dataset where None.
        rng: the source of randomness.
        until: when iterative methods stop; their own default where None.
        progress: True shows a bar, False never, None in a terminal when the work is long.
        checkpoint: a file that iterative methods keep their state in.

    >>> coin = Discrete("coin", ("head", "tail"))
    >>> task = Task(BayesNet(TableCPD(coin, [0.5, 0.5])), {"coin": ["head", "tail", "tail"]})
    >>> task.complete("MLE").num_rows
    3
    """

    template: BayesNet
    source: object = field(repr=False)
    weights: Weights = field(default=None, repr=False)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0), repr=False)
    until: object = None
    progress: bool | None = None
    checkpoint: str | os.PathLike[str] | None = None

    @lazy
    def is_stored(self) -> bool:
        """Whether the rows stay where they are (a lazy frame, a file) until somebody asks for the dataset."""
        if isinstance(self.source, str | os.PathLike):
            return True
        return not isinstance(self.source, Dataset) and is_lazy(self.source)

    @lazy
    def dataset(self) -> Dataset:
        """The rows over the network's variables, in its order; variables without a column are wholly missing."""
        rows = bind(self.source, self.template.variables, self.weights)
        require_columns(self.source, rows, self.weights)
        return rows

    @property
    def row_weights(self) -> Floats | None:
        """One weight a row, or None where all are one."""
        return self.dataset.weights

    def complete(self, method: str) -> CompleteRows:
        """The rows as columns; missing cells are refused on behalf of `method`, naming EM."""
        variables = self.template.variables
        if any(isinstance(v, Vector) and v.size > 1 for v in variables):
            columns, num_rows = complete(self.source, variables)
            given = None if self.weights is None else row_weights(self.weights, num_rows)
            return CompleteRows(columns, num_rows, given, None)
        refuse_missing(self.dataset, method)
        columns = {v: self.dataset.column(v) for v in variables}
        return CompleteRows(columns, self.dataset.num_rows, self.dataset.weights, self.dataset)


def bind(source: object, variables: Iterable[AnyVariable], weights: Weights = None) -> Dataset:
    """The rows of a dataset, frame or file over these variables; columns that are not there are wholly missing.

    Args:
        weights: one a row, or the name of a column of a frame or file; a dataset that has weights takes no others.

    >>> bind({"coin": [1, 0]}, [Discrete("coin")], weights=[2.0, 1.0]).total_weight
    3.0
    """
    wanted = tuple(variables)
    if isinstance(source, str | os.PathLike):
        return _read(source, wanted, weights)
    if not isinstance(source, Dataset):
        return Dataset(source, wanted, missing_columns="allow", weights=weights)
    rows = _weighed(source, weights)
    if tuple(rows.variables) == wanted:
        return rows
    if all(v.name in rows.variables and rows.variables[v.name] == v for v in wanted):
        return rows.select(wanted)
    return Dataset(rows, wanted, missing_columns="allow")


def _read(path: str | os.PathLike[str], wanted: tuple[AnyVariable, ...], weights: Weights) -> Dataset:
    if not isinstance(weights, str):
        return _weighed(read_dataset(path, wanted, missing_columns="allow"), weights)
    rows = read_dataset(path, (*wanted, Real(weights)), missing_columns="allow")
    return rows.select(wanted).with_weights(rows.values(weights))


def _weighed(rows: Dataset, weights: Weights) -> Dataset:
    """The dataset with these weights; a second set of them is refused, since nothing says which counts."""
    if weights is None:
        return rows
    if rows.weights is not None:
        raise DataError(
            "The dataset has row weights, and others were given. Use with_weights(None) to drop its own, or "
            "with_weights(dataset.weights * others) to count by both."
        )
    if isinstance(weights, str):
        raise DataError(f"Weights by name belong to a frame or file. Use weights=dataset.values({weights!r}).")
    return rows.with_weights(weights)


def require_columns(source: object, rows: Dataset, weights: Weights = None) -> None:
    """Refuse rows in which no variable has a column, or one has none while an unused column has nearly its name.

    Such a variable is misspelt more likely than hidden.

    Args:
        source: where the rows come from.
        rows: what was bound.
        weights: the name of a column that is in use, if it is one.

    >>> require_columns({"coin": [1, 0]}, bind({"coin": [1, 0]}, [Discrete("coin"), Discrete("kind")]))
    """
    empty = [name for name, missing in rows.num_missing.items() if missing == rows.num_rows]
    names = _column_names(source) if empty else []
    absent = [name for name in empty if name not in names]
    if absent and len(absent) == len(rows.variables):
        found = f"columns are {listing(names)}" if names else "there are no columns"
        near = nearest(absent[0], names)
        raise DataError(f"No column is a variable of the network: {found}, variables {listing(absent)}.{near}")
    unused = [name for name in names if name not in rows.variables and name != weights]
    for name in absent:
        near = nearest(name, unused, cutoff=ALIKE)
        if near:
            raise DataError(
                f"There is no column {name!r}.{near} Rename the column; or, where {name!r} is hidden, leave the "
                "other column out."
            )


def _column_names(source: object) -> list[str]:
    return list(source.variables.names) if isinstance(source, Dataset) else column_names(source)


def refuse_missing(dataset: Dataset, method: str) -> None:
    """Refuse missing columns and cells, naming the first of them and what to use instead."""
    for variable in dataset.variables if dataset.num_rows else ():
        if has_absent(dataset.column(variable)) and dataset.is_missing(variable).all():
            raise DataError(
                f"{method} needs complete data; there is no column {variable.name!r}, or it is empty. Rename the "
                "column; or, where the variable is hidden, use EM."
            )
    dataset.require_complete(method)


def template_of(structure: DAG | BayesNet, source: object, variables: Iterable[AnyVariable] | None = None) -> BayesNet:
    """The network itself, or one over a graph with a CPD for each column that its kind suggests.

    Tables for discrete variables, linear Gaussians for real ones (one line for each joint state of discrete parents).

    Args:
        structure: a graph over names of columns, or a network.
        source: the rows, from which states are inferred.
        variables: what some of the columns mean, or hidden variables without a column.

    >>> template_of(DAG.parse("x -> y"), {"x": ["a", "b"], "y": [0.5, 1.0]}).cpd("y")
    LinearGaussian(y | x[2])
    """
    if isinstance(structure, BayesNet):
        if variables is not None:
            raise ModelError("A network knows its variables; variables= goes with a graph.")
        return structure
    if not isinstance(structure, DAG):
        advice = f" Use DAG.parse({structure!r})." if isinstance(structure, str) else ""
        raise ModelError(f"fit takes a DAG or a BayesNet; found {type(structure).__name__}.{advice}")
    known, notes = _variables(structure, source, variables or ())
    cpds = (default_cpd(known[n], [known[p] for p in structure.parents(n)]) for n in structure.nodes)
    return BayesNet(*cpds, notes=notes)


def default_cpd(child: AnyVariable, parents: Iterable[AnyVariable]) -> CPD:
    """The uniform table of a discrete child, or the standard normal of a real one, ready to be fitted.

    >>> default_cpd(Discrete("x", 4), [Discrete("u")]).values[0].tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    known = tuple(parents)
    states = tuple(p for p in known if isinstance(p, Discrete))
    reals = tuple(p for p in known if isinstance(p, Vector))
    if isinstance(child, Discrete):
        if reals:
            raise ModelError(
                f"{child.name!r} is discrete and has the real parent {reals[0].name!r}; such a network has no closed "
                "form. Discretize the parent, or reverse the edge; or, where its numbers are states, say which: "
                f"variables=[Discrete({reals[0].name!r}, ...)]."
            )
        check_size((*states, child))
        return TableCPD(child, np.full(num_entries((*states, child)), 1.0 / child.num_states), states)
    return LinearGaussian.standard(child, reals, states)


def _variables(
    dag: DAG, source: object, given: Iterable[AnyVariable]
) -> tuple[dict[str, AnyVariable], tuple[str, ...]]:
    """The variable of each node: as given, of the dataset, or inferred from its column; and notes on those."""
    known = {v.name: v for v in given}
    strange = [name for name in known if name not in dag.nodes]
    if strange:
        raise ScopeError(f"The graph has no node {strange[0]!r}.{nearest(strange[0], dag.nodes)}")
    names = [n for n in dag.nodes if n not in known]
    inferred, notes = _inferred(source, names) if names else ({}, ())
    absent = [n for n in names if n not in inferred]
    if absent:
        names_found = _column_names(source)
        found = f"columns are {listing(names_found)}" if names_found else "there are no columns"
        raise DataError(
            f"No column for {absent[0]!r}; {found}.{nearest(absent[0], names_found)} "
            "Rename the column; or, where it is hidden, say variables=[Discrete(...)] and use EM."
        )
    return {n: known[n] if n in known else inferred[n] for n in dag.nodes}, notes


def _inferred(source: object, names: list[str]) -> tuple[dict[str, AnyVariable], tuple[str, ...]]:
    """The variables of a dataset, or those that columns suggest, which then must vary; and notes on them."""
    if isinstance(source, Dataset):
        return {n: source.variables[n] for n in names if n in source.variables}, source.notes
    if isinstance(source, str | os.PathLike) or is_lazy(source):
        suggested, notes = suggested_variables(source, names)
        _refuse_constant(suggested.values())
        return {**suggested}, notes
    if isinstance(source, Mapping):
        rows = Dataset({n: source[n] for n in names if n in source})
    else:
        opened = opened_frame(source)
        rows = Dataset(opened.select([n for n in opened.columns if n in set(names)]).to_native())
    if rows.variables:
        require_rows(rows, PURPOSE)
    require_varying(rows, PURPOSE, [v for v in rows.variables if isinstance(v, Discrete) and v.num_states == 1])
    return {v.name: v for v in rows.variables}, rows.notes


def _refuse_constant(variables: Iterable[AnyVariable]) -> None:
    """Refuse stored columns whose one value leaves the other states unknown."""
    for variable in variables:
        if isinstance(variable, Discrete) and variable.num_states == 1:
            raise DataError(
                f"{PURPOSE} needs columns that vary; column {variable.name!r} holds {variable.states[0]!r} in every "
                f"row. Leave it out, or give all its states: variables=[Discrete({variable.name!r}, ...)]."
            )
