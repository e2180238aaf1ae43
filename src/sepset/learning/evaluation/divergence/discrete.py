r"""How far a network is from the true one: relative entropy by families, and plainer distances of parameters.

$$KL(P \| Q) = \sum_i \left[ H_P(X_i \mid \mathbf U^Q_i) - H_P(X_i \mid \mathbf U^P_i) \right]
+ \sum_i \sum_{\mathbf u, x} P(\mathbf u, x) \log \frac{P(x \mid \mathbf u)}{Q(x \mid \mathbf u)}$$

The first sum is what the graph of $Q$ cannot express, whatever its parameters; the second what its parameters lose.
Networks of discrete variables, of linear Gaussians, and of both: every term has a closed form. For real variables the
graph's part is about lines: what no lines over that graph can express.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.display import Shown, Tabulated
from sepset.base.lazy import lazy
from sepset.base.text import listing
from sepset.cpds.discrete import DiscreteCPD
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.errors import ModelError, NotApplicable, ScopeError
from sepset.inference.cliquetree.method import CliqueTree
from sepset.inference.method import dense
from sepset.inference.result import Guarantee
from sepset.learning.evaluation.divergence.gaussian import GaussianTruth
from sepset.models.bayesnet import BayesNet
from sepset.variables.evidence import Evidence
from sepset.variables.variable import Discrete


@dataclass(frozen=True, slots=True)
class Divergence(Tabulated):
    r"""$KL(P \| Q)$ in nats, and where it comes from.

    Attributes:
        structure: $KL(P \| P_G)$ to the projection of $P$ on $Q$'s graph: what no parameters can mend.
        families: what the parameters of each variable's CPD add.

    >>> Divergence(0.25, {"a": 0.5, "b": 0.0}).total
    0.75
    """

    structure: float
    families: Mapping[str, float]

    @property
    def guarantee(self) -> Guarantee:
        """Exact, up to rounding."""
        return Guarantee.EXACT

    @property
    def parameters(self) -> float:
        """What all CPDs add beyond the graph."""
        return math.fsum(self.families.values()) if math.inf not in self.families.values() else math.inf

    @property
    def total(self) -> float:
        """The divergence in nats."""
        return self.structure + self.parameters

    @property
    def bits(self) -> float:
        """The divergence in bits."""
        return self.total / math.log(2.0)

    def __float__(self) -> float:
        return self.total

    def _shown(self) -> Shown:
        families = sorted(self.families.items(), key=lambda item: -item[1])
        rows = [(name, f"{value:.6g}") for name, value in (("graph", self.structure), *families)]
        return Shown(("part", "nats"), rows, f"KL = {self.total:.6g} nats")


class DivergenceFrom:
    r"""$KL(P \| \cdot)$ from one network to many: what is needed of $P$ is inferred once.

    Only marginals of families are needed, so the joint is never built. Infinite where $Q$ excludes what $P$ allows.

    Args:
        truth: the network $P$, of discrete CPDs and linear Gaussians.

    Cost: exact inference about each family of discrete variables, once; for a real one, the moments of the reals above
    it in each joint state of the discrete variables that they depend on, or one sweep over its ancestors where that
    takes fewer numbers. Where both take too many it is refused.
    Reference: Koller & Friedman, sections 8.4.2 and 8.5.2, and box 17.C.

    >>> from sepset.cpds.table import TableCPD
    >>> a = Discrete("a")
    >>> from_fair = DivergenceFrom(BayesNet(TableCPD(a, [0.5, 0.5])))
    >>> round(from_fair(BayesNet(TableCPD(a, [0.25, 0.75]))), 6), from_fair(BayesNet(TableCPD(a, [1.0, 0.0])))
    (0.143841, inf)
    """

    def __init__(self, truth: BayesNet) -> None:
        _require_kind(truth)
        self.truth = truth
        self._states = BayesNet(*(cpd for cpd in truth.cpds if isinstance(cpd.child, Discrete)))
        self._real = GaussianTruth(truth, self._joint)
        self._known: dict[tuple[str, ...], Floats] = {(): np.ones(())}

    def __call__(self, model: BayesNet) -> float:
        """The divergence in nats."""
        return self.detail(model).total

    def detail(self, model: BayesNet) -> Divergence:
        """The divergence by its parts: the graph, and the parameters of each family."""
        _require_same(self.truth, model, _require_kind)
        gaps = [self._graph_gap(cpd.child.name, model) for cpd in model.cpds]
        families = {cpd.child.name: self._parameter_gap(cpd.child.name, model) for cpd in model.cpds}
        return Divergence(max(math.fsum(gaps), 0.0), families)

    @property
    def entropy(self) -> float:
        r"""$H(P) = \sum_i H_P(X_i \mid \mathbf U_i)$ in nats; differential where variables are real."""
        states = math.fsum(self._conditional_entropy(v.name, self.truth) for v in self._states.variables)
        return states + self._real.entropy

    def _graph_gap(self, child: str, model: BayesNet) -> float:
        if child not in self._states.variables:
            return self._real.graph_gap(model, child)
        if set(model.parents(child)) == set(self.truth.parents(child)):
            return 0.0
        return self._conditional_entropy(child, model) - self._conditional_entropy(child, self.truth)

    def _conditional_entropy(self, child: str, model: BayesNet) -> float:
        joint = self._joint((*model.parents(child), child))
        rows = joint.reshape(-1, joint.shape[-1])
        positive = rows > 0
        ratios = np.divide(rows, rows.sum(axis=1, keepdims=True), out=np.ones_like(rows), where=positive)
        return -float((rows * np.log(ratios)).sum())

    def _parameter_gap(self, child: str, model: BayesNet) -> float:
        if child not in self._states.variables:
            return self._real.parameter_gap(model, child)
        scope = (*model.parents(child), child)
        joint = self._joint(scope)
        rows = joint.reshape(-1, joint.shape[-1])
        theirs = conditional_table(model, child, scope).reshape(rows.shape)
        if set(scope) == {*self.truth.parents(child), child}:
            ours = conditional_table(self.truth, child, scope).reshape(rows.shape)
        else:
            ours = np.divide(rows, rows.sum(axis=1, keepdims=True), out=np.zeros_like(rows), where=rows > 0)
        return max(float(_relative_terms(rows, ours, theirs).sum()), 0.0)

    def _joint(self, scope: Sequence[str]) -> Floats:
        """The marginal over discrete variables, with its axes in the order asked."""
        key = tuple(sorted(scope))
        if key not in self._known:
            positions = [self._states.variables.id(name) for name in key]
            self._known[key] = np.asarray(dense(self._prepared.query(positions, Evidence()).distribution).values)
        return self._known[key].transpose([key.index(name) for name in scope])

    @lazy
    def _prepared(self) -> Any:
        return CliqueTree().prepare(self._states.problem())


def _relative_terms(weights: Floats, ours: Floats, theirs: Floats) -> Floats:
    """`weights * log(ours / theirs)`, zero where the weight is and infinite where only `theirs` is zero."""
    counted = (weights > 0) & (ours > 0)
    with np.errstate(divide="ignore"):
        return np.asarray(weights[counted] * (np.log(ours[counted]) - np.log(theirs[counted])))


def divergence(p: BayesNet, q: BayesNet) -> Divergence:
    r"""$KL(P \| Q)$ of two networks over the same variables, by graph and families.

    Exact for networks of discrete CPDs and linear Gaussians, mixed or not. Where the moments of a mixed one would take
    too much memory it is refused; `sampled_divergence` then has an estimate with its standard error.

    Args:
        p: the reference, usually the truth.
        q: the network whose quality is asked.

    Reference: Koller & Friedman, sections 8.4.2 and 8.5.2, and box 17.C.

    >>> from sepset.graphs.graph import DAG
    >>> net = BayesNet.random(DAG.parse("a -> b <- c"), seed=1)
    >>> divergence(net, net).total
    0.0
    >>> from sepset.cpds.lineargaussian import LinearGaussian
    >>> from sepset.variables.variable import Real
    >>> standard, shifted = (BayesNet(LinearGaussian(Real("x"), mean, covariance=1.0)) for mean in (0.0, 2.0))
    >>> divergence(standard, shifted).total
    2.0
    """
    return DivergenceFrom(p).detail(q)


def parameter_distance(p: BayesNet, q: BayesNet, *, order: float = 2.0) -> float:
    r"""$\left(\sum |\theta^P_{x \mid \mathbf u} - \theta^Q_{x \mid \mathbf u}|^r\right)^{1/r}$ over all tables.

    Every parameter counts alike, however rare its context; `divergence` weights them by how often they matter.

    Args:
        p: a discrete network.
        q: another over the same graph.
        order: the exponent $r$; infinity for the largest difference.

    Reference: Koller & Friedman, box 17.C.

    >>> from sepset.graphs.graph import DAG
    >>> net = BayesNet.random(DAG.parse("a -> b"), seed=1)
    >>> parameter_distance(net, net)
    0.0
    """
    pairs = _same_tables(p, q)
    gaps = np.concatenate([(a - b).reshape(-1) for a, b in pairs]) if pairs else np.zeros(1)
    return float(np.linalg.norm(gaps, order))


def cpd_distance(p: BayesNet, q: BayesNet) -> float:
    r"""The mean of $KL(P(X \mid \mathbf u) \| Q(X \mid \mathbf u))$ over all contexts, each counted alike.

    Args:
        p: a discrete network.
        q: another over the same graph.

    Reference: Koller & Friedman, box 17.C.

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
    _require_same(p, q, _require_discrete)
    differing = [v.name for v in p.variables if set(p.parents(v)) != set(q.parents(v))]
    if differing:
        raise ModelError(
            f"Parameters compare only over one graph; the parents of {listing(differing)} differ. Use divergence."
        )
    scopes = {v.name: (*p.parents(v), v.name) for v in p.variables}
    return [(conditional_table(p, n, s), conditional_table(q, n, s)) for n, s in scopes.items()]


def _require_same(p: BayesNet, q: BayesNet, require_kind: Callable[[BayesNet], None]) -> None:
    require_kind(q)
    ours, theirs = set(p.variables), set(q.variables)
    if ours != theirs:
        differ = [v.name for v in sorted(ours ^ theirs, key=lambda v: v.name)]
        raise ScopeError(
            f"The divergence needs the same variables and states in both; they differ in {listing(differ)}."
        )


def _require_kind(model: BayesNet) -> None:
    """Refuse what is no network of discrete CPDs and lines."""
    _require_network(model)
    others = [cpd for cpd in model.cpds if not isinstance(cpd, DiscreteCPD | LinearGaussian)]
    if others:
        raise NotApplicable(
            f"The divergence has a closed form for discrete CPDs and linear Gaussians; found {others[0]!r}. "
            "Use sampled_divergence, an estimate."
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
