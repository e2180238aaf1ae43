r"""The log evidence of a structure given incomplete rows: the task of a method, the verb, and its result.

$$\log P(\mathcal D \mid \mathcal G) = \log \int P(\theta)
\prod_m \sum_{\mathbf h} P(\mathbf o[m], \mathbf h \mid \theta) \, d\theta$$

With missing cells the integral has no closed form: it is a sum over all completions of the rows.

Reference: Koller & Friedman, section 19.4.1; Chickering & Heckerman (1997).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from sepset.base.checks import generator
from sepset.base.display import Report, Shown
from sepset.base.foreign import translated
from sepset.base.lazy import lazy
from sepset.base.text import described, facts_of
from sepset.cpds.parameters import AnyParameters, Parameterization
from sepset.data.dataset import Dataset
from sepset.data.sources import Weights
from sepset.errors import ArgumentError, DataError, NotApplicable
from sepset.factors.algebra import AnyVariable
from sepset.factors.labels import name_of
from sepset.graphs.graph import DAG
from sepset.inference.iterate import Until, as_until
from sepset.inference.result import Result, Status
from sepset.learning.blocks import FlatStatistics, prior_for
from sepset.learning.fit import fit
from sepset.learning.incomplete.em import EM
from sepset.learning.incomplete.expectation import Expectation
from sepset.learning.missing.identifiability import can_switch
from sepset.learning.task import Task
from sepset.models.bayesnet import BayesNet
from sepset.models.defaults import Template
from sepset.variables.variable import Discrete

TIGHT = Until(steps=10_000, tolerance=1e-15)
"""When EM stops where nothing else is asked for: curvatures need more digits of the mode than likelihoods do."""

DEFAULT_EM = EM(acceleration="squarem")


class Mode(NamedTuple):
    """The parameters at which EM stopped, and what an E-step finds there.

    Attributes:
        model: the network.
        expectation: the E-step.
        statistics: expected at these parameters, one array per parameter block.
        log_likelihood: of the rows as given.
        status: how EM ended.
    """

    model: BayesNet
    expectation: Expectation
    statistics: FlatStatistics
    log_likelihood: float
    status: Status = Status.COMPLETED

    @classmethod
    def of(cls, model: BayesNet, expectation: Expectation, status: Status = Status.COMPLETED) -> Mode:
        """The mode, with an E-step at it."""
        return cls(model, expectation, *expectation.expect(model), status)

    @property
    def blocks(self) -> list[tuple[AnyParameters, tuple[int, ...]]]:
        """The parameters of each block at the mode, and the positions of the block's CPDs."""
        known = self.expectation.blocks
        return list(zip(known.firsts(self.model), known.members, strict=True))

    def posterior(self, prior: object, members: tuple[int, ...], statistics: object) -> Any:
        """The posterior of a block after these statistics."""
        cpds = [self.model.cpds[i] for i in members]
        return cpds[0].parameters.posterior(prior_for(prior, cpds), cpds, statistics)


@dataclass(frozen=True, eq=False)
class EvidenceTask:
    """A network form and rows whose evidence is wanted.

    Attributes:
        template: says which CPDs there are, and which of them share parameters.
        dataset: the rows; variables without a column are missing throughout.
        em: how a mode is found; its prior is that of the method.
        rng: the source of randomness.
        until: when EM stops.
        progress: True shows a bar, False never, None in a terminal when the work is long.
    """

    template: BayesNet
    dataset: Dataset
    em: EM = field(default_factory=lambda: DEFAULT_EM)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0), repr=False)
    until: object = None
    progress: bool | None = None

    @lazy
    def hidden(self) -> tuple[str, ...]:
        """The variables without any cell."""
        missing, rows = self.dataset.num_missing, self.dataset.num_rows
        return tuple(v.name for v in self.template.variables if missing[v.name] == rows)

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return self.dataset.total_weight

    def require_multinomials(self, what: str) -> None:
        """Raise unless all parameters are probabilities of states."""
        for cpd in self.template.cpds:
            if cpd.num_parameters and not (cpd.parameters.is_conjugate and cpd.parameters.is_counted):
                raise NotApplicable(
                    f"{what} is for CPDs made of probabilities of states, such as tables and trees; found "
                    f"{name_of(cpd)}. "
                    'Use ObservedBIC(dimension="parameters").'
                )

    def mode(self, prior: object = None, parameterization: Parameterization = "softmax") -> Mode:
        """The mode that EM finds: of the likelihood without a prior, of the posterior with one."""
        method = replace(self.em, prior=prior, parameterization=parameterization)
        found = fit(
            self.template,
            self.dataset,
            method,
            seed=self.rng,
            until=as_until(self.until, TIGHT),
            progress=self.progress,
        )
        expectation = Expectation.of(
            Task(found.model, self.dataset), inference=self.em.inference, threads=self.em.threads
        )
        return Mode.of(found.model, expectation, found.status)


@runtime_checkable
class EvidenceMethod(Protocol):
    """A frozen value of settings that can estimate the evidence of a structure."""

    def evidence(self, task: EvidenceTask) -> LogEvidenceResult:
        """The log evidence."""


