r"""Hidden variables with fewer states: two states of one become one, with the sum of their expected counts.

Merging states $a$ and $b$ of $H$ loses information about each neighbor of $H$,

$$\Delta = \sum_{\text{families of } H} \sum_{h \in \{a, b\}} \bar M[h, \mathbf z]
\log \frac{\bar M[h, \mathbf z] / \bar M[h]}{\bar M[ab, \mathbf z] / \bar M[ab]} \ge 0,$$

and the pair that loses least is merged.

Reference: Elidan & Friedman (2001), Learning the dimensionality of hidden variables; Slonim & Tishby (2000) for the
agglomerative information bottleneck.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.special import xlogy

from sepset.base.arraytypes import Floats
from sepset.cpds.cpd import CPD
from sepset.cpds.table import TableCPD
from sepset.errors import NotApplicable
from sepset.factors.labels import name_of
from sepset.learning.structure.evidences.logevidence import Mode
from sepset.models.bayesnet import BayesNet
from sepset.models.defaults import default_cpd
from sepset.variables.variable import Discrete


def with_states(template: BayesNet, hidden: str, num_states: int) -> BayesNet:
    """The network form in which a hidden variable has this many states; its own tables and its children's are uniform.

    >>> from sepset.learning.classify.latentclass import latent_class
    >>> with_states(latent_class([Discrete("a")], 2), "class", 3).cpd("a").values.shape
    (3, 2)
    """
    new = Discrete(hidden, num_states)
    made: list[CPD] = []
    for cpd in template.cpds:
        if all(v.name != hidden for v in cpd.scope):
            made.append(cpd)
            continue
        if not cpd.parameters.is_table:
            raise NotApplicable(f"The states of {hidden!r} can be changed in tables; found {name_of(cpd)}.")
        scope = tuple(new if v.name == hidden else v for v in cpd.scope)
        made.append(default_cpd(scope[-1], scope[:-1]))
    return BayesNet(*made, name=template.name)


def merged_start(mode: Mode, hidden: str, template: BayesNet) -> BayesNet:
    """The network in which the two states of a hidden variable that lose least are one, as a starting point.

    Args:
        mode: a fitted network, all of whose families with the hidden variable are tables.
        hidden: the name of the variable.
        template: the form of the result, with one state less.
    """
    tables = _tables(mode, hidden)
    first, second = min(_pairs(tables), key=lambda pair: _loss(tables.values(), *pair))
    made: list[CPD] = []
    for cpd in template.cpds:
        name = cpd.child.name
        if name not in tables:
            made.append(mode.model.cpd(name))
            continue
        places = [v.name for v in cpd.scope].index(hidden)
        counts = np.moveaxis(_merged(tables[name], first, second), 0, places)
        made.append(_estimated(cpd, counts))
    return BayesNet(*made, name=template.name)


def _tables(mode: Mode, hidden: str) -> dict[str, Floats]:
    """The expected counts of the families of a hidden variable, its axis first, by child."""
    found: dict[str, Floats] = {}
    for members, statistics in zip(mode.expectation.blocks.members, mode.statistics, strict=True):
        cpd = mode.model.cpds[members[0]]
        names = [v.name for v in cpd.scope]
        if hidden not in names:
            continue
        if not cpd.parameters.is_table or len(members) > 1:
            raise NotApplicable(
                f"States of {hidden!r} can be merged where its families are tables; found {name_of(cpd)}."
            )
        shape = [v.num_states for v in cpd.scope if isinstance(v, Discrete)]
        found[cpd.child.name] = np.moveaxis(statistics.reshape(shape), names.index(hidden), 0)
    return found


def _pairs(tables: dict[str, Floats]) -> Iterable[tuple[int, int]]:
    size = len(next(iter(tables.values())))
    return itertools.combinations(range(size), 2)


def _loss(tables: Iterable[Floats], first: int, second: int) -> float:
    """The information that is lost if two states are one."""
    lost = 0.0
    for table in tables:
        one, other = table[first].reshape(-1), table[second].reshape(-1)
        lost += _information(one) + _information(other) - _information(one + other)
    return lost


def _information(counts: Floats) -> float:
    """The sum of counts times the logarithms of their shares."""
    return float(xlogy(counts, counts).sum() - xlogy(counts.sum(), counts.sum()))


def _merged(table: Floats, first: int, second: int) -> Floats:
    made = np.delete(table, second, axis=0)
    made[first] = table[first] + table[second]
    return made


def _estimated(cpd: Any, counts: Floats) -> TableCPD:
    """The table estimated from counts; contexts without any are uniform."""
    total = counts.sum(axis=-1, keepdims=True)
    size = counts.shape[-1]
    values = np.divide(counts, total, out=np.full(counts.shape, 1.0 / size), where=total > 0)
    return TableCPD(cpd.child, values, given=cpd.scope[:-1])
