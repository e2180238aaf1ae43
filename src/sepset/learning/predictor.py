"""A model bound to an exact engine for questions about the rows of a dataset."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.cache import Slot
from sepset.base.lazy import lazy
from sepset.base.text import listing
from sepset.data.dataset import Dataset
from sepset.data.suggestions import column_names
from sepset.errors import DataError, ModelError, NotApplicable, ScopeError
from sepset.inference.capabilities import answer_rows
from sepset.inference.cliquetree.method import CliqueTree
from sepset.inference.evidencerows import EvidenceRows, Workers
from sepset.models.bayesnet import BayesNet
from sepset.models.model import Model
from sepset.variables.evidence import Evidence
from sepset.variables.variable import Discrete, VariableLike, Vector, listed

Names: TypeAlias = VariableLike | Iterable[VariableLike]


class Predictor:
    r"""What a model says of rows: $\log P(\mathbf e[m])$, $P(Y \mid \mathbf e[m])$ and its most probable values.

    Missing cells are summed out. Plans are made once and kept.

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.models.bayesnet import BayesNet
    >>> coin = BayesNet(TableCPD(Discrete("coin", ("head", "tail")), [0.25, 0.75]))
    >>> np.exp(Predictor(coin).log_probability({"coin": ["head", "tail", None]})).tolist()
    [0.25, 0.75, 1.0]
    """

    def __init__(self, model: Model) -> None:
        if not isinstance(model, Model):
            raise ModelError(f"A fitted model is needed here; found {model!r}. {remedy(model)}")
        self.model = model
        self._workers = Workers()

    def reporting(self, report: Callable[[int, int], None]) -> Predictor:
        """The same predictor, which says how far it is: it calls `report` with the rows done and the rows in all."""
        reporter = copy.copy(self)
        reporter._workers = Workers(report=report)
        return reporter

    @classmethod
    def of(cls, model: Model | Predictor) -> Predictor:
        """The predictor of a model, kept with its problem, or the predictor itself."""
        if isinstance(model, Predictor):
            return model
        made = cls(model)
        return made.model.problem().kept.get(PREDICTOR, lambda: made, key=id(model))

    @lazy
    def _prepared(self) -> Any:
        return CliqueTree().prepare(self.model.problem())

    @lazy
    def _log_total(self) -> float:
        return 0.0 if self.model.problem().is_normalized else float(self._prepared.log_partition(Evidence()))

    def dataset(self, data: object) -> Dataset:
        """The rows over the model's variables; variables without a column are missing throughout."""
        return over(data, self.model.variables)

    def variables(self, names: Names) -> tuple[Discrete | Vector, ...]:
        """The model's variables of these names; each at most once."""
        asked = listed(names)
        found = tuple(self.model.variables[v] for v in asked)
        if len(set(found)) != len(found) or not found:
            raise ScopeError(f"Different variables, at least one, were expected; found {listing(asked)}.")
        return found

    def discrete(self, names: Names) -> tuple[Discrete, ...]:
        """The same, refused where one is continuous."""
        found = self.variables(names)
        continuous = [v.name for v in found if not isinstance(v, Discrete)]
        if continuous:
            raise NotApplicable(
                f"Only discrete targets have states to predict; {listing(continuous)} are continuous. "
                "Use ConditionalLogLoss, which takes any target."
            )
        return found  # type: ignore[return-value]  # discrete, as checked

    def log_probability(self, data: object, over: Names | None = None) -> Floats:
        """The log probability (density) of every row's findings on `over`, by default on all; -inf is impossible."""
        rows = self.dataset(data)
        own = getattr(self.model, "log_probability", None)
        if over is None and own is not None and self._log_total == 0.0 and is_observed(rows, self.model.variables):
            return np.asarray(own(rows), np.float64)
        chosen = tuple(self.model.variables) if over is None else self.variables(over)
        findings = self._findings(rows, chosen)
        return np.asarray(answer_rows(self._prepared, findings, (), self._workers).log_partition - self._log_total)

    def probabilities(self, data: object, targets: Names, given: Names | None = None) -> tuple[Floats, ...]:
        """The posterior of each target in every row, one column a state; NaN where the findings are impossible.

        Args:
            data: the rows.
            targets: discrete variables; their own columns are not looked at.
            given: whose columns are findings; by default all but the targets.
        """
        asked = self.discrete(targets)
        direct = self._by_blanket(data, asked[0]) if len(asked) == 1 and given is None else None
        if direct is not None:
            return (np.exp(direct),)
        places = [self.model.variables.id(v) for v in asked]
        findings = self._given(data, asked, given)
        found = answer_rows(self._prepared, findings, places, self._workers).probabilities
        return tuple(found[p] for p in places)

    def log_posterior(self, data: object, target: VariableLike) -> Floats:
        """The log posterior of one target given all other cells, one column a state; NaN where they are impossible."""
        (variable,) = self.discrete(target)
        direct = self._by_blanket(data, variable)
        if direct is not None:
            return direct
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.probabilities(data, variable)[0]))

    def _by_blanket(self, data: object, target: Discrete) -> Floats | None:
        """The same where all other cells are there, so that the CPDs that mention the target say it all."""
        from sepset.learning.classify.classification import Classifier

        rows = self.dataset(data)
        others = (v for v in self.model.variables if v != target)
        if not isinstance(self.model, BayesNet) or not is_observed(rows, others):
            return None
        logs = Classifier(self.model, target).log_probabilities(rows, on_impossible="null")
        for cpd in self.model.cpds:
            if target not in cpd.scope:  # it says nothing of the target, but may exclude the row
                logs[cpd.log_probability({v: rows.column(v) for v in cpd.scope}) == -np.inf] = np.nan
        return logs

    def modes(self, data: object, targets: Names, given: Names | None = None) -> Ints:
        r"""The codes of $\arg\max_{\mathbf y} P(\mathbf y \mid \mathbf x[m])$, jointly, one column a target.

        Impossible findings give -1.
        """
        asked = self.discrete(targets)
        if len(asked) == 1:
            return most_probable(self.probabilities(data, asked, given)[0])[:, None]
        places = [self.model.variables.id(v) for v in asked]
        rows, which = self._given(data, asked, given).distinct()
        best = np.array([self._mode(rows.evidence(row), places) for row in range(len(rows))], np.int64)
        return best.reshape(-1, len(asked))[which]

    def _mode(self, evidence: Evidence, places: Sequence[int]) -> list[int]:
        best = self._prepared.best(evidence, places)
        if best.log_value == -np.inf:
            return [-1] * len(places)
        return [int(best.values[p]) for p in places]

    def features(self, targets: Iterable[Discrete | Vector], given: Names | None) -> tuple[Discrete | Vector, ...]:
        """The variables of `given`, which shall hold no target; by default all but the targets."""
        aims = set(targets)
        if given is None:
            return tuple(v for v in self.model.variables if v not in aims)
        found = tuple(self.model.variables[v] for v in listed(given))
        both = [v.name for v in found if v in aims]
        if both:
            raise ScopeError(f"{listing(both)} cannot be both target and given. Leave out one of them.")
        return found

    def _given(self, data: object, targets: Sequence[Discrete], given: Names | None) -> EvidenceRows:
        return self._findings(self.dataset(data), self.features(targets, given))

    def _findings(self, rows: Dataset, over: Iterable[Discrete | Vector]) -> EvidenceRows:
        wanted, everyone = set(over), self.model.variables
        return EvidenceRows.of(rows, everyone, without=[i for i, v in enumerate(everyone) if v not in wanted])


