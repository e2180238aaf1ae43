r"""Max-marginals: the largest log value of the joint for each state, and assignments read from them or checked by them.

$$\mathrm{MaxMarg}(x_i) = \max_{\mathbf x' : x'_i = x_i} \tilde P(\mathbf x', \mathbf e), \qquad
\tilde P(\mathbf x) = \prod_i \beta_i(\mathbf c_i) \Big/ \prod_{ij} \mu_{ij}(\mathbf s_{ij})$$

Every clique of a max-calibrated tree has the same maximum. An assignment is a best one exactly where all cliques have
their maxima at it; it is the only one exactly where no variable has two states with the same max-marginal.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.display import Report, Shown, plain
from sepset.base.entries import Answers
from sepset.base.lazy import lazy
from sepset.base.text import brief, listing, nearest
from sepset.errors import ArgumentError, NotApplicable, ScopeError
from sepset.factors.table import Table
from sepset.inference.conflict import impossible
from sepset.inference.documents import about_document
from sepset.inference.exact.messages import homes, smallest_home
from sepset.inference.method import Calibrated, Calibrates, Prepared, Rewrites, can, dense
from sepset.inference.result import MOST_SHOWN, Result
from sepset.problem import Problem
from sepset.semiring import MAX
from sepset.variables.evidence import Evidence
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, State, VariableLike

TIED = 1e-9
"""The difference of log max-marginals that counts as none."""

ROUNDING = 1e-12
"""The difference relative to the log value that counts as none."""

FEW = 6
"""The number of variables in a line about the result."""


@dataclass(frozen=True, eq=False)
class MaxMarginalsResult(Answers[str, Table], Report, Result, ABC):
    """The max-marginal of every variable, by name or variable, and of several by a tuple of names.

    Those of several are known if one clique, or for messages one factor, has them. Tables are unnormalized, evidence
    included: the logarithm of the largest entry of each is `log_value`.

    Attributes:
        log_value: the logarithm of the largest value of the joint; of messages around loops, that of `assignment`.
        variables: the variables of the model by name.
        observed: the states of observed variables.

    >>> import sepset as ss
    >>> found = ss.max_marginals(ss.datasets.load("misconception"))
    >>> found["Alice"].values.round().tolist(), found.is_unique
    ([5000000.0, 1000000.0], True)
    >>> dict(found.assignment)
    {'Alice': 'a0', 'Bob': 'b1', 'Charles': 'c1', 'Debbie': 'd0'}
    """

    log_value: float
    variables: Mapping[str, Discrete] = field(repr=False)
    _: KW_ONLY
    observed: Mapping[str, State] = field(repr=False)

    def __getitem__(self, key: VariableLike | tuple[VariableLike, ...]) -> Table:
        names = [_name(one) for one in (key if isinstance(key, tuple) else (key,))]
        for name in names:
            if name not in self.variables:
                raise ScopeError(f"There is no max-marginal of {name!r}.{nearest(name, self.variables)}")
        scope = [self.variables[name] for name in names]
        fixed = [Table.indicator(v, self.observed[v.name]) for v in scope if v.name in self.observed]
        free = [v.name for v in scope if v.name not in self.observed]
        found = Table.from_log((), self.log_value) if not free else self._joint(free)
        for one in fixed:
            found = found * one
        return found.align(scope)

    @abstractmethod
    def _joint(self, names: list[str]) -> Table:
        """The max-marginal over unobserved names."""

    @property
    @abstractmethod
    def assignment(self) -> Mapping[str, State]:
        """A best assignment; states of variables with ties are chosen together, never one by one."""

    @abstractmethod
    def log_value_of(self, assignment: Mapping[Any, State]) -> float:
        """The log value of an assignment of all unobserved variables."""

    @abstractmethod
    def conflicts(self, assignment: Mapping[Any, State]) -> list[tuple[str, ...]]:
        """The scopes of the joint max-marginals that are not largest at an assignment; empty for a best one."""

    def __iter__(self) -> Iterator[str]:
        return iter(self.variables)

    def __len__(self) -> int:
        return len(self.variables)

    @property
    def _tolerance(self) -> float:
        return max(TIED, ROUNDING * abs(self.log_value))

    @lazy
    def best_states(self) -> Mapping[str, tuple[State, ...]]:
        """The states of each variable that some best assignment has."""
        return {name: self._best(self[name]) for name in self}

    def _best(self, table: Table) -> tuple[State, ...]:
        logs, states = np.asarray(table.log_values), table.scope[0].states
        return tuple(states[code] for code in np.flatnonzero(logs >= self.log_value - self._tolerance).tolist())

    @property
    def ties(self) -> Mapping[str, tuple[State, ...]]:
        """The variables with several best states, and these."""
        return {name: states for name, states in self.best_states.items() if len(states) > 1}

    @property
    def is_unique(self) -> bool:
        """Whether there is one best assignment only: no variable has two best states."""
        return not self.ties

    @lazy
    def margins(self) -> Mapping[str, float]:
        """By how much the log value falls if a variable is not in its best state; zero for ties.

        Infinite for a variable without another possible state. The smallest is that of the second best assignment.
        """
        found = {}
        for name in self:
            logs = np.sort(np.asarray(self[name].log_values))
            below = float(logs[-2]) if len(logs) > 1 else -math.inf
            found[name] = 0.0 if len(self.best_states[name]) > 1 else self.log_value - below
        return found

    def is_best(self, assignment: Mapping[Any, State]) -> bool:
        """Whether no assignment is better: a check of a given answer, by whatever method it was found.

        Reference: Koller & Friedman, theorem 13.6.
        Guarantee: exact.
        Tested by: inference/cliquetree/test_maxmarginals.py::test_local_optimality_is_optimality

        >>> import sepset as ss
        >>> net = ss.datasets.load("student")
        >>> found = ss.max_marginals(net, given={"letter": "weak"})
        >>> found.is_best(ss.map_assignment(net, given={"letter": "weak"}, method=ss.MPLP()).assignment)
        True
        """
        return self.log_value_of(assignment) >= self.log_value - self._tolerance

    def _states(self, assignment: Mapping[Any, State]) -> dict[str, State]:
        """The states by name; raises unless they are those of all unobserved variables, and agree with findings."""
        if not isinstance(assignment, Mapping):
            raise ArgumentError(f"An assignment is a mapping from variables to states; found {brief(assignment)}.")
        named = {_name(key): state for key, state in assignment.items()}
        for name in named:
            if name not in self.variables:
                raise ScopeError(f"There is no variable {name!r} to assign.{nearest(name, self.variables)}")
        missing = [name for name in self if name not in named and name not in self.observed]
        if missing:
            raise ScopeError(
                f"A whole assignment is compared; {listing(missing)} have no state in it. Put what is known into "
                "given= of map_assignment for the best completion."
            )
        for name, state in self.observed.items():
            if self.variables[name].code(named.get(name, state)) != self.variables[name].code(state):
                raise ScopeError(f"{name!r} was observed to be {state!r}; the assignment has {named[name]!r}.")
        return {name: self.variables[name].states[self.variables[name].code(s)] for name, s in named.items()}

    def to_dict(self) -> dict[str, Any]:
        """The logarithm of every max-marginal by variable and state, the best states and their margins."""
        logs = {name: zip(self[name].scope[0].states, self[name].log_values.tolist(), strict=True) for name in self}
        return {
            "log_value": plain(self.log_value),
            "observed": plain(self.observed),
            "max_marginals": {
                name: [{"state": plain(state), "log_value": plain(value)} for state, value in pairs]
                for name, pairs in logs.items()
            },
            "best_states": plain(self.best_states),
            "margins": plain(self.margins),
            **about_document(self),
        }

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={self._in_words(name)}" for name in itertools.islice(self, FEW))
        more = f", ... {len(self)} variables" if len(self) > FEW else ""
        about = "one best assignment" if self.is_unique else f"{len(self.ties)} variables tied"
        return f"MaxMarginalsResult({shown}{more}; log value {self.log_value:.6g}; {about})"

    def _in_words(self, name: str) -> str:
        return "|".join(str(state) for state in self.best_states[name])

    def _shown(self) -> Shown:
        names = list(itertools.islice(self, MOST_SHOWN))
        rows = [(name, self._in_words(name), f"{self.margins[name]:.6g}") for name in names]
        more = f"first {MOST_SHOWN} of {len(self)} variables" if len(names) < len(self) else ""
        title = f"largest log value {self.log_value:.6g}, " + ("unique" if self.is_unique else f"{len(self.ties)} ties")
        return Shown(("variable", "best", "margin"), rows, title, more, words=2)


@dataclass(frozen=True, eq=False, repr=False)
class TreeMaxMarginals(MaxMarginalsResult):
    """Exact max-marginals, from the cliques of a tree.

    Attributes:
        calibration: the clique tree, calibrated by maxima.
    """

    calibration: Calibrated = field(repr=False, kw_only=True)

    def _joint(self, names: list[str]) -> Table:
        """The max-marginal over unobserved names, which one clique must cover."""
        home = smallest_home(self._homes, names, self._sizes)
        if home is None:
            raise ScopeError(
                f"No clique has {listing(names)} together. Ask for variables of one factor, or for the best values "
                "with each of their states in given=."
            )
        belief = self._beliefs[home]
        if len(names) == 1:
            table = self._single(home, names[0])
        else:
            table = belief.marginalize([v for v in belief.scope if v.name not in names], MAX)
        logs = np.asarray(table.log_values)
        return Table.from_log(table.scope, logs + (self.log_value - logs.max(initial=-np.inf)))

    def _single(self, home: int, name: str) -> Table:
        """The max-marginal of one variable of a clique, from that of one half of its scope, and of half of that.

        All of them together take two passes over the belief.
        """
        table, start = self._beliefs[home], 0
        while len(table.scope) > 1:
            middle, names = len(table.scope) // 2, [v.name for v in table.scope]
            low, high = (0, middle) if name in names[:middle] else (middle, len(names))
            key = home, start + low, start + high
            if key not in self._halves:
                self._halves[key] = table.marginalize([*table.scope[:low], *table.scope[high:]], MAX)
            table, start = self._halves[key], start + low
        return table

    @lazy
    def _halves(self) -> dict[tuple[int, int, int], Table]:
        """The max-marginals of runs of variables in the scopes of cliques, as far as they were asked for."""
        return {}

    @lazy
    def _homes(self) -> Mapping[str, frozenset[int]]:
        return homes(self.calibration.tree)

    @lazy
    def _sizes(self) -> list[int]:
        return [belief.size for belief in self.calibration.beliefs]

    @lazy
    def _beliefs(self) -> tuple[Table, ...]:
        return tuple(dense(belief) for belief in self.calibration.beliefs)

    @lazy
    def assignment(self) -> Mapping[str, State]:
        """A best assignment, by traceback: each clique has a maximum given its states in the cliques before it.

        States of variables with ties are chosen together, never one by one.
        """
        tree, chosen = self.calibration.tree, dict(self.observed)
        order = [*tree.roots(None), *(message.source for message in reversed(tree.schedule()))]
        for i in order:
            table = _at(self._beliefs[i], chosen)
            place = int(np.argmax(np.asarray(table.log_values).reshape(-1)))
            codes = np.unravel_index(place, tuple(v.num_states for v in table.scope))
            chosen |= {v.name: v.states[int(code)] for v, code in zip(table.scope, codes, strict=True)}
        return {name: chosen[name] for name in self if name not in self.observed}

    def log_value_of(self, assignment: Mapping[Any, State]) -> float:
        """The log value of an assignment of all unobserved variables, from the beliefs of cliques and sepsets.

        Guarantee: exact.
        Tested by: inference/cliquetree/test_maxmarginals.py::test_beliefs_are_the_model
        """
        states, tree = self._states(assignment), self.calibration.tree
        received: list[Table] = [_at(belief, states) for belief in self._beliefs]
        sepsets = dict(zip(tree.edges, map(dense, self.calibration.sepset_beliefs), strict=True))
        for message in tree.schedule():
            edge = message.source, message.target
            shared = sepsets[edge] if edge in sepsets else sepsets[edge[::-1]]
            made = received[message.source]
            kept = made.marginalize([v for v in made.scope if v.name not in message.sepset], MAX)
            received[message.target] = received[message.target] * (kept / _at(shared, states))
        tops = [_maximum(received[root]) for root in tree.roots(None)]
        rest = self.log_value - sum(_maximum(self._beliefs[root]) for root in tree.roots(None))
        return -math.inf if -math.inf in tops else rest + sum(tops)

    def conflicts(self, assignment: Mapping[Any, State]) -> list[tuple[str, ...]]:
        """The cliques whose max-marginals are not largest at an assignment; empty for a best one."""
        states, found = self._states(assignment), []
        for belief in self._beliefs:
            here, top = _maximum(_at(belief, states)), _maximum(belief)
            if here < top - self._tolerance:
                found.append(tuple(v.name for v in belief.scope))
        return found


def _name(key: object) -> str:
    return key.name if isinstance(key, Discrete) else str(key)


def _at(table: Table, states: Mapping[str, State]) -> Table:
    """The table at the states of its own variables; the others may be many."""
    return table.condition({v.name: states[v.name] for v in table.scope if v.name in states})


def _maximum(table: Table) -> float:
    logs: Floats = np.asarray(table.log_values)
    return float(logs.max(initial=-np.inf))


def tree_max_marginals(prepared: Prepared, evidence: Evidence, variables: Universe, **about: Any) -> TreeMaxMarginals:
    """The max-marginals of the discrete variables of a model, by the clique tree of a prepared method.

    Args:
        prepared: as `maximizing` returns it.
        variables: those of the model; auxiliaries come after them.
        about: the method, guarantees and other information of the result.

    Reference: Koller & Friedman, section 13.3.
    Guarantee: exact.
    Tested by: inference/cliquetree/test_maxmarginals.py::test_maxima_are_those_of_all_assignments
    """
    tree = _calibrated(prepared, evidence)
    if tree.log_partition == -np.inf:
        raise impossible(prepared, evidence)
    own, observed = named_states(variables, evidence)
    return TreeMaxMarginals(tree.log_partition, own, observed=observed, calibration=tree, **about)


def named_states(variables: Universe, evidence: Evidence) -> tuple[dict[str, Discrete], dict[str, State]]:
    """The discrete variables of a model by name, and the states of those that are observed."""
    own = {v.name: v for v in variables if isinstance(v, Discrete)}
    codes = {variables[v].name: code for v, code in evidence.codes.items() if v < len(variables)}
    return own, {name: own[name].states[code] for name, code in codes.items()}


def maximizing(prepared: Prepared, evidence: Evidence) -> Prepared:
    """The prepared method for maxima over all unobserved variables, which are discrete.

    Functions of many variables become factors for this question, in which auxiliaries are functions of the others.
    """
    observed = set(evidence.observed)
    hidden = [v for v in range(prepared.problem.num_visible) if v not in observed]
    return prepared.for_best(evidence, hidden) if can(prepared, Rewrites) else prepared


def check_discrete(problem: Problem, evidence: Evidence) -> None:
    """Raise for real variables that are not observed."""
    hidden = (problem.variables[v] for v in range(problem.num_visible) if v not in evidence.reals)
    real = [variable.name for variable in hidden if not variable.is_discrete]
    if real:
        raise NotApplicable(
            f"Max-marginals are tables over discrete variables; {listing(real)} are continuous and not observed. Use "
            "map_assignment, or put their values into given=."
        )


def _calibrated(found: Prepared, evidence: Evidence) -> Calibrated:
    """The clique tree of a prepared method, calibrated by maxima."""
    known = {*range(found.problem.num_visible), *evidence.observed}
    is_function = len(known.union(found.problem.determined(known))) == len(found.problem.variables)
    if not (is_function and can(found, Calibrates)):
        raise NotApplicable(
            f"Max-marginals come from a tree calibrated by maxima; {type(found.method).__name__} has none for this "
            "model. Use CliqueTree()."
        )
    return found.calibrate(evidence, MAX)
