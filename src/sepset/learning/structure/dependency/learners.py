r"""Learners of one conditional distribution $P(X_i \mid \mathbf x_{-i})$: trees, tables and logistic CPDs."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.base.checks import number, whole
from sepset.cpds.logistic import LogisticCPD
from sepset.cpds.priors.dirichlet import K2, BDeu
from sepset.cpds.priors.weights import LaplaceWeights, WeightPrior
from sepset.cpds.table import TableCPD
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.familyscores import TOLERANCE, FamilyScore, Scorer
from sepset.learning.structure.local.treelearner import fitted_tree
from sepset.learning.structure.local.treescore import TreeScore
from sepset.variables.variable import Discrete


class LearnedConditional(NamedTuple):
    """A learned conditional distribution, and its score under the learner's own criterion."""

    cpd: Any
    score: float


@runtime_checkable
class ConditionalLearner(Protocol):
    """A frozen value of settings that learns the CPD of one column given others."""

    def learn(self, child: int, candidates: Ints, columns: Columns) -> LearnedConditional:
        """The CPD of a column whose parents are among the candidates."""


@dataclass(frozen=True, slots=True)
class TableLearner:
    """A table over the parents that a greedy search adds and removes, one at a time.

    Args:
        score: of a family; the evidence under `BDeu(1)` by default.
        prior: of the parameters; `BDeu(1)` by default, None for maximum likelihood.
        max_parents: the largest number of parents.

    Reference: Koller & Friedman, section 18.4.
    Guarantee: a local optimum of the score.
    Tested by: learning/structure/dependency/test_learners.py::test_no_parent_more_or_less_improves

    >>> TableLearner(max_parents=3)
    TableLearner(score=BDeu(sample_size=1.0), prior=BDeu(sample_size=1.0), max_parents=3)
    """

    _: KW_ONLY
    score: FamilyScore = field(default_factory=lambda: BDeu(1.0))
    prior: Any = field(default_factory=lambda: BDeu(1.0))
    max_parents: int = 8

    def __post_init__(self) -> None:
        whole("TableLearner(max_parents=)", self.max_parents, least=0)

    def learn(self, child: int, candidates: Ints, columns: Columns) -> LearnedConditional:
        """The table of the parents that no single change improves."""
        scorer = Scorer(columns, self.score)
        parents: list[int] = []
        best = scorer.family(child, parents)
        while True:
            changed = self._changed(scorer, child, candidates, parents)
            if changed is None or not changed[0] > best + TOLERANCE:
                break
            best, parents = changed
        template = _uniform_table(columns, child, parents)
        return LearnedConditional(estimated(template, columns, self.prior), best)

    def _changed(
        self, scorer: Scorer, child: int, candidates: Ints, parents: list[int]
    ) -> tuple[float, list[int]] | None:
        """The parents after the best single change, and their score."""
        found: list[tuple[float, list[int]]] = []
        open_ = candidates[~np.isin(candidates, [*parents, child])]
        if len(open_) and len(parents) < self.max_parents:
            scores = scorer.additions_of(child, tuple(parents), open_)
            found.append((float(scores.max()), sorted([*parents, int(open_[int(scores.argmax())])])))
        if parents:
            scores = scorer.removals(child, parents)
            k = int(scores.argmax())
            found.append((float(scores[k]), parents[:k] + parents[k + 1 :]))
        return max(found, key=lambda one: one[0], default=None)


