"""Bayesian networks as scikit-learn estimators: a classifier, an imputer, and a discretizer before them.

Columns of floats are real variables, unless all are whole numbers with 2 to 12 distinct values, as encoders make them;
these, integers, booleans, text and categories are states. Missing cells (NaN, None) are allowed: they are summed out in
prediction, and parameters are then fitted by the expectation-maximization algorithm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np

from sepset.api.learning import fit
from sepset.api.structure import learn_structure
from sepset.base.arraytypes import AnyArray, Bools, Floats, Ints, Objects
from sepset.base.checks import one_of
from sepset.base.extras import require
from sepset.base.foreign import translated
from sepset.base.logarithms import log_sum
from sepset.base.text import brief, listing, nearest
from sepset.cpds.priors.dirichlet import Dirichlet
from sepset.data.binding import infer_variable, inference_note
from sepset.data.columns import Cells, Column, levels_of
from sepset.data.dataset import Dataset
from sepset.data.frames import open_frame, opened_frame
from sepset.engine.classifier import Classifier
from sepset.errors import ArgumentError, DataError, ModelError, ScopeError
from sepset.graphs.graph import DAG
from sepset.learning.classify.dependence import conditional_information
from sepset.learning.classify.naivebayes import naive_bayes, tree_augmented
from sepset.learning.discretization import Discretization, Kind, discretize
from sepset.learning.estimation.estimators import Bayes
from sepset.learning.estimation.weakpriors import weak_line_priors
from sepset.learning.fit import LearningMethod
from sepset.learning.missing.imputation import impute
from sepset.learning.structure.exact.spanning import spanning_tree
from sepset.learning.structure.learned import StructureMethod
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, State, Vector

__all__ = ["BayesNetClassifier", "BayesNetImputer", "Discretizer", "best_tree"]


def __dir__() -> list[str]:
    return __all__


base = require("sklearn.base", "sklearn", "sepset.sklearn")
targets = require("sklearn.utils.multiclass", "sklearn", "sepset.sklearn")
checks = require("sklearn.utils.validation", "sklearn", "sepset.sklearn")

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
else:
    BaseEstimator, ClassifierMixin, TransformerMixin = base.BaseEstimator, base.ClassifierMixin, base.TransformerMixin

Structure: TypeAlias = Literal["naive", "tan"] | DAG | BayesNet | StructureMethod[Any]
Tree: TypeAlias = Literal["tree"] | DAG | BayesNet | StructureMethod[Any]
Unknown: TypeAlias = Literal["raise", "missing"]


class _TakesMissing(BaseEstimator):  # type: ignore[misc]  # untyped base
    """An estimator that accepts missing cells, categories and text."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


