r"""A test that draws more rows until dependence is significant, or there are enough of them.

Looking again after every batch would reject true independences ever more often. So look $j$ has the share
$w_j = 2^{-j}$ of the level, and

$$p = \min\bigl(1, \min_j p_j / w_j\bigr)$$

is valid whenever the draws end, by the union bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from sepset.base.checks import fraction, generator, number, whole
from sepset.base.text import settings
from sepset.data.dataset import Dataset
from sepset.data.sources import as_dataset
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.independence.boundtest import AnyTest, BoundTest, Group, Outcome
from sepset.learning.structure.independence.discrete import G_TEST


@dataclass(frozen=True)
class MoreData:
    r"""A test that draws rows until independence is rejected or `most_rows` are drawn.

    Args:
        draw: makes rows: called with their number and a generator. All questions share the rows drawn before.
        test: the test of the rows.
        level: draws end when the corrected p-value is at most this; use the level of the question.
        num_rows: rows of the first look; each look has `growth` times those of the one before.
        most_rows: no more are drawn.
        seed: of the draws.

    Reference: Koller & Friedman, section 18.2.1.
    Guarantee: valid p-value.
    Tested by: learning/structure/independence/test_moredata.py::test_true_independences_are_seldom_rejected

    >>> from sepset.learning.structure.independence.independencetest import independence_test
    >>> def draw(num_rows, rng):
    ...     x = rng.integers(2, size=num_rows)
    ...     return {"x": x, "y": np.where(rng.random(num_rows) < 0.2, 1 - x, x)}
    >>> found = independence_test(None, between=("x", "y"), test=MoreData(draw))
    >>> found.is_independent, found.num_rows
    (False, 100.0)
    """

    draw: Callable[[int, np.random.Generator], object]
    test: AnyTest = G_TEST
    _: KW_ONLY
    level: float = 0.05
    num_rows: int = 100
    growth: float = 2.0
    most_rows: int = 100_000
    seed: int = 0
    needs_rows: ClassVar[bool] = False

    def __post_init__(self) -> None:
        fraction("level", self.level)
        whole("num_rows", self.num_rows, least=1)
        whole("most_rows", self.most_rows, least=self.num_rows)
        number("growth", self.growth, above=1.0)

    def __repr__(self) -> str:
        return settings(self)

    def bind(self, columns: Any) -> BoundTest:
        """The test for columns of these names."""
        return _Growing(self, columns.names)


class _Growing(BoundTest):
    def __init__(self, settings: MoreData, names: tuple[str, ...]) -> None:
        self.settings, self.names = settings, tuple(names)
        self._rng = generator(settings.seed)
        self._rows: Dataset | None = None
        self._looks: list[tuple[tuple[str, ...], BoundTest]] = []

    def outcome(self, xs: Group, ys: Group, given: Group) -> Outcome:
        looks = 0
        least, found = 1.0, Outcome(0.0, float("nan"), 1.0)
        while True:
            names, test = self._look(looks)
            groups = [tuple(names.index(self.names[i]) for i in group) for group in (xs, ys, given)]
            found = test.outcome(*groups)
            looks += 1
            least = min(least, found.p_value * 2.0**looks)
            if least <= self.settings.level or self._sizes(looks - 1) >= self.settings.most_rows:
                return found._replace(p_value=least)

    def _sizes(self, look: int) -> int:
        """The rows of a look."""
        return min(round(self.settings.num_rows * self.settings.growth**look), self.settings.most_rows)

    def _look(self, look: int) -> tuple[tuple[str, ...], BoundTest]:
        """The names and the test of the rows of a look; rows are drawn if there are not enough."""
        while len(self._looks) <= look:
            wanted = self._sizes(len(self._looks)) - (self._rows.num_rows if self._rows is not None else 0)
            known = None if self._rows is None else self._rows.variables
            fresh = as_dataset(self.settings.draw(wanted, self._rng), known)
            self._rows = fresh if self._rows is None else self._rows.concat(fresh)
            columns = Columns.of(self._rows)
            self._looks.append((columns.names, self.settings.test.bind(columns)))
        return self._looks[look]
