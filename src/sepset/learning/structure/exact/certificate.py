r"""How good a learned structure is: its score next to those of a reference, the best tree and the best structure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

from sepset.base.checks import whole
from sepset.base.display import Shown
from sepset.base.extras import FrameKind, frame
from sepset.base.foreign import translated
from sepset.base.text import described
from sepset.errors import ArgumentError
from sepset.graphs.graph import DAG, Graph
from sepset.inference.result import Guarantee
from sepset.learning.assessment import Assessment
from sepset.learning.structure.columns import Columns, Missing
from sepset.learning.structure.constraints import Constraints
from sepset.learning.structure.exact.search import ExactSearch
from sepset.learning.structure.exact.trees import Branching, ChowLiu
from sepset.learning.structure.familyscores import FamilyScore
from sepset.learning.structure.learned import StructureTask
from sepset.learning.structure.scores.likelihood import BIC
from sepset.learning.structure.structureprior import StructurePrior

PROVABLE = 16
"""Up to so many columns the best structure is found as well."""


@dataclass(frozen=True, eq=False, repr=False)
class SearchCertificate(Assessment):
    """Scores of structures on the same rows.

    Attributes:
        score: of the structure in question.
        scores: of the empty graph, the best tree, the reference, and the best structure, where they are known.
        gap: how far the score is below the best one; NaN where that is not known.
        score_method: which score it is.
        guarantees: EXACT for the gap where the best structure is known.
    """

    score: float
    scores: Mapping[str, float]
    _: KW_ONLY
    gap: float
    score_method: FamilyScore

    @property
    def is_optimal(self) -> bool:
        """Whether it is proved that no structure has a larger score, up to rounding."""
        return self.gap <= 1e-9 * max(1.0, abs(self.score))

    def above(self, which: str) -> float:
        """How far the score is above another one of `scores`.

        Args:
            which: "empty", "tree", "reference" or "optimum".
        """
        if which not in self.scores:
            raise ArgumentError(f"There is no score of {which!r}; there are {', '.join(self.scores)}.")
        return self.score - self.scores[which]

    def _rows(self) -> Iterator[tuple[str, float, float]]:
        yield "learned", self.score, 0.0
        for name, value in self.scores.items():
            yield name, value, self.above(name)

    def to_frame(self, kind: FrameKind = "pandas") -> Any:
        """A data frame with one row per structure: its score, and how far the learned one is above it."""
        columns = zip(*self._rows(), strict=True)
        return frame({n: list(c) for n, c in zip(("structure", "score", "above"), columns, strict=True)}, kind)

    def __repr__(self) -> str:
        others = "".join(f"; {name} {self.above(name):+.4g}" for name in self.scores)
        return f"SearchCertificate(score {self.score:.7g}{others})"

    def _shown(self) -> Shown:
        rows = [(name, f"{value:.7g}", f"{above:+.4g}") for name, value, above in self._rows()]
        return Shown(("structure", "score", "above"), rows, described(self.score_method), words=1)


@translated
def certify(
    graph: Graph,
    data: object,
    *,
    score: FamilyScore | None = None,
    structure_prior: StructurePrior | None = None,
    constraints: Constraints | None = None,
    reference: Graph | None = None,
    exact_columns: int = PROVABLE,
    missing: Missing = "refuse",
) -> SearchCertificate:
    r"""The score of a structure next to those of a reference, of the best tree, and of the best structure of all.

    A search that ends below the score of the network that the rows come from, or of the best tree, has not found what
    there is; one that reaches the optimum is proved to be best.

    Args:
        graph: a learned DAG, such as `learn_structure(...).dag`.
        data: the rows, as `learn_structure` takes them; other columns are ignored.
        score: `BIC()` by default.
        structure_prior: uniform by default.
        constraints: what every structure must respect; the reference need not.
        reference: another DAG of the same columns, such as the network that rows were drawn from.
        exact_columns: up to so many columns the best structure is found too, which takes $O(n 2^n)$.
        missing: what becomes of missing cells.

    Reference: Koller & Friedman, section 18.7; Silander & Myllymaki (2006).
    Guarantee: exact scores; the gap is exact where the best structure is found.
    Tested by: learning/structure/exact/test_certificate.py::test_scores_against_enumeration

    >>> rows = {"a": [0, 0, 1, 1] * 9, "b": [0, 0, 1, 1] * 9, "c": [0, 1, 0, 1] * 9}
    >>> certify(DAG.parse("a -> b; c"), rows, reference=DAG.parse("a; b; c"))
    SearchCertificate(score -57.07363; empty +23.16; tree +0; reference +23.16; optimum +0)
    """
    whole("certify(exact_columns=)", exact_columns)
    columns = Columns.of(data, missing=missing, only=graph.nodes)
    method = BIC() if score is None else score
    rules = Constraints() if constraints is None else constraints

    def task(start: Graph | None = None, rules: Constraints = rules) -> StructureTask:
        return StructureTask(columns, method, structure_prior, rules, start)

    def scored(start: Graph, rules: Constraints) -> float:
        made = task(start, rules)
        return float(made.scorer.total(made.start_parents()))

    own = scored(graph, rules)
    trees = ChowLiu() if task().scorer.is_equivalent else Branching()
    scores = {"empty": scored(DAG(columns.names, []), Constraints())}
    scores["tree"] = trees.learn(task()).score
    if reference is not None:
        scores["reference"] = scored(reference, Constraints())
    is_known = len(columns) <= exact_columns
    if is_known:
        scores["optimum"] = ExactSearch().learn(task()).score
    gap = max(scores["optimum"] - own, 0.0) if is_known else math.nan
    guarantees = {"gap": Guarantee.EXACT} if is_known else {}
    return SearchCertificate(own, scores, gap=gap, score_method=method, guarantees=guarantees)
