r"""How far a network is from the true one: relative entropy by families, and plainer distances of parameters.

$$KL(P \| Q) = \sum_i \left[ H_P(X_i \mid \mathbf U^Q_i) - H_P(X_i \mid \mathbf U^P_i) \right]
+ \sum_i \sum_{\mathbf u, x} P(\mathbf u, x) \log \frac{P(x \mid \mathbf u)}{Q(x \mid \mathbf u)}$$

The first sum is what the graph of $Q$ cannot express, whatever its parameters; the second what its parameters lose.
Networks of discrete variables, of linear Gaussians, and of both: every term has a closed form. For real variables the
graph's part is about linear Gaussians: what none over that graph can express.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.foreign import translated
from sepset.base.lazy import lazy
from sepset.base.text import listing
from sepset.cpds.discrete import is_discrete
from sepset.cpds.lineargaussian import is_linear_gaussian
from sepset.engine.engine import Engine
from sepset.errors import ModelError, NotApplicable
from sepset.factors.algebra import num_entries
from sepset.inference.method import Method
from sepset.learning.evaluation.divergence.decimalgaps import ExactParts
from sepset.learning.evaluation.divergence.expectedlog import expected_log, is_same
from sepset.learning.evaluation.divergence.gaussian import Gap, GaussianTruth
from sepset.models.alignment import over
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete

WIDEST = 2**20
"""The largest family whose joint states are listed."""

DOUBT = 1e-11
"""The relative error of a divergence of real variables from which it is computed again."""


class Parts(NamedTuple):
    """The divergence by its parts: what no parameters over the graph can mend, and what each family's add.

    `error` bounds what rounding does to their sum where variables are real.
    """

    structure: float
    families: Mapping[str, float]
    error: float = 0.0


class Truth:
    r"""The network $P$ that divergences $KL(P \| \cdot)$ start from: what is needed of it is inferred once.

    Only marginals of families are needed, so the joint is never built.

    Args:
        network: of discrete CPDs and linear Gaussians.
        method: what infers the marginals; exact by default.

    Cost: inference about each family of discrete variables, once; for a real one, the moments of the reals above it in
    each joint state of the discrete variables that they depend on, or one sweep over its ancestors where that takes
    fewer numbers. Where both take too many it raises `TooLarge`.

    >>> from sepset.cpds.table import TableCPD
    >>> a = Discrete("a")
    >>> fair = Truth(BayesNet(TableCPD(a, [0.5, 0.5])))
    >>> round(fair.parts(BayesNet(TableCPD(a, [0.25, 0.75]))).families["a"], 6), round(fair.entropy, 6)
    (0.143841, 0.693147)
    """

    def __init__(self, network: BayesNet, method: Method | None = None) -> None:
        _require_kind(network)
        self.network = network
        states = [cpd for cpd in network.cpds if isinstance(cpd.child, Discrete)]
        self._states = Engine(network if len(states) == len(network.cpds) else BayesNet(*states), method)
        self._real = GaussianTruth(network, self._joint, method)
        self._known: dict[tuple[str, ...], Floats] = {(): np.ones(())}

    @property
    def engine(self) -> Engine:
        """The engine that answers about the discrete variables."""
        return self._states

    def parts(self, model: BayesNet) -> Parts:
        """The divergence by its parts: the graph, and the parameters of each family."""
        model = _matched(self.network, model, _require_kind)
        gaps, families, reals = list[float](), dict[str, float](), dict[str, Gap]()
        for child in self.deepest_first:
            if child in self._states.model.variables:
                gaps.append(self._graph_gap(child, model))
                families[child] = self._parameter_gap(child, model)
            else:
                reals[child] = self._real.gap(model, child)
        real = self._in_reals(model, reals, max(math.fsum(gaps), 0.0) + math.fsum(families.values()))
        order = {cpd.child.name: {**families, **real.families}[cpd.child.name] for cpd in model.cpds}
        return Parts(max(math.fsum([*gaps, real.structure]), 0.0), order, real.error)

    def _in_reals(self, model: BayesNet, found: Mapping[str, Gap], others: float) -> ExactParts:
        """The parts of real variables: in decimal numbers if rounding may matter, and if that does not take long."""
        graph, families = [gap.graph for gap in found.values()], {name: gap.parameters for name, gap in found.items()}
        error = math.fsum(gap.error for gap in found.values())
        structure = math.inf if math.inf in graph else math.fsum(graph)
        total = others + abs(structure) + math.fsum(families.values())
        if error > 0.0 and (error == math.inf or error > DOUBT * total or not self._real.is_sure):
            exact = self._real.exact_parts(model)
            if exact is not None:
                return exact
            error = error if self._real.is_sure else math.inf
        return ExactParts(structure, families, error)

    @lazy
    def deepest_first(self) -> list[str]:
        """The variables, those at the end of the longest paths first: if one is refused, then before the others run."""
        dag, depth = self.network.dag, dict[str, int]()
        for name in dag.topological_order:
            depth[name] = 1 + max((depth[parent] for parent in dag.parents(name)), default=0)
        return sorted(depth, key=lambda name: -depth[name])

    @property
    def entropy(self) -> float:
        r"""$H(P) = \sum_i H_P(X_i \mid \mathbf U_i)$ in nats; differential where variables are real."""
        states = math.fsum(self._conditional_entropy(v.name, self.network) for v in self._states.model.variables)
        return states + self._real.entropy

    def _graph_gap(self, child: str, model: BayesNet) -> float:
        if set(model.parents(child)) == set(self.network.parents(child)):
            return 0.0
        return self._conditional_entropy(child, model) - self._conditional_entropy(child, self.network)

    def _conditional_entropy(self, child: str, model: BayesNet) -> float:
        if model is self.network and self._is_wide(model, child):
            return -expected_log(self._states, model.cpd(child))
        joint = self._joint((*model.parents(child), child))
        rows = joint.reshape(-1, joint.shape[-1])
        positive = rows > 0
        ratios = np.divide(rows, rows.sum(axis=1, keepdims=True), out=np.ones_like(rows), where=positive)
        return -float((rows * np.log(ratios)).sum())

    def _parameter_gap(self, child: str, model: BayesNet) -> float:
        scope, own = (*model.parents(child), child), self.network.cpd(child)
        is_one_family = set(scope) == {*self.network.parents(child), child}
        if is_same(own, model.cpd(child)):  # whatever its marginal is
            return 0.0
        if is_one_family and self._is_wide(model, child):
            return max(expected_log(self._states, own) - expected_log(self._states, model.cpd(child)), 0.0)
        joint = self._joint(scope)
        rows = joint.reshape(-1, joint.shape[-1])
        theirs = conditional_table(model, child, scope).reshape(rows.shape)
        if is_one_family:
            ours = conditional_table(self.network, child, scope).reshape(rows.shape)
        else:
            ours = np.divide(rows, rows.sum(axis=1, keepdims=True), out=np.zeros_like(rows), where=rows > 0)
        return max(float(_relative_terms(rows, ours, theirs).sum()), 0.0)

    def _is_wide(self, model: BayesNet, child: str) -> bool:
        return num_entries(model.cpd(child).scope) > WIDEST

    def _joint(self, scope: Sequence[str]) -> Floats:
        """The marginal over discrete variables, with its axes in the order asked."""
        key = tuple(sorted(scope))
        if key not in self._known:
            self._known[key] = self._states.query(key).values
        return self._known[key].transpose([key.index(name) for name in scope])


def _relative_terms(weights: Floats, ours: Floats, theirs: Floats) -> Floats:
    """`weights * log(ours / theirs)`, zero where the weight is and infinite where only `theirs` is zero."""
    counted = (weights > 0) & (ours > 0)
    with np.errstate(divide="ignore"):
        return np.asarray(weights[counted] * (np.log(ours[counted]) - np.log(theirs[counted])))


@translated
def parameter_distance(p: BayesNet, q: BayesNet, *, order: float = 2.0) -> float:
    r"""$\left(\sum |\theta^P_{x \mid \mathbf u} - \theta^Q_{x \mid \mathbf u}|^r\right)^{1/r}$ over all tables.

    Every parameter counts alike, however rare its context; `divergence` weights them by how often they matter.

    Args:
        p: a discrete network.
        q: another over the same graph.
        order: the exponent $r$; infinity for the largest difference.

    Reference: Koller & Friedman, box 17.C.
    Guarantee: exact.
    Tested by: learning/evaluation/divergence/test_discrete.py::test_distances_of_parameters

    >>> from sepset.graphs.graph import DAG
    >>> net = BayesNet.random(DAG.parse("a -> b"), seed=1)
    >>> parameter_distance(net, net)
    0.0
    """
    pairs = _same_tables(p, q)
    gaps = np.concatenate([(a - b).reshape(-1) for a, b in pairs]) if pairs else np.zeros(1)
    return float(np.linalg.norm(gaps, order))


@translated
def cpd_distance(p: BayesNet, q: BayesNet) -> float:
    r"""The mean of $KL(P(X \mid \mathbf u) \| Q(X \mid \mathbf u))$ over all contexts, each counted alike.

    Args:
        p: a discrete network.
        q: another over the same graph.

    Reference: Koller & Friedman, box 17.C.
    Guarantee: exact.
    Tested by: learning/evaluation/divergence/test_discrete.py::test_distances_of_parameters

    >>> from sepset.graphs.graph import DAG
    >>> net = BayesNet.random(DAG.parse("a -> b"), seed=1)
    >>> cpd_distance(net, net)
    0.0
    """
    total, contexts = 0.0, 0
    for ours, theirs in _same_tables(p, q):
        total += float(_relative_terms(ours, ours, theirs).sum())
        contexts += ours.size // ours.shape[-1]
    return max(total, 0.0) / max(contexts, 1)


def conditional_table(model: BayesNet, child: str, scope: Sequence[str]) -> Floats:
    """The numbers of a discrete CPD with its axes in the order of `scope`."""
    table: Any = model.cpd(child).to_table()
    names = [v.name for v in table.scope]
    return np.asarray(table.values, np.float64).transpose([names.index(name) for name in scope])


def _same_tables(p: BayesNet, q: BayesNet) -> list[tuple[Floats, Floats]]:
    _require_discrete(p)
    q = _matched(p, q, _require_discrete)
    differing = [v.name for v in p.variables if set(p.parents(v)) != set(q.parents(v))]
    if differing:
        raise ModelError(
            f"Parameters compare only over one graph; the parents of {listing(differing)} differ. Use divergence."
        )
    scopes = {v.name: (*p.parents(v), v.name) for v in p.variables}
    return [(conditional_table(p, n, s), conditional_table(q, n, s)) for n, s in scopes.items()]


def _matched(p: BayesNet, q: BayesNet, require_kind: Callable[[BayesNet], None]) -> BayesNet:
    """The network `q` with its states in the order of `p`; raises unless both have the same variables."""
    require_kind(q)
    return over(q, p.variables)


def _require_kind(model: BayesNet) -> None:
    """Raise unless this is a network of discrete CPDs and linear Gaussians."""
    _require_network(model)
    others = [cpd for cpd in model.cpds if not (is_discrete(cpd) or is_linear_gaussian(cpd))]
    if others:
        raise NotApplicable(
            f"The divergence has a closed form for discrete CPDs and linear Gaussians; found {others[0]!r}. "
            "Use divergence(p, q, samples=...), an estimate."
        )


def _require_network(model: BayesNet) -> None:
    if not isinstance(model, BayesNet):
        raise NotApplicable(
            f"The divergence by families is for Bayesian networks; found {model!r}. Convert it with to_bayes_net."
        )


def _require_discrete(model: BayesNet) -> None:
    _require_network(model)
    continuous = [v.name for v in model.variables if not isinstance(v, Discrete)]
    if continuous:
        raise NotApplicable(f"This is for discrete networks; {listing(continuous)} are continuous. Use divergence.")
