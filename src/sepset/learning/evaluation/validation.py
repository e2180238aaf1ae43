"""How well a learning procedure will do on rows it has not seen: holdout, cross-validation, and choosing fairly.

A *procedure* is anything that makes a model from a dataset: a `Learner`, or a function of your own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, TypeAlias, TypeVar

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.checks import generator
from sepset.base.display import Plain, Shown, Worded
from sepset.base.foreign import translated
from sepset.base.progress import Bar
from sepset.base.text import counted
from sepset.data.dataset import Dataset
from sepset.data.sources import as_dataset
from sepset.errors import ArgumentError, ModelError
from sepset.graphs.graph import DAG
from sepset.inference.method import Method
from sepset.inference.result import Guarantee, Guarantees, Result, Status
from sepset.learning.assessment import Assessment
from sepset.learning.estimation.estimators import MLE
from sepset.learning.evaluation.losses import EvaluationResult, LogLoss, Loss, Risk, Risks, evaluate, weighted_mean
from sepset.learning.evaluation.splits import KFold, Splitter
from sepset.learning.fit import LearningMethod, fit
from sepset.models.bayesnet import BayesNet
from sepset.models.model import Model

T = TypeVar("T")

Procedure: TypeAlias = Callable[[Dataset], Any]
"""A function from a dataset to a model, or to a `FitResult` with one."""


@dataclass(frozen=True, slots=True)
class Learner:
    """The procedure that fits one structure by one method.

    Args:
        structure: a graph or a network, as in `fit`.
        method: as in `fit`; maximum likelihood by default.
        seed: for methods that draw; the same for every dataset.

    Guarantee: as the method.
    Tested by: learning/evaluation/test_validation.py::test_learners_are_fits

    >>> Learner(DAG.parse("coin"))(Dataset({"coin": [0, 1, 1, 1]})).cpd("coin").values.tolist()
    [0.25, 0.75]
    """

    structure: DAG | BayesNet
    method: LearningMethod | None = None
    _: KW_ONLY
    seed: int = 0

    def __call__(self, data: Dataset) -> BayesNet:
        """The network fitted to these rows."""
        return _whole(fit(self.structure, data, self.method or MLE(), seed=self.seed, progress=False)).model


def _whole(found: T) -> T:
    """The result of a procedure; Ctrl-C, which ends a fit with the best so far, ends all that the fit is a part of."""
    if getattr(found, "status", None) is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return found


def learned(procedure: Procedure, data: Dataset) -> Model:
    """The model that a procedure makes of these rows, whether it gives the model or a fit that holds it."""
    if not callable(procedure):
        raise ArgumentError(
            f"A procedure makes a model from a dataset, as Learner(dag, method) does; found {procedure!r}."
        )
    found = _whole(procedure(data))
    model = getattr(found, "model", found)
    if not isinstance(model, Model):
        raise ModelError(f"A procedure makes a model from a dataset; {procedure!r} made {found!r}.")
    return model


@dataclass(frozen=True, slots=True, eq=False)
class ValidatedRisk(Worded, Plain):
    r"""A loss on rows that were not trained on, round by round.

    As a number it is the pooled mean: every tested row counts alike.

    Attributes:
        name: the loss.
        tested: its values in each round's test rows.
        trained: its values on each round's own training rows.

    >>> tested = tuple(Risk("x", np.array(f), weights=np.ones(len(f))) for f in ([0.0, 1.0], [2.0]))
    >>> risk = ValidatedRisk("x", tested, trained=())
    >>> risk.pooled_mean, risk.mean_of_folds
    (1.0, 1.25)
    """

    name: str
    tested: tuple[Risk, ...] = field(repr=False)
    _: KW_ONLY
    trained: tuple[Risk, ...] = field(repr=False)

    @property
    def fold_means(self) -> Floats:
        """The mean of each round; rounds whose rows have no weight are left out."""
        return np.array([risk.mean for risk in self.tested if risk.weights.any()])

    @property
    def pooled(self) -> Risk:
        """All tested rows together, in the order they were tested."""
        rows = np.concatenate([r.rows for r in self.tested])
        return Risk(self.name, rows, weights=np.concatenate([r.weights for r in self.tested]))

    @property
    def pooled_mean(self) -> float:
        """The mean over all tested rows: each row counts alike."""
        return self.pooled.mean

    @property
    def mean_of_folds(self) -> float:
        """The mean of the rounds' means: each round counts alike, which differs where their sizes do."""
        return float(self.fold_means.mean()) if len(self.fold_means) else float("nan")

    @property
    def spread(self) -> float:
        """The standard deviation of the rounds' means; NaN for one round."""
        means = self.fold_means
        return float(means.std(ddof=1)) if len(means) > 1 and np.isfinite(means).all() else float("nan")

    @property
    def training_mean(self) -> float:
        """The mean over all training rows of all rounds; NaN where it was not asked for."""
        if not self.trained:
            return float("nan")
        rows = np.concatenate([r.rows for r in self.trained])
        return weighted_mean(rows, np.concatenate([r.weights for r in self.trained]))

    @property
    def gap(self) -> float:
        """Test minus training risk: how much the procedure overfits."""
        return self.pooled_mean - self.training_mean

    def __float__(self) -> float:
        return self.pooled_mean

    def __repr__(self) -> str:
        return f"ValidatedRisk({self.name}: {self.pooled_mean:.6g} pooled, {self.mean_of_folds:.6g} mean of folds)"