PREDICTOR: Slot[Predictor] = Slot("the predictor of a model")


def most_probable(probabilities: Floats) -> Ints:
    """The position of the largest entry of every row, the first among equals; -1 where the row is NaN."""
    blank = np.asarray(np.isnan(probabilities).any(axis=1))
    return np.where(blank, -1, np.where(blank[:, None], -1.0, probabilities).argmax(axis=1))


def absent(data: Dataset, variable: VariableLike) -> Bools:
    """Where a variable's cell is missing."""
    column = data.column(variable)
    return np.isnan(column) if column.dtype.kind == "f" else column < 0


def is_observed(data: Dataset, variables: Iterable[VariableLike]) -> bool:
    """Whether no cell of these variables is missing."""
    return not any(absent(data, v).any() for v in variables)


def remedy(found: object) -> str:
    """What to do where a model was expected."""
    return "Use its .model." if isinstance(getattr(found, "model", None), Model) else "Fit one, or read a file."


def over(data: object, variables: Iterable[Discrete | Vector]) -> Dataset:
    """The rows over these variables; those without a column are missing throughout, but not all of them may be.

    >>> over({"coin": [0, 1], "other": [0.5, 1.5]}, [Discrete("coin"), Discrete("hidden")]).num_missing
    {'coin': 0, 'hidden': 2}
    """
    wanted = tuple(variables)
    if isinstance(data, Dataset) and all(v in data.variables for v in wanted):
        return data
    names = data.variables.names if isinstance(data, Dataset) else column_names(data)
    if wanted and not any(v.name in names for v in wanted):
        known = listing(v.name for v in wanted)
        raise DataError(f"No column is a variable of the model: columns are {listing(names)}, variables {known}.")
    return Dataset(data, wanted, missing_columns="allow")


def refuse_missing(data: Dataset, targets: Iterable[Discrete | Vector]) -> None:
    """Raise where a target's cell is missing, naming its row."""
    for target in targets:
        blank = absent(data, target)
        if blank.any():
            row = int(np.flatnonzero(blank)[0])
            raise DataError(
                f"The target {target.name!r} is missing in row {row}, so it cannot be scored. Drop such rows."
            )


def true_codes(data: Dataset, targets: Sequence[Discrete]) -> Ints:
    """The codes of the targets, one column each; a missing one is refused."""
    refuse_missing(data, targets)
    return np.stack([data.codes(v).astype(np.int64) for v in targets], axis=1)
