r"""Available-case estimates: each family from the rows that have all its cells, weighted or not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.frozen import fill
from sepset.cpds.cpd import CPD
from sepset.data.dataset import Dataset
from sepset.data.sources import as_dataset
from sepset.engine.kept import engine_for
from sepset.errors import DataError
from sepset.factors.algebra import Columns
from sepset.factors.labels import name_of
from sepset.inference.result import Guarantee
from sepset.learning.blocks import blocks_of
from sepset.learning.estimation.estimators import shown
from sepset.learning.estimation.maximization import check_policy, maximize_block
from sepset.learning.fit import FitResult
from sepset.learning.missing.weighting import Form, inverse_probability_weights
from sepset.learning.statistics import pooled
from sepset.learning.task import Task
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import VariableLike, listed


@dataclass(frozen=True, slots=True, init=False, repr=False)
class AvailableCases:
    r"""Each family estimated from the rows in which all of its variables are observed.

    Without `given` this is consistent only where cells are missing completely at random. With it, rows are weighted by
    $1 / P(\text{family observed} \mid \mathbf v)$, and it is consistent where they are missing at random given
    $\mathbf V$. Nothing is iterated: a quick baseline, and a start for EM, which uses every cell.

    Args:
        given: columns $\mathbf V$ without missing cells that missingness may depend on.
        form: how the probability of being observed depends on them: "table" or "logistic".
        prior: as in `PosteriorMode`; without one, likelihoods are maximized.
        unseen: contexts without data, as in `MLE`.

    Reference: Little & Rubin (2019), sections 3.2 to 3.4.
    Guarantee: consistent under MCAR; weighted, MAR.
    Tested by: learning/missing/test_availablecases.py::test_what_is_consistent_where

    >>> from sepset.graphs.graph import DAG
    >>> from sepset.api.learning import fit
    >>> rows = {"age": ["young"] * 4 + ["old"] * 4, "income": ["low", "high", "low", "low", "high", None, None, None]}
    >>> for method in (AvailableCases(), AvailableCases(given="age")):
    ...     fit(DAG.parse("age; income"), rows, method).model.cpd("income")[()].round(3).tolist()
    [0.4, 0.6]
    [0.625, 0.375]
    """

    given: tuple[VariableLike, ...] = ()
    form: Form | None = None
    prior: object = None
    unseen: object = "raise"

    def __init__(
        self,
        given: VariableLike | Iterable[VariableLike] = (),
        *,
        form: Form | None = None,
        prior: object = None,
        unseen: object = "raise",
    ) -> None:
        check_policy(unseen)
        fill(self, given=tuple(listed(given)), form=form, prior=prior, unseen=unseen)

    def __repr__(self) -> str:
        return shown(self)

    keeps_checkpoint: ClassVar[bool] = False
    """It does not iterate."""

    def fit(self, task: Task) -> FitResult:
        """The network made of the families' estimates."""
        data = task.dataset
        made: list[CPD] = []
        used: dict[str, int] = {}
        for cpds in blocks_of(task.template).values():
            parts = [self._statistics(cpd, data, task.data, used) for cpd in cpds]
            made += maximize_block(cpds, pooled(cpds, parts), self.prior, unseen=self.unseen)
        model = task.template.with_cpds(*made)
        likelihood = _log_likelihood(model, data)
        return FitResult(
            model,
            likelihood,
            method=self,
            trace=np.array([likelihood]),
            num_rows=data.total_weight,
            info={"fewest_rows": min(used.values(), default=0)},
            guarantees={"parameters": Guarantee.ESTIMATE},
        )

    def _statistics(self, cpd: CPD, data: Dataset, source: object, used: dict[str, int]) -> Any:
        names = [v.name for v in cpd.scope]
        rows = np.flatnonzero(np.logical_not(data.select(names).mask.any(axis=1)))
        used[cpd.child.name] = len(rows)
        if not len(rows):
            raise DataError(
                f"No row observes all of {', '.join(names)}, so that {name_of(cpd)} has no available case. Use EM; "
                "where two "
                "columns are never seen together, nothing but a prior tells how they depend on each other."
            )
        columns: Columns = {v: data.column(v)[rows] for v in cpd.scope}
        return cpd.parameters.statistics(columns, self._weights(names, data, source, rows))

    def _weights(self, names: list[str], data: Dataset, source: object, rows: Ints) -> Floats | None:
        """The weights of the available rows of a family: their own, over the probability of being available."""
        if not self.given:
            return None if data.weights is None else data.weights[rows]
        beside = _beside(data, source, self.given)
        return inverse_probability_weights(beside, names, given=self.given, form=self.form).weights[rows]


def _beside(data: Dataset, source: object, given: Iterable[VariableLike]) -> Dataset:
    """The rows with the columns that missingness depends on, which the network need not have."""
    names = [v if isinstance(v, str) else v.name for v in given]
    absent = [name for name in names if name not in data.variables]
    if not absent:
        return data
    extra = as_dataset(source, absent)
    columns = {v.name: part.column(v) for part in (data, extra) for v in part.variables}
    return Dataset.from_codes([*data.variables, *extra.variables], columns, weights=data.weights)


def _log_likelihood(model: BayesNet, data: Dataset) -> float:
    r"""$\sum_m w_m \log \sum_{\mathbf h} P(\mathbf o[m], \mathbf h)$; rows of weight zero do not count."""
    found = engine_for(model).log_probabilities(data, threads=1, progress=False)
    share = np.ones(data.num_rows) if data.weights is None else data.weights
    counted = share > 0
    return float(share[counted] @ found[counted])
