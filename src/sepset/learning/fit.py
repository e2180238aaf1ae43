"""Fitting the parameters of a network to data, and the result."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from sepset.base.arraytypes import Bools
from sepset.base.axes import axes_of, count_steps
from sepset.base.checks import generator
from sepset.base.display import Report, Shown
from sepset.base.frozen import fill
from sepset.base.text import described, facts_of, listing, nearest
from sepset.data.counts import Counts
from sepset.data.filecolumns import file_rows
from sepset.data.frames import replayable
from sepset.data.sources import Weights
from sepset.errors import ArgumentError, DataError, ScopeError
from sepset.factors.algebra import AnyVariable
from sepset.graphs.graph import DAG
from sepset.inference.iterate import was_interrupted
from sepset.inference.result import Guarantee, Guarantees, IterativeResult
from sepset.learning.checkpoints import check_checkpoint
from sepset.learning.task import Task
from sepset.models.bayesnet import BayesNet
from sepset.models.defaults import Template
from sepset.variables.variable import Discrete, Vector

if TYPE_CHECKING:
    from sepset.learning.coverage import CoverageResult
    from sepset.learning.posterior import Posterior

F = TypeVar("F", bound="FitResult", covariant=True)


@dataclass(frozen=True, eq=False, repr=False)
class FitResult(Report, IterativeResult):
    r"""A fitted network, how well it fits, and how it was found.

    Attributes:
        model: the network.
        log_likelihood: $\log P(\mathcal D)$ of the data under the model, missing cells summed out.
        trace: the objective after each iteration; one number for direct methods.
        posterior: the distribution over parameters, from Bayesian methods.
        coverage: how the data spread over contexts, where they were counted.
        state: where an iterative method stopped, to resume from.
        num_rows: the number of rows used, or their total weight.
        guarantees: what is known about the parameters.

    >>> from sepset.learning.estimation.estimators import MLE
    >>> found = fit(DAG.parse("coin"), {"coin": ["head", "tail", "tail", "tail"]}, MLE())
    >>> found
    FitResult(BayesNet(1 variable, 0 edges, 1 parameter); MLE(); log-likelihood -2.249341; completed)
    >>> found.model.cpd("coin").values
    array([0.25, 0.75])
    """

    model: BayesNet
    log_likelihood: float
    posterior: Posterior | None = field(default=None, kw_only=True)
    coverage: CoverageResult | None = field(default=None, kw_only=True)
    num_rows: float = field(default=0.0, kw_only=True)
    guarantees: Guarantees = field(default_factory=lambda: {"parameters": Guarantee.EXACT}, kw_only=True)

    def __post_init__(self) -> None:
        fill(self, trace=np.array(self.trace, dtype=np.float64).reshape(-1))

    @property
    def num_iterations(self) -> int:
        """The number of iterations in the trace."""
        return len(self.trace)

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of the model, as on columns whose kind could also be meant otherwise, and notes on lost digits."""
        lost = self.info.get("relative_error")
        return (*self.model.notes, *map(_digits_note, lost.items() if isinstance(lost, Mapping) else ()))

    def plot(self, ax: Any = None) -> Any:
        """The matplotlib axes with the objective after each iteration.

        Args:
            ax: the axes to draw on; the current ones by default.
        """
        axes = axes_of(ax)
        axes.plot(np.arange(1, len(self.trace) + 1), self.trace, marker="." if len(self.trace) < 50 else "")
        axes.set(
            xlabel="iteration", ylabel="objective (nats)", title=f"{type(self.method).__name__}: {self.status.value}"
        )
        count_steps(axes)
        return axes

    def _facts(self) -> Iterator[tuple[str, str]]:
        yield "model", repr(self.model)
        yield "method", described(self.method)
        yield "status", self.status.value
        yield "rows", f"{self.num_rows:,.10g}"
        yield "log-likelihood", f"{self.log_likelihood:.10g}"
        if self.num_rows:
            yield "per row", f"{self.log_likelihood / self.num_rows:.6g}"
        if self.num_iterations > 1:
            yield "iterations", str(self.num_iterations)
        for part, guarantee in self.guarantees.items():
            yield part, guarantee.value
        if self.posterior is not None:
            yield "log marginal likelihood", self.posterior.shown_evidence
            exact = self.posterior.is_mean_exact
            yield "predictions of one row", "exact" if exact else "approximate; posterior.log_predictive is exact"
        if self.coverage is not None:
            yield "data", self.coverage.headline
            if self.coverage.unseen:
                yield "without rows", self.coverage.shown_unseen
        yield from facts_of(self.info)
        for note in self.notes:
            yield "note", note

    def __repr__(self) -> str:
        found = f"log-likelihood {self.log_likelihood:.7g}; {self.status.value}"
        return f"FitResult({self.model!r}; {described(self.method)}; {found})"

    def _shown(self) -> Shown:
        return Shown((), list(self._facts()), "FitResult")


