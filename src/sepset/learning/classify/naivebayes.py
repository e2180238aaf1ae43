r"""Bayesian classifiers as ordinary networks: naive Bayes, and trees of features below the class.

$$P(c, x_1, \dots, x_n) = P(c) \prod_i P(x_i \mid c, \mathbf{pa}_i)$$

Here are their structures. The columns decide the CPDs: tables for discrete features (Bernoulli where there are two
states), Gaussians for real ones, in any mixture. `fit` gives them parameters and `Classifier` predicts with them.

Reference: Koller & Friedman, sections 3.1.3 and box 17.A; Friedman, Geiger & Goldszmidt (1997).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.checks import row_weights
from sepset.base.foreign import translated
from sepset.base.text import listing
from sepset.data.columns import check_range
from sepset.data.dataset import Dataset
from sepset.data.files import read_dataset
from sepset.data.frames import in_row_order
from sepset.data.sources import num_columns
from sepset.errors import DataError, ScopeError
from sepset.graphs.graph import DAG
from sepset.learning.classify.dependence import conditional_information
from sepset.learning.structure.constraints import check_pairs
from sepset.learning.structure.exact.spanning import spanning_tree
from sepset.variables.variable import Discrete, VariableLike, Vector


@translated
def naive_bayes(target: VariableLike, features: Iterable[VariableLike]) -> DAG:
    """The graph with an edge from the class to every feature.

    Args:
        target: the class.
        features: variables, or their names.

    Reference: Koller & Friedman, section 3.1.3.
    Guarantee: the star graph.
    Tested by: learning/classify/test_naivebayes.py::test_naive_bayes_is_a_star

    >>> naive_bayes("spam", ["length", "sender"])
    DAG(spam -> length; spam -> sender)
    """
    root, leaves = _name(target), [_name(f) for f in features]
    _check_features(root, leaves)
    return DAG([root, *leaves], [(root, leaf) for leaf in leaves])


@translated
def tree_augmented(
    data: object,
    target: VariableLike,
    *,
    features: Iterable[VariableLike] | None = None,
    weights: Floats | None = None,
) -> DAG:
    r"""The graph of naive Bayes with the best tree among the features: each has at most one other as parent.

    $$\max_T \sum_{(i, j) \in T} I(X_i; X_j \mid C)$$

    a maximum spanning tree over the empirical conditional mutual information, which is the tree of largest likelihood.
    Discrete features take no real parents, so theirs is a tree of its own and the real ones hang below: still the best
    such tree. Of equally good ones the first in the order of the features is taken; features without information
    about each other are joined too, which costs no likelihood.

    Args:
        data: complete rows: a dataset, any data frame, a mapping of columns, or the path of a file.
        target: the class, discrete.
        features: by default all other columns.
        weights: one per row; by default those of the dataset.

    Cost: quadratic in the total number of states, and in the number of rows only once.
    Reference: Friedman, Geiger & Goldszmidt (1997), section 4.1.
    Guarantee: largest likelihood among such trees; ties deterministic.
    Tested by: learning/classify/test_naivebayes.py::test_the_tree_has_the_largest_likelihood

    >>> copy = {"class": [0, 0, 1, 1, 0, 1], "a": [0, 1, 0, 1, 0, 1], "b": [0, 1, 0, 1, 0, 1], "c": [0, 0, 1, 0, 1, 1]}
    >>> tree_augmented(copy, "class").parents("b")
    ('class', 'a')
    """
    features = None if features is None else list(features)
    check_pairs(num_columns(data) if features is None else len(features))
    rows = _rows(data)
    root = rows.variables.named(target)
    if not isinstance(root, Discrete):
        raise ScopeError(f"The class is discrete; {root.name!r} is not. Give it states.")
    chosen = [v for v in rows.variables if v != root] if features is None else [rows.variables[f] for f in features]
    _check_features(root.name, [v.name for v in chosen])
    share = _row_weights(rows, in_row_order(weights, data))
    for variable in chosen:
        if not isinstance(variable, Discrete):
            numbers = np.nan_to_num(rows.values(variable), nan=0.0, posinf=np.inf, neginf=np.inf)
            check_range([numbers], [variable.name], "A tree needs finite numbers")
    information = conditional_information(rows, root, chosen, share)
    parents = spanning_tree(information, [isinstance(v, Discrete) for v in chosen])
    edges = [(root.name, v.name) for v in chosen]
    edges += [(chosen[p].name, v.name) for v, p in zip(chosen, parents, strict=True) if p >= 0]
    return DAG([root.name, *(v.name for v in chosen)], edges)


def _rows(data: object) -> Dataset:
    if isinstance(data, str | os.PathLike):
        return read_dataset(data)
    return data if isinstance(data, Dataset) else Dataset(data)


def _name(variable: VariableLike) -> str:
    return variable.name if isinstance(variable, Discrete | Vector) else variable


def _check_features(target: str, features: Sequence[str]) -> None:
    counts = Counter(features)
    if target in counts:
        raise ScopeError(f"{target!r} is the class and cannot be a feature of itself.")
    twice = sorted(f for f, count in counts.items() if count > 1)
    if twice:
        raise ScopeError(f"Features are listed once; found twice: {listing(twice)}.")


def _row_weights(rows: Dataset, weights: Floats | None) -> Floats:
    if rows.num_rows == 0:
        raise DataError("A tree is learned from rows; there are none.")
    if weights is not None:
        return row_weights(weights, rows.num_rows)
    return np.ones(rows.num_rows) if rows.weights is None else rows.weights
