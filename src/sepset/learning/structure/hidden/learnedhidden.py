"""Learned structures with hidden variables, and what was tried to find them."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sepset.errors import NotApplicable
from sepset.inference.iterate import Until, as_until, left_until
from sepset.inference.result import Guarantee, Status
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.evidences.logevidence import EvidenceTask, LogEvidenceResult
from sepset.learning.structure.evidences.observedbic import ObservedBIC
from sepset.learning.structure.hidden.learnedbayesnet import LearnedBayesNet
from sepset.learning.structure.learned import StructureTask
from sepset.learning.structure.scores.likelihood import BIC
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete

EM_UNTIL = Until(steps=500, tolerance=1e-8)
"""When each run of EM stops where nothing else is asked for."""


class TriedHidden(NamedTuple):
    """A structure with hidden variables that was tried.

    Attributes:
        what: in words.
        num_hidden: how many hidden variables it has.
        score: of the observed cells.
        gain: its score less that of the structure it was compared with.
    """

    what: str
    num_hidden: int
    score: float
    gain: float


@dataclass(frozen=True, eq=False, repr=False)
class LearnedHidden(LearnedBayesNet):
    """A learned structure with hidden variables, and its parameters.

    Attributes:
        hidden: the hidden variables; none if none raised the score.
        tried: the structures that were tried, in order.
    """

    hidden: tuple[Discrete, ...] = field(default=(), kw_only=True)
    tried: tuple[TriedHidden, ...] = field(default=(), kw_only=True)

    @classmethod
    def of(
        cls,
        task: StructureTask,
        best: LogEvidenceResult,
        *,
        method: object,
        tried: Iterable[TriedHidden],
        trace: ArrayLike,
        status: Status,
        num_scores: int,
    ) -> LearnedHidden:
        """The best network that was tried, as a learned structure."""
        assert best.model is not None
        return cls(
            best.model.dag,
            columns=task.columns,
            score=best.value,
            num_scores=num_scores,
            method=method,
            status=status,
            guarantees={"structure": Guarantee.HEURISTIC},
            trace=np.asarray(trace, np.float64),
            model=best.model,
            log_likelihood=best.log_likelihood,
            hidden=hidden_variables(task, best.model),
            tried=tuple(tried),
        )

    def _facts(self) -> Iterator[tuple[str, str]]:
        yield from super()._facts()
        yield "hidden", ", ".join(f"{v.name}[{v.num_states}]" for v in self.hidden) or "none"
        for one in self.tried:
            yield one.what, f"score {one.score:.7g}, gain {one.gain:+.5g}"


def hidden_variables(task: StructureTask, model: BayesNet) -> tuple[Discrete, ...]:
    """The variables of a network without a column."""
    return tuple(v for v in model.variables if v.name not in task.columns.names and isinstance(v, Discrete))


def observed_bic(task: StructureTask, method: str) -> ObservedBIC:
    """The score of observed cells that compares structures with different hidden variables."""
    if not isinstance(task.score, BIC):
        raise NotApplicable(f"{method} compares structures by the BIC of observed cells; found score={task.score!r}.")
    return ObservedBIC("parameters", task.score.penalty)


def require_discrete(task: StructureTask, method: str) -> None:
    """Raise unless all columns are discrete, have cells, and were observed rather than set."""
    columns = task.columns
    if columns.is_real.any():
        name = columns.names[int(columns.is_real.argmax())]
        raise NotApplicable(
            f"{method} is for discrete columns; {name!r} is real. Discretize it; or use StructuralEM() with a hidden "
            "variable in variables=, or SelectiveClustering(), which take numbers."
        )
    silent = [name for name, codes in zip(columns.names, columns.codes, strict=True) if (codes < 0).all()]
    if silent:
        raise NotApplicable(f"{method} finds hidden variables by itself; {silent[0]!r} has no cell. Leave it out.")
    if columns.intervened is not None:
        raise NotApplicable(f"{method} is for rows without interventions. Leave those rows out.")


def fresh_names(columns: Columns, taken: Iterable[str] = ()) -> Iterator[str]:
    """Names of hidden variables, H1, H2 and so on, that are neither columns nor taken."""
    used = {*columns.names, *taken}
    number = 0
    while True:
        number += 1
        if f"H{number}" not in used:
            yield f"H{number}"


def rows_with(task: StructureTask, template: BayesNet, end: float = math.inf) -> EvidenceTask:
    """The task of the evidence of a network on the rows of a structure task.

    Args:
        task: of the structure.
        template: the network.
        end: of the whole search, on the clock of `time.monotonic`; EM makes one step in any case.
    """
    from sepset.learning.task import Task

    rows = Task(template, task.columns.dataset).dataset
    until = left_until(as_until(task.until, EM_UNTIL), end)
    return EvidenceTask(
        template, rows, rng=task.rng, until=Until(steps=1) if until.seconds == 0 else until, progress=False
    )


def stopped(found: LogEvidenceResult, end: float) -> Status | None:
    """The reason to try no other structure after this one: Ctrl-C, or the end of the time; None to go on."""
    if found.status is Status.INTERRUPTED:
        return Status.INTERRUPTED
    return Status.TIME_LIMIT if time.monotonic() >= end else None
