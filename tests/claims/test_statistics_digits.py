"""Estimates from statistics against rational arithmetic: what is called exact has its digits."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import sepset as ss
from sepset.data.scatter import Scatter, centered
from sepset.learning import fit_regression
from sepset.priors import LinearNormalGamma, NormalGamma
from support import rational_normals

PARENTS = ("a", "b")


def columns_of(seed):
    """Two parents that differ by little, in any units, far from zero or near it."""
    rng = np.random.default_rng([seed, 7])
    a, b, noise = rng.normal(size=(3, 25))
    near, noisy, unit = 10.0 ** rng.uniform([-9, -5, -6], [0, 1, 6])
    far = 10.0 ** rng.uniform(-1, 8) * rng.normal(size=2)
    return {"a": a + far[0], "b": unit * (a + near * b + far[1]), "y": a - 2.0 * b + noisy * noise}


def is_right(cpd, slopes, start, columns):
    """Whether slopes and intercept are right to 1e-6 of their size, or of the child's deviation if that is larger."""
    spreads, deviation = [columns[name].std() for name in PARENTS], columns["y"].std()
    size = max(deviation, *(abs(float(b)) * s for b, s in zip(slopes, spreads, strict=True)))
    named = dict(zip((v.name for v in cpd.given), cpd.coefficients[0, 0], strict=True))
    apart = [abs(float(Fraction(float(named[name])) - b)) for name, b in zip(PARENTS, slopes, strict=True)]
    moved = abs(float(Fraction(float(cpd.intercept[0, 0])) - start))
    lines = all(d * s <= 1e-6 * size for d, s in zip(apart, spreads, strict=True))
    return lines and moved <= 1e-6 * max(abs(float(start)), deviation)


@pytest.mark.parametrize("kind", ["rows", "products", "parts", "taken away"])
def test_regressions_called_exact_have_their_digits(kind):
    verdicts = []
    for seed in range(30):
        columns = columns_of(seed)
        x = np.stack([columns[name] for name in (*PARENTS, "y")], axis=1)
        whole, more = Scatter.of(x), Scatter.of(x[::-1] * 3.0)
        seen = {
            "rows": whole,
            "products": Scatter(whole.count, whole.mean, whole.products),
            "parts": Scatter.of(x[:9]) + Scatter.of(x[9:]),
            "taken away": (whole + more) - more,
        }[kind]
        found = fit_regression(seen, "y", given=PARENTS, singular="keep")
        slopes, start, _ = rational_normals.regression(columns, "y", PARENTS)
        verdicts.append(
            (found.guarantees["parameters"] is ss.Guarantee.EXACT, is_right(found.cpd, slopes, start, columns))
        )
        assert ("relative_error" in found.info) != verdicts[-1][0]
    assert all(right for exact, right in verdicts if exact)
    assert sum(exact for exact, _ in verdicts) >= 3


def test_posteriors_called_exact_have_their_digits():
    prior = LinearNormalGamma(np.zeros(3), 1e-6, shape=2.0, rate=1.0)
    exact = 0
    for seed in range(30):
        columns = columns_of(seed)
        found = ss.fit(
            ss.DAG.parse("a -> y <- b"), columns, ss.Bayes({"y": prior, ...: NormalGamma(0, 1, shape=2, rate=1)})
        )
        cpd = found.model.cpd("y")
        names = [v.name for v in cpd.given]
        z = rational_normals.fractions(np.stack([np.ones(25), *(columns[name] for name in names)], axis=1))
        y = rational_normals.fractions(columns["y"])[:, None]
        inner = z.T @ z + rational_normals.fractions(np.diag([1e-6] * 3))
        (start,), *slopes = rational_normals.solved(inner, z.T @ y)[0].tolist()
        ordered = [slopes[names.index(name)][0] for name in PARENTS]
        if found.guarantees["parameters"] is ss.Guarantee.EXACT:
            exact += 1
            assert is_right(cpd, ordered, start, columns)
        else:
            assert found.info["relative_error"]["y"] > 1e-6
            assert any("parameters of y" in note for note in found.notes)
    assert exact >= 5


def test_slopes_of_similar_parents_have_digits_where_rows_are_seen():
    rng = np.random.default_rng(3)
    a, b, noise = rng.normal(size=(3, 40))
    columns = {"a": a + 100.0, "b": a + 1e-7 * b, "y": a + 1e-6 * noise}
    x = np.stack([columns[name] for name in (*PARENTS, "y")], axis=1)
    slopes = rational_normals.regression(columns, "y", PARENTS)[0].astype(float)
    for seen in (Scatter.of(x), Scatter.of(x[:20]) + Scatter.of(x[20:])):
        np.testing.assert_allclose(fit_regression(seen, "y", given=PARENTS).cpd.coefficients[0, 0], slopes, rtol=1e-5)


@pytest.mark.parametrize("away", [0.0, 1e9, 1e11])
@pytest.mark.parametrize("contexts", [1, 3])
def test_products_far_from_zero_keep_their_digits(away, contexts):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1500, 2)) + away * np.array([1.0, -0.7])
    places = rng.integers(0, contexts, len(x))
    _, _, products = centered(x, None, places if contexts > 1 else None, contexts)
    own = rational_normals.fractions(x[places == 0])
    apart = own - own.sum(axis=0) / len(own)
    np.testing.assert_allclose(products[0], (apart.T @ apart).astype(float), rtol=1e-12, atol=1e-12 * len(own))