class BayesNetClassifier(ClassifierMixin, _TakesMissing):  # type: ignore[misc]  # untyped bases
    r"""A Bayesian network that predicts one variable from the others.

    $$\hat y = \arg\max_y P(y \mid \mathbf x)$$

    Args:
        structure: "naive" for naive Bayes, "tan" for tree-augmented naive Bayes, a graph, a network whose CPDs keep
            their form, or a method that learns the structure, such as `HillClimb()` (by BIC).
        method: how parameters are learned; by default the posterior mean under weak priors (one imaginary row per cell
            of a table), found by expectation-maximization if cells are missing.
        target: the name of the class in the network; by default the name of `y`, or "class".
        unknown: "raise" raises for states not seen in fitting; "missing" treats such cells as unobserved.
        random_state: the seed for methods that draw.

    Attributes:
        classes_: the classes in `y`, sorted; columns of probabilities are in this order.
        model_: the fitted network.
        fit_: the complete result of fitting.
        notes_: what columns were taken for, where they could be meant otherwise.
        target_: the class in the network.

    Reference: Koller & Friedman, box 17.A; Friedman, Geiger & Goldszmidt (1997) for "tan".
    Guarantee: exact posteriors.
    Tested by: test_sklearn.py::test_naive_bayes_is_that_of_scikit_learn

    >>> X = np.array([[0.0], [0.2], [1.0], [1.2]])
    >>> BayesNetClassifier().fit(X, ["low", "low", "high", "high"]).predict([[0.1], [1.1]]).tolist()
    ['low', 'high']
    """

    classes_: AnyArray
    model_: BayesNet

    def __init__(
        self,
        structure: Structure = "naive",
        *,
        method: LearningMethod | None = None,
        target: str | None = None,
        unknown: Unknown = "raise",
        random_state: int | None = None,
    ) -> None:
        self.structure = structure
        self.method = method
        self.target = target
        self.unknown = unknown
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """The classifier, fitted to the rows.

        Args:
            X: a frame, or an array with one column per feature.
            y: the class of every row.
            sample_weight: one weight per row.
        """
        one_of("unknown", self.unknown, ("raise", "missing"))
        if not isinstance(self.target, str | None):
            raise ArgumentError(f"target= is the name of the class, or None for that of y; found {brief(self.target)}.")
        name = self.target or _name_of(y) or "class"
        columns = _columns(self, X, reset=True)
        labels = checks.column_or_1d(y, warn=True)
        _refuse_missing_labels(labels)
        targets.check_classification_targets(labels)
        _check_lengths(columns, labels)
        self.classes_, which = np.unique(labels, return_inverse=True)
        weights = None if sample_weight is None else _weights(sample_weight, len(labels))
        self.target_ = _class_variable(_unused(name, columns, self.structure), self.classes_, self.structure)
        self.variables_, self.notes_ = _variables(columns, self.structure)
        codes = _codes_of(self.classes_, self.target_)[which]
        rows = _with_target(Dataset(columns, self.variables_), self.target_, codes, weights)
        template = _graph(_learned(self.structure, rows, self.random_state), rows, self.target_)
        method = _default_method(rows, template) if self.method is None else self.method
        self.fit_ = fit(template, rows, method, seed=_seed(self.random_state), progress=False)
        self.model_ = self.fit_.model
        return self

    def predict_log_proba(self, X: Any) -> Floats:
        """The log posterior of the class in every row, one column per class, given that it is one of `classes_`."""
        checks.check_is_fitted(self)
        rows = _known(_columns(self, X, reset=False), self.variables_, self.unknown)
        found = Classifier(self.model_, self.target_.name).predict(rows).log_probabilities
        logs = found[:, _codes_of(self.classes_, self.target_)]
        return logs if len(self.classes_) == self.target_.num_states else logs - log_sum(logs, 1)[:, None]

    def predict_proba(self, X: Any) -> Floats:
        """The posterior of the class in every row, one column per class."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict(self, X: Any) -> AnyArray:
        """The most probable class of every row; ties go to the first."""
        best = self.predict_log_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])


class BayesNetImputer(TransformerMixin, _TakesMissing):  # type: ignore[misc]  # untyped bases
    r"""Imputes missing cells from their posterior $P(x_i \mid \text{the observed cells})$ under a Bayesian network.

    Args:
        structure: "tree" for the best tree over the columns (Chow & Liu, from pairs of observed cells), a graph over
            their names, a network, or a method that learns the structure, such as `HillClimb()`.
        method: how parameters are learned; by default the posterior mean under weak priors, found by
            expectation-maximization if cells are missing.
        kind: the values imputed: "mean" (for a discrete cell the most probable state), "mode", "map" (the most
            probable joint completion of a row) or "draw", the only one that preserves the spread of the data.
        unknown: "raise" raises for states not seen in fitting; "missing" treats such cells as missing.
        random_state: the seed for draws.

    Attributes:
        model_: the fitted network.
        fit_: the complete result of fitting.
        notes_: what columns were taken for, where they could be meant otherwise.

    Reference: Koller & Friedman, section 19.1.3; Chow & Liu (1968) for the tree.
    Guarantee: exact posteriors.
    Tested by: test_sklearn.py::test_imputed_cells_are_posterior_means_and_the_others_stay

    >>> X = np.array([[0.1, 0.2], [1.1, 1.0], [2.1, 2.2], [3.1, np.nan], [4.1, 4.0]])
    >>> bool(2.5 < BayesNetImputer().fit_transform(X)[3, 1] < 3.5)
    True
    """

    model_: BayesNet

    def __init__(
        self,
        structure: Tree = "tree",
        *,
        method: LearningMethod | None = None,
        kind: Literal["mean", "mode", "map", "draw"] = "mean",
        unknown: Unknown = "raise",
        random_state: int | None = None,
    ) -> None:
        self.structure = structure
        self.method = method
        self.kind = kind
        self.unknown = unknown
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """The imputer, fitted to the rows; `y` is ignored."""
        one_of("unknown", self.unknown, ("raise", "missing"))
        columns = _columns(self, X, reset=True)
        self.variables_, self.notes_ = _variables(columns, self.structure)
        rows = Dataset(columns, self.variables_)
        given = _learned(self.structure, rows, self.random_state)
        template = best_tree(rows) if isinstance(given, str) else given
        _require_structure(template, ("tree",))
        method = _default_method(rows, template) if self.method is None else self.method
        self.fit_ = fit(template, rows, method, seed=_seed(self.random_state), progress=False)
        self.model_ = self.fit_.model
        return self

    def transform(self, X: Any) -> Any:
        """The rows with every missing cell imputed: an array for an array, a frame of the same kind for a frame."""
        checks.check_is_fitted(self)
        columns = _columns(self, X, reset=False)
        rows = _known(columns, self.variables_, self.unknown)
        seed = _seed(self.random_state)
        filled = impute(self.model_, rows, kind=self.kind, variables=[v.name for v in self.variables_], seed=seed)
        return _like(X, rows, filled.dataset)

    def get_feature_names_out(self, input_features: Any = None) -> Objects:
        """The names of the columns, which are unchanged."""
        checks.check_is_fitted(self)
        return np.asarray(checks._check_feature_names_in(self, input_features), object)


class Discretizer(TransformerMixin, _TakesMissing):  # type: ignore[misc]  # untyped bases
    """Columns of numbers as ordered states; the cuts are those of the rows it was fitted to.

    Args:
        method: "quantile", "width", or "entropy", whose cuts tell most about `y`.
        bins: the number of states of a column, at most.

    Attributes:
        discretization_: the cuts.

    Columns that would be discrete variables stay as they are. Frames come back as frames of the same library, arrays as
    arrays of objects.
    Reference: Fayyad & Irani (1993) for "entropy".
    Guarantee: heuristic; every number has a state.
    Tested by: test_sklearn.py::test_a_discretizer_in_a_pipeline

    >>> Discretizer(bins=2).fit_transform(np.array([[0.1], [0.2], [0.8], [1.1]])).ravel().tolist()
    ['(-inf, 0.5)', '(-inf, 0.5)', '[0.5, inf)', '[0.5, inf)']
    """

    discretization_: Discretization

    def __init__(self, method: Kind = "quantile", *, bins: int = 4) -> None:
        self.method = method
        self.bins = bins

    def fit(self, X: Any, y: Any = None) -> Self:
        """The discretizer, fitted to the rows; `y` is used by "entropy" alone."""
        opened = open_frame(_columns(self, X, reset=True))
        self.variables_ = [infer_variable(name, opened.read(name)) for name in opened.names]
        real = [v.name for v in self.variables_ if not isinstance(v, Discrete)]
        cells: dict[str, Any] = {name: opened.numbers(name) for name in real}
        target = "y" if isinstance(self.method, str) and self.method == "entropy" else None
        if target is not None:
            if y is None:
                raise ValueError("Discretizer(method='entropy') requires y to be passed, but the target y is None.")
            while target in cells:
                target += "_"
            cells[target] = np.asarray(y)
        self.discretization_ = discretize(cells, real, method=self.method, bins=self.bins, target=target)
        return self

    def transform(self, X: Any) -> Any:
        """The rows with states in place of numbers."""
        checks.check_is_fitted(self)
        columns = _columns(self, X, reset=False)
        cuts = self.discretization_
        if _is_frame(X) and open_frame(X).names == tuple(columns):
            return cuts.transform(X)
        opened = open_frame(columns)
        told = cuts.transform({name: opened.numbers(name) for name in cuts.cuts})
        rest = np.array(np.asarray(X), object)
        for place, name in enumerate(columns):
            if name in told:
                rest[:, place] = told[name]
        return rest

    def get_feature_names_out(self, input_features: Any = None) -> Objects:
        """The names of the columns, which are unchanged."""
        checks.check_is_fitted(self)
        return np.asarray(checks._check_feature_names_in(self, input_features), object)


@translated
def best_tree(rows: Dataset) -> DAG:
    r"""The tree over the columns with the largest total mutual information, each pair from the rows that have both.

    $$\max_T \sum_{(i, j) \in T} I(X_i; X_j)$$

    Reference: Chow & Liu (1968), Approximating discrete probability distributions with dependence trees.

    >>> rows = Dataset({"a": [0, 1, 0, 1], "b": [0, 0, 1, 1], "c": [0, 1, 0, 1]})
    >>> best_tree(rows).parents("c")
    ('a',)
    """
    variables = list(rows.variables)
    gains = np.zeros((len(variables), len(variables)))
    for j in range(len(variables)):
        for i in range(j):
            gains[i, j] = gains[j, i] = _information(rows, variables[i], variables[j])
    parents = spanning_tree(gains, [isinstance(v, Discrete) for v in variables])
    edges = [(variables[p].name, v.name) for v, p in zip(variables, parents, strict=True) if p >= 0]
    return DAG([v.name for v in variables], edges)


def _information(rows: Dataset, first: Discrete | Vector, second: Discrete | Vector) -> float:
    """The mutual information of two columns, over the rows that have both; zero if they are constant there."""
    both = rows.select([first, second])
    seen = both.take(~(_blank(both, first) | _blank(both, second)))
    flat = (
        [v for v in (first, second) if not isinstance(v, Discrete) and np.ptp(seen.values(v)) == 0] if len(seen) else []
    )
    if len(seen) < 2 or flat:
        return 0.0
    whole = Discrete(f"{first.name} {second.name}", ("all",))
    joined = _with_target(seen, whole, np.zeros(len(seen), np.int64), seen.weights)
    found = float(conditional_information(joined, whole, [first, second], seen.weights)[0, 1])
    return found if np.isfinite(found) else 700.0


def _blank(rows: Dataset, variable: Discrete | Vector) -> Bools:
    column = rows.column(variable)
    return np.asarray(np.isnan(column) if column.dtype.kind == "f" else column < 0)


def _default_method(rows: Dataset, template: DAG | BayesNet) -> LearningMethod:
    """The posterior mean under weak priors; if cells are missing, found by EM from a rough imputation."""
    prior: dict[Any, object] = {**weak_line_priors(rows), ...: Dirichlet(1.0)}
    if rows.is_complete:
        return Bayes(prior)
    from sepset.learning.incomplete.em import EM

    return EM(prior=prior, start=fit(template, _filled_roughly(rows), Bayes(prior)).model)


def _filled_roughly(rows: Dataset) -> Dataset:
    """The rows with missing cells replaced by the column's mean or most frequent state."""
    columns: dict[str, AnyArray] = {}
    for v in rows.variables:
        column, holes = rows.column(v), _blank(rows, v)
        seen = column[~holes]
        usual = np.bincount(seen).argmax() if isinstance(v, Discrete) else seen.mean()
        columns[v.name] = np.where(holes, usual, column)
    return Dataset.from_codes(rows.variables, columns, weights=rows.weights)


