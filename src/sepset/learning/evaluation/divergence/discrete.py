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
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Floats
from sepset.base.checks import number
from sepset.base.foreign import translated
from sepset.base.lazy import lazy
from sepset.base.text import listing
from sepset.cpds.discrete import is_discrete
from sepset.cpds.lineargaussian import is_linear_gaussian
from sepset.engine.engine import Engine
from sepset.errors import ModelError, NotApplicable
from sepset.factors import information
from sepset.factors.algebra import num_entries
from sepset.factors.table import Table
from sepset.inference.method import Method, dense
from sepset.learning.evaluation.divergence.decimalgaps import ExactParts
from sepset.learning.evaluation.divergence.expectedlog import expected_log, is_same
from sepset.learning.evaluation.divergence.gaussian import Gap, GaussianTruth
from sepset.models.alignment import over
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete

WIDEST = 2**20
"""The largest family whose joint states are listed."""

ROUNDING = 4 * float(np.finfo(np.float64).eps)
"""The relative rounding of an entropy."""

DOUBT = 1e-11
"""The relative error of a divergence of real variables from which it is computed again."""


class Parts(NamedTuple):
    """The divergence by its parts: what no parameters over the graph can mend, and what each family's add.

    `error` bounds what rounding does to their sum where variables are real; `lost` is about what it does where
    entropies of discrete variables cancel.
    """

    structure: float
    families: Mapping[str, float]
    error: float = 0.0
    lost: float = 0.0


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
        self._known: dict[tuple[str, ...], Table] = {}

    @property
    def engine(self) -> Engine:
        """The engine that answers about the discrete variables."""
        return self._states

    def parts(self, model: BayesNet) -> Parts:
        """The divergence by its parts: the graph, and the parameters of each family."""
        model = _matched(self.network, model, _require_kind)
        gaps, terms, families, reals = list[float](), list[float](), dict[str, float](), dict[str, Gap]()
        for child in self.deepest_first:
            if child in self._states.model.variables:
                own = self._graph_terms(child, model)
                gaps.append(math.fsum(own))
                terms += own if len(own) > 1 else ()
                families[child] = self._parameter_gap(child, model)
            else:
                reals[child] = self._real.gap(model, child)
        real = self._in_reals(model, reals, max(math.fsum(gaps), 0.0) + math.fsum(families.values()))
        found = {**families, **real.families}
        order = {cpd.child.name: found[cpd.child.name] for cpd in model.cpds}
        structure = max(math.fsum([*gaps, real.structure]), 0.0)
        return Parts(structure, order, real.error, ROUNDING * math.fsum(map(abs, terms)))

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

    def _graph_terms(self, child: str, model: BayesNet) -> tuple[float, ...]:
        r"""$H_P(X \mid \mathbf U^Q)$ and $-H_P(X \mid \mathbf U^P)$; if one set of parents has the other, only an
        information."""
        theirs, ours = model.parents(child), self.network.parents(child)
        if set(theirs) == set(ours):
            return ()
        few, many = (theirs, ours) if len(theirs) < len(ours) else (ours, theirs)
        if set(few) < set(many) and not self._is_wide(model if many is theirs else self.network, child):
            joint = self._table([*many, child])
            told = joint.mutual_information([child], [v for v in many if v not in few], given=few)
            return (float(told if few is theirs else -told),)
        return self._conditional_entropy(child, model), -self._conditional_entropy(child, self.network)

    def _conditional_entropy(self, child: str, model: BayesNet) -> float:
        if model is self.network and self._is_wide(model, child):
            return -expected_log(self._states, model.cpd(child))
        return self._table([*model.parents(child), child]).conditional_entropy([child], model.parents(child))

    def _parameter_gap(self, child: str, model: BayesNet) -> float:
        scope, own = (*model.parents(child), child), self.network.cpd(child)
        is_one_family = set(scope) == {*self.network.parents(child), child}
        if is_same(own, model.cpd(child)):  # whatever its marginal is
            return 0.0
        if is_one_family and self._is_wide(model, child):
            return max(expected_log(self._states, own) - expected_log(self._states, model.cpd(child)), 0.0)
        joint = self._table(scope).align(scope)
        ours = _conditional(self.network, child, scope) if is_one_family else joint.normalize(over=[child])
        gaps = _row_gaps(ours, _conditional(model, child, scope))
        context = joint.marginalize([child])
        possible = (context.log_values > -math.inf).reshape(-1)
        return float(_weighted(context.values.reshape(-1), gaps, possible))

    def _is_wide(self, model: BayesNet, child: str) -> bool:
        return num_entries(model.cpd(child).scope) > WIDEST

    def _table(self, scope: Sequence[str]) -> Table:
        """The marginal over discrete variables, in any order."""
        key = tuple(sorted(scope))
        if key not in self._known:
            self._known[key] = dense(self._states.query(key).distribution) if key else Table.ones()
        return self._known[key]

    def _joint(self, scope: Sequence[str]) -> Floats:
        """The marginal over discrete variables, with its axes in the order asked."""
        return self._table(scope).align(scope).values


def _row_gaps(p: Table, q: Table) -> Floats:
    """The divergence of each row of a conditional table from that of another over the same scope."""
    width = p.scope[-1].num_states
    logs = (x.log_values.reshape(-1, width) for x in (p, q))
    ours, theirs, log_ratio = information.from_logs(*logs)
    if p.space == q.space == "linear":
        ours, theirs = p.values.reshape(-1, width), q.values.reshape(-1, width)
    return information.kl_rows(ours, theirs, log_ratio)


def _weighted(weights: Floats, gaps: Floats, possible: Bools) -> float:
    """The mean of gaps in contexts that are possible, however improbable."""
    if np.isinf(gaps[possible]).any():
        return math.inf
    return float(weights[possible] @ gaps[possible])


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
    gaps = np.concatenate([(a.values - b.values).reshape(-1) for a, b in pairs]) if pairs else np.zeros(1)
    return float(np.linalg.norm(gaps, number("order", order, above=0, finite=False)))


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
        total += float(_row_gaps(ours, theirs).sum())
        contexts += ours.size // ours.shape[-1]
    return total / max(contexts, 1)


def _conditional(model: BayesNet, child: str, scope: Sequence[str]) -> Table:
    """A discrete CPD as a table with its axes in the order of `scope`."""
    table: Table = model.cpd(child).to_factor()
    return table.align(scope)


def _same_tables(p: BayesNet, q: BayesNet) -> list[tuple[Table, Table]]:
    _require_discrete(p)
    q = _matched(p, q, _require_discrete)
    differing = [v.name for v in p.variables if set(p.parents(v)) != set(q.parents(v))]
    if differing:
        raise ModelError(
            f"Parameters compare only over one graph; the parents of {listing(differing)} differ. Use divergence."
        )
    scopes = {v.name: (*p.parents(v), v.name) for v in p.variables}
    return [(_conditional(p, n, s), _conditional(q, n, s)) for n, s in scopes.items()]


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
