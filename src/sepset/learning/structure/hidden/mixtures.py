r"""Mixtures of networks and of trees: every component has a structure and parameters of its own.

$$P(\mathbf x) = \sum_k \pi_k \prod_i P_k(x_i \mid \mathbf u_i^k)$$
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

from sepset.base.arraytypes import Floats
from sepset.base.checks import whole
from sepset.base.frozen import fill
from sepset.base.text import listing
from sepset.errors import NotApplicable
from sepset.inference.iterate import Info, Interrupted, Until
from sepset.inference.result import Guarantee, Status
from sepset.kernels.structure.familyscores import LIKELIHOOD
from sepset.learning.estimation.estimators import MLE
from sepset.learning.fit import fit as fit_parameters
from sepset.learning.incomplete.starts import clusters
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.exact.trees import ChowLiu
from sepset.learning.structure.familyscores import count_sum
from sepset.learning.structure.hidden.learnedmixture import LearnedMixture
from sepset.learning.structure.learned import StructureMethod, StructureTask, dag_of, iterated, part
from sepset.learning.structure.search.hillclimb import HillClimb
from sepset.models.bayesnet import BayesNet

Parents = list[list[int]]

DEFAULT_UNTIL = Until(steps=500, tolerance=1e-7)
"""When the iteration stops where nothing else is asked for."""

CONFIDENCE = 0.8
"""The first responsibility of a row's cluster; the others share the rest."""


@dataclass(frozen=True, slots=True)
class State:
    """The graph of each component, the responsibilities that its parameters come from, and the score.

    Attributes:
        parents: for each component the parents of each column.
        shares: one row of responsibilities per component.
        score: the log-likelihood less the penalty.
        logs: the log probability of each row with each component; computed again where absent.
    """

    parents: list[Parents]
    shares: Floats
    score: float
    logs: Floats | None = field(default=None, repr=False, compare=False)


class StateCodec:
    """States as plain values."""

    def pack(self, state: State) -> Any:
        """The plain values."""
        return {"parents": state.parents, "shares": state.shares, "score": state.score}

    def unpack(self, packed: Any) -> State:
        """The state from its plain values."""
        parents = [[[int(p) for p in given] for given in graph] for graph in packed["parents"]]
        return State(parents, np.array(packed["shares"], np.float64), float(packed["score"]))


@dataclass(frozen=True, slots=True)
class MixtureOfNetworks:
    r"""A mixture whose components have structures of their own, by structural EM.

    $$r_{mk} \propto \pi_k P_k(\mathbf x[m]), \qquad
    \mathcal G_k = \text{Search}\left(\sum_i \text{FamScore}(X_i \mid \text{Pa}_i^k : r_{\cdot k})\right)$$

    Every step weights the rows by the responsibilities of each component, searches its structure from the last one on,
    and estimates its parameters. The log-likelihood less the penalty of all components never falls. Rows are complete.

    Args:
        components: their number.
        search: the search for the structure of a component, by scores.
        name: of the variable whose states are the components.

    Reference: Thiesson, Meek, Chickering & Heckerman (1998); Meila & Jordan (2000).
    Guarantee: score never decreases; a local optimum.
    Tested by: learning/structure/hidden/test_mixtures.py::test_the_score_never_decreases

    >>> MixtureOfNetworks(2).components
    2
    """

    components: int
    search: StructureMethod[Any] = field(default_factory=HillClimb)
    _: KW_ONLY
    name: str = "component"

    def __post_init__(self) -> None:
        whole(f"{type(self).__name__}(components=)", self.components, least=1)

    def learn(self, task: StructureTask) -> LearnedMixture:
        """The mixture at a local optimum."""
        _check(task, self.name)
        found: LearnedMixture = iterated(self, task, StateCodec(), until=DEFAULT_UNTIL).result(self, task)
        return found

    def init(self, task: StructureTask, rng: np.random.Generator) -> State:
        """Components for clusters of the rows."""
        columns, num = task.columns, self.components
        near = clusters(list(columns.codes), num, columns.num_rows, rng, np.asarray(columns.weights, np.float64))
        rest = (1 - CONFIDENCE) / max(1, num - 1)
        shares = np.where(near == np.arange(num)[:, None], CONFIDENCE if num > 1 else 1.0, rest)
        parents = [task.start_parents()] * num
        try:
            return self._searched(task, parents, shares)
        except KeyboardInterrupt:
            raise Interrupted(_scored(task, State(parents, shares, -math.inf))) from None

    def step(self, task: StructureTask, state: State, rng: np.random.Generator) -> tuple[State, Info]:
        """Responsibilities, then structures and parameters."""
        logs = joint_logs(task, state) if state.logs is None else state.logs
        new = self._searched(task, state.parents, np.exp(logs - logsumexp(logs, axis=0)))
        return new, Info(new.score, (new.score - state.score) / max(abs(new.score), 1e-300))

    def _searched(self, task: StructureTask, parents: Sequence[Parents], shares: Floats) -> State:
        graphs = [self._component(task, given, share) for given, share in zip(parents, shares, strict=True)]
        return _scored(task, State(graphs, shares, -math.inf))

    def _component(self, task: StructureTask, parents: Parents, share: Floats) -> Parents:
        """The structure of a component: the result of the search, unless the last one scores more."""
        own = replace(
            task,
            columns=weighted(task.columns, share),
            start=dag_of(task.columns, parents),
            until=None,
            progress=False,
            checkpoint=None,
        )
        found = replace(own, start=part(self.search.learn(own)).dag).start_parents()
        return found if own.scorer.total(found) > own.scorer.total(parents) else parents

    def read(self, task: StructureTask, state: State) -> LearnedMixture:
        """The mixture at a state."""
        weights = mixing(task.columns, state.shares)
        return LearnedMixture.of(
            component_networks(task, state),
            weights,
            name=self.name,
            columns=task.columns,
            score=state.score,
            method=self,
            status=Status.CONVERGED,
            guarantees={"structure": Guarantee.LOCAL_OPTIMUM},
        )


