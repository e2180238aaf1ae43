"""Base of the results of evaluation, with guarantees, status and method, and one way to be shown."""

from __future__ import annotations

from dataclasses import dataclass, field

from sepset.base.display import Report
from sepset.engine.engine import Engine
from sepset.inference.result import Guarantee, Guarantees, Result


@dataclass(frozen=True, eq=False)
class Assessment(Report, Result):
    """A result of evaluation.

    A guarantee is about the numbers given for these rows, draws or rounds, not about other data.

    Attributes:
        method: the inference method that was asked; None where nothing was inferred.
        guarantees: exact unless an approximate method or draws had a part in the number.
    """

    method: object = field(default=None, kw_only=True, repr=False)
    guarantees: Guarantees = field(default_factory=lambda: {"value": Guarantee.EXACT}, kw_only=True, repr=False)


def computed(*engines: Engine) -> Guarantee:
    """The guarantee of a number computed from probabilities that these engines found.

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.models.bayesnet import BayesNet
    >>> from sepset.variables.variable import Discrete
    >>> computed(Engine(BayesNet(TableCPD(Discrete("coin"), [0.5, 0.5]))))
    EXACT
    """
    return Guarantee.EXACT if all(engine.is_exact for engine in engines) else Guarantee.ESTIMATE