def _learned(structure: Any, rows: Dataset, seed: int | None) -> Any:
    """The graph that a method of structure learning finds, from the rows in which each family is observed."""
    if not isinstance(structure, StructureMethod):
        return structure
    return learn_structure(rows, method=structure, missing="available", seed=_seed(seed), progress=False).dag


def _graph(structure: Any, rows: Dataset, target: Discrete) -> DAG | BayesNet:
    if isinstance(structure, str) and structure == "naive":
        return naive_bayes(target, [v for v in rows.variables if v != target])
    if isinstance(structure, str) and structure == "tan":
        return tree_augmented(rows if rows.is_complete else _complete(rows), target)
    _require_structure(structure, ("naive", "tan"))
    nodes = structure.nodes if isinstance(structure, DAG) else structure.variables.names
    if target.name not in nodes:
        raise ScopeError(
            f"The structure has no node {target.name!r} for the class.{nearest(target.name, nodes)} "
            "Name it with target=, or name the column of y."
        )
    return structure  # type: ignore[no-any-return]  # a graph or a network, as checked


def _complete(rows: Dataset) -> Dataset:
    """The rows without missing cells, from which a tree is learned."""
    found = rows.take(~np.any([_blank(rows, v) for v in rows.variables], axis=0))
    if len(found) < 2:
        raise ModelError("A tree of features is learned from complete rows, and there are none. Use structure='naive'.")
    return found


