r"""The number of states of a hidden variable, by the evidence of each number.

$$\hat K = \arg\max_K \log P(\mathcal D \mid \mathcal G_K)$$

EM for many states comes first. Then the two states that lose least are merged again and again, and EM goes on from
each merged network; at every number it also starts afresh, and the better of both counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from sepset.base.axes import axes_of
from sepset.base.checks import whole
from sepset.base.display import Report, Shown
from sepset.base.extras import FrameKind, frame
from sepset.base.foreign import translated
from sepset.base.progress import Bar
from sepset.base.text import described, listing, nearest
from sepset.data.sources import Weights
from sepset.errors import ArgumentError, ScopeError
from sepset.factors.algebra import AnyVariable
from sepset.graphs.graph import DAG
from sepset.inference.result import Guarantee, Result, Status
from sepset.learning.incomplete.em import EM
from sepset.learning.incomplete.expectation import Expectation
from sepset.learning.structure.evidences.logevidence import (
    EvidenceMethod,
    EvidenceTask,
    LogEvidenceResult,
    Mode,
    evidence_method,
    evidence_task,
)
from sepset.learning.structure.hidden.statemerging import merged_start, with_states
from sepset.learning.task import Task
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, VariableLike, Vector


class ScoredCardinality(NamedTuple):
    """A number of states and its evidence.

    Attributes:
        num_states: of the hidden variable.
        log_likelihood: of the rows at the mode.
        dimension: the number of parameters that count.
        score: the log evidence.
        model: the network at the mode.
    """

    num_states: int
    log_likelihood: float
    dimension: int
    score: float
    model: BayesNet


@dataclass(frozen=True, eq=False, repr=False)
class CardinalityResult(Report, Result):
    """The number of states of a hidden variable with the largest evidence, and all that were tried.

    Attributes:
        hidden: the name of the variable.
        candidates: each number of states with its evidence, from few to many.
    """

    hidden: str
    candidates: tuple[ScoredCardinality, ...] = field(repr=False)

    @property
    def best(self) -> ScoredCardinality:
        """The number with the largest evidence; the smallest of equals."""
        return max(self.candidates, key=lambda one: one.score)

    @property
    def num_states(self) -> int:
        """The number of states with the largest evidence."""
        return self.best.num_states

    @property
    def model(self) -> BayesNet:
        """The network with that number of states."""
        return self.best.model

    def to_frame(self, kind: FrameKind = "pandas") -> Any:
        """A data frame with one row per number of states."""
        names = ScoredCardinality._fields[:-1]
        return frame({name: [getattr(one, name) for one in self.candidates] for name in names}, kind)

    def plot(self, ax: Any = None) -> Any:
        """The matplotlib axes with log-likelihood and score by the number of states.

        Args:
            ax: the axes to draw on; the current ones by default.
        """
        axes = axes_of(ax)
        sizes = [one.num_states for one in self.candidates]
        axes.plot(sizes, [one.log_likelihood for one in self.candidates], marker=".", label="log-likelihood")
        axes.plot(sizes, [one.score for one in self.candidates], marker="o", label=described(self.method))
        axes.axvline(self.num_states, linestyle=":")
        axes.set(xlabel=f"states of {self.hidden}", ylabel="nats", xticks=sizes)
        axes.legend()
        return axes

    def __repr__(self) -> str:
        tried = f"{self.candidates[0].num_states} to {self.candidates[-1].num_states}"
        return f"CardinalityResult({self.hidden}: {self.num_states} states; score {self.best.score:.7g}; of {tried})"

    def _shown(self) -> Shown:
        rows = [
            (
                f"{one.num_states}{' *' if one is self.best else ''}",
                f"{one.log_likelihood:.7g}",
                str(one.dimension),
                f"{one.score:.7g}",
            )
            for one in self.candidates
        ]
        head = ("states", "log-likelihood", "dimension", "score")
        return Shown(head, rows, f"States of {self.hidden}", f"{described(self.method)}; {self.status.value}")


@translated
def hidden_cardinality(
    structure: DAG | BayesNet,
    data: object,
    *,
    hidden: VariableLike,
    max_states: int = 6,
    method: EvidenceMethod | None = None,
    em: EM | None = None,
    weights: Weights = None,
    variables: Iterable[AnyVariable] | None = None,
    seed: int | np.random.Generator = 0,
    until: object = None,
    progress: bool | None = None,
) -> CardinalityResult:
    r"""The number of states of a hidden variable with the largest evidence.

    Args:
        structure: a graph over columns and hidden variables; or a network, whose other CPDs keep their form.
        data: as `fit` takes it.
        hidden: the variable without a column.
        max_states: the largest number of states that is tried; the smallest is one.
        method: the evidence, `CheesemanStutz()` by default; `ObservedBIC()`, `Laplace()`.
        em: how EM finds the modes; with the acceleration "squarem" by default.
        weights: one per row, or the name of a column.
        variables: the meaning of some columns, or other hidden variables, where `structure` is a graph.
        seed: a number or a generator, for the starting points of EM.
        until: when each run of EM stops.
        progress: True shows a bar, False never, None in a terminal when the work is long.

    Cost: two runs of EM for each number of states.
    Reference: Elidan & Friedman (2001); Koller & Friedman, section 19.4.3.
    Guarantee: heuristic: the best of those tried, at the modes that EM found.
    Tested by: learning/structure/hidden/test_cardinality.py::test_separated_clusters_are_counted

    >>> rows = {name: [0, 0, 1, 1, 2, 2] * 10 for name in "abc"}
    >>> found = hidden_cardinality(DAG.parse("h -> a; h -> b; h -> c"), rows, hidden="h", max_states=4)
    >>> found.num_states
    3
    """
    name = hidden.name if isinstance(hidden, Discrete | Vector) else hidden
    whole("max_states", max_states, least=1)
    chosen = evidence_method(method)
    named = _named(structure, name, variables, max_states)
    task = evidence_task(structure, data, em=em, weights=weights, variables=named, seed=seed, until=until)
    _require_hidden(task, name)
    found = best_cardinality(replace(task, progress=False), name, max_states, chosen, progress=progress)
    interrupted = len(found) < max_states
    return CardinalityResult(
        name,
        tuple(found),
        method=chosen,
        guarantees={"cardinality": Guarantee.HEURISTIC},
        status=Status.INTERRUPTED if interrupted else Status.COMPLETED,
    )


def best_cardinality(
    task: EvidenceTask, hidden: str, max_states: int, method: EvidenceMethod, *, progress: bool | None = None
) -> list[ScoredCardinality]:
    """Each number of states with its evidence, from few to many; fewer where Ctrl-C ended the search."""
    found: list[ScoredCardinality] = []
    start: BayesNet | None = None
    with Bar(progress, "states") as bar:
        for size in range(max_states, 0, -1):
            own = replace(task, template=with_states(task.template, hidden, size))
            best = _better(own, method, start)
            assert best.model is not None
            found.append(
                ScoredCardinality(
                    size, best.log_likelihood, dimension=best.dimension, score=best.value, model=best.model
                )
            )
            bar.report(len(found), max_states)
            if best.status is Status.INTERRUPTED:
                break
            start = None if size == 1 else _next_start(own, best, hidden, size)
    return found[::-1]


def _better(task: EvidenceTask, method: EvidenceMethod, start: BayesNet | None) -> LogEvidenceResult:
    """The larger evidence of a run that starts afresh, and one that starts from a network."""
    fresh = method.evidence(task)
    if start is None or fresh.status is Status.INTERRUPTED:
        return fresh
    warm = method.evidence(replace(task, em=replace(task.em, start=start, restarts=1)))
    return max(fresh, warm, key=lambda one: one.value)


def _next_start(task: EvidenceTask, best: LogEvidenceResult, hidden: str, size: int) -> BayesNet:
    """The network with two states merged."""
    assert best.model is not None
    expectation = Expectation.of(Task(best.model, task.dataset), inference=task.em.inference, threads=task.em.threads)
    mode = Mode.of(best.model, expectation)
    return merged_start(mode, hidden, with_states(task.template, hidden, size - 1))


def _named(
    structure: DAG | BayesNet, hidden: str, variables: Iterable[AnyVariable] | None, size: int
) -> list[AnyVariable] | None:
    """The variables, with the hidden one where a graph does not say what it is."""
    if not isinstance(structure, DAG):
        return None if variables is None else list(variables)
    if hidden not in structure.nodes:
        raise ScopeError(f"The graph has no node {hidden!r}.{nearest(hidden, structure.nodes)}")
    return [*(v for v in variables or () if v.name != hidden), Discrete(hidden, size)]


def _require_hidden(task: EvidenceTask, hidden: str) -> None:
    if hidden not in task.template.variables:
        names = task.template.variables.names
        raise ScopeError(f"The network has no variable {hidden!r}.{nearest(hidden, names)}")
    if hidden not in task.hidden:
        unseen = f"those without a column are {listing(task.hidden)}" if task.hidden else "every variable has some"
        raise ArgumentError(f"hidden= takes a variable without any cell; {hidden!r} has cells, and {unseen}.")