@dataclass(frozen=True, slots=True)
class TreeLearner:
    """A decision tree over the candidates, split even where that lowers the score, and pruned on the way back.

    Args:
        score: of trees; `TreeScore(K2(), per_leaf=0.1)` by default, which keeps them small. A score of leaves alone,
            `BDeu` above all, grows large trees where many columns may be tested. Parameters are posterior means
            under it, or of maximum likelihood under `BIC`.

    Reference: Heckerman et al. (2000); Koller & Friedman, section 18.6.1.2.
    Guarantee: at least the score of a single leaf.
    Tested by: learning/structure/dependency/test_learners.py::test_trees_find_parities

    >>> TreeLearner(score=BDeu(2.0))
    TreeLearner(score=BDeu(sample_size=2.0))
    """

    _: KW_ONLY
    score: FamilyScore = field(default_factory=lambda: TreeScore(K2(), per_leaf=0.1))

    def learn(self, child: int, candidates: Ints, columns: Columns) -> LearnedConditional:
        """The tree over the candidates that it tests."""
        chosen = self.score if isinstance(self.score, TreeScore) else TreeScore(self.score)
        found = chosen.tree(child, tuple(c for c in candidates.tolist() if c != child), columns)
        return LearnedConditional(fitted_tree(found.tree, child, columns, chosen.score), found.score)


@dataclass(frozen=True, slots=True)
class LogisticLearner:
    """A logistic CPD over all candidates, with a prior whose kink at zero removes parents.

    Args:
        prior: of the weights; `LaplaceWeights(scale=1)` by default. `NormalWeights` removes none.
        smallest: parents whose largest weight is smaller are left out.

    Reference: Koller & Friedman, section 20.7.
    Guarantee: the maximum of the penalized likelihood.
    Tested by: learning/structure/dependency/test_learners.py::test_logistic_conditionals_of_an_ising_chain

    >>> LogisticLearner()
    LogisticLearner(prior=LaplaceWeights(scale=1.0), smallest=0.001)
    """

    _: KW_ONLY
    prior: WeightPrior = field(default_factory=lambda: LaplaceWeights(1.0))
    smallest: float = 1e-3

    def __post_init__(self) -> None:
        number("LogisticLearner(smallest=)", self.smallest, least=0)

    def learn(self, child: int, candidates: Ints, columns: Columns) -> LearnedConditional:
        """The logistic CPD over the candidates with weights."""
        own, parents = _variable(columns, child), [c for c in candidates.tolist() if c != child]
        given = {_variable(columns, p): np.zeros((int(columns.cards[p]), own.num_states)) for p in parents}
        cpd = estimated(LogisticCPD(own, given, bias=np.zeros(own.num_states)), columns, self.prior)
        kept = {p: w for p, w in zip(cpd.parents, cpd.weights, strict=True) if np.ptp(w, axis=0).max() >= self.smallest}
        cpd = LogisticCPD(own, kept, bias=cpd.bias)
        weights = columns.weights.astype(np.float64)
        score = float(weights @ cpd.log_probability(_rows(columns, cpd.scope)))
        penalty = sum(self.prior.log_density(np.asarray(w)) for w in cpd.weights)
        return LearnedConditional(cpd, score + penalty)


def estimated(template: Any, columns: Columns, prior: object) -> Any:
    """The CPD of a form with parameters from the rows.

    Args:
        template: a CPD over some of the columns.
        columns: the rows.
        prior: of its parameters; None for maximum likelihood, with uniform rows where there are none.
    """
    stats = template.statistics(_rows(columns, template.scope), columns.weights.astype(np.float64))
    return template.from_statistics(stats, prior)


def _rows(columns: Columns, scope: Any) -> dict[Any, Any]:
    place = {name: k for k, name in enumerate(columns.names)}
    return {v: columns.codes[place[v.name]].astype(np.int64) for v in scope}


def _variable(columns: Columns, column: int) -> Discrete:
    found = columns.variables[columns.names[column]]
    assert isinstance(found, Discrete)
    return found


def _uniform_table(columns: Columns, child: int, parents: list[int]) -> TableCPD:
    own, given = _variable(columns, child), [_variable(columns, p) for p in parents]
    shape = [*(p.num_states for p in given), own.num_states]
    return TableCPD(own, np.full(math.prod(shape), 1.0 / own.num_states).reshape(shape), given=given)
