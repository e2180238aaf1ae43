"""Covariances of the uses of cells against enumeration, and Hessians against finite differences."""

from __future__ import annotations

import itertools

import numpy as np

import sepset as ss
from sepset.learning.incomplete.expectation import Expectation
from sepset.learning.structure.evidences.curvature import CellCovariance, Simplices
from sepset.learning.task import Task


def test_covariances_by_enumeration() -> None:
    """A chain of three with two patterns of missing cells; tied leaves count twice."""
    rng = np.random.default_rng(0)
    a, b, c = ss.Discrete("a"), ss.Discrete("b", 3), ss.Discrete("c", 3)
    leaf = rng.dirichlet(np.ones(3), 2)
    net = ss.BayesNet(
        ss.TableCPD(a, rng.dirichlet(np.ones(2))),
        ss.TableCPD(b, leaf, given=a, block="leaf"),
        ss.TableCPD(c, leaf, given=a, block="leaf"),
    )
    rows = {"a": [None, None, 1], "b": [None, 2, None], "c": [1, 0, 2]}
    weights = np.array([1.0, 2.5, 4.0])
    found = CellCovariance(Expectation.of(Task(net, rows, weights=weights)), net).matrix
    expected = np.zeros((8, 8))
    for row in range(3):
        known = [rows[n][row] for n in "abc"]
        choices = [range(k) if x is None else [x] for x, k in zip(known, (2, 3, 3), strict=True)]
        uses, chances = [], []
        for i, j, k in itertools.product(*choices):
            use = np.zeros(8)
            for cell in (i, 2 + 3 * i + j, 2 + 3 * i + k):
                use[cell] += 1
            uses.append(use)
            chances.append(net.cpd("a").values[i] * leaf[i, j] * leaf[i, k])
        share, table = np.array(chances) / np.sum(chances), np.array(uses)
        mean = share @ table
        expected += weights[row] * ((table * share[:, None]).T @ table - np.outer(mean, mean))
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_coordinates_by_finite_differences() -> None:
    """A function of logarithms with a known gradient and Hessian, in both coordinates."""
    rng = np.random.default_rng(1)
    groups = np.array([0, 0, 0, 1, 1])
    counts, root = rng.uniform(1, 3, 5), rng.normal(size=(5, 5))
    matrix = root @ root.T
    masses = np.concatenate([rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(2))])
    at = np.log(masses)
    one = Simplices(masses, groups)

    def value(logs: np.ndarray) -> float:
        return float(counts @ (logs - at) + 0.5 * (logs - at) @ matrix @ (logs - at))

    def by_masses(free: np.ndarray) -> float:
        full = np.array([free[0], free[1], 1 - free[0] - free[1], free[2], 1 - free[2]])
        return value(np.log(full))

    def by_logits(free: np.ndarray) -> float:
        left, right = np.array([free[0], free[1], 0.0]), np.array([free[2], 0.0])
        return value(np.concatenate([x - np.log(np.exp(x).sum()) for x in (left, right)]))

    probabilities = masses[[0, 1, 3]]
    logits = at[[0, 1, 3]] - at[[2, 2, 4]]
    np.testing.assert_allclose(one.in_probabilities(matrix, counts), _hessian(by_masses, probabilities), rtol=2e-4)
    np.testing.assert_allclose(one.in_logits(matrix, counts), _hessian(by_logits, logits), rtol=2e-4, atol=1e-4)


def _hessian(function: object, x: np.ndarray, step: float = 1e-4) -> np.ndarray:
    unit = step * np.eye(len(x))
    return np.array(
        [
            [
                (function(x + i + j) - function(x + i - j) - function(x - i + j) + function(x - i - j)) / (4 * step**2)  # type: ignore[operator]
                for j in unit
            ]
            for i in unit
        ]
    )