def _digits_note(lost: tuple[str, float]) -> str:
    return (
        f"The parameters of {lost[0]} may be off by {lost[1]:.1g} of their size: its parents determine each other, or "
        "it, so nearly that sums of products have lost digits, or their means are far larger than their deviations. "
        "Rows in memory keep more digits; so do columns less their means, and differences in place of similar columns."
    )


@dataclass(frozen=True, eq=False, repr=False)
class PosteriorFitResult(FitResult):
    """A fitted network with the posterior of its parameters."""

    posterior: Posterior = field(kw_only=True)


@runtime_checkable
class LearningMethod(Protocol):
    """A frozen value of settings that can fit the parameters of a network."""

    def fit(self, task: Task) -> FitResult:
        """The fitted network."""


@runtime_checkable
class ChecksGraphs(Protocol):
    """A learning method that may refuse a graph before columns are coded."""

    def check_graph(self, dag: DAG, data: object, known: Iterable[str]) -> None:
        """Raise if the graph and a look at the data tell that the work is hopeless.

        Args:
            known: the names of variables that are given.
        """


class Fits(Protocol[F]):
    """A learning method whose results are of one class."""

    def fit(self, task: Task) -> F:
        """The fitted network."""


def fit(
    structure: DAG | BayesNet,
    data: object,
    method: Fits[F],
    *,
    weights: Weights = None,
    variables: Iterable[AnyVariable] | None = None,
    seed: int | np.random.Generator = 0,
    until: object = None,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    is_set: Mapping[str, Bools] | None = None,
) -> F:
    """The network with the parameters that `method` learns from `data`; arguments as in `sepset.fit`.

    Rows in which a variable was set by an intervention (`is_set`, one truth value per row) do not count in its own CPD.

    >>> from sepset.learning.estimation.estimators import MLE
    >>> fit(DAG.parse("coin"), {"coin": ["head", "tail", "tail", "tail"]}, MLE()).model.cpd("coin").values.tolist()
    [0.25, 0.75]
    """
    if not callable(getattr(method, "fit", None)) or isinstance(method, type):
        raise ArgumentError(f"A learning method is a value such as MLE() or Bayes(BDeu(10)); found {method!r}.")
    if checkpoint is not None:
        check_checkpoint(checkpoint, method, "EM() and other methods that iterate keep one")
    given = None if variables is None else tuple(variables)
    data = _read_once(data, structure, weights, given) if isinstance(data, str | os.PathLike) else replayable(data)
    if isinstance(structure, DAG) and isinstance(method, ChecksGraphs):
        method.check_graph(structure, data, [v.name for v in given or () if isinstance(v, Discrete | Vector)])
    template = Template.of(structure, data, _known(structure, data, given, weights))
    task = Task(
        template.network,
        data,
        weights=weights,
        rng=generator(seed),
        until=until,
        progress=progress,
        checkpoint=checkpoint,
        coded=template.coded,
        is_set=is_set or {},
    )
    try:
        found: F = _noted(method.fit(task), task)
        return found
    except SystemError as error:
        if was_interrupted(error):
            raise KeyboardInterrupt from error
        raise


def _noted(found: Any, task: Task) -> Any:
    """The result with a network that has the notes on its rows too."""
    if not isinstance(found, FitResult) or not isinstance(found.model, BayesNet):
        return found
    model = found.model
    new = [note for note in task.notes if note not in model.notes]
    if not new:
        return found
    noted = BayesNet(*model.cpds, name=model.name, notes=[*model.notes, *new], drawing=model.drawing)
    return replace(found, model=noted)


def _read_once(
    file: str | os.PathLike[str], structure: object, weights: Weights, given: Iterable[object] | None
) -> object:
    """The rows of a file over the columns that a fit needs, where the structure tells them; else the file."""
    if not isinstance(structure, DAG | BayesNet):
        return file
    names = structure.nodes if isinstance(structure, DAG) else structure.variables.names
    known = (given or ()) if isinstance(structure, DAG) else structure.variables
    variables = [v for v in known if isinstance(v, Discrete | Vector)]
    return file_rows(file, [*names, weights] if isinstance(weights, str) else list(names), variables) or file


def _known(
    structure: object, data: object, variables: Iterable[AnyVariable] | None, weights: Weights
) -> Iterable[AnyVariable] | None:
    """The variables that are given, or those that were counted."""
    if not isinstance(data, Counts):
        return variables
    if weights is not None:
        raise DataError("Counts hold the weights of their rows already; weights= goes with rows.")
    if not isinstance(structure, DAG):
        return variables
    counted: dict[str, AnyVariable] = {v.name: v for family in data.families for v in family}
    absent = [name for name in structure.nodes if name not in counted]
    if absent:
        near = nearest(absent[0], counted)
        raise ScopeError(f"{absent[0]!r} was not counted; {listing(counted)} were.{near} Count its family.")
    return ({n: counted[n] for n in structure.nodes} | {v.name: v for v in variables or ()}).values()
