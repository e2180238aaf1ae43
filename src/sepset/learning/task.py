"""What a learning method is given: a network to fit, rows, weights, randomness and when to stop."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepset.cpds.cpd import CPD
from sepset.cpds.linear import LinearGaussian
from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.data.files import read_dataset
from sepset.errors import DataError, ModelError, ScopeError, listing, nearest
from sepset.factors.algebra import AnyVariable, Columns, check_size, num_entries
from sepset.graphs.graph import DAG
from sepset.models.bayesnet import BayesNet
from sepset.models.rows import complete
from sepset.variables import Discrete, Vector

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Task:
    """A network whose parameters are wanted, and all a method needs to find them.

    Attributes:
        template: the network to fit: its CPDs say which forms and which parameters are shared; their numbers are a
            starting point for methods that need one.
        source: the rows as they were given: a dataset, a frame (eager or lazy), or the path of a file.
        weights: one a row; those of the dataset where None.
        rng: the source of randomness.
        until: when iterative methods stop; their own default where None.
        progress: True shows a bar, False never, None in a terminal when the work is long.
        checkpoint: a file that iterative methods keep their state in.

    >>> coin = Discrete("coin", ("head", "tail"))
    >>> task = Task(BayesNet(TableCPD(coin, [0.5, 0.5])), {"coin": ["head", "tail", "tail"]})
    >>> task.complete("MLE")[1]
    3
    """

    template: BayesNet
    source: object = field(repr=False)
    weights: Array | None = field(default=None, repr=False)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0), repr=False)
    until: object = None
    progress: bool | None = None
    checkpoint: str | os.PathLike[str] | None = None

    @cached_property
    def dataset(self) -> Dataset:
        """The rows over the network's variables, in its order; variables without a column are wholly missing."""
        return bind(self.source, self.template.variables)

    @cached_property
    def row_weights(self) -> Array | None:
        """One weight a row, or None where all are one."""
        if self.weights is not None:
            return checked_row_weights(self.weights, self.dataset.num_rows)
        found = getattr(self.dataset, "weights", None)
        return None if found is None else np.asarray(found, dtype=np.float64)

    def complete(self, method: str) -> tuple[Columns, int]:
        """The columns and the number of rows; missing cells are refused on behalf of `method`, naming EM."""
        variables = self.template.variables
        if any(isinstance(v, Vector) and v.size > 1 for v in variables):
            return complete(self.source, variables)
        refuse_missing(self.dataset, method)
        return {v: self.dataset.column(v) for v in variables}, self.dataset.num_rows


def bind(source: object, variables: Iterable[AnyVariable]) -> Dataset:
    """The rows of a dataset, frame or file over these variables; columns that are not there are wholly missing."""
    wanted = tuple(variables)
    if isinstance(source, Dataset) and tuple(source.variables) == wanted:
        return source
    if isinstance(source, Dataset) and all(
        v.name in source.variables and source.variables[v.name] == v for v in wanted
    ):
        return source.select(wanted)
    if isinstance(source, str | os.PathLike):
        return read_dataset(source, wanted, missing_columns="allow")
    return Dataset(source, wanted, missing_columns="allow")


def refuse_missing(dataset: Dataset, method: str) -> None:
    """Refuse missing cells, naming the first of them and what to use instead."""
    holes = {name: count for name, count in dataset.num_missing.items() if count}
    if not holes:
        return
    name, count = next(iter(holes.items()))
    column = dataset.column(name)
    row = int(np.flatnonzero(np.isnan(column) if column.dtype.kind == "f" else column < 0)[0])
    more = (
        f", and so are {sum(holes.values()) - count} cells of {len(holes) - 1} more columns" if len(holes) > 1 else ""
    )
    raise DataError(
        f"{method} needs complete rows; {count} of {dataset.num_rows} cells of {name!r} are missing (first: row {row})"
        f"{more}. Use EM, which sums over what is missing."
    )


def checked_row_weights(weights: ArrayLike, num_rows: int) -> Array:
    """Row weights as floats: one a row, finite and not negative."""
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (num_rows,):
        raise DataError(f"weights have the shape {array.shape} for {num_rows} rows. Give one a row.")
    bad = ~(np.isfinite(array) & (array >= 0))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise DataError(f"weights are finite and >= 0; found {array[row]} in row {row}.")
    return array


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
        raise ModelError(f"fit takes a DAG or a BayesNet; found {type(structure).__name__}.")
    known = _variables(structure, source, variables or ())
    return BayesNet(*(default_cpd(known[n], [known[p] for p in structure.parents(n)]) for n in structure.nodes))


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
                "form. Discretize the parent, or reverse the edge."
            )
        check_size((*states, child))
        return TableCPD(child, np.full(num_entries((*states, child)), 1.0 / child.num_states), states)
    width = sum(r.size for r in reals)
    shape = tuple(s.num_states for s in states)
    return LinearGaussian(
        child,
        coefficients=np.zeros((*shape, child.size, width)),
        covariance=np.broadcast_to(np.eye(child.size), (*shape, child.size, child.size)),
        given=reals,
        by=states,
    )


def _variables(dag: DAG, source: object, given: Iterable[AnyVariable]) -> dict[str, AnyVariable]:
    """The variable of each node: as given, of the dataset, or inferred from its column."""
    known = {v.name: v for v in given}
    strange = [name for name in known if name not in dag.nodes]
    if strange:
        raise ScopeError(f"The graph has no node {strange[0]!r}.{nearest(strange[0], dag.nodes)}")
    names = [n for n in dag.nodes if n not in known]
    inferred = Dataset({}) if not names else _inferred(source, names)
    absent = [n for n in names if n not in inferred.variables]
    if absent:
        found = inferred.variables.names
        raise DataError(
            f"No column for {absent[0]!r}; columns are {listing(found)}.{nearest(absent[0], found)} "
            "Rename the column; or, where it is hidden, say variables=[Discrete(...)] and use EM."
        )
    return {n: known[n] if n in known else inferred.variables[n] for n in dag.nodes}


def _inferred(source: object, names: list[str]) -> Dataset:
    if isinstance(source, Dataset):
        return source
    if isinstance(source, str | os.PathLike):
        return read_dataset(source)
    return Dataset(_narrow(source, names))


def _narrow(frame: Any, names: list[str]) -> Any:
    """Only the columns asked for, so that others need not be columns of states or numbers."""
    if isinstance(frame, Mapping):
        return {n: frame[n] for n in names if n in frame}
    import narwhals.stable.v2 as nw

    opened = nw.from_native(frame, pass_through=True)
    if opened is frame:
        return frame
    return opened.select([n for n in opened.collect_schema().names() if n in set(names)]).to_native()
