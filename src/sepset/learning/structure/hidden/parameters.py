r"""Parameters of one structure within structural EM, and the score of the observed cells at them.

With a penalized likelihood the score is $\ell(\theta : \mathcal D) - \text{penalty}(\mathcal G)$. With the evidence
under a prior it is the lower bound of Cheeseman and Stutz,

$$\log P(\bar M \mid \mathcal G) - \ell(\theta : \bar M) + \ell(\theta : \mathcal D)
\le \log P(\mathcal D \mid \mathcal G),$$

with the counts $\bar M$ that are expected at $\theta$. Both are the ordinary score if no cell is missing.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.lazy import lazy
from sepset.cpds.cpd import CPD
from sepset.data.scatter import Scatters
from sepset.errors import NotClosed
from sepset.learning.incomplete.em import EM
from sepset.learning.incomplete.run import EMTask, Iterate
from sepset.learning.structure.hidden.expectedscores import ExpectedScorer, family_score, is_evidence, penalty
from sepset.learning.structure.hidden.mixedcells import ExpectedColumns
from sepset.learning.structure.learned import StructureTask, dag_of
from sepset.learning.structure.regressions import FEWEST
from sepset.learning.structure.scores.likelihood import PenalizedLikelihood
from sepset.learning.task import Task
from sepset.models.bayesnet import BayesNet
from sepset.models.defaults import default_network

Arrays = Mapping[str, Floats]
"""The parameters of a CPD by name."""

SETTLED = 1e-10
"""The relative change of the objective at which parameters count as converged."""

MOST_STEPS = 500
"""The most steps of EM that parameters are given to converge."""


@dataclass(frozen=True, eq=False)
class Parameters:
    """A structure whose parameters are learned from the rows of a task.

    Attributes:
        task: what is learned.
        prior: of the parameters; None if they maximize the likelihood.
        em: the network with the E-step of the rows.
        log_prior: the logarithm of the structure's own prior.
    """

    task: StructureTask
    prior: object
    em: EMTask = field(repr=False)
    log_prior: float = 0.0

    @classmethod
    def of(cls, task: StructureTask, parents: Sequence[Sequence[int]]) -> Parameters:
        """The structure with these parents of each column."""
        columns = task.columns
        template = default_network(dag_of(columns, parents), {v.name: v for v in columns.variables})
        prior = task.score if is_evidence(task.score) else None
        em = EMTask.of(Task(template, columns.dataset), prior, threads=task.threads)
        return cls(task, prior, em, _log_prior(task, parents))

    def started(self, rng: np.random.Generator) -> Fitted:
        """The parameters that EM begins with."""
        return Fitted(self, EM(self.prior).init(self.em, rng))

    def at(self, arrays: Sequence[Arrays]) -> Fitted:
        """The network with these parameters of each variable, in the network's order."""
        template = self.em.task.template
        cpds = [c.parameters.with_arrays(own) for c, own in zip(template.cpds, arrays, strict=True)]
        return Fitted(self, self.em.evaluate(template.with_parameters(cpds)))

    def on(self, rows: ExpectedColumns) -> Fitted:
        """The network that expected rows suggest, of which some columns are numbers: the M-step."""
        template, place = self.em.task.template, {name: k for k, name in enumerate(rows.names)}
        cpds: list[CPD] = []
        for cpd in template.cpds:
            child = place[cpd.child.name]
            if rows.is_real[child]:
                cpds.append(_regressed(cpd, child, place, rows))
            else:
                counts = rows.family_table(child, tuple(place[p.name] for p in cpd.parents))
                cpds.append(cpd.parameters.with_arrays({"rows": _shares(counts.reshape(-1, counts.shape[-1]))}))
        return Fitted(self, self.em.evaluate(template.with_parameters(cpds)))

    def maximized(self, scorer: ExpectedScorer) -> Fitted:
        """The network that expected counts suggest: the M-step."""
        blocks, template = self.em.expectation.blocks, self.em.task.template
        place = {name: k for k, name in enumerate(self.task.columns.names)}
        statistics = []
        for block in blocks.members:
            cpd = template.cpds[block[0]]
            given = [place[p.name] for p in cpd.parents]
            counts = scorer.counts(place[cpd.child.name], given)
            statistics.append(
                counts.transpose(*np.argsort(np.argsort(given, kind="stable"), kind="stable"), len(given)).ravel()
            )
        return Fitted(self, self.em.evaluate(blocks.maximize(template, tuple(statistics), self.em.terms)))