@dataclass(frozen=True, eq=False, repr=False)
class Validation(Risks[ValidatedRisk], Assessment):
    """The risks of a procedure on rows it was not trained on, by loss.

    Attributes:
        risks: by loss.
        rows: the positions of the rows tested in each round.

    >>> found = cross_validate(Learner(DAG.parse("coin")), {"coin": [0, 1] * 10}, split=KFold(5))
    >>> round(found[LogLoss()].pooled_mean, 3), len(found.rows)
    (0.721, 5)
    """

    risks: Mapping[Loss, ValidatedRisk]
    rows: tuple[Ints, ...] = field(repr=False)

    @property
    def risk(self) -> ValidatedRisk:
        """The first loss."""
        return next(iter(self.risks.values()))

    def _shown(self) -> Shown:
        trained = ["training mean"] if self.risk.trained else []
        rows: list[tuple[str, ...]] = []
        for risk in self.risks.values():
            numbers = [risk.pooled_mean, risk.pooled.standard_error, risk.mean_of_folds, risk.spread]
            numbers += [risk.training_mean] if trained else []
            rows.append((risk.name, *(f"{number:.6g}" for number in numbers)))
        return Shown(("loss", "pooled mean", "standard error", "mean of folds", "spread of folds", *trained), rows)


@translated
def cross_validate(
    procedure: Procedure,
    data: object,
    *losses: Loss,
    split: Splitter | None = None,
    seed: int | np.random.Generator = 0,
    training: bool = False,
    method: Method | None = None,
    progress: bool | None = None,
) -> Validation:
    r"""The risk of a procedure, trained on some rows and tested on others, in rounds.

    Both means are kept, and named: `pooled_mean` over all tested rows, and `mean_of_folds` over rounds.

    Args:
        procedure: makes a model from a dataset, as `Learner(dag, method)` does.
        data: a dataset or any frame; weights of rows count in training and testing.
        losses: as in `evaluate`; the log-loss where none is named.
        split: `KFold(10)` by default; `Holdout(...)`, `LeaveOneOut()`.
        seed: a number or a generator, for the split.
        training: whether to evaluate each model on its own training rows too, for `gap`.
        method: what answers questions about the rows, as in `evaluate`.
        progress: True shows a bar, False never, None in a terminal when the work is long.

    Reference: Koller & Friedman, box 16.A and algorithm 16.A.1.
    Guarantee: each row tested once; deterministic; deterministic.
    Tested by: learning/evaluation/test_validation.py::test_the_published_difference_of_the_means,
        learning/evaluation/test_validation.py::test_holdout_is_train_and_test

    >>> from sepset.learning.evaluation.losses import ZeroOne
    >>> found = cross_validate(Learner(DAG.parse("coin")), {"coin": [0, 1, 1, 1] * 5}, ZeroOne("coin"))
    >>> found.risk.pooled_mean
    0.25
    >>> from sepset.learning.evaluation.splits import LeaveOneOut
    >>> rows = {"coin": [0, 0, 1, 1]}
    >>> round(cross_validate(Learner(DAG.parse("coin")), rows, split=LeaveOneOut())[LogLoss()].pooled_mean, 4)
    1.0986
    """
    rows = as_dataset(data)
    rng = generator(seed)
    asked = losses or (LogLoss(),)
    tested: list[EvaluationResult] = []
    trained: list[EvaluationResult] = []
    places: list[Ints] = []
    chosen = KFold() if split is None else _checked(split)
    with Bar(progress, "rounds") as bar:
        for mask in chosen.rounds(rows, rng):
            train = rows.take(~mask)
            model = learned(procedure, train)
            tested.append(evaluate(model, rows.take(mask), *asked, method=method))
            places.append(np.flatnonzero(mask))
            if training:
                trained.append(evaluate(model, train, *asked, method=method))
            bar.report(len(tested), chosen.num_rounds(rows))
    risks = {loss: _over_rounds(loss, tested, trained) for loss in tested[0]}
    return Validation(risks, tuple(places), method=tested[0].method, guarantees=_weakest([*tested, *trained]))


