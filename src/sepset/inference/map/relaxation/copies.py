r"""Decompositions of a model into forests, each with its own copies of the variables.

$$\max_{\mathbf x} \log \tilde P(\mathbf x) \le c + \sum_F \max_{\mathbf x^F} \Bigl[\sum_{i \in F} u_{F,i}(x_i^F)
+ \sum_{f \in F} \theta_f(\mathbf x_f^F)\Bigr] \quad \text{for} \quad \sum_F u_{F,i} = \theta_i$$

All copies and factors together are one forest, on which messages are exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.threads import require_time
from sepset.inference.iterate import Until
from sepset.inference.map.dual import bound_of
from sepset.inference.map.relaxation.temperature import annealed
from sepset.inference.propagation.counting import dual_messages
from sepset.inference.propagation.maxproduct import decoded_codes
from sepset.inference.propagation.passing import Beliefs, Passing, propagated
from sepset.inference.result import Status
from sepset.inference.wiring import Wiring

ONCE = Until(steps=3, tolerance=1e-9)
"""On a forest one pass back and one forth are exact; the next one sees that nothing changes."""


class Maximum(NamedTuple):
    """The maxima of all forests.

    Attributes:
        value: their sum.
        codes: the states of the copies.
        messages: dual messages whose bound is at most the value.
    """

    value: float
    codes: Ints
    messages: Floats


@dataclass(frozen=True, eq=False)
class Copies:
    """The copies of the variables of a model, one for each forest that it is in.

    Attributes:
        wiring: the factors over the copies.
        owners: the variable of each copy.
        home: the place of each copy's state among those of the model.
        shares: the number of copies of each state of the model.

    Reference: Komodakis, Paragios & Tziritas (2011), MRF energy minimization and beyond via dual decomposition.
    Guarantee: exact on each forest, so that the sum of their maxima is an upper bound.
    Tested by: inference/map/relaxation/test_copies.py::test_any_split_gives_an_upper_bound
    """

    wiring: Wiring
    owners: Ints
    home: Ints
    shares: Floats

    @classmethod
    def of(cls, wiring: Wiring, *, over: str) -> Copies:
        """The copies of a model.

        Args:
            over: "trees", in which each factor joins the first forest where it closes no cycle, or "factors".
        """
        plugs, n = wiring.plugs, wiring.num_variables
        forests = np.arange(wiring.num_factors) if over == "factors" else _forests(wiring)
        keys = forests[wiring.factors] * n + plugs.scope
        distinct, slots = np.unique(keys, return_inverse=True)
        alone = np.setdiff1d(np.arange(n), plugs.scope)
        owners = np.concatenate([distinct % max(n, 1), alone]).astype(np.int64)
        cards = plugs.cards[owners]
        states = np.concatenate([[0], np.cumsum(cards)]).astype(np.int64)
        home = np.repeat(plugs.states[owners] - states[:-1], cards) + np.arange(int(states[-1]))
        shares = np.bincount(home, minlength=len(wiring.unary)).astype(np.float64)
        copied = plugs._replace(cards=cards, states=states, scope=slots.reshape(-1).astype(np.int64))
        made = replace(wiring, free=wiring.free[owners], plugs=copied, unary=(wiring.unary / shares)[home])
        return cls(made, owners, home, shares)

    @property
    def split(self) -> Floats:
        """The values of the copies' states if each has the same part."""
        return self.wiring.unary

    def at(self, values: Floats) -> Wiring:
        """The factors over the copies, with these values of single copies."""
        return replace(self.wiring, unary=values)

    def apart(self, numbers: Floats) -> Floats:
        """Numbers of the copies' states less their mean over all copies of the state."""
        means = np.bincount(self.home, numbers, len(self.shares)) / self.shares
        return np.asarray(numbers - means[self.home])

    def maximum(self, values: Floats) -> Maximum:
        """The best states of all forests; a value of -inf if one has none."""
        model = self.at(values)
        beliefs = _passed(Passing(0.0, "sequential", True), model)
        if beliefs.log_totals == -np.inf:
            return Maximum(-np.inf, np.zeros(len(self.owners), np.int64), np.zeros(len(beliefs.messages)))
        messages = dual_messages(beliefs, (beliefs.wiring.traversal.up > 0).astype(np.float64))
        return Maximum(bound_of(model, messages), decoded_codes(beliefs), messages)

    def chosen(self, codes: Ints) -> Floats:
        """One for each state that is chosen, zero for the others."""
        found = np.zeros(len(self.home))
        found[self.wiring.plugs.states[:-1] + codes] = 1.0
        return found

    def smooth(self, values: Floats, temperature: float) -> tuple[float, Floats]:
        r"""The smooth maximum $T \log \sum \exp(\cdot / T)$ of all forests, and the marginals of the copies' states."""
        model = annealed(self.at(values), temperature)
        beliefs = _passed(Passing(0.0, "sequential", False), model)
        return temperature * beliefs.energy(), np.exp(beliefs.logs)


def _passed(passing: Passing, model: Wiring) -> Beliefs:
    """The beliefs of a forest; an interrupt of their passes is one of the whole method."""
    beliefs = propagated(passing, model, ONCE)
    if beliefs.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return beliefs


def _forests(wiring: Wiring) -> Ints:
    """The forest of each factor: the first one in which it closes no cycle."""
    forests: list[list[int]] = []
    found = np.zeros(wiring.num_factors, np.int64)
    for f in range(wiring.num_factors):
        require_time()
        scope = wiring.scope(f).tolist()
        for number in range(len(forests) + 1):
            if number == len(forests):
                forests.append(list(range(wiring.num_variables)))
            roots = [_root(forests[number], v) for v in scope]
            if len(set(roots)) == len(roots):
                for root in roots:
                    forests[number][root] = roots[0]
                found[f] = number
                break
    return found


def _root(parents: list[int], v: int) -> int:
    """The root of a node, with shorter paths for later."""
    while parents[v] != v:
        parents[v] = parents[parents[v]]
        v = parents[v]
    return v
