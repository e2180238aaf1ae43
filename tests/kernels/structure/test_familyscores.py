"""Kernels of family scores: sums over tables against NumPy and SciPy, plain and compiled alike."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln

from sepset.kernels.structure import familyscores as kernels


def sums(table: np.ndarray, kind: int, a: float, regret: np.ndarray) -> float:
    """The sum as the module's head defines it."""
    seen = table[table.sum(1) > 0]
    n, total, r = seen, seen.sum(1), table.shape[1]
    if kind in (kernels.LIKELIHOOD, kernels.FACTORIZED):
        cells = np.where(n > 0, n * np.log(np.where(n > 0, n, 1)), 0).sum() - (total * np.log(total)).sum()
        return float(cells - (regret[total.astype(int)].sum() if kind == kernels.FACTORIZED else 0))
    if kind == kernels.LEAVE_ONE_OUT:
        ratio = (n - 1 + a) / (total - 1 + r * a)[:, None]
        return float(np.where(n > 0, n * np.log(np.where(n > 0, ratio, 1)), 0).sum())
    if kind == kernels.SPARSE_EVIDENCE:
        a = a / (len(seen) * r)
    cells = (gammaln(n + a) - gammaln(a)).sum()
    return float(cells - (gammaln(total + r * a) - gammaln(r * a)).sum())


@pytest.mark.parametrize("kind", range(5))
@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_sums(kind: int, dtype: type) -> None:
    rng = np.random.default_rng(kind)
    logs = np.append(0.0, np.arange(1, 20) * np.log(np.arange(1, 20)))
    regret = rng.random(200)
    for a in (0.3, 1.0, 1e-7 if kind != kernels.LEAVE_ONE_OUT else 2.0):
        table = rng.integers(0, 40, (5, 3)).astype(dtype)
        table[2] = 0
        table[rng.random((5, 3)) < 0.3] = 0
        found = kernels.table_score(table.reshape(-1), 5, 3, kind, a, logs, regret)
        assert found == pytest.approx(sums(table, kind, a, regret), rel=1e-9)


def test_a_rise_of_tiny_and_huge_numbers() -> None:
    assert kernels.log_rise(1e-300, 1.0) == pytest.approx(np.log(1e-300))
    assert kernels.log_rise(1e-8, 3.0) == pytest.approx(np.log(1e-8) + np.log1p(1e-8) + np.log(2 + 1e-8), rel=1e-14)
    assert kernels.log_rise(2.5, 0.5) == pytest.approx(gammaln(3.0) - gammaln(2.5))
    assert kernels.log_rise(1.0, 1e6) == pytest.approx(gammaln(1e6 + 1))


def test_rows_that_do_not_count_are_skipped() -> None:
    ids = np.array([0, kernels.SKIPPED, 1, 0], np.uint32)
    codes = np.array([1, 0, 0, -1], np.int8)
    out = np.empty(4, np.uint32)
    assert kernels.refine(ids, codes, 2, np.zeros(4, np.uint32), out) == 2
    assert out.tolist() == [0, kernels.SKIPPED, 1, kernels.SKIPPED]
    kernels.keys(ids, codes, 2, out)
    assert out.tolist() == [1, kernels.SKIPPED, 2, kernels.SKIPPED]
    table = np.zeros(4)
    kernels.count_cells(out, np.array([0.5, 9.0, 2.0, 9.0]), table)
    assert table.tolist() == [0, 0.5, 2.0, 0]
