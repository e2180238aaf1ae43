r"""Recommenders that are networks over items: a dependency network, or a Bayesian network.

Items are binary variables. An item that a user does not have is taken to be absent, so that

$$P(X_i = 1 \mid \text{basket}, \text{all others absent})$$

is one CPD of a dependency network; in a Bayesian network it follows from the item's Markov blanket.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from sepset.base.arraytypes import Bytes, Floats
from sepset.base.checks import number, one_of, whole
from sepset.base.frozen import fill
from sepset.base.lazy import lazy
from sepset.base.threads import interruptible
from sepset.cpds.priors.dirichlet import K2
from sepset.data.dataset import Dataset
from sepset.engine.kept import engine_for
from sepset.errors import ArgumentError, DataError, NotApplicable
from sepset.kernels.structure.baskettrees import log_odds, probabilities
from sepset.learning.estimation.estimators import Bayes
from sepset.learning.recommendation.baskets import Baskets
from sepset.learning.recommendation.baskettrees import ItemTree, TreeSettings, chunks, flat, grown_trees
from sepset.learning.recommendation.cooccurrence import candidates
from sepset.learning.recommendation.recommender import Recommender
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.constraints import Constraints
from sepset.learning.structure.dependency.flattrees import FlatTrees
from sepset.learning.structure.dependency.network import DependencyNet
from sepset.learning.structure.learned import StructureMethod, StructureTask
from sepset.models.bayesnet import BayesNet
from sepset.models.model import offers
from sepset.variables.variable import Discrete


@dataclass(frozen=True, slots=True)
class _Trees:
    """The settings that recommenders of item trees share; see there."""

    num_candidates: int = 50
    _: KW_ONLY
    pseudo_count: float = 1.0
    per_leaf: float = 0.01
    max_leaves: int = 64

    def __post_init__(self) -> None:
        name = type(self).__name__
        whole(f"{name}(num_candidates=)", self.num_candidates, least=0)
        number(f"{name}(pseudo_count=)", self.pseudo_count, above=0)
        number(f"{name}(per_leaf=)", self.per_leaf, above=0)
        whole(f"{name}(max_leaves=)", self.max_leaves, least=1)

    @property
    def trees(self) -> TreeSettings:
        """How trees are grown."""
        return TreeSettings(self.pseudo_count, self.per_leaf, self.max_leaves)


@dataclass(frozen=True, slots=True)
class DependencyRecommender(_Trees):
    r"""A dependency network over items: a probability tree of each item given the others, learned on its own.

    Args:
        num_candidates: each tree tests among so many items, those with the most mutual information.
        pseudo_count: of each cell of a leaf.
        per_leaf: the factor of the prior for each leaf of a tree: smaller makes smaller trees. With 0.01, a
            value chosen by hand, a further leaf must make the rows a hundred times as probable.
        max_leaves: of a tree.

    Reference: Heckerman, Chickering, Meek, Rounthwaite & Kadie (2000); Koller & Friedman, box 18.C.
    Guarantee: probabilities are those of the CPDs; the trees are greedy.
    Tested by: learning/recommendation/test_itemnetworks.py::test_probabilities_are_those_of_the_cpds

    >>> baskets = Baskets([["bread", "butter"], ["bread", "butter"], ["beer"], ["beer", "chips"]] * 20)
    >>> DependencyRecommender().fit(baskets).recommend({"bread"}, k=1)
    Recommendations(1 user; user 0: butter 0.9762)
    """

    def fit(self, baskets: Any, *, progress: bool | None = None) -> FittedItemTrees:
        """The recommender of these baskets.

        Args:
            baskets: `Baskets`, or whatever these take.
            progress: True shows a bar, False never, None in a terminal when the work is long.
        """
        rows = _filled(baskets)
        trees = grown_trees(rows, candidates(rows, self.num_candidates), self.trees, progress=progress)
        return FittedItemTrees(self, rows, trees)


@dataclass(frozen=True, slots=True)
class BayesRecommender(_Trees):
    r"""A Bayesian network over items.

    By default the CPD of each item is a probability tree of more popular items; or any method of structure learning
    finds the graph, and CPDs are tables.

    Args:
        num_candidates: each item may have parents among so many others, those with the most mutual information.
        pseudo_count: of each cell of a leaf.
        per_leaf: the factor of the prior for each leaf of a tree; see `DependencyRecommender`.
        max_leaves: of a tree.
        method: such as `HillClimb()`, to learn the graph within the candidates, under the score `K2()`; for hundreds of
            items. The settings of trees must be left at their defaults then.
        unviewed: items that a user does not have are "absent", or "unobserved": then the question is
            $P(X_i = 1 \mid \text{basket})$, by exact inference, for networks that allow it.

    Reference: Breese, Heckerman & Kadie (1998); Koller & Friedman, box 18.C.
    Guarantee: probabilities are exact for the network learned.
    Tested by: learning/recommendation/test_itemnetworks.py::test_absent_items_by_enumeration

    >>> baskets = Baskets([["bread", "butter"], ["bread", "butter"], ["beer"], ["beer", "chips"]] * 20)
    >>> BayesRecommender().fit(baskets).recommend({"bread"}, k=1)
    Recommendations(1 user; user 0: butter 0.9762)
    """

    _: KW_ONLY
    method: StructureMethod[Any] | None = None
    unviewed: str = "absent"

    def __post_init__(self) -> None:
        super(BayesRecommender, self).__post_init__()
        one_of("BayesRecommender(unviewed=)", self.unviewed, ("absent", "unobserved"))
        if self.method is None:
            return
        if isinstance(self.method, type) or not offers(self.method, "learn"):
            raise ArgumentError(f"BayesRecommender(method=) is a value such as HillClimb(); found {self.method!r}.")
        if self.trees != _Trees().trees:
            raise ArgumentError(
                "pseudo_count=, per_leaf= and max_leaves= are settings of trees; with method= the score and the "
                "prior are K2(). Leave them out, or leave method= out."
            )

    def fit(self, baskets: Any, *, progress: bool | None = None) -> FittedItemNetwork:
        """The recommender of these baskets.

        Args:
            baskets: `Baskets`, or whatever these take.
            progress: True shows a bar, False never, None in a terminal when the work is long.
        """
        rows = _filled(baskets)
        if self.method is not None:
            return FittedItemNetwork(self, rows, model=_searched(rows, self, progress))
        order = np.empty(rows.num_items, np.int64)
        order[np.argsort(-rows.popularity, kind="stable")] = np.arange(rows.num_items)
        trees = grown_trees(rows, candidates(rows, self.num_candidates, order), self.trees, progress=progress)
        return FittedItemNetwork(self, rows, trees)


def _filled(baskets: Any) -> Baskets:
    found = Baskets(baskets)
    if not len(found) or not found.num_items:
        raise DataError(f"There is nothing to learn from: {len(found)} users and {found.num_items} items.")
    return found


def _searched(baskets: Baskets, settings: BayesRecommender, progress: bool | None) -> BayesNet:
    """The network whose graph a method of structure learning finds within the candidates."""
    variables = baskets.variables
    data = Dataset.from_codes(variables, baskets.matrix.toarray().astype(np.int8))
    columns = Columns(data)
    near = candidates(baskets, settings.num_candidates)
    allowed = {v.name: [variables[k].name for k in chosen] for v, chosen in zip(variables, near, strict=True)}
    assert settings.method is not None
    task = StructureTask(columns, K2(), constraints=Constraints(candidates=allowed), progress=progress)
    found = settings.method.learn(task).fit(Bayes(K2()), progress=False)
    return found.model


class FittedItemTrees(Recommender):
    """A dependency network over items, as flat trees.

    Attributes:
        trees: one per item.
    """

    settings: DependencyRecommender
    trees: list[ItemTree]
    variables: tuple[Discrete, ...]

    def __init__(self, settings: DependencyRecommender, baskets: Baskets, trees: list[ItemTree]) -> None:
        fill(self, settings=settings, items=baskets.items, trees=trees, variables=baskets.variables)

    @lazy
    def flat(self) -> FlatTrees:
        """The trees in flat arrays."""
        return flat(self.trees)

    @lazy
    def model(self) -> DependencyNet:
        """The dependency network."""
        return DependencyNet(*(tree.cpd(v, self.variables) for v, tree in zip(self.variables, self.trees, strict=True)))

    def _scores(self, baskets: Baskets) -> Floats:
        """The probability of every item given that a user has just the others."""
        return _by_kernel(probabilities, baskets, self.flat)


class FittedItemNetwork(Recommender):
    """A Bayesian network over items.

    Attributes:
        flat: its CPDs as flat trees.
    """

    settings: BayesRecommender
    flat: FlatTrees
    variables: tuple[Discrete, ...]

    def __init__(
        self,
        settings: BayesRecommender,
        baskets: Baskets,
        trees: list[ItemTree] | None = None,
        *,
        model: BayesNet | None = None,
    ) -> None:
        variables = baskets.variables
        made = flat(trees) if trees is not None else None
        if model is not None:
            made = FlatTrees.of(model.cpds, model.variables)  # type: ignore[arg-type]  # tables
        if made is None:
            raise NotApplicable("Some items have too many parents for a table. Use method= with max_parents, or none.")
        fill(self, settings=settings, items=baskets.items, variables=variables, flat=made, _made=(trees, model))

    _made: tuple[list[ItemTree] | None, BayesNet | None]

    @lazy
    def model(self) -> BayesNet:
        """The Bayesian network."""
        trees, model = self._made
        if model is not None:
            return model
        assert trees is not None
        return BayesNet(*(tree.cpd(v, self.variables) for v, tree in zip(self.variables, trees, strict=True)))

    def _scores(self, baskets: Baskets) -> Floats:
        """The probability of every item given the others, absent or unobserved; of items at hand it is not used."""
        if self.settings.unviewed == "unobserved":
            return self._unobserved(baskets)
        return np.asarray(expit(_by_kernel(log_odds, baskets, self.flat)))

    def _unobserved(self, baskets: Baskets) -> Floats:
        engine, found = engine_for(self.model, None), np.ones((len(baskets), len(self.items)))
        names = [v.name for v in self.variables]
        for user in range(len(baskets)):
            own = baskets.matrix.indices[baskets.matrix.indptr[user] : baskets.matrix.indptr[user + 1]]
            answers = engine.marginals(given={names[k]: 1 for k in own})
            for k in np.setdiff1d(np.arange(len(names)), own):
                found[user, k] = answers[names[k]].values[1]
        return found


def _by_kernel(kernel: Any, baskets: Baskets, trees: FlatTrees) -> Floats:
    """The numbers of a kernel for all users and items."""
    out = np.zeros((len(baskets), baskets.num_items))
    for part, rows in chunks(baskets):

        def work(cancel: Bytes, part: slice = part, rows: Bytes = rows) -> None:
            kernel(rows, trees.roots, trees.tested, trees.starts, trees.branches, trees.values, out[part])

        interruptible(work)
    return out
