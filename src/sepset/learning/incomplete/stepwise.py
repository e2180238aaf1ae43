r"""Stepwise EM: new estimates after each mini-batch, from statistics in which old batches fade.

$$\bar s \leftarrow (1 - \eta_k)\,\bar s + \eta_k\, \bar s_{\text{batch}}, \qquad \eta_k = (k + 2)^{-a}$$

Reference: Cappe & Moulines (2009), Online EM algorithm for latent data models; Liang & Klein (2009).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.checks import generator, whole
from sepset.cpds.parameters import Parameterization
from sepset.data.sources import Weights
from sepset.errors import ArgumentError, NotApplicable
from sepset.inference.iterate import Info, Run, Until, run
from sepset.inference.method import Method
from sepset.inference.result import Status
from sepset.learning.blocks import FlatStatistics
from sepset.learning.fit import FitResult
from sepset.learning.incomplete.minibatches import mini_batches
from sepset.learning.incomplete.run import EMTask, Iterate, IterativeEstimator
from sepset.learning.incomplete.starts import Start
from sepset.learning.task import Task
from sepset.models.bayesnet import BayesNet


@dataclass(frozen=True, slots=True, repr=False)
class StepwiseEM(IterativeEstimator):
    r"""EM with new estimates after each mini-batch, for many rows: a good answer after few passes.

    $$\bar s \leftarrow (1 - \eta_k)\,\bar s + \eta_k\, \bar s_{\text{batch}}, \qquad \eta_k = (k + 2)^{-a}$$

    The expected statistics $\bar s$ of a batch stand for those of all rows. A step of the trace is one pass; it adds up
    the log-likelihood of each batch at the parameters of its visit, and may fall. To settle on a stationary point,
    go on with `EM(start=found.model)`; to go on with rows that arrive later, see `update`.

    Args:
        batch: the number of rows per mini-batch; their order is drawn again for each pass.
        forgetting: $a$, above 0.5 and at most 1: less forgets the start sooner, more averages more. Zero forgets
            everything at each batch; with all rows in one batch that is EM.
        prior, parameterization, restarts, start, holdout, threads, inference: as in `EM`.

    Cost: one pass of inference over the rows per step, and an M-step for each batch.
    Reference: Cappe & Moulines (2009); Liang & Klein (2009), Online EM for unsupervised models.
    Guarantee: one batch is EM; deterministic.
    Tested by: learning/incomplete/test_stepwise.py::test_two_batches_by_hand

    >>> from sepset.api.learning import fit
    >>> from sepset.graphs.graph import DAG
    >>> rows = {"x": ["a", "a", "b", None] * 50}
    >>> found = fit(DAG.parse("x"), rows, StepwiseEM(batch=20), until=20)
    >>> found.model.cpd("x").values.round(1).tolist()
    [0.7, 0.3]
    """

    batch: int = 100
    forgetting: float = 0.7
    _: KW_ONLY
    prior: object = None
    parameterization: Parameterization = "softmax"
    restarts: int | None = None
    start: Start | BayesNet = "auto"
    holdout: object = None
    threads: int | None = None
    inference: Method | None = None

    def __post_init__(self) -> None:
        IterativeEstimator.__post_init__(self)
        whole("batch", self.batch, least=1)
        if not (self.forgetting == 0.0 or 0.5 < self.forgetting <= 1.0):
            raise ArgumentError(
                f"forgetting= is above 0.5 and at most 1, where the iteration converges, or 0 to keep nothing; found "
                f"{self.forgetting!r}."
            )

    @property
    def uses_rows(self) -> bool:
        """False: steps follow expected moments."""
        return False

    @property
    def is_monotone(self) -> bool:
        """False: steps may lower the objective, since batches differ."""
        return False

    def first(self, task: EMTask, model: BayesNet) -> Iterate:
        """The iterate at these parameters, with the statistics of all rows."""
        return task.evaluate(model, memory=(0, float(task.expectation.weights.sum()), centers(task)))

    def step(self, task: EMTask, state: Iterate, rng: np.random.Generator) -> tuple[Iterate, Info]:
        """One pass over the rows."""
        blocks, worth = task.expectation.blocks, 0.0
        model, statistics, (number, total, about) = state.model, state.statistics, state.memory
        weight = float(task.expectation.weights.sum())
        stands_for = total / weight if weight else 0.0
        for batch in mini_batches(task, self.batch, rng) if weight else ():  # rows of no weight change nothing
            model = blocks.maximize(model, statistics, task.terms)
            found = batch.expect(task, model)
            statistics = _faded(statistics, found.statistics, (number + 2.0) ** -self.forgetting, stands_for)
            worth, number = worth + found.log_likelihood, number + 1
        new = task.iterate(model, statistics, worth, memory=(number, total, about))
        return new, self.info(task, new, state)

    def update(
        self,
        found: FitResult,
        data: object,
        *,
        weights: Weights = None,
        seed: int | np.random.Generator = 0,
        progress: bool | None = None,
    ) -> FitResult:
        """The fit after one pass over further rows, going on from one by this method; the old rows are not needed.

        Its log-likelihood and trace are about the further rows alone. Probabilities that the first rows put at zero
        stay there, and rows that need them raise an error: where rows keep coming, give a prior.

        Args:
            found: the result of `fit` or of another update.
            data: rows over the same variables, as `fit` takes them.
            weights: one per row, or the name of a column.
            seed: decides the order of the rows.
            progress: True shows a bar, False never, None in a terminal when the work is long.

        >>> from sepset.api.learning import fit
        >>> from sepset.graphs.graph import DAG
        >>> method = StepwiseEM(batch=10)
        >>> found = fit(DAG.parse("x"), {"x": ["a", "b", None] * 30}, method, until=5)
        >>> later = method.update(found, {"x": ["b", "b", None] * 30})
        >>> found.model.cpd("x").values.round(1).tolist(), bool(later.model.cpd("x").values[1] > 0.55)
        ([0.5, 0.5], True)
        """
        rng = generator(seed)
        rows = Task(found.model, data, weights=weights, rng=rng)
        task = EMTask.of(rows, self.prior, self.parameterization, inference=self.inference, threads=self.threads)
        start = Run(_carried(found, task), Status.INTERRUPTED, np.zeros(0), 0.0, rng.bit_generator.state)
        outcome = run(self, task, rng=rng, until=Until(steps=1, tolerance=None), start=start, progress=progress)
        last = task.expectation.blocks.maximize(outcome.state.model, outcome.state.statistics, task.terms)
        status = Status.COMPLETED if outcome.num_steps else outcome.status
        end = replace(outcome, state=replace(outcome.state, model=last, is_exact=False), status=status)
        made = end.result(self, task)
        info = {what: value for what, value in made.info.items() if what != "starting_points"}
        return replace(made, info={**info, "rows_so_far": outcome.state.memory[1]})


def _faded(old: FlatStatistics, new: FlatStatistics, share: float, stands_for: float) -> FlatStatistics:
    """Old statistics with a share of new ones, which are scaled to represent as many rows."""
    if share == 1.0 and stands_for == 1.0:
        return new
    return tuple((1.0 - share) * s + (share * stands_for) * b for s, b in zip(old, new, strict=True))


def centers(task: EMTask) -> tuple[Floats, ...]:
    """The centers that the moments of each block refer to; empty for counts."""
    blocks = task.expectation.blocks
    return tuple(blocks.forms[block[0]].center for block in blocks.members)


def _carried(found: FitResult, task: EMTask) -> Iterate:
    """The last iterate of a fit, its statistics scaled to represent the further rows, too, and about their centers."""
    state = found.state.state if isinstance(found.state, Run) else None
    if not isinstance(found.method, StepwiseEM) or not isinstance(state, Iterate):
        raise NotApplicable(f"update goes on from a fit by StepwiseEM; found one by {found.method!r}.")
    number, total, before = state.memory
    together = total + float(task.expectation.weights.sum())
    own = task.expectation.blocks.firsts(task.task.template)
    rows = zip(own, state.statistics, before, strict=True)
    moved = tuple(one.recentered(stats, center) * (together / total) for one, stats, center in rows)
    return replace(state, statistics=moved, memory=(number, together, centers(task)))