def _over_rounds(loss: Loss, tested: Sequence[EvaluationResult], trained: Sequence[EvaluationResult]) -> ValidatedRisk:
    return ValidatedRisk(loss.name, tuple(e[loss] for e in tested), trained=tuple(e[loss] for e in trained))


def _weakest(found: Sequence[Result]) -> Guarantees:
    """The guarantee of risks that come from all of these."""
    exact = all(each.guarantees["risk"] is Guarantee.EXACT for each in found)
    return {"risk": Guarantee.EXACT if exact else Guarantee.ESTIMATE}


def _checked(split: Splitter) -> Splitter:
    if not isinstance(split, Splitter):
        raise ArgumentError(f"split= is a value such as KFold(5), Holdout(0.25) or LeaveOneOut(); found {split!r}.")
    return split


def named(procedures: Mapping[str, Procedure]) -> Mapping[str, Procedure]:
    """The procedures, which come by name, at least one of them."""
    if not isinstance(procedures, Mapping) or not procedures:
        raise ArgumentError(f"Procedures come by name, as {{'mine': Learner(dag, method)}}; found {procedures!r}.")
    return procedures


@translated
def train_and_test(
    procedure: Procedure, train: object, *losses: Loss, test: object, method: Method | None = None
) -> EvaluationResult:
    """The risk on `test` of the model that a procedure makes of `train`.

    Args:
        procedure: makes a model from a dataset.
        train: the rows to learn from.
        test: the rows to evaluate on; its cells must be states seen in `train`, or given with its variables.
        losses, method: as in `evaluate`.

    Reference: Koller & Friedman, algorithm 16.A.1.
    Guarantee: exact.
    Tested by: learning/evaluation/test_validation.py::test_holdout_is_train_and_test

    >>> found = train_and_test(Learner(DAG.parse("c")), {"c": [0, 1, 1, 1]}, test={"c": [1, 1]})
    >>> round(found[LogLoss()].mean, 4)
    0.2877
    """
    return evaluate(learned(procedure, as_dataset(train)), test, *losses, method=method)


@dataclass(frozen=True, eq=False, repr=False)
class Selection(Assessment):
    """The procedure that did best in validation, and its model of all rows.

    The best score is optimistic, since it was chosen for being the best: `nested_cross_validate` says what to expect.

    Attributes:
        name: the best candidate; ties go to the first.
        model: what it makes of all rows.
        validations: what each candidate did, by its name.

    >>> rows = {"x": [0, 1] * 20, "y": [0, 1] * 20}
    >>> chosen = select_learner({"apart": Learner(DAG.parse("x; y")), "joined": Learner(DAG.parse("x -> y"))}, rows)
    >>> chosen.name
    'joined'
    """

    name: str
    model: Model
    _: KW_ONLY
    validations: Mapping[str, Validation] = field(repr=False)

    @property
    def score(self) -> float:
        """The pooled risk of the best candidate: optimistic."""
        return self.validations[self.name].risk.pooled_mean

    def __repr__(self) -> str:
        count = counted(len(self.validations), "candidate")
        return f"Selection({self.name}; pooled risk {self.score:.6g} of {count}; {self.model!r})"

    def _shown(self) -> Shown:
        risks = {name: found.risk for name, found in self.validations.items()}
        rows = [(n, f"{r.pooled_mean:.6g}", f"{r.pooled.standard_error:.2g}") for n, r in risks.items()]
        return Shown(("candidate", "pooled risk", "standard error"), rows, f"best: {self.name}")


