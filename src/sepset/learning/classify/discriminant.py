r"""Gaussian discriminant analysis as an ordinary network: a class, and features that are jointly Gaussian given it.

$$P(c) = \pi_c, \qquad p(\mathbf x \mid c) = N(\mathbf x; \mu_c; \Sigma) \text{ or } N(\mathbf x; \mu_c; \Sigma_c)$$

With one covariance for all classes the posterior of the class is logistic in the features; with one each it is
quadratic.

Reference: Koller & Friedman, section 16.3.2; Hastie, Tibshirani & Friedman, *Elements*, section 4.3.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats
from sepset.base.checks import finite_array, one_of, row_weights
from sepset.base.foreign import translated
from sepset.base.numerics.matrices import triangle
from sepset.base.text import listing
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.priors.gaussian import NormalMean
from sepset.cpds.priors.penalized import smallest_variances
from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.data.frames import in_row_order
from sepset.data.scatter import Scatter, Scatters, row_root
from sepset.data.sources import measured, refuse_missing
from sepset.errors import ArgumentError, DataError, ModelError, ScopeError
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, VariableLike, Vector


@translated
def discriminant_analysis(
    data: object,
    target: VariableLike,
    *,
    features: Iterable[VariableLike] | None = None,
    covariance: Literal["shared", "own"] = "shared",
    pseudo_count: ArrayLike = 0.0,
    prior: object = None,
    weights: ArrayLike | None = None,
) -> BayesNet:
    r"""The maximum likelihood network of a class and real features that are jointly Gaussian in each class.

    $$\pi_c = \frac{M[c] + \alpha_c}{M + \sum_k \alpha_k}, \qquad \mu_c = \bar{\mathbf x}_c, \qquad
    \Sigma = \frac1M \sum_c S_c \text{ or } \Sigma_c = \frac{S_c}{M[c]}$$

    The joint of the features is written as a chain: each has the class and the features before it as parents. A feature
    without variance of its own (constant, or a linear function of those before it) is an error, as for `MLE`.

    Args:
        data: complete rows: a dataset, any data frame, or a mapping of columns.
        target: the class, discrete.
        features: real columns; by default all of them.
        covariance: one for all classes ("shared", linear) or one each ("own", quadratic).
        pseudo_count: $\alpha$, added to the count of every class; one for all or one each.
        prior: a conjugate prior of each feature's regression in each class, such as `NormalGamma` with covariance
            "own"; the network then has the expected parameters. A shared variance must be known: `NormalMean`, for
            features without others before them.
        weights: one per row; by default those of the dataset.

    Reference: Koller & Friedman 16.3.2.
    Guarantee: maximum likelihood.
    Tested by: learning/classify/test_discriminant.py::test_the_network_is_bayes_rule_with_scipy

    >>> rows = {"c": [0, 0, 0, 1, 1], "x": [1.0, 2.0, 3.0, 10.0, 12.0]}
    >>> model = discriminant_analysis(rows, "c")
    >>> model.cpd("x").intercept.tolist(), model.cpd("x").covariance.round(9).tolist()
    ([[2.0], [11.0]], [[[0.8]], [[0.8]]])
    >>> model.cpd("x")
    LinearGaussian(x | c[2]; shared covariance)
    """
    one_of("covariance", covariance, ("shared", "own"))
    rows = measured(data)
    root, reals = _variables(rows, target, features)
    refuse_missing(rows.select([root, *reals]), "Discriminant analysis")
    share = rows.weights if weights is None else row_weights(in_row_order(weights, data), rows.num_rows)
    if prior is None and len(reals) > rows.num_rows:  # one of the first features is determined by those before it
        reals = reals[: rows.num_rows + 1]
    parts = _scatters(rows, root, reals, share)
    counts = np.array([p.count for p in parts])
    _check_counts(root, counts)
    added = finite_array("discriminant_analysis", "pseudo_count", pseudo_count)
    if added.shape not in ((), counts.shape):
        raise ModelError(
            f"pseudo_count= is one number, or one for each of {len(counts)} classes; found the shape {added.shape}."
        )
    chances = TableCPD.normalized(root, counts + added)
    if prior is not None:
        _check_prior(prior, covariance)
        return BayesNet(chances, *(_expected(root, reals, i, parts, prior) for i in range(len(reals))))
    is_shared = covariance == "shared"
    spreads = [_pooled(parts)] * len(parts) if is_shared else parts
    means = [p.mean for p in parts]
    links = (_link(root, reals, i, means, spreads, is_shared=is_shared) for i in range(len(reals)))
    return BayesNet(chances, *links)


def _check_prior(prior: object, covariance: str) -> None:
    """Raise where one variance is shared and a prior gives each class its own."""
    if covariance == "shared" and not isinstance(prior, NormalMean):
        raise ArgumentError(
            f'{prior!r} is a prior of each class by itself. Use covariance="own", or NormalMean, whose known precision '
            "all classes share."
        )


def _expected(
    root: Discrete, reals: tuple[Vector, ...], place: int, parts: list[Scatter], prior: object
) -> LinearGaussian:
    """The CPD of one feature with the parameters that are expected under a prior of each class."""
    cpd = LinearGaussian.standard(reals[place], reals[:place], by=root)
    seen = Scatters.stacked([_first(p, place + 1) for p in parts])
    (made,) = cpd.parameters.posterior(prior, [cpd], seen).mean_cpds()
    return made


def _variables(
    rows: Dataset, target: VariableLike, features: Iterable[VariableLike] | None
) -> tuple[Discrete, tuple[Vector, ...]]:
    root = rows.variables.named(target)
    if not isinstance(root, Discrete):
        raise ScopeError(f"The class is discrete; {root.name!r} is not. Give it states.")
    if features is None:
        return root, tuple(v for v in rows.variables if isinstance(v, Vector))
    chosen = tuple(rows.variables[f] for f in features)
    wrong = [v.name for v in chosen if not isinstance(v, Vector)]
    if wrong:
        raise ScopeError(f"Discriminant analysis has real features; {listing(wrong)} are discrete. Use naive_bayes.")
    return root, tuple(v for v in chosen if isinstance(v, Vector))


def _scatters(rows: Dataset, root: Discrete, reals: tuple[Vector, ...], weights: Floats | None) -> list[Scatter]:
    """The statistics of the features in each class, with a root of their products, which keeps the digits of rows."""
    x = np.stack([rows.values(v) for v in reals], axis=1) if reals else np.zeros((rows.num_rows, 0))
    codes, share = rows.codes(root), np.ones(rows.num_rows) if weights is None else weights
    return [_rooted(x[codes == code], share[codes == code]) for code in range(root.num_states)]


def _rooted(rows: Floats, weights: Floats) -> Scatter:
    found = Scatter.of(rows, weights)
    if not found.count or not found.size:
        return found
    return Scatter(found.count, found.mean, found.products, row_root(rows, weights), found.rounding)


def _pooled(parts: list[Scatter]) -> Scatter:
    """The statistics of all rows about the mean of their own class."""
    products = np.sum([p.products for p in parts], axis=0)
    root = triangle(np.concatenate([p.root for p in parts if p.root is not None])) if len(products) else None
    return Scatter(sum(p.count for p in parts), np.zeros(len(products)), products, root)


def _first(part: Scatter, num: int) -> Scatter:
    """The statistics of the first features."""
    root = None if part.root is None else part.root[:, :num]
    return Scatter(part.count, part.mean[:num], part.products[:num, :num], root, part.rounding)


def _check_counts(root: Discrete, counts: Floats) -> None:
    empty = np.flatnonzero(counts == 0)
    if empty.size:
        raise DataError(f"No row has {root.name}={root.states[empty[0]]!r}, so its features have no mean.")


def _flat(feature: Vector, root: Discrete, code: int, before: tuple[Vector, ...]) -> DataError:
    """The error for a feature without variance of its own, as maximum likelihood has it for any regression."""
    fixed = f" given {listing(v.name for v in before)}" if before else ""
    return DataError(
        f"The variance of {feature.name}{fixed} is zero where {root.name}={root.states[code]!r}, so the likelihood is "
        'unbounded there. Leave the feature out, use covariance="shared" if only one class is constant, or fit the '
        "network with MLE(min_variance=...) or Bayes."
    )


def _link(
    root: Discrete,
    reals: tuple[Vector, ...],
    place: int,
    means: list[Floats],
    spreads: list[Scatter],
    *,
    is_shared: bool,
) -> LinearGaussian:
    """The CPD of one feature given the class and the features before it."""
    known = [_first(spread, place + 1) for spread in spreads]
    lines = [one.fit() for one in known]
    ends = [m[place : place + 1] - line.slope @ m[:place] for m, line in zip(means, lines, strict=True)]
    variances = np.stack([line.residual / one.count for line, one in zip(lines, known, strict=True)])
    slopes = np.stack([line.slope for line in lines])
    seen = Scatters.stacked(
        [Scatter(one.count, m[: place + 1], one.products) for one, m in zip(known, means, strict=True)]
    )
    flat = np.flatnonzero(variances[:, 0, 0] <= smallest_variances(slopes, seen))
    if flat.size:
        raise _flat(reals[place], root, int(flat[0]), reals[:place])
    return LinearGaussian(
        reals[place],
        np.stack(ends),
        coefficients=slopes,
        covariance=variances,
        given=reals[:place],
        by=root,
        shared="covariance" if is_shared else None,
    )
