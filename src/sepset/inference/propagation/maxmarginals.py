r"""Pseudo-max-marginals: the beliefs of max-product messages.

$$b_i(x_i) \propto \phi_i(x_i) \prod_{f \ni i} m_{f \to i}(x_i), \qquad m_{f \to i}(x_i) \propto
\max_{\mathbf x_{f \setminus i}} \phi_f \prod_{j \ne i} \frac{b_j(x_j)}{m_{f \to j}(x_j)}$$

On forests they are the max-marginals. Around loops they are those of a reparameterization whose parts have the same
maxima where they meet: an assignment at which all of them are largest is a strong local maximum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.base.lazy import lazy
from sepset.base.text import listing
from sepset.errors import NotApplicable, ScopeError
from sepset.factors.table import Table
from sepset.inference.cliquetree.maxmarginals import MaxMarginalsResult, named_states
from sepset.inference.propagation.agreement import TIED
from sepset.inference.propagation.maxproduct import decoded
from sepset.inference.propagation.passing import Beliefs
from sepset.inference.result import Guarantee
from sepset.variables.evidence import Evidence
from sepset.variables.universe import Universe
from sepset.variables.variable import State


@dataclass(frozen=True, eq=False, repr=False)
class MessageMaxMarginals(MaxMarginalsResult):
    """The beliefs of max-product messages, with the log value of the assignment decoded from them as their maximum.

    Attributes:
        beliefs: where the passes ended.
        codes: the decoded assignment.
    """

    _: KW_ONLY
    beliefs: Beliefs = field(repr=False)
    codes: Ints = field(repr=False)

    @property
    def _tolerance(self) -> float:
        return TIED

    @lazy
    def _places(self) -> Mapping[str, int]:
        wiring = self.beliefs.wiring
        return {wiring.name(i): i for i in range(wiring.num_variables)}

    def _joint(self, names: list[str]) -> Table:
        """The belief over unobserved names, which one factor must cover."""
        wiring, places = self.beliefs.wiring, [self._places[name] for name in names]
        if len(places) == 1:
            logs = self.beliefs.logs[wiring.plugs.states[places[0]] : wiring.plugs.states[places[0] + 1]]
            return Table.from_log([self.variables[names[0]]], logs - logs.max() + self.log_value)
        f = wiring.home(places)
        if f is None:
            raise ScopeError(
                f"No factor has {listing(names)} together. Ask for each of them alone, or for map_assignment with each "
                "of their states in given=."
            )
        scope = wiring.scope(f).tolist()
        logs = self.beliefs.factor_logs(f).max(axis=tuple(a for a, i in enumerate(scope) if i not in places))
        kept = [wiring.name(i) for i in scope if i in places]
        return Table.from_log([self.variables[name] for name in kept], logs + self.log_value)

    @lazy
    def assignment(self) -> Mapping[str, State]:
        """The assignment decoded from the beliefs: one at which all are largest, if the search for it ends."""
        own = {name: self.variables[name] for name in self._places if name in self.variables}
        return {name: v.states[int(self.codes[self._places[name]])] for name, v in own.items()}

    def log_value_of(self, assignment: Mapping[Any, State]) -> float:
        """The log value of an assignment of all unobserved variables."""
        return self.beliefs.wiring.log_value(self._codes(assignment))

    def is_best(self, assignment: Mapping[Any, State]) -> bool:
        """Whether no assignment is better, where the beliefs are exact; elsewhere, `conflicts` tells what they say."""
        if self.guarantees["assignment"] is not Guarantee.EXACT:
            raise NotApplicable(
                "Max-product beliefs tell the best assignment of forests whose messages have converged. Use "
                "conflicts() for what they say around loops, or max_marginals(model, method=CliqueTree())."
            )
        return super().is_best(assignment)

    def conflicts(self, assignment: Mapping[Any, State]) -> list[tuple[str, ...]]:
        """The factors whose beliefs are not largest at an assignment; without any, it is locally optimal.

        Reference: Koller & Friedman, definition 13.3.
        Guarantee: exact.
        Tested by: inference/propagation/test_maxmarginals.py::test_conflicts_are_factors_below_their_maxima
        """
        wiring, codes = self.beliefs.wiring, self._codes(assignment)
        found = []
        for f in range(wiring.num_factors):
            scope = wiring.scope(f)
            if self.beliefs.factor_logs(f)[tuple(codes[scope].tolist())] < -self._tolerance:
                found.append(tuple(wiring.name(i) for i in scope.tolist()))
        states = wiring.plugs.states[:-1]
        apart = np.flatnonzero((wiring.degrees == 0) & (self.beliefs.logs[states + codes] < -self._tolerance))
        return found + [(wiring.name(i),) for i in apart.tolist()]

    def _codes(self, assignment: Mapping[Any, State]) -> Ints:
        """The codes of an assignment, with those of auxiliaries, which are functions of it."""
        states = self._states(assignment)
        known = [self.variables[n].code(states[n]) if n in self.variables else -1 for n in self._places]
        codes = np.array(known, np.int64)
        waiting = [f for f in range(self.beliefs.wiring.num_factors) if (codes < 0).any()]
        while waiting:
            rest = [f for f in waiting if not self._implied(f, codes)]
            waiting = rest if len(rest) < len(waiting) else []
        return np.maximum(codes, 0)

    def _implied(self, f: int, codes: Ints) -> bool:
        """Put the only possible state of the only unknown variable of a factor among the codes; False if not known."""
        wiring, scope = self.beliefs.wiring, self.beliefs.wiring.scope(f)
        unknown = np.flatnonzero(codes[scope] < 0)
        if len(unknown) == 1:
            place = tuple(slice(None) if codes[i] < 0 else int(codes[i]) for i in scope.tolist())
            possible = np.flatnonzero(wiring.table(f)[place] > -np.inf)
            if len(possible) == 1:
                codes[scope[unknown[0]]] = int(possible[0])
        return not (codes[scope] < 0).any()


def message_max_marginals(
    beliefs: Beliefs, evidence: Evidence, variables: Universe, **about: Any
) -> MessageMaxMarginals:
    """The pseudo-max-marginals of a model whose evidence is possible.

    Args:
        variables: those of the model.
        about: the method and other information of the result.

    Reference: Koller & Friedman, section 13.4.1; Weiss & Freeman (2001).
    Guarantee: exact on forests; estimates around loops.
    Tested by: inference/propagation/test_maxmarginals.py::test_forests_have_the_max_marginals_of_clique_trees
    """
    decoding, (own, observed) = decoded(beliefs), named_states(variables, evidence)
    value = beliefs.wiring.log_value(decoding.codes)
    is_plain = (beliefs.rhos == 1.0).all() and (beliefs.counts == 1.0).all()
    is_exact = bool(beliefs.is_forest and beliefs.has_converged and (is_plain or not beliefs.wiring.num_factors))
    guarantees = {
        "marginals": Guarantee.EXACT if is_exact else Guarantee.ESTIMATE,
        "assignment": Guarantee.EXACT if is_exact else Guarantee.HEURISTIC,
    }
    said = {"decoder": decoding.decoder, "locally_optimal": decoding.is_optimal, "ties": decoding.ties}
    about["info"] = {"passes": beliefs.num_passes, "residual": beliefs.residual, **said}
    run: Any = {"status": beliefs.status, "guarantees": guarantees, **about}
    return MessageMaxMarginals(value, own, observed=observed, beliefs=beliefs, codes=decoding.codes, **run)
