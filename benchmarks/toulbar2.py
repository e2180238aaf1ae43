"""Best assignments by toulbar2, which runs inside its own process: models as costs, solved within a time.

`pip install pytoulbar2`, or in a folder of its own (`--no-deps --target`) that `PYTHONPATH` names.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from benchmarks.measure import Timing, now

DIGITS = 6  # decimal places of costs
ROUNDS, SLOW = 5, 2.0  # rounds, and the seconds after which there is no other


class Solved(NamedTuple):
    """The codes found (empty if none), whether they were proved, and seconds of building and solving, and of solving.

    Attributes:
        whole: from costs in memory to the assignment.
        alone: without building the problem.
    """

    codes: list[int]
    is_proved: bool
    whole: float
    alone: float


@dataclass(frozen=True)
class Costs:
    """A model at findings as minus logarithms, made before the clock starts: the kindest form for toulbar2.

    Attributes:
        cards: the number of states of each variable.
        functions: the scope and the costs of each factor, its observed variables fixed.
        found: codes of observed variables.
    """

    cards: Sequence[int]
    functions: Sequence[tuple[list[int], list[float]]]
    found: Mapping[int, int]

    @classmethod
    def of(cls, cards: Sequence[int], tables: Sequence[tuple[Sequence[int], Any]], found: Mapping[int, int]) -> Costs:
        """The costs of tables over positions of variables."""
        import numpy as np

        functions = []
        for scope, values in tables:
            part = values[tuple(found.get(v, slice(None)) for v in scope)]
            with np.errstate(divide="ignore"):
                flat = (-np.log(part)).reshape(-1).tolist()
            functions.append(([v for v in scope if v not in found], flat))
        return cls(cards, functions, found)

    def problem(self, vac: int = 0) -> Any:
        """The problem in toulbar2, with virtual arc consistency to a depth."""
        import pytoulbar2

        made = pytoulbar2.CFN(resolution=DIGITS, vac=vac)
        for v, num in enumerate(self.cards):
            made.AddVariable(f"v{v}", range(num))
        for scope, costs in self.functions:
            made.AddFunction(scope, costs if scope else costs[0])
        return made


def solve(costs: Costs, limit: float, *, vac: int = 0) -> Solved:
    """The best assignment within a time; a variable in no function takes its first state."""
    start = now()
    made = costs.problem(vac)
    built = now()
    found = made.Solve(timeLimit=max(1, round(limit)))
    end = now()
    codes = (
        [] if found is None else [code if code < num else 0 for code, num in zip(found[0], costs.cards, strict=True)]
    )
    for v, code in costs.found.items() if codes else ():
        codes[v] = code
    is_proved = bool(codes) and end - built < limit and made.GetDDualBound() >= found[1] - 10.0**-DIGITS
    return Solved(codes, is_proved, end - start, end - built)


def timed(costs: Costs, limit: float) -> tuple[Solved, Timing, Timing]:
    """One of several solutions, all the same, and the times with building and without."""
    done = [solve(costs, limit)]
    while len(done) < ROUNDS and sum(one.whole for one in done) < SLOW:
        done.append(solve(costs, limit))
    whole, alone = [one.whole for one in done], [one.alone for one in done]
    return done[0], *(Timing(min(each), statistics.median(each), len(each)) for each in (whole, alone))