@translated
def select_learner(
    candidates: Mapping[str, Procedure],
    data: object,
    *,
    loss: Loss | None = None,
    split: Splitter | None = None,
    seed: int = 0,
    method: Method | None = None,
) -> Selection:
    """The candidate of least risk on rows set aside, fitted again to all rows.

    Args:
        candidates: procedures by name.
        data: a dataset or any frame.
        loss: the log-loss by default.
        split: `KFold(5)` by default; every candidate is given the same rounds.
        seed: a number.
        method: what answers questions about the rows, as in `evaluate`.

    Reference: Koller & Friedman, box 16.A.
    Guarantee: deterministic; its score is optimistic.
    Tested by: learning/evaluation/test_validation.py::test_selection_fits_the_best_to_all_rows

    >>> select_learner({"only": Learner(DAG.parse("coin"))}, {"coin": [0, 1] * 5}).name
    'only'
    """
    named(candidates)
    rows = as_dataset(data)
    asked = LogLoss() if loss is None else loss
    rounds = KFold(5) if split is None else split
    found = {
        name: cross_validate(procedure, rows, asked, split=rounds, seed=seed, method=method, progress=False)
        for name, procedure in candidates.items()
    }
    best = min(found, key=lambda name: found[name].risk.pooled_mean)
    guarantees = _weakest(list(found.values()))
    model = learned(candidates[best], rows)
    return Selection(best, model, validations=found, method=found[best].method, guarantees=guarantees)


@dataclass(frozen=True, eq=False, repr=False)
class NestedValidation(Assessment):
    """The risk of choosing among candidates and fitting the choice, on rows that neither saw.

    Attributes:
        validation: the outer rounds.
        selections: what was chosen in each.

    >>> candidates = {"a": Learner(DAG.parse("coin"))}
    >>> nested_cross_validate(candidates, {"coin": [0, 1] * 20}, outer=KFold(4), inner=KFold(2)).choices
    ('a', 'a', 'a', 'a')
    """

    validation: Validation
    selections: tuple[Selection, ...]

    @property
    def risk(self) -> ValidatedRisk:
        """The risk to report."""
        return self.validation.risk

    @property
    def choices(self) -> tuple[str, ...]:
        """The candidate chosen in each outer round."""
        return tuple(s.name for s in self.selections)

    @property
    def inner_score(self) -> float:
        """The mean of the chosen candidates' own scores: optimistic, to be compared with `risk`."""
        return float(np.mean([s.score for s in self.selections]))

    def __repr__(self) -> str:
        return f"NestedValidation({self.risk!r}, chosen: {', '.join(self.choices)})"

    def _shown(self) -> Shown:
        rounds = zip(self.selections, self.risk.tested, strict=True)
        rows = [(str(k), s.name, f"{s.score:.6g}", f"{t.mean:.6g}") for k, (s, t) in enumerate(rounds, start=1)]
        rows.append(("all", "", f"{self.inner_score:.6g}", f"{self.risk.pooled_mean:.6g}"))
        return Shown(
            ("round", "chosen", "its own score", "risk on rows that neither saw"), rows, self.risk.name, words=2
        )


@translated
def nested_cross_validate(
    candidates: Mapping[str, Procedure],
    data: object,
    *,
    loss: Loss | None = None,
    outer: Splitter | None = None,
    inner: Splitter | None = None,
    seed: int = 0,
    method: Method | None = None,
) -> NestedValidation:
    """The risk of `select_learner`: it runs within the training rows of each outer round, tested on the others.

    With `outer=Holdout(...)` and `inner=Holdout(...)` this is one split into training, validation and test rows.

    Args:
        candidates: procedures by name.
        data: a dataset or any frame.
        loss: the log-loss by default.
        outer: the rounds that are reported; `KFold(5)` by default.
        inner: the rounds that choose; `KFold(5)` by default.
        seed: a number.
        method: what answers questions about the rows, as in `evaluate`.

    Reference: Koller & Friedman, box 16.A; Stone (1974), Cross-validatory choice.
    Guarantee: deterministic.
    Tested by:
        learning/evaluation/test_validation.py::test_the_score_of_the_selected_is_optimistic_and_the_nested_one_is_not

    >>> from sepset.learning.evaluation.splits import Holdout
    >>> nested = nested_cross_validate({"a": Learner(DAG.parse("coin"))}, {"coin": [0, 1] * 20}, outer=Holdout(0.5))
    >>> len(nested.validation.rows[0]), nested.choices
    (20, ('a',))
    """
    made: list[Selection] = []

    def choose(train: Dataset) -> Model:
        made.append(select_learner(candidates, train, loss=loss, split=inner, seed=seed, method=method))
        return made[-1].model

    asked = LogLoss() if loss is None else loss
    rounds = KFold(5) if outer is None else outer
    found = cross_validate(choose, data, asked, split=rounds, seed=seed, method=method)
    return NestedValidation(found, tuple(made), method=found.method, guarantees=found.guarantees)
