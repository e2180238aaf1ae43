r"""Expected logarithms of conditionals that have no table: as products of small factors they become sums.

$$E_P[\log Q(x \mid \mathbf u)] = \sum_i E_P[\log f_i(x, \mathbf u, \mathbf a(\mathbf u))]$$

where each auxiliary of $\mathbf a$ is a function of the parents, so that only one product belongs to each joint state.
"""

from __future__ import annotations

import math

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.cpds.cpd import CPD
from sepset.cpds.discrete import ChainedCPD
from sepset.cpds.tree import ContextCPD
from sepset.engine.bound import Bound
from sepset.engine.expectedcounts import part_marginals
from sepset.factors.algebra import Factor
from sepset.factors.chains import Line
from sepset.factors.decomposition import Decomposition
from sepset.inference.method import dense
from sepset.models.bayesnet import BayesNet
from sepset.models.lines import choices_of, line_through
from sepset.semiring import MAX


def is_same(p: CPD, q: CPD) -> bool:
    """Whether two CPDs of one kind over the same variables, in any order, have equal parameters.

    >>> from sepset.cpds.noisy import NoisyOr
    >>> from sepset.variables.variable import Discrete
    >>> x, a = Discrete("x"), Discrete("a")
    >>> is_same(NoisyOr(x, {a: 0.5}), NoisyOr(x, {a: 0.5})), is_same(NoisyOr(x, {a: 0.5}), NoisyOr(x, {a: 0.4}))
    (True, False)
    """
    if p is q:
        return True
    if type(p) is not type(q) or p.child != q.child or {*p.scope} != {*q.scope}:
        return False
    ours, theirs = p.parameters, (q if p.scope == q.scope else q.parameters.over(p.scope)).parameters
    if ours.form != theirs.form:
        return False
    found = theirs.arrays
    return all(np.array_equal(array, found[name]) for name, array in ours.arrays.items())


def expected_log(engine: Bound, cpd: CPD) -> float:
    r"""$E_P[\log Q(x \mid \mathbf u)]$ of a conditional $Q$ under the network of an engine; no table is built.

    Args:
        engine: the network $P$, discrete.
        cpd: over variables of the network.

    Cost: one calibration, with the auxiliaries of the conditional among the variables.
    """
    if isinstance(cpd, ChainedCPD | ContextCPD) and isinstance(engine.model, BayesNet):
        above = [engine.model.cpd(name) for name in engine.model.dag.topological_order]
        chains = isinstance(cpd, ChainedCPD)
        cpd = cpd.along(line_through([*above, cpd]) if chains else Line(choices=choices_of([*above, cpd])))
    parts: Decomposition = cpd.decomposed({}, MAX)  # type: ignore[attr-defined]  # discrete
    pairs = zip(part_marginals(engine, parts), parts.filled, strict=True)
    return math.fsum(_product(weights, factor) for weights, factor in pairs)


def _product(weights: Floats, factor: Factor) -> float:
    """The sum of weights times logarithms; minus infinity where a weight meets a zero."""
    logs = dense(factor).log_values
    counted = weights > 0
    return float((weights[counted] * logs[counted]).sum())
