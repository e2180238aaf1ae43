"""Two answers side by side: the probability of every state before and after, the largest changes first."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

from sepset.base.axes import ABOVE, BELOW, axes_of, entitle, named_rows
from sepset.base.checks import whole
from sepset.base.display import Report, Shown
from sepset.base.extras import FrameKind, frame
from sepset.base.text import listing
from sepset.errors import ScopeError

Probabilities = Mapping[Hashable, float]
"""The probability of each state."""


class Change(NamedTuple):
    """The probability of one state in two answers.

    >>> round(Change("lung", "yes", 0.055, 0.489).change, 3)
    0.434
    """

    variable: str
    state: Any
    before: float
    after: float

    @property
    def change(self) -> float:
        """The difference, after minus before."""
        return self.after - self.before


@dataclass(frozen=True, eq=False)
class Comparison(Sequence[Change], Report):
    r"""The probability of every state in two answers; variables in the order of their distance, the largest first.

    $$d(P, Q) = \tfrac12 \sum_x |Q(x) - P(x)|$$

    Attributes:
        changes: one per variable and state.
        distances: $d$ of each variable.
        titles: the questions or the evidence of the two answers.

    >>> import sepset as ss
    >>> asia = ss.prepare(ss.datasets.load("asia"))
    >>> found = asia.marginals().compare(asia.marginals(given={"xray": "yes"}))
    >>> found[0].variable, round(found.distances["either"], 4)
    ('either', 0.5112)
    """

    changes: tuple[Change, ...]
    distances: Mapping[str, float]
    titles: tuple[str, str]

    @overload
    def __getitem__(self, key: int) -> Change: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Change, ...]: ...
    def __getitem__(self, key: int | slice) -> Change | tuple[Change, ...]:
        return self.changes[key]

    def __len__(self) -> int:
        return len(self.changes)

    def __repr__(self) -> str:
        first = next(iter(self.distances), None)
        most = "" if first is None else f"; largest {first}: {self.distances[first]:.4g}"
        count = len(self.distances)
        return f"Comparison({count} variable{'s' * (count != 1)}{most})"

    def _shown(self) -> Shown:
        rows = [
            (c.variable, str(c.state), f"{c.before:.6f}", f"{c.after:.6f}", f"{c.change:+.6f}")
            for c in self[:MOST_ROWS]
        ]
        caption = f"first {MOST_ROWS} of {len(self)} states" if len(self) > MOST_ROWS else ""
        return Shown(("variable", "state", "before", "after", "change"), rows, self.title, caption, words=2)

    @property
    def title(self) -> str:
        """The two questions, or their evidence; once if they are the same, as of two models."""
        before, after = self.titles
        return before if before == after else f"{before} → {after}"

    def to_frame(self, kind: FrameKind = "pandas") -> Any:
        """A data frame with one row per variable and state."""
        rows = [(*change, change.change) for change in self]
        columns: Any = zip(*rows, strict=True) if rows else ((),) * 5
        names = ("variable", "state", "before", "after", "change")
        return frame({name: list(column) for name, column in zip(names, columns, strict=True)}, kind)

    def plot(self, ax: Any = None, *, num_variables: int = 6) -> Any:
        """The matplotlib axes with two bars per state, before and after, for the variables that change most.

        Args:
            ax: matplotlib axes.
            num_variables: the number of variables.
        """
        axes = axes_of(ax)
        names = list(self.distances)[: whole("num_variables", num_variables, least=1)]
        rows = [change for change in self if change.variable in names]
        for shift, color, label, values in (
            (-0.2, ABOVE, self.titles[0], [row.before for row in rows]),
            (0.2, BELOW, self.titles[1], [row.after for row in rows]),
        ):
            axes.barh([place + shift for place in range(len(rows))], values, 0.4, color=color, label=label)
        named_rows(axes, [f"{row.variable} = {row.state}" for row in rows])
        axes.set(xlim=(0.0, 1.0), xlabel="probability")
        entitle(axes, self.title)
        below = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "borderaxespad": 3.5}  # of what names the axis
        axes.legend(labels=["before", "after"], ncols=2, frameon=False, **below)
        return axes


MOST_ROWS = 30
"""The largest number of states that a comparison lists when it is printed."""


def compared(
    before: Mapping[str, Probabilities], after: Mapping[str, Probabilities], titles: tuple[str, str]
) -> Comparison:
    """The comparison of two sets of distributions, by the names of variables and states.

    >>> compared({"x": {"a": 0.5, "b": 0.5}}, {"x": {"b": 0.25, "a": 0.75}}, ("", "y=1"))[0].change
    0.25
    """
    common = [name for name in before if name in after]
    if (before or after) and not common:
        raise ScopeError(
            f"The answers have no discrete variable in common: {listing(list(before))}, and {listing(list(after))}."
        )
    for name in common:
        if set(before[name]) != set(after[name]):
            raise ScopeError(
                f"{name} has other states in the other answer: {listing(list(before[name]))}, "
                f"and {listing(list(after[name]))}."
            )
    gaps = {name: sum(abs(after[name][s] - p) for s, p in before[name].items()) / 2 for name in common}
    order = sorted(common, key=lambda name: -gaps[name])
    changes = tuple(Change(name, s, p, after[name][s]) for name in order for s, p in before[name].items())
    return Comparison(changes, {name: gaps[name] for name in order}, titles)
