r"""The effects of the weights of logistic CPDs on a posterior, from two independent draws $X$ and $X'$ of the child.

$$\frac{\partial \log P(\mathbf e)}{\partial w_{i,s,c}} = P(u_i = s, X = c \mid \mathbf e)
- P(u_i = s, X' = c \mid \mathbf e)$$
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.cpds.cpd import CPD
from sepset.cpds.table import TableCPD
from sepset.engine.effects.sweeps import Sweeps, with_state
from sepset.errors import ImpossibleEvidence, TooLarge
from sepset.factors.algebra import num_entries
from sepset.inference.diagnosis.soft import resolve_soft
from sepset.inference.method import Prepared, dense
from sepset.models.bayesnet import BayesNet
from sepset.problem import Problem
from sepset.variables.evidence import Evidence
from sepset.variables.variable import State

if TYPE_CHECKING:
    from sepset.engine.engine import Engine

MOST_TABLED = 2**22
"""The most entries of a table from whose derivatives those of weights are found; larger ones are asked about."""


@dataclass(frozen=True, eq=False)
class WeightEffects:
    """The effects of the weights of logistic CPDs on the posterior of one state.

    Attributes:
        engine: the network with a method.
        position, state: the state in question.
        evidence: states and likelihoods.
        stated: the evidence, with soft findings that are fitted again at other weights.
        posterior: the present one.
    """

    engine: Engine
    position: int
    state: State
    evidence: Evidence
    stated: Evidence
    posterior: float

    def asked(self, cpd: CPD, step: Floats) -> float:
        """The posterior after a step of the parameters of one CPD; NaN if the findings are impossible."""
        model: Any = self.engine.model
        prepared = self._engine(model.with_cpds(cpd.parameters.moved(step))).prepared
        try:
            answer = prepared.query([self.position], resolve_soft(prepared, self.stated))
        except ImpossibleEvidence:
            return math.nan
        variable: Any = model.variables[self.position]
        is_possible = answer.log_partition > -np.inf
        return float(dense(answer.distribution).values[variable.code(self.state)]) if is_possible else math.nan

    def _engine(self, model: BayesNet) -> Engine:
        made, joints = type(self.engine)(model, self.engine.method), self.engine.joints
        return made._with_joints(tuple(joints.values())) if joints else made

    def slopes(self, cpd: CPD, sweeps: Sweeps, problem: Problem, factors: Sequence[int]) -> Floats | None:
        """The derivatives of the posterior with respect to the weights of one CPD, and the sums of the terms whose
        difference each is, `[2, weights]`; None if tables are too large."""
        if not factors:
            return np.zeros((2, len(cpd.parameters.values)))
        scope = tuple(problem.variables[v] for v in problem.scope(factors[0]))
        if len(factors) == 1 and scope == tuple(cpd.scope) and num_entries(scope) <= MOST_TABLED:
            slope: Any = cpd.parameters.table_slope
            found = [np.stack([slope(one), slope(one, sign=1.0)]) for one in sweeps.relative(problem, factors[0])]
        else:
            try:
                found = self._from_two_draws(cpd)
            except TooLarge:
                return None
        (part, first), (whole, second) = found
        return np.stack([part - self.posterior * whole, first + self.posterior * second])

    def _from_two_draws(self, cpd: CPD) -> list[Floats]:
        """Those of part and whole, from the marginals of the parents given each state of two draws of the child."""
        model: Any = self.engine.model
        child: Any = cpd.child
        k, own = child.num_states, len(model.variables)
        pair = child.hidden("two draws", k * k)
        first = TableCPD(child, np.repeat(np.eye(k), k, axis=0), given=pair)
        others = [one for one in model.cpds if one.child != child]
        order = {one.child: one for one in (*others, first)}
        net = BayesNet(*(order[v] for v in model.variables), cpd.parameters.doubled(pair))
        prepared = self._engine(net).prepared
        places = {p: model.variables.id(p) for p in cpd.parents}
        variable: Any = self.engine.known[self.position]
        told = with_state(self.evidence, self.position, variable, self.state)
        part, whole = (_log_slopes(prepared, _shifted(one, own), own, k, places) for one in (told, self.evidence))
        return [self.posterior * part, whole]


def _shifted(evidence: Evidence, place: int) -> Evidence:
    """The evidence after a variable was put in at a place."""

    def moved(findings: Mapping[int, Any]) -> dict[int, Any]:
        return {v + (v >= place): found for v, found in findings.items()}

    return Evidence(moved(evidence.codes), moved(evidence.weights), reals=moved(evidence.reals))


def _log_slopes(prepared: Prepared, evidence: Evidence, pair: int, k: int, places: Mapping[Any, int]) -> Floats:
    """The derivatives of the log probability of the evidence: the shares of the first draw less those of the second;
    and the sums of these shares.

    Args:
        pair: the position of the two draws, of `k` states each.
        places: the positions of the parents.
    """
    total = prepared.log_partition(evidence)
    found = np.zeros((2, 1 + sum(p.num_states - 1 for p in places), k - 1))
    if total == -np.inf:
        return found.reshape(2, -1)
    for code in range(1, k):
        one = np.arange(k) == code
        for sign, mask in ((1.0, np.repeat(one, k)), (-1.0, np.tile(one, k))):
            told = replace(evidence, weights={**evidence.weights, pair: mask.astype(np.float64)})
            read, log_partition = prepared.marginals(told)
            if log_partition == -np.inf:
                continue
            share = np.array([[sign], [1.0]]) * math.exp(log_partition - total)
            rows = [np.ones(1)]
            for p, v in places.items():
                rows.append(np.eye(p.num_states)[told.codes[v]] if v in told.codes else dense(read(v)).values)
            found[:, :, code - 1] += share * np.concatenate([rows[0], *(row[1:] for row in rows[1:])])
    return found.reshape(2, -1)
