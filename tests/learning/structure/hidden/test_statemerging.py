"""Merging states of hidden variables."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.errors import NotApplicable
from sepset.learning.incomplete.expectation import Expectation
from sepset.learning.structure.evidences.logevidence import Mode
from sepset.learning.structure.hidden.statemerging import merged_start, with_states
from sepset.learning.task import Task


def network(num_states: int, twins: tuple[int, int] | None = None) -> ss.BayesNet:
    """A hidden variable with a parent and two children; the children do not distinguish two of its states."""
    rng = np.random.default_rng(0)
    p, h, a, b = ss.Discrete("p"), ss.Discrete("h", num_states), ss.Discrete("a"), ss.Discrete("b", 3)
    own, left = rng.dirichlet(np.ones(num_states), 2), rng.dirichlet(np.ones(2), num_states)
    right = rng.dirichlet(np.ones(3), (2, num_states))
    if twins:
        left[twins[1]], right[:, twins[1]] = left[twins[0]], right[:, twins[0]]
        own[:, twins[1]] = 0.7 * own[:, twins[0]]
        own /= own.sum(axis=1, keepdims=True)
    return ss.BayesNet(
        ss.TableCPD(p, [0.4, 0.6]),
        ss.TableCPD(h, own, given=p),
        ss.TableCPD(a, left, given=h),
        ss.TableCPD(b, right, given=(p, h)),
    )


@pytest.mark.parametrize("twins", [(0, 1), (1, 3), (2, 3)])
def test_states_that_are_alike_become_one(twins: tuple[int, int]) -> None:
    """The start is a step of EM, in which the rows of both states were equal, with their probabilities added."""
    net = network(4, twins)
    rows = ss.Dataset(
        {"p": [0, 1, 0, 1, 1], "a": [0, 1, 1, 0, 1], "b": [0, 1, 2, 2, 0]},
        variables=[net.variables["p"], net.variables["a"], net.variables["b"]],
    )
    expectation = Expectation.of(Task(net, rows))
    mode = Mode.of(net, expectation)
    start = merged_start(mode, "h", with_states(net, "h", 3))
    assert start.variables["h"].num_states == 3
    step = expectation.blocks.maximize(net, mode.statistics, [None] * 4)
    kept = [state for state in range(4) if state != twins[1]]
    np.testing.assert_allclose(start.cpd("a").values, step.cpd("a").values[kept], atol=1e-12)
    np.testing.assert_allclose(start.cpd("b").values, step.cpd("b").values[:, kept], atol=1e-12)
    merged = step.cpd("h").values[:, kept]
    merged[:, kept.index(twins[0])] += step.cpd("h").values[:, twins[1]]
    np.testing.assert_allclose(start.cpd("h").values, merged, atol=1e-12)


def test_other_forms_are_refused() -> None:
    h, x = ss.Discrete("h"), ss.Real("x")
    net = ss.BayesNet(ss.TableCPD(h, [0.5, 0.5]), ss.LinearGaussian.standard(x, (), by=(h,)))
    with pytest.raises(NotApplicable, match="tables"):
        with_states(net, "h", 3)
