"""The numbers of a CPD, apart from its form: what files of unfinished work keep, and what tells two CPDs apart."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.cpds.cpd import CPD
from sepset.cpds.deterministic import DeterministicCPD, MultiplexerCPD
from sepset.cpds.influences import Influences
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.logistic import LogisticCPD
from sepset.cpds.noisy import NoisyMax, NoisyOr
from sepset.cpds.partition import PartitionCPD
from sepset.cpds.rules import RuleCPD
from sepset.cpds.table import TableCPD
from sepset.cpds.tree import TreeCPD
from sepset.errors import ModelError, NotApplicable
from sepset.factors.table import Table

T = TypeVar("T", bound=CPD)

ROUNDING = 1e-6
"""How far from one the rows of numbers that were computed may sum."""


def numbers(cpd: CPD) -> tuple[Floats, ...]:
    """The arrays that hold all parameters of a CPD; none for functions.

    >>> from sepset.variables.variable import Discrete
    >>> [a.tolist() for a in numbers(NoisyOr(Discrete("x"), {Discrete("u"): 0.3}, leak=0.5))]
    [[0.5, 0.5], [[1.0, 0.0], [0.7, 0.3]]]
    """
    match cpd:
        case TableCPD():
            return (cpd.table.flat,)
        case TreeCPD() | PartitionCPD():
            return (cpd.distributions,)
        case RuleCPD():
            return (cpd.probability,)
        case NoisyOr() | NoisyMax():
            return (cpd.influences.leak, *cpd.influences.effects)
        case LogisticCPD():
            return (cpd.bias, *cpd.weights)
        case LinearGaussian():
            return (cpd.intercept, cpd.coefficients, cpd.covariance)
        case DeterministicCPD() | MultiplexerCPD():
            return ()
    raise NotApplicable(f"{cpd!r} does not say which numbers it has.")


def with_numbers(cpd: T, values: Sequence[Floats]) -> T:
    """The CPD of the same form and block with these numbers, to the bit; what does not fit is refused.

    Args:
        values: arrays shaped as those of `numbers`.

    >>> from sepset.variables.variable import Discrete
    >>> with_numbers(TableCPD(Discrete("x"), [0.5, 0.5]), [np.array([0.2, 0.8])]).values.tolist()
    [0.2, 0.8]
    """
    old = numbers(cpd)
    shapes = [np.shape(v) for v in values]
    if shapes != [a.shape for a in old]:
        raise ModelError(f"{cpd!r} takes numbers of the shapes {[a.shape for a in old]}; found {shapes}.")
    new = tuple(np.array(v, dtype=np.float64, order="C") for v in values)
    _check(cpd, new)
    made = copy.copy(cpd)
    for name, value in _fields(cpd, new).items():
        for array in (value,) if isinstance(value, np.ndarray) else ():
            array.setflags(write=False)
        object.__setattr__(made, name, value)
    return made


def _fields(cpd: CPD, new: tuple[Floats, ...]) -> dict[str, object]:
    """The attributes that hold the numbers."""
    match cpd:
        case TableCPD():
            return {"table": Table(cpd.scope, new[0])}
        case TreeCPD() | PartitionCPD():
            return {"distributions": new[0]}
        case RuleCPD():
            return {"probability": new[0]}
        case NoisyOr() | NoisyMax():
            return {"influences": Influences(new[0], new[1:], cpd.influences.order)}
        case LogisticCPD():
            for array in new[1:]:
                array.setflags(write=False)
            return {"bias": new[0], "weights": new[1:]}
    return dict(zip(("intercept", "coefficients", "covariance"), new, strict=False))


def _check(cpd: CPD, new: tuple[Floats, ...]) -> None:
    """Refuse numbers that are not finite, negative probabilities, and rows that do not sum to one."""
    if not all(np.isfinite(a).all() for a in new):
        raise ModelError(f"{cpd!r} takes finite numbers; found others.")
    if isinstance(cpd, LogisticCPD | LinearGaussian):
        return
    rows = (new[0][cpd.rule_of],) if isinstance(cpd, RuleCPD) else new
    for array in rows:
        sums = array.reshape(-1, cpd.child.num_states).sum(axis=1)  # type: ignore[union-attr]  # discrete
        if (array < 0).any() or not (np.abs(sums - 1.0) <= ROUNDING).all():
            raise ModelError(f"{cpd!r} takes rows of probabilities that sum to one; found others.")
