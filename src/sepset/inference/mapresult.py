"""The most probable assignments: states by name, values, a bound, and what was proved."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.display import Report, Shown
from sepset.base.entries import Answers
from sepset.base.equality import same_value
from sepset.base.extras import FrameKind, frame
from sepset.base.frozen import read_only
from sepset.base.lazy import lazy
from sepset.base.text import nearest
from sepset.errors import NotApplicable, NotClosed, ScopeError, SepsetError, TooLarge
from sepset.inference.documents import about_document, findings_document, plain_state
from sepset.inference.result import MOST_SHOWN, Result, exponential, states_of
from sepset.variables.array import VariableArray
from sepset.variables.findings import NOTHING_FOUND, Findings
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, VariableLike, Vector

MOST_TOLD = 20
"""The most variables of one assignment in a line."""


NONE_FOUND = "no possible assignment was found; HybridBestFirst() finds one, or proves that there is none"
"""Printed below an assignment of probability zero."""


class Certified(Protocol):
    """A claim about an answer that can be checked without trusting the method."""

    @property
    def claim(self) -> str:
        """The statement."""

    def check(self) -> bool:
        """Whether it does, computed again."""


NO_TRACE = read_only(np.zeros(0))
"""The trace of a method that takes one step."""

NO_VARIABLES = Universe()
"""The variables of an empty model."""


def _evaluated(log_partition_of: Callable[[], float]) -> Callable[[], float]:
    """The same number without what it is computed from."""
    try:
        return partial(float, log_partition_of())
    except SepsetError as refusal:
        return partial(_refused, refusal)


def _refused(refusal: SepsetError) -> float:
    raise refusal


class Assignment(Answers[str, Any]):
    """The states of discrete variables by name, from their codes; names are made when they are asked for.

    Args:
        variables: all variables of the model.
        codes: one code per variable; -1 for those without a state here.

    >>> from sepset.variables.universe import Universe
    >>> Assignment(Universe([Discrete("grade", "ABC"), Discrete("sat")]), np.array([2, -1]))
    {'grade': 'C'}
    """

    __slots__ = ("codes", "variables")

    def __init__(self, variables: Universe, codes: Ints) -> None:
        self.variables = variables
        self.codes = codes

    def __getitem__(self, key: VariableLike) -> Any:
        position = self.variables.id(key)
        code, variable = int(self.codes[position]), self.variables[position]
        if code < 0:
            raise ScopeError(f"The assignment does not cover {variable.name!r}.")
        return states_of(variable)[code]

    def __iter__(self) -> Iterator[str]:
        return (self.variables[position].name for position in np.flatnonzero(self.codes >= 0).tolist())

    def __len__(self) -> int:
        return int(np.count_nonzero(self.codes >= 0))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name!r}: {self[name]!r}" for name in itertools.islice(self, 6))
        return f"{{{shown}{', ...' if len(self) > 6 else ''}}}"


@dataclass(frozen=True)
class MapResult(Report, Result, Answers[str, Any]):
    """The most probable assignments, best first; as a mapping, the best one.

    Attributes:
        assignments: the k best, each from name to state.
        log_values: the logarithm of each one's unnormalized value, evidence included.
        bound: an upper bound on all assignments; equal to the best value if it is exact.
        variables: the variables of the model.
        certificate: what was proved about the best one, and how to check it; None if nothing was, or if the method is
            exact.
        persistent: states that some best assignment has, if the method proves any; all of them if it is exact, but for
            a method that is asked for those of every best assignment.
        trace: the objective of an iterative method after each step.
        findings: the evidence.

    >>> import sepset as ss
    >>> best = ss.map_assignment(ss.datasets.load("asia"), given={"dysp": "yes"})
    >>> best["bronc"], round(best.log_value, 4)
    ('yes', -1.6039)
    """

    assignments: tuple[Mapping[str, Any], ...]
    log_values: tuple[float, ...]
    _: KW_ONLY
    log_partition_of: Callable[[], float] = field(repr=False)
    bound: float = math.inf
    variables: Universe = field(default=NO_VARIABLES, kw_only=True, repr=False)
    certificate: Certified | None = field(default=None, kw_only=True, repr=False)
    persistent: Mapping[str, Any] = field(default_factory=dict, kw_only=True, repr=False)
    trace: Floats = field(default_factory=lambda: NO_TRACE, kw_only=True, repr=False)
    findings: Findings = field(default=NOTHING_FOUND, kw_only=True, repr=False)

    @property
    def assignment(self) -> Mapping[str, Any]:
        """The best assignment, from name to state."""
        return self.assignments[0]

    @lazy
    def codes(self) -> Ints:
        """The code of every variable of the model in the best assignment; -1 for those it does not cover."""
        best = self.assignment
        if isinstance(best, Assignment):
            return best.codes
        found = np.full(len(self.variables), -1, np.int64)
        for name, state in best.items():
            variable = self.variables[name]
            if isinstance(variable, Discrete):
                found[self.variables.id(name)] = variable.code(state)
        return found

    @property
    def log_value(self) -> float:
        """The logarithm of the best value, evidence included."""
        return self.log_values[0]

    @property
    def gap(self) -> float:
        """The largest possible distance of the best value from the optimum, in nats."""
        return 0.0 if self.bound == self.log_value else self.bound - self.log_value

    @lazy
    def probability(self) -> float:
        """The probability (for continuous variables, the density) of the best assignment given the evidence."""
        return exponential(self.log_value - self.log_partition_of())

    def __getstate__(self) -> dict[str, Any]:
        """Pickled with the log partition, which is computed first; where that is too large, with the refusal."""
        return {**self.__dict__, "log_partition_of": _evaluated(self.log_partition_of)}

    def __getitem__(self, key: VariableLike | VariableArray) -> Any:
        if isinstance(key, VariableArray):
            first = self.variables.array_offset(key)
            return self.codes[first : first + len(key)].reshape(key.shape)
        name = key.name if isinstance(key, Discrete | Vector) else key
        if not isinstance(name, str) or name not in self.assignment:
            raise ScopeError(f"The assignment does not cover {name!r}.{nearest(name, self.assignment)}")
        return self.assignment[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.assignment)

    def __len__(self) -> int:
        return len(self.assignment)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        first = itertools.islice(self.assignment, 6)
        shown = ", ".join(f"{name}={self.assignment[name]!r}" for name in first)
        more = f", ... {len(self.assignment)} variables" if len(self.assignment) > 6 else ""
        gap = f", gap {self.gap:.3g}" if 0.0 < self.gap < math.inf else ""
        guarantee = self.guarantees["assignment"].value
        return f"MapResult({shown}{more}; log value {self.log_value:.6g}{gap}; {guarantee})"

    @property
    def probabilities(self) -> tuple[float, ...]:
        """The probability (for continuous variables, the density) of each assignment given the evidence."""
        total = self.log_partition_of()
        return tuple(exponential(value - total) for value in self.log_values)

    def to_frame(self, kind: FrameKind = "pandas") -> Any:
        """A data frame with one row per assignment, best first: the state of each variable, and the log value.

        >>> import sepset as ss
        >>> ss.map_assignment(ss.datasets.load("student"), k=2, over=["grade"]).to_frame()["grade"].tolist()
        ['A', 'C']
        """
        columns: dict[str, list[Any]] = {name: [a[name] for a in self.assignments] for name in self.assignment}
        title = "log_value"
        while title in columns:
            title += "_"
        return frame({**columns, title: list(self.log_values)}, kind)

    def to_dict(self) -> dict[str, Any]:
        """The assignments in plain values, as `to_json` writes them; a bound that is not known is None.

        >>> import sepset as ss
        >>> found = ss.map_assignment(ss.datasets.load("student")).to_dict()
        >>> found["assignments"][0]["assignment"]["grade"], found["bound"] == found["assignments"][0]["log_value"]
        ('C', True)
        """
        pairs = zip(self.assignments, self.log_values, strict=True)
        listed = [{"assignment": {k: plain_state(v) for k, v in a.items()}, "log_value": value} for a, value in pairs]
        bound = self.bound if math.isfinite(self.bound) else None
        given = findings_document(self.findings)
        return {"given": given, "assignments": listed, "bound": bound, **about_document(self)}

    def to_json(self, indent: int | None = None) -> str:
        """The assignments as JSON: each with its value, the bound, and guarantees."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def _shown(self) -> Shown:
        gap = f", gap {self.gap:.3g}" if 0.0 < self.gap < math.inf else ""
        given = f"given {self.findings}: " if self.findings.evidence else ""
        title = f"{given}log value {self.log_value:.6g}{gap}, {self.guarantees['assignment'].value}"
        if len(self.assignments) == 1:
            first = itertools.islice(self.assignment.items(), MOST_SHOWN)
            rows = [(name, self._text(name, value)) for name, value in first]
            more = f"first {MOST_SHOWN} of {len(self.assignment)} variables" if len(rows) < len(self.assignment) else ""
            if self.log_value == -math.inf:
                more = "; ".join(filter(None, (more, NONE_FOUND)))
            return Shown(("variable", "state"), rows, title, more, words=2)
        head, numbers = self._numbers()
        listed = [(f"#{rank + 1}", f"{x:.6g}", self._difference(rank)) for rank, x in enumerate(numbers[:MOST_SHOWN])]
        count = len(self.assignments)
        more = f"; first {MOST_SHOWN} of {count} assignments" if count > MOST_SHOWN else ""
        return Shown(("rank", head, "assignment"), listed, title, f"each with what differs from the first{more}", 3)

    def _numbers(self) -> tuple[str, tuple[float, ...]]:
        """The probabilities or densities of the assignments, titled; the log values if their sum is out of reach."""
        try:
            return self._head, self.probabilities
        except (NotApplicable, NotClosed, TooLarge):
            return "log value", self.log_values

    @property
    def _head(self) -> str:
        """The kind of the numbers that assignments have."""
        is_real = not self.variables.all_discrete and any(map(self._is_real, self.assignment))
        return "density" if is_real else "probability"

    def _is_real(self, name: str) -> bool:
        return not self.variables.all_discrete and isinstance(self.variables[name], Vector)

    def _text(self, name: str, value: Any) -> str:
        """A state as it is; real numbers with six digits."""
        if not self._is_real(name):
            return str(value)
        numbers = [f"{x:.6g}" for x in np.atleast_1d(value)]
        return numbers[0] if np.ndim(value) == 0 else f"({', '.join(numbers)})"

    def _difference(self, rank: int) -> str:
        """The states of an assignment that differ from the best one; of the best one, all."""
        found, best = self.assignments[rank], self.assignment
        new = {name: value for name, value in found.items() if rank == 0 or not same_value(value, best[name])}
        told = [f"{name}={self._text(name, value)}" for name, value in new.items()]
        more = [f"... {len(told)} variables"] if len(told) > MOST_TOLD else []
        return ", ".join([*told[:MOST_TOLD], *more])