def _require_structure(structure: object, words: Sequence[str]) -> None:
    if not isinstance(structure, DAG | BayesNet):
        raise ModelError(
            f"structure is {listing(words)}, a DAG, a BayesNet or a method of structure learning; "
            f"found {structure!r}.{nearest(structure, words)}"
        )


def _columns(estimator: Any, X: Any, *, reset: bool) -> dict[str, Any]:
    """The columns by name, checked as scikit-learn does: finite or missing, and the same as in fitting.

    An array after a frame, or a frame after an array, is read by position; scikit-learn warns about it.
    """
    if _is_frame(X):
        checks.validate_data(estimator, X, reset=reset, skip_check_array=True)
        opened = open_frame(X)
        known = opened.names if reset else [v.name for v in estimator.variables_]
        found = {name: opened.read(own) for name, own in zip(known, opened.names, strict=True)}
        _refuse_infinite(found)
        return found
    array = checks.validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
    if array.dtype.kind == "O":
        array = _numbers_or_objects(array)
        if array.dtype.kind == "f":
            checks.check_array(array, ensure_all_finite="allow-nan")
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported")
    known = [f"x{place}" for place in range(array.shape[1])] if reset else [v.name for v in estimator.variables_]
    return {name: array[:, place].copy() for place, name in enumerate(known)}