@dataclass(frozen=True, eq=False)
class Fitted:
    """A structure with parameters, and what an E-step found at them.

    Attributes:
        parameters: the structure.
        iterate: the network, and its expected statistics.
    """

    parameters: Parameters = field(repr=False)
    iterate: Iterate

    @property
    def model(self) -> BayesNet:
        """The network."""
        return self.iterate.model

    @property
    def log_likelihood(self) -> float:
        """Of the observed cells."""
        return self.iterate.log_likelihood

    @property
    def arrays(self) -> list[Arrays]:
        """The parameters of each variable, in the network's order."""
        return [dict(cpd.parameters.arrays) for cpd in self.model.cpds]

    @lazy
    def score(self) -> float:
        """The score of the observed cells."""
        own, form = self.parameters, self.iterate
        score, columns, blocks = own.task.score, own.task.columns, own.em.expectation.blocks
        assert score is not None
        if isinstance(score, PenalizedLikelihood):
            charge = score.per_parameter(columns.total) * sum(cpd.num_parameters for cpd in self.model.cpds)
            return form.log_likelihood - charge + own.log_prior
        scores = []
        for block, flat in zip(blocks.members, form.statistics, strict=True):
            child = columns.variables.id(self.model.cpds[block[0]].child.name)
            counts = flat.reshape(-1, int(columns.cards[child]))
            is_likelihood = own.prior is None
            scores.append(-penalty(score, counts, columns) if is_likelihood else family_score(score, counts, columns))
        entropy = form.log_likelihood - (0.0 if own.prior is None else blocks.score(form.model, form.statistics))
        return math.fsum([*scores, entropy, own.log_prior])

    def better(self, other: Fitted) -> Fitted:
        """The other, unless its score is lower: EM raises the likelihood or posterior, not every bound on evidence."""
        return self if other.score < self.score else other

    def after(self, steps: int) -> Fitted:
        """The parameters after some steps of EM; it stops before a step after which a regression fits rows exactly."""
        em, state = self.parameters.em, self.iterate
        with contextlib.suppress(NotClosed, np.linalg.LinAlgError):
            for _ in range(steps):
                state = em.evaluate(em.expectation.blocks.maximize(state.model, state.statistics, em.terms))
        return Fitted(self.parameters, state)

    def settled(self) -> Fitted:
        """The parameters at which EM converges."""
        now = self
        for _ in range(MOST_STEPS):
            new = now.after(1)
            change = new.iterate.objective - now.iterate.objective
            now = new
            if change <= SETTLED * abs(now.iterate.objective):
                break
        return now


def _regressed(cpd: Any, child: int, place: Mapping[str, int], rows: ExpectedColumns) -> CPD:
    """Least squares in each context; contexts without rows, or less than one, have the regression of all."""
    given, by = [place[v.name] for v in cpd.given], [place[v.name] for v in cpd.by]
    known, every = rows.scatters(child, given, by), rows.scatters(child, given, ())
    size, few = len(known.counts), known.counts < FEWEST
    parts = (known.counts, known.means, known.products)
    known = Scatters(*(np.where(few.reshape(-1, *(1,) * (part.ndim - 1)), 0.0, part) for part in parts))
    same = Scatters(*(np.repeat(part, size, axis=0) for part in (every.counts, every.means, every.products)))
    found: CPD = cpd.from_statistics(same).from_statistics(known, unseen="keep")
    return found


def _shares(counts: Floats) -> Floats:
    """The counts of each context divided by their sum; uniform where there are none."""
    total = counts.sum(axis=1, keepdims=True)
    return np.asarray(np.where(total > 0, counts / np.where(total > 0, total, 1.0), 1.0 / counts.shape[1]))


def _log_prior(task: StructureTask, parents: Sequence[Sequence[int]]) -> float:
    """The logarithm of the prior of a structure."""
    if task.structure_prior is None:
        return 0.0
    odds = task.structure_prior.log_odds(task.columns.names)
    sizes = task.structure_prior.log_sizes(len(parents))
    return math.fsum(float(odds[list(given), child].sum() + sizes[len(given)]) for child, given in enumerate(parents))