@dataclass(frozen=True, slots=True)
class MixtureOfTrees(MixtureOfNetworks):
    r"""A mixture whose components are forests of their own: with each step the best forest of each component.

    Args:
        components: their number.
        search: the search for a forest; Chow and Liu's by default.
        name: of the variable whose states are the components.

    Reference: Meila & Jordan (2000).
    Guarantee: score never decreases; a local optimum.
    Tested by: learning/structure/hidden/test_mixtures.py::test_trees_that_differ_are_found

    >>> MixtureOfTrees(3).search
    ChowLiu(root=None)
    """

    search: StructureMethod[Any] = field(default_factory=ChowLiu)


def weighted(columns: Columns, share: Floats) -> Columns:
    """The columns with a share of each row's weight; penalties stay those of all rows."""
    found = Columns(columns.dataset.with_weights(np.asarray(columns.weights, np.float64) * share))
    fill(found, total=columns.total)
    return found


def mixing(columns: Columns, shares: Floats) -> Floats:
    """The weight of each component."""
    return np.asarray(shares @ np.asarray(columns.weights, np.float64) / columns.total)


def component_networks(task: StructureTask, state: State) -> list[BayesNet]:
    """The network of each component, with maximum-likelihood parameters."""
    mass = np.asarray(task.columns.weights, np.float64)
    rows = task.columns.dataset
    return [
        fit_parameters(dag_of(task.columns, given), rows.with_weights(mass * share), MLE(unseen="uniform")).model
        for given, share in zip(state.parents, state.shares, strict=True)
    ]


def joint_logs(task: StructureTask, state: State) -> Floats:
    """The log probability of each row with each component, one row per component."""
    with np.errstate(divide="ignore"):
        logs = np.log(mixing(task.columns, state.shares))
    rows = task.columns.dataset
    nets = component_networks(task, state)
    return np.array([log + net.log_probability(rows) for log, net in zip(logs, nets, strict=True)])


def _penalty(task: StructureTask, graphs: Sequence[Parents]) -> float:
    """The penalty of all components and of their weights."""
    columns = task.columns
    assert task.score is not None
    form = count_sum(task.score, columns)
    assert form is not None
    total = float(form.penalties(np.ones(1), len(graphs), columns.total)[0])
    for graph in graphs:
        for child, given in enumerate(graph):
            q = np.array([math.prod(float(columns.cards[p]) for p in given)])
            total += float(form.penalties(q, int(columns.cards[child]), columns.total)[0])
    return total


def _check(task: StructureTask, name: str) -> None:
    """Raise unless rows, score and name are such that a mixture can be learned."""
    columns = task.columns
    form = None if task.score is None else count_sum(task.score, columns)
    if columns.is_real.any():
        real = [columns.names[k] for k in np.flatnonzero(columns.is_real)]
        raise NotApplicable(
            f"A mixture of networks has discrete columns; found numbers in {listing(real)}. Discretize them; or use "
            "SelectiveClustering(), or StructuralEM() with a hidden variable in variables=, which take numbers."
        )
    if columns.intervened is not None or columns.has_missing:
        found = "missing cells" if columns.has_missing else "interventions"
        raise NotApplicable(
            f"A mixture of networks is learned from complete rows; found {found}. Leave those rows out."
        )
    if form is None or form.kind != LIKELIHOOD:
        raise NotApplicable(f"A mixture is learned by a penalized likelihood such as BIC(); found {task.score!r}.")
    if task.structure_prior is not None:
        raise NotApplicable("A mixture of networks takes no structure_prior=; use BIC(penalty=...).")
    if name in columns.names:
        raise NotApplicable(f"{name!r} is a column; give the variable of the components another name=.")


def _scored(task: StructureTask, state: State) -> State:
    """The state with the score of its graphs and shares."""
    logs = joint_logs(task, state)
    likelihood = float(task.columns.weights @ logsumexp(logs, axis=0))
    return replace(state, score=likelihood - _penalty(task, state.parents), logs=logs)