def _refuse_infinite(columns: Mapping[str, Column]) -> None:
    for name, column in columns.items():
        if isinstance(column, Cells) and column.values.dtype.kind == "f" and np.isinf(column.values).any():
            row = int(np.argmax(np.isinf(column.values)))
            raise ValueError(f"Input X contains infinity (column {name!r}, row {row}). Leave it out, or clip it.")


def _is_frame(X: Any) -> bool:
    import narwhals.stable.v2 as nw

    if isinstance(X, Mapping) and not hasattr(X, "shape"):  # some sparse matrices are mappings too
        raise TypeError("X is a frame or an array; found a mapping. Give pandas.DataFrame(X) or polars.DataFrame(X).")
    try:
        opened = nw.from_native(X, pass_through=True)
    except nw.exceptions.NarwhalsError:
        opened = opened_frame(X)  # which says what is wrong with it
    return type(opened) is not type(X) and all(isinstance(name, str) for name in opened.columns)


def _numbers_or_objects(array: AnyArray) -> AnyArray:
    """Objects as floats if all are numbers; text is unchanged, other types raise."""
    try:
        return array.astype(np.float64)
    except ValueError:
        return array


def _variables(columns: Mapping[str, Any], structure: Any) -> tuple[tuple[Discrete | Vector, ...], tuple[str, ...]]:
    """The variable of each column, the network's or else inferred, and notes on those; a constant one has one state."""
    opened = open_frame(dict(columns))
    known = {v.name: v for v in structure.variables} if isinstance(structure, BayesNet) else {}
    inferred = {n: infer_variable(n, opened.read(n)) for n in opened.names if n not in known}
    found = tuple(inferred.get(name) or known[name] for name in opened.names)
    empty = [v.name for v in found if not isinstance(v, Discrete) and np.isnan(opened.numbers(v.name)).all()]
    if empty and opened.num_rows:
        raise DataError(f"Columns without any value cannot be learned from: {listing(empty)}. Leave them out.")
    notes = (inference_note(variable, opened.read(name)) for name, variable in inferred.items())
    return found, tuple(filter(None, notes))


def _known(columns: Mapping[str, Any], variables: Sequence[Discrete | Vector], unknown: Unknown) -> Dataset:
    """The rows over known variables; states not seen in fitting raise, or become missing cells."""
    if unknown == "raise":
        return Dataset(dict(columns), variables)
    opened = open_frame(dict(columns))
    codes: dict[str, AnyArray] = {}
    for variable in variables:
        if not isinstance(variable, Discrete):
            codes[variable.name] = opened.numbers(variable.name)
            continue
        levels = levels_of(opened.read(variable.name))
        places = [variable.domain.find(value) for value in levels.values]
        table = np.array([*(-1 if p is None else p for p in places), -1], np.int64)
        codes[variable.name] = table[levels.codes]
    return Dataset.from_codes(variables, codes)


def _with_target(rows: Dataset, target: Discrete, codes: AnyArray, weights: Floats | None) -> Dataset:
    columns = {v.name: rows.column(v) for v in rows.variables} | {target.name: codes}
    return Dataset.from_codes([*rows.variables, target], columns, weights=weights)


def _weights(sample_weight: Any, num_rows: int) -> Floats:
    weights = np.asarray(sample_weight, np.float64)
    weights = np.full(num_rows, float(weights)) if weights.ndim == 0 else weights
    if weights.ndim != 1:
        raise ValueError("Sample weights must be 1D array or scalar")
    if not weights.any():
        raise ValueError("All sample weights are zero. Give some rows a positive weight.")
    return weights


