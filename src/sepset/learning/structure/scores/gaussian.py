r"""BGe: the evidence of Gaussian structures under a normal-Wishart prior."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from scipy.special import multigammaln

from sepset.base.arraytypes import Floats
from sepset.base.checks import check_positive, number
from sepset.errors import ArgumentError
from sepset.learning.structure.columns import Columns, RealMoments


@dataclass(frozen=True, slots=True)
class BGe:
    r"""The evidence of Gaussian structures, equal on I-equivalent ones.

    With $l$ columns $\mathbf Y$ of the $n$, $N$ rows, and $\text{FamScore} = \log p(\mathcal D_{X \cup \mathbf U})
    - \log p(\mathcal D_{\mathbf U})$:

    $$\log p(\mathcal D_{\mathbf Y}) = \tfrac l2 \log\tfrac{\alpha_\mu}{N + \alpha_\mu} - \tfrac{lN}2 \log\pi
    + \log\tfrac{\Gamma_l((N + \alpha_w - n + l)/2)}{\Gamma_l((\alpha_w - n + l)/2)}
    + \tfrac{\alpha_w - n + l}2 \log|T_{\mathbf{YY}}| - \tfrac{N + \alpha_w - n + l}2 \log|R_{\mathbf{YY}}|$$

    $$R = T + S_N + \tfrac{N \alpha_\mu}{N + \alpha_\mu} (\bar x - \nu)(\bar x - \nu)^\top, \qquad
    T = \tfrac{\alpha_\mu (\alpha_w - n - 1)}{\alpha_\mu + 1} I$$

    Several published forms have an erroneous $T$; this is the corrected one.

    Args:
        mean_size: $\alpha_\mu$, the number of imaginary rows behind the mean.
        freedom: $\alpha_w$; $n + \alpha_\mu + 1$ by default, and more than $n + 1$.
        mean: $\nu$, one number for all columns; the mean of each column by default.

    Reference: Geiger & Heckerman (2002); Kuipers, Moffa & Heckerman (2014) for $T$.
    Guarantee: exact; equal on I-equivalent structures.
    Tested by: learning/structure/scores/test_gaussian.py::test_one_column_is_a_product_of_student_predictions

    >>> rows = Columns.of({"x": [0.5, -1.5, 2.5], "y": [1.5, 0.5, 0.25]})
    >>> one, other = BGe().family(0, (), rows) + BGe().family(1, (0,), rows), BGe().family(0, (1,), rows)
    >>> round(one - other - BGe().family(1, (), rows), 9) == 0
    True
    """

    mean_size: float = 1.0
    freedom: float | None = None
    _: KW_ONLY
    mean: float | None = None

    def __post_init__(self) -> None:
        check_positive("BGe", mean_size=self.mean_size)
        if self.freedom is not None:
            check_positive("BGe", freedom=self.freedom)
        if self.mean is not None:
            number("BGe(mean=)", self.mean)

    is_equivalent = True
    """Whether I-equivalent structures have equal scores."""

    kinds = frozenset({"real"})
    """Real columns."""

    def family(self, child: int, parents: tuple[int, ...], columns: Columns) -> float:
        """The score of one family."""
        columns.check_places(child=child, parents=parents)
        rows = columns.moments(child)
        offsets = np.zeros(len(columns)) if self.mean is None else rows.means + (columns.origins - self.mean)
        return self._evidence([*parents, child], rows, offsets) - self._evidence(list(parents), rows, offsets)

    def _evidence(self, chosen: list[int], rows: RealMoments, offsets: Floats) -> float:
        size, a, total, n = len(chosen), self.mean_size, rows.total, len(offsets)
        if not size:
            return 0.0
        freedom = n + a + 1 if self.freedom is None else self.freedom
        if not freedom > n + 1:
            raise ArgumentError(f"BGe(freedom=) must exceed the number of columns plus one, {n + 1}; found {freedom}.")
        degrees = freedom - n + size
        scale = a * (freedom - n - 1) / (a + 1)
        inner = rows.scatter[np.ix_(chosen, chosen)].copy()
        inner[np.diag_indices(size)] += scale
        log_volume = _log_determinant(inner, total * a / (total + a), offsets[chosen])
        found = size / 2 * np.log(a / (total + a)) - size * total / 2 * np.log(np.pi)
        found += multigammaln((total + degrees) / 2, size) - multigammaln(degrees / 2, size)
        found += degrees / 2 * size * np.log(scale) - (total + degrees) / 2 * log_volume
        return float(found)


def _log_determinant(inner: Floats, factor: float, offset: Floats) -> float:
    r"""$\log|A + c\, o o^\top| = \log|A| + \log(1 + c\, o^\top A^{-1} o)$: far offsets leave the digits of $A$."""
    spread = np.sqrt(np.diagonal(inner))
    scaled, away = inner / spread[:, None] / spread, offset / spread
    found = 2 * np.log(spread).sum() + np.linalg.slogdet(scaled)[1]
    return float(found + np.log1p(factor * away @ np.linalg.solve(scaled, away)) if offset.any() else found)
