r"""How much pairs of features tell about each other beyond a class: conditional mutual information from rows.

$$I(X; Y \mid C) = \sum_c \hat P(c) \, D\big(\hat P(X, Y \mid c) \,\|\, \hat P(X \mid c) \hat P(Y \mid c)\big)$$

Times the number of rows, it is the gain in log-likelihood of an edge between the two. Real features are taken as
Gaussian in every context, as their CPDs are.

Reference: Koller & Friedman, definition A.3; Friedman, Geiger & Goldszmidt (1997).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.numerics.matrices import parts, product
from sepset.data.dataset import Dataset
from sepset.data.scatter import Scatter, centered
from sepset.data.sources import refuse_missing
from sepset.errors import DataError
from sepset.variables.variable import Discrete, Vector

CHUNK = 8_192
"""Rows that are written out as indicators at a time."""

WHOLE = 1 << 24
"""The entries of a table of all pairs of states up to which it is counted as a whole."""


def conditional_information(
    rows: Dataset, target: Discrete, features: Sequence[Discrete | Vector], weights: Floats | None = None
) -> Floats:
    """The conditional mutual information of every pair of features given the class, in nats: a symmetric matrix.

    Args:
        rows: complete rows.
        target: the class.
        features: discrete or real.
        weights: one per row.

    >>> rows = Dataset({"c": [0, 0, 0, 0], "x": [0, 1, 0, 1], "y": [1, 0, 1, 0]})
    >>> conditional_information(rows, rows.variables["c"], list(rows.variables)[1:]).round(6).tolist()
    [[0.0, 0.693147], [0.693147, 0.0]]
    """
    refuse_missing(rows.select([target, *features]), "A tree of features")
    share = np.ones(rows.num_rows) if weights is None else weights
    if not share.sum() > 0:
        raise DataError("All weights are zero; mutual information needs rows that count.")
    classes = rows.codes(target).astype(np.int64)
    discrete = [i for i, v in enumerate(features) if isinstance(v, Discrete)]
    real = [i for i, v in enumerate(features) if not isinstance(v, Discrete)]
    result = np.zeros((len(features), len(features)))
    for code in range(target.num_states):
        inside = np.flatnonzero((classes == code) & (share > 0))
        if not inside.size:
            continue
        part = rows.take(inside)
        weight = share[inside]
        probability = weight.sum() / share.sum()
        result[np.ix_(discrete, discrete)] += probability * _tables(part, [features[i] for i in discrete], weight)
        result[np.ix_(real, real)] += probability * _lines(part, [features[i] for i in real], weight)
        for i in discrete:
            for j in real:
                gain = probability * _steps(part, features[i], features[j], weight)
                result[i, j] += gain
                result[j, i] += gain
    np.fill_diagonal(result, 0.0)
    return 0.5 * (result + result.T)


def _tables(rows: Dataset, features: Sequence[Discrete | Vector], weights: Floats) -> Floats:
    """Mutual information of discrete features; many tables of pairs at once, as one product of indicators."""
    sizes = [f.num_states for f in features if isinstance(f, Discrete)]
    starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
    found, total = np.zeros((len(sizes), len(sizes))), int(starts[-1])
    kept = list(_indicators(rows, features, starts, weights)) if rows.num_rows <= CHUNK else None
    for part in parts(len(sizes), 0.0, max(sizes) * total if total**2 > WHOLE else 0.0):
        own = slice(int(starts[part.start]), int(starts[part.stop]))
        joint, single = np.zeros((own.stop - own.start, total)), np.zeros(total)
        for ones, share in _indicators(rows, features, starts, weights) if kept is None else kept:
            joint += product((ones[:, own] * share[:, None]).T, ones)
            single += share @ ones
        found[part] = _information(joint / weights.sum(), single / weights.sum(), own, starts, part)
    return found


def _information(joint: Floats, single: Floats, own: slice, starts: Ints, part: slice) -> Floats:
    """The mutual information of some features with all, from the probabilities of their states."""
    inside = joint > 0
    terms = np.zeros_like(joint)
    terms[inside] = joint[inside] * np.log((joint / np.where(inside, np.outer(single[own], single), 1.0))[inside])
    summed = np.add.reduceat(terms, starts[part] - starts[part.start], axis=0)
    return np.asarray(np.add.reduceat(summed, starts[:-1], axis=1))


def _indicators(
    rows: Dataset, features: Sequence[Discrete | Vector], starts: Ints, weights: Floats
) -> Iterator[tuple[Floats, Floats]]:
    columns = [rows.codes(f).astype(np.int64) + start for f, start in zip(features, starts[:-1], strict=True)]
    for begin in range(0, rows.num_rows, CHUNK):
        size = min(CHUNK, rows.num_rows - begin)
        ones = np.zeros((size, starts[-1]))
        for column in columns:
            ones[np.arange(size), column[begin : begin + size]] = 1.0
        yield ones, weights[begin : begin + size]


def _lines(rows: Dataset, features: Sequence[Discrete | Vector], weights: Floats) -> Floats:
    r"""$-\frac12 \log(1 - \rho^2)$ of real features; infinite where one is a line of the other."""
    columns = np.stack([rows.values(f) for f in features], axis=1) if features else np.zeros((rows.num_rows, 0))
    count, _, products = centered(columns, weights)
    covariance = products[0] / count[0]
    deviation = np.sqrt(np.diagonal(covariance))
    scale = np.divide(1.0, deviation, out=np.zeros(len(deviation)), where=deviation > 0)
    squares = np.minimum((covariance * scale[:, None] * scale) ** 2, 1.0)
    np.fill_diagonal(squares, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(-0.5 * np.log1p(-squares))


def _steps(rows: Dataset, discrete: Discrete | Vector, real: Discrete | Vector, weights: Floats) -> float:
    r"""$\frac12 (\log\sigma^2 - \sum_d \hat P(d) \log\sigma_d^2)$.

    A state seen with a single value has no information about the variance in it, and gets that of the whole.
    """
    codes, values = rows.codes(discrete), rows.values(real)
    whole = float(Scatter.of(values, weights).covariance[0, 0])
    if whole == 0.0:
        return 0.0
    gain = np.log(whole)
    for code in np.unique(codes):
        at = codes == code
        variance = float(Scatter.of(values[at], weights[at]).covariance[0, 0])
        gain -= weights[at].sum() / weights.sum() * np.log(variance or whole)
    return float(max(0.5 * gain, 0.0))