def _check_lengths(columns: Mapping[str, Any], labels: AnyArray) -> None:
    checks.check_consistent_length(next(iter(columns.values()), labels), labels)
    if not len(labels):
        raise ValueError("Found array with 0 sample(s): a minimum of 1 row is required.")


def _refuse_missing_labels(labels: AnyArray) -> None:
    missing = np.array([_is_missing(label) for label in labels.tolist()], np.bool_)
    if missing.any():
        raise ValueError(
            f"Input y contains NaN or None (first in row {int(np.argmax(missing))}): rows without a class cannot be "
            "learned from. Drop them, or fit the network by EM."
        )


def _is_missing(label: Any) -> bool:
    """Whether a label is None, NaN, or another value that does not equal itself, such as pandas' NA."""
    try:
        return label is None or bool(label != label)
    except TypeError:
        return True


def _name_of(y: Any) -> str | None:
    name = getattr(y, "name", None)
    return name if isinstance(name, str) and name else None


def _unused(name: str, columns: Mapping[str, Any], structure: Any) -> str:
    """The name of the class, changed if a feature has the same name and no given structure depends on it."""
    while name in columns and isinstance(structure, str | StructureMethod):
        name += "_"
    return name


def _class_variable(name: str, classes: AnyArray, structure: Any) -> Discrete:
    """The class: the network's own variable, whose states may have any order, or one with the classes as states."""
    if not isinstance(structure, BayesNet) or name not in structure.variables:
        return Discrete(name, [_plain(c) for c in classes])
    found = structure.variables[name]
    if not isinstance(found, Discrete):
        raise ScopeError(f"The class is a discrete variable; the network has {found!r}.")
    return found


def _codes_of(classes: AnyArray, target: Discrete) -> Ints:
    """The code of each class."""
    return np.array([target.code(_plain(c)) for c in classes], np.int64)


def _plain(state: Any) -> State:
    return state.item() if isinstance(state, np.generic) else state  # type: ignore[no-any-return]  # a state by now


def _seed(random_state: Any) -> int:
    return int(require("sklearn.utils", "sklearn", "sepset.sklearn").check_random_state(random_state).randint(2**31))


def _like(X: Any, rows: Dataset, filled: Dataset) -> Any:
    """The imputed rows in the form of the input, including the types of its columns."""
    if not _is_frame(X):
        parts = [_cells(filled, v) for v in rows.variables]
        made = np.stack(parts, axis=1) if parts else np.zeros((len(rows), 0))
        return made.astype(X.dtype) if getattr(X, "dtype", np.dtype(object)).kind == "f" else made
    import narwhals.stable.v2 as nw

    opened = nw.from_native(X, eager_only=True)
    holes = {name: _blank(rows, v) for name, v in zip(opened.columns, rows.variables, strict=True)}
    cells = {name: _cells(filled, v) for name, v in zip(opened.columns, rows.variables, strict=True)}
    changed = [name for name in opened.columns if holes[name].any()]
    if opened.implementation.is_pandas():
        return X.assign(**{name: _pandas_column(X[name], holes[name], cells[name]) for name in changed})
    new = [nw.new_series(name, cells[name].tolist(), backend=opened.implementation) for name in changed]
    return opened.with_columns(*(series.cast(opened[series.name].dtype) for series in new)).to_native()


def _pandas_column(column: Any, missing: Bools, cells: AnyArray) -> Any:
    """The column with its missing cells replaced, of its own type if that can represent them."""
    series, places = type(column), np.flatnonzero(missing)
    found = cells[places].tolist()
    has_all = set(found) <= set(getattr(column.dtype, "categories", found))
    try:
        filled = series(found, dtype=column.dtype if has_all else object)
    except (TypeError, ValueError):  # a column of integers, filled with other numbers
        filled = series(found)
    made = column.copy() if filled.dtype == column.dtype else column.astype(filled.dtype)
    made.iloc[places] = filled.array
    return made


def _cells(rows: Dataset, variable: Discrete | Vector) -> AnyArray:
    """A column of states or numbers, of one NumPy type if all states have the same type."""
    if not isinstance(variable, Discrete):
        return rows.values(variable)
    states = rows.states(variable)
    kinds = {type(s) for s in variable.states}
    return states.astype(kinds.pop()) if len(kinds) == 1 and kinds <= {int, float, bool} else states
