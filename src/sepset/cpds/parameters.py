"""What CPDs made of multinomials share: cells with counts, in groups that each sum to one."""

from __future__ import annotations

from typing import Protocol, cast

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.factors.algebra import Columns


class Multinomials(Protocol):
    r"""A CPD whose likelihood is $\prod_c \theta_c^{M[c]}$ over cells $c$: tables, trees, rules, partitions.

    Its statistics are the counts $M[c]$, flat.

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.variables.variable import Discrete
    >>> cpd = TableCPD(Discrete("x"), [[0.5, 0.5], [0.2, 0.8]], given=Discrete("u"))
    >>> multinomials(cpd) is cpd, cpd.parameters.tolist(), cpd.groups.tolist()
    (True, [0.5, 0.5, 0.2, 0.8], [0, 0, 1, 1])
    """

    @property
    def parameters(self) -> Floats:
        r"""The probabilities $\theta_c$, flat."""

    @property
    def groups(self) -> Ints:
        """Which multinomial each cell belongs to."""

    @property
    def multiplicities(self) -> Floats:
        """How many states of the child each cell stands for in its contexts; times its probability it sums to one."""

    @property
    def sizes(self) -> Floats:
        """How many joint states of parents and child each cell stands for."""

    def cells(self, codes: Columns) -> Ints:
        """The cell of each row."""

    def describe_group(self, group: int) -> str:
        """The context of a multinomial, for messages."""


def multinomials(cpd: object) -> Multinomials | None:
    """The CPD, where it is made of multinomials; else None."""
    return cast(Multinomials, cpd) if hasattr(type(cpd), "multiplicities") else None


def child_states(cells: Multinomials, num_states: int) -> Bools:
    """Which of the child's states each cell stands for, `[cells, states]`.

    Cells are in the order of the states within each context, unless the CPD says otherwise.

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.variables.variable import Discrete
    >>> child_states(TableCPD(Discrete("x"), [[0.5, 0.5], [0.2, 0.8]], given=Discrete("u")), 2).argmax(axis=1).tolist()
    [0, 1, 0, 1]
    """
    own = getattr(cells, "child_states", None)
    if own is not None:
        return np.asarray(own, dtype=np.bool_)
    return np.tile(np.eye(num_states, dtype=np.bool_), (len(cells.parameters) // num_states, 1))
