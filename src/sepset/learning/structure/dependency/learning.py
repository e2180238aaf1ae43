"""Learning of dependency networks: the CPD of each column given the others, independently."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from sepset.base.display import Report, Shown
from sepset.base.foreign import translated
from sepset.base.progress import Bar
from sepset.base.text import described
from sepset.data.sources import Weights, num_columns
from sepset.errors import ArgumentError, NotApplicable
from sepset.factors.algebra import AnyVariable
from sepset.inference.result import Guarantee, Guarantees, Result
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.constraints import Constraints, check_pairs
from sepset.learning.structure.dependency.learners import ConditionalLearner, TableLearner
from sepset.learning.structure.dependency.network import DependencyNet


@dataclass(frozen=True, eq=False, repr=False)
class LearnedDependencyNet(Report, Result):
    """A learned dependency network.

    Attributes:
        model: the network.
        scores: of each variable's CPD, under the learner's own criterion.
        num_rows: the weight of the rows.

    >>> rows = {"rain": [0, 0, 1, 1] * 10, "wet": [0, 0, 1, 1] * 10, "coin": [0, 1, 0, 1] * 10}
    >>> learn_dependency_net(rows).model.edges
    (('wet', 'rain'), ('rain', 'wet'))
    """

    model: DependencyNet
    scores: Mapping[str, float]
    num_rows: float = field(kw_only=True)
    guarantees: Guarantees = field(default_factory=lambda: {"structure": Guarantee.LOCAL_OPTIMUM}, kw_only=True)

    def _facts(self) -> Iterator[tuple[str, str]]:
        yield "model", repr(self.model)
        yield "learner", described(self.method)
        yield "rows", f"{self.num_rows:,.10g}"
        yield "score", f"{sum(self.scores.values()):.10g}"

    def __repr__(self) -> str:
        return f"LearnedDependencyNet({self.model!r}; {described(self.method)}; score {sum(self.scores.values()):.7g})"

    def _shown(self) -> Shown:
        return Shown((), list(self._facts()), "LearnedDependencyNet")


@translated
def learn_dependency_net(
    data: object,
    *,
    learner: ConditionalLearner | None = None,
    constraints: Constraints | None = None,
    weights: Weights = None,
    variables: Iterable[AnyVariable] | None = None,
    progress: bool | None = None,
) -> LearnedDependencyNet:
    r"""The dependency network of the columns of `data`: $P(x_i \mid \mathbf x_{-i})$ for each, learned on its own.

    Args:
        data: a dataset, any frame, a mapping of columns, or the path of a file; discrete and complete.
        learner: of one conditional: `TableLearner()` by default; or `TreeLearner()`, `LogisticLearner()`, or your own.
        constraints: parents that are forbidden, or the only candidates; nothing is required here.
        weights: one per row, or the name of a column.
        variables: the meaning of some columns.
        progress: True shows a bar, False never, None in a terminal when the work is long.

    Reference: Heckerman et al. (2000); Koller & Friedman, box 18.B.
    Guarantee: as the learner.
    Tested by: learning/structure/dependency/test_learning.py::test_every_column_is_learned_on_its_own

    >>> learn_dependency_net({"a": [0, 1], "b": [1, 1]}).model
    DependencyNet(2 variables, 0 edges)
    """
    chosen = TableLearner() if learner is None else learner
    if not isinstance(chosen, ConditionalLearner) or isinstance(chosen, type):
        raise ArgumentError(f"learner= is a value such as TreeLearner() or TableLearner(); found {chosen!r}.")
    check_pairs(num_columns(data))
    columns = Columns.of(data, variables=variables, weights=weights)
    if columns.is_real.any():
        real = columns.names[int(np.argmax(columns.is_real))]
        raise NotApplicable(f"A dependency network has discrete columns; {real!r} is real. Discretize or drop it.")
    allowed = (Constraints() if constraints is None else constraints).bind(columns.names)
    if allowed.required.any():
        raise NotApplicable("Each CPD is learned on its own; required edges are not supported. Use forbidden=.")
    cpds, scores = [], {}
    with Bar(progress, "columns") as bar:
        for child, name in enumerate(columns.names):
            found = chosen.learn(child, np.flatnonzero(~allowed.forbidden[:, child]), columns)
            cpds.append(found.cpd)
            scores[name] = found.score
            bar.report(child + 1, len(columns), name)
    return LearnedDependencyNet(DependencyNet(*cpds), scores, num_rows=columns.total, method=chosen)
