"""A law for numbers with labels: a pandas series or frame in any order means the same, or is refused.

Each entry makes something from numbers whose labels say what they are, in the written order and shuffled. Nothing may
come of the shuffled numbers by position.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sepset as ss

A, B = ss.Discrete("a", ("u", "v")), ss.Discrete("b", ("p", "q", "r"))
C = ss.Discrete("c", ("v", "u"))
X, Y = ss.Real("x"), ss.Real("y")

BY_B = pd.Series({"p": 0.2, "q": 0.3, "r": 0.5})
BY_A = pd.Series({"u": 0.1, "v": 0.9})
ROWS = pd.DataFrame([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], index=list("uv"), columns=list("pqr"))
JOINT = pd.Series([0.1, 0.9, 0.4, 0.6], index=pd.MultiIndex.from_product([list("uv"), list("uv")], names=["a", "c"]))
MEAN = pd.Series({"x": 1.0, "y": 2.0})
SPREAD = pd.DataFrame([[4.0, 1.0], [1.0, 9.0]], index=list("xy"), columns=list("xy"))

NET = ss.BayesNet(ss.TableCPD(A, [0.4, 0.6]), ss.TableCPD(B, ROWS.to_numpy(), given=A))

READ: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "likelihood": (BY_B, lambda n: ss.query(NET, "a", given={"b": ss.Likelihood(n)}).values),
    "soft": (BY_B, lambda n: ss.query(NET, "a", given={"b": ss.Soft(n)}).values),
    "a table of one variable": (BY_B, lambda n: ss.TableCPD(B, n).values),
    "rows in a mapping": (BY_B, lambda n: ss.TableCPD(B, {"u": n, "v": BY_B}, given=A).values),
    "rows of a table": (ROWS, lambda n: ss.TableCPD(B, n, given=A).values),
    "named axes": (JOINT.unstack("a"), lambda n: ss.TableCPD(C, n, given=A).values),
    "named axes, turned": (JOINT.unstack("c"), lambda n: ss.TableCPD(C, n, given=A).values),
    "a factor": (JOINT, lambda n: ss.Table([C, A], n).values),
    "a factor of a frame": (JOINT.unstack("c"), lambda n: ss.Table([C, A], n).values),
    "contributions": (ROWS, lambda n: ss.NoisyMax(B, {A: n}).to_table().values),
    "a leak": (BY_B, lambda n: ss.NoisyMax(B, {A: ROWS.to_numpy()}, leak=n).to_table().values),
    "activations": (BY_B, lambda n: ss.NoisyOr(A, {B: n}).to_table().values),
    "logistic weights": (ROWS, lambda n: ss.LogisticCPD(B, {A: n}).to_table().values),
    "log-odds": (BY_B, lambda n: ss.LogisticCPD(A, {B: n}).to_table().values),
    "a bias": (BY_B, lambda n: ss.LogisticCPD(B, {A: ROWS.to_numpy()}, bias=n).to_table().values),
    "coefficients": (
        MEAN,
        lambda n: ss.LinearGaussian(ss.Real("z"), 0.0, coefficients=n, covariance=1.0, given=[X, Y]).coefficients,
    ),
    "intercepts": (BY_A, lambda n: ss.LinearGaussian(X, n, covariance=1.0, by=A).intercept),
    "variances": (BY_A, lambda n: ss.LinearGaussian(X, 0.0, covariance=n, by=A).covariance),
    "slopes by state": (
        BY_A,
        lambda n: ss.LinearGaussian(X, 0.0, coefficients={Y: n}, covariance=1.0, given=Y, by=A).coefficients,
    ),
    "a mean": (MEAN, lambda n: ss.factors.Gaussian([X, Y], n, covariance=SPREAD.to_numpy()).mu),
    "a covariance": (SPREAD, lambda n: ss.factors.Gaussian([X, Y], [0.0, 0.0], covariance=n).covariance),
}

REFUSED: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "pseudo-counts": (BY_B, ss.priors.Dirichlet),
    "joint likelihoods": (JOINT, ss.Likelihood),
    "a matrix": (SPREAD, lambda n: ss.factors.CanonicalGaussian([X, Y], n, h=[0.0, 0.0])),
    "distributions of parts": (ROWS, lambda n: ss.cpds.PartitionCPD(B, [0, 1], distributions=n, given=A)),
    "unnamed axes of a factor": (ROWS, lambda n: ss.Table([A, B], n)),
}


def shuffled(numbers: Any) -> Any:
    """The same numbers, each axis in the reverse order."""
    return numbers.iloc[(slice(None, None, -1),) * numbers.ndim]


@pytest.mark.parametrize("name", READ)
def test_labels_are_read(name: str) -> None:
    numbers, make = READ[name]
    written = make(numbers)
    np.testing.assert_allclose(make(shuffled(numbers)), written, rtol=1e-12)
    if not isinstance(numbers.index, pd.MultiIndex) and numbers.axes[-1].name is None:
        np.testing.assert_allclose(written, make(numbers.to_numpy()), rtol=1e-12)


@pytest.mark.parametrize("name", REFUSED)
def test_labels_that_nothing_reads_are_refused(name: str) -> None:
    numbers, make = REFUSED[name]
    with pytest.raises(ss.errors.ModelError, match="would be ignored"):
        make(numbers)


def test_named_axes_say_which_states_are_whose() -> None:
    for level in ("a", "c"):
        cpd = ss.TableCPD(C, JOINT.unstack(level), given=A)
        for (a, c), chance in JOINT.items():
            assert cpd.values[A.code(a), C.code(c)] == chance
