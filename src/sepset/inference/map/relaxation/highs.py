"""Linear and integer programs by HiGHS, stopped by a time limit or by Ctrl-C."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.inference.map.relaxation.polytope import Polytope, Solution

T = TypeVar("T")

SMALL = 500
"""The number of columns of programs that are solved at once, without another thread."""

WAIT, GRACE = 0.05, 0.5
"""The seconds between two looks at a solver, and after its time until it is left to itself."""

SCALE = 1e4
"""The largest gain after scaling: the solver's tolerances are absolute, near 1e-7."""

OPEN, DUAL = 1e-6, 1e-7
"""The solver's tolerances, after scaling: of its gap, and of the reduced cost of each unit of its columns."""


class Whole(NamedTuple):
    """The outcome of an integer program.

    Attributes:
        columns: the best solution found; None without one.
        bound: an upper bound on its value.
        is_infeasible: whether it was proved that there are none.
    """

    columns: Floats | None
    bound: float
    is_infeasible: bool = False


def linear_optimum(polytope: Polytope, *, seconds: float = np.inf) -> Solution | None:
    """The optimum over a polytope with its dual; None if time ended before it was found."""
    from scipy.optimize import linprog

    if not polytope.num_columns:
        return Solution(np.zeros(0), np.zeros(0), np.zeros(0), not _is_nothing(polytope))
    scale = _scale(polytope.gains)
    found = waited(
        lambda: linprog(  # type: ignore[call-overload]
            -polytope.gains * scale,
            A_ub=polytope.most,
            b_ub=np.zeros(polytope.most.shape[0]),
            A_eq=polytope.equal,
            b_eq=polytope.right,
            bounds=(0, None),
            method="highs",
            options=_options(seconds),
        ),
        polytope.num_columns,
        seconds,
    )
    if found is None or found.status not in (0, 2):
        return None
    if found.status == 2:
        return Solution(np.zeros(0), np.zeros(0), np.zeros(0), True)
    equal, most = np.asarray(found.eqlin.marginals) / scale, np.asarray(found.ineqlin.marginals) / scale
    return Solution(np.asarray(found.x), equal, most)


def integer_optimum(polytope: Polytope, *, seconds: float = np.inf) -> Whole | None:
    """The best whole point of a polytope, and a bound; None if time ended without either.

    The bound leaves room for the tolerances of the solver, which matter where gains differ by many orders of magnitude.

    Reference: Huangfu & Hall (2018) for the solver.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    if not polytope.num_columns:
        return Whole(np.zeros(0), 0.0) if _is_nothing(polytope) else Whole(None, -np.inf, True)
    scale, limits = _scale(polytope.gains), [LinearConstraint(polytope.equal, polytope.right, polytope.right)]
    if polytope.most.shape[0]:
        limits.append(LinearConstraint(polytope.most, -np.inf, 0.0))
    whole = np.zeros(polytope.num_columns, np.int64)
    whole[polytope.states[polytope.states >= 0]] = 1
    options: Any = {"mip_rel_gap": 0.0, **_options(seconds)}
    found = waited(
        lambda: milp(
            -polytope.gains * scale, constraints=limits, integrality=whole, bounds=Bounds(0, 1), options=options
        ),
        polytope.num_columns,
        seconds,
    )
    if found is None:
        return None
    if found.status == 2:
        return Whole(None, -np.inf, True)
    limit = found.mip_dual_bound
    slack = OPEN + DUAL * (polytope.regions.wiring.num_variables + len(polytope.entries))
    bound = np.inf if limit is None or not np.isfinite(limit) else (slack - float(limit)) / scale
    return Whole(None if found.x is None else np.asarray(found.x), bound)


def _is_nothing(polytope: Polytope) -> bool:
    """Whether a program has no equations, so that its only point, without columns, is feasible."""
    return bool(polytope.equal.shape[0] == 0)


def _scale(gains: Floats) -> float:
    """A power of two that brings the largest gain near the scale."""
    most = float(np.abs(gains).max(initial=0.0))
    return float(2.0 ** np.round(np.log2(SCALE / most))) if most > 0.0 else 1.0


def _options(seconds: float) -> dict[str, Any]:
    return {} if seconds == np.inf else {"time_limit": max(seconds, 0.01)}


def waited(work: Callable[[], T], size: int, seconds: float) -> T | None:
    """The result of a solver that looks at neither Ctrl-C nor, at all times, the clock; None if its time ended.

    It runs in another thread, which is left to itself when the wait ends before it does.
    """
    if size <= SMALL:
        return work()
    found: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:  # raised again by the one who waits
            errors.append(error)

    thread = threading.Thread(target=run, name="sepset-highs", daemon=True)
    thread.start()
    end = time.monotonic() + seconds + GRACE
    while thread.is_alive() and time.monotonic() < end:
        thread.join(WAIT)
    if errors:
        raise errors[0]
    return found[0] if found else None