@dataclass(frozen=True, eq=False, repr=False)
class LogEvidenceResult(Report, Result):
    r"""The log evidence $\log P(\mathcal D \mid \mathcal G)$ of a structure, exact or approximate.

    Attributes:
        value: in nats.
        terms: the terms that add up to it.
        model: the network at the mode that was used; None for a sum over completions.
        log_likelihood: of the rows at that mode; NaN without one.
        dimension: the number of parameters that count.
        guarantees: what is known about the value.
    """

    value: float
    terms: Mapping[str, float]
    model: BayesNet | None = field(default=None, kw_only=True)
    log_likelihood: float = field(default=float("nan"), kw_only=True)
    dimension: int = field(default=0, kw_only=True)

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        return f"LogEvidenceResult({self.value:.7g}; {described(self.method)}; {self.guarantees['log_evidence'].value})"

    def _facts(self) -> Iterator[tuple[str, str]]:
        yield "log evidence", f"{self.value:.10g}"
        yield "method", described(self.method)
        yield "guarantee", self.guarantees["log_evidence"].value
        yield from facts_of({name: f"{value:.10g}" for name, value in self.terms.items()})
        yield "dimension", str(self.dimension)
        yield "status", self.status.value
        yield from facts_of(self.info)

    def _shown(self) -> Shown:
        return Shown((), list(self._facts()), "LogEvidenceResult")


def evidence_task(
    structure: DAG | BayesNet,
    data: object,
    *,
    em: EM | None = None,
    weights: Weights = None,
    variables: Iterable[AnyVariable] | None = None,
    seed: int | np.random.Generator = 0,
    until: object = None,
    progress: bool | None = None,
) -> EvidenceTask:
    """The task of a structure and any data; arguments as in `log_evidence`."""
    if em is not None and not isinstance(em, EM):
        raise ArgumentError(f"em= takes settings such as EM(restarts=10); found {em!r}.")
    template = Template.of(structure, data, variables)
    rows = Task(template.network, data, weights=weights, coded=template.coded).dataset
    if not rows.total_weight > 0:
        raise DataError("There are no rows of positive weight to compute an evidence from.")
    return EvidenceTask(template.network, rows, DEFAULT_EM if em is None else em, generator(seed), until, progress)


def evidence_method(method: object) -> EvidenceMethod:
    """The method, `CheesemanStutz()` by default; raises unless it is a value with the settings of one."""
    from sepset.learning.structure.evidences.cheesemanstutz import CheesemanStutz

    chosen = CheesemanStutz() if method is None else method
    if isinstance(chosen, type) or not isinstance(chosen, EvidenceMethod):
        raise ArgumentError(f"method= takes a value such as Laplace() or CheesemanStutz(); found {chosen!r}.")
    return chosen


@translated
def log_evidence(
    structure: DAG | BayesNet,
    data: object,
    *,
    method: EvidenceMethod | None = None,
    em: EM | None = None,
    weights: Weights = None,
    variables: Iterable[AnyVariable] | None = None,
    seed: int | np.random.Generator = 0,
    until: object = None,
    progress: bool | None = None,
) -> LogEvidenceResult:
    r"""The log evidence $\log P(\mathcal D \mid \mathcal G)$ of a structure when cells are missing or variables hidden.

    Args:
        structure: a graph over columns and hidden variables; or a network, whose CPDs keep their form.
        data: as `fit` takes it; missing cells are summed out.
        method: `CheesemanStutz()` by default, a lower bound; `Laplace()`, `ObservedBIC()`, or `CompletionSum()`, which
            is exact and for tiny data.
        em: how EM finds the mode; with the acceleration "squarem" by default.
        weights: one per row, or the name of a column.
        variables: the meaning of some columns, or hidden variables, where `structure` is a graph.
        seed: a number or a generator, for the starting points of EM.
        until: when EM stops.
        progress: True shows a bar, False never, None in a terminal when the work is long.

    Of complete rows `CheesemanStutz` is exact: the sum of the scores of all families.

    Reference: Koller & Friedman, section 19.4.1; Chickering & Heckerman (1997).
    Guarantee: as the method.
    Tested by: learning/structure/evidences/test_logevidence.py::test_worked_evidences

    >>> rows = {"x": ["a", "a", "b", None], "y": ["c", "d", "d", "d"]}
    >>> log_evidence(DAG.parse("x -> y"), rows)
    LogEvidenceResult(-6.616048; CheesemanStutz(); lower bound)
    """
    chosen = evidence_method(method)
    task = evidence_task(
        structure, data, em=em, weights=weights, variables=variables, seed=seed, until=until, progress=progress
    )
    return chosen.evidence(task)


def num_relabelings(task: EvidenceTask) -> int:
    """How many ways the states of hidden variables can be relabeled without a change of what is observed."""
    known = (task.template.variables[name] for name in task.hidden)
    sizes = [v.num_states for v in known if isinstance(v, Discrete) and can_switch(task.template, v.name)]
    return math.prod(map(math.factorial, sizes))
