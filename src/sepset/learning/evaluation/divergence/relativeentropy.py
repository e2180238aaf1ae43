r"""The relative entropy of two networks: in closed form by graph and families, or estimated from draws.

$$KL(P \| Q) = E_P \log \frac{P(\mathbf x)}{Q(\mathbf x)}$$
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from sepset.base.cache import Slot
from sepset.base.display import Shown
from sepset.base.foreign import translated
from sepset.errors import TooLarge
from sepset.inference.method import Method
from sepset.inference.result import Guarantee
from sepset.learning.assessment import Assessment, computed
from sepset.learning.evaluation.divergence.discrete import Truth
from sepset.learning.evaluation.divergence.sampled import sampled
from sepset.models.bayesnet import BayesNet

RELATIVE, ABSOLUTE = 1e-9, 1e-12
"""A divergence that rounding may have moved by more than this, relative to it and in nats, is an estimate."""

INEXACT = 1e-6
"""The same, relative to it, for entropies of discrete variables that cancel: graphs of which neither has the other's
parents, and that differ by little."""


@dataclass(frozen=True)
class DivergenceResult(Assessment):
    r"""$KL(P \| Q)$ in nats, and where it comes from.

    Attributes:
        total: the divergence; infinite where $Q$ excludes what $P$ allows.
        structure: $KL(P \| P_G)$ to the projection of $P$ on $Q$'s graph: what no parameters can mend; NaN for an
            estimate from draws.
        families: what the parameters of each variable's CPD add; empty for an estimate from draws.
        standard_error: of an estimate from draws; zero otherwise.
        samples: the number of draws; zero where there were none.

    >>> DivergenceResult(0.75, 0.25, families={"a": 0.5, "b": 0.0}).parameters
    0.5
    """

    total: float
    structure: float = math.nan
    _: KW_ONLY
    families: Mapping[str, float] = field(default_factory=dict)
    standard_error: float = 0.0
    samples: int = 0

    @property
    def parameters(self) -> float:
        """The part of all CPDs beyond that of the graph; NaN for an estimate from draws."""
        return math.nan if self.samples else added(self.families)

    @property
    def bits(self) -> float:
        """The divergence in bits."""
        return self.total / math.log(2.0)

    def __float__(self) -> float:
        return self.total

    def __repr__(self) -> str:
        parts = f"graph {self.structure:.4g}, parameters {self.parameters:.4g}"
        return f"DivergenceResult({self.total:.6g} nats; {f'± {self.standard_error:.2g}' if self.samples else parts})"

    def _shown(self) -> Shown:
        title = f"KL = {self.total:.6g} nats"
        if self.samples:
            rows = [("standard error", f"{self.standard_error:.2g}"), ("draws", f"{self.samples:,}")]
            return Shown((), rows, title)
        families = sorted(self.families.items(), key=lambda item: -item[1])
        parts = [(name, f"{value:.6g}") for name, value in (("graph", self.structure), *families)]
        return Shown(("part", "nats"), parts, title)


def added(families: Mapping[str, float]) -> float:
    """The sum over families; infinite where one is."""
    return math.inf if math.inf in families.values() else math.fsum(families.values())


@translated
def divergence(
    p: BayesNet,
    q: BayesNet,
    *,
    samples: int | None = None,
    seed: int | np.random.Generator = 0,
    method: Method | None = None,
) -> DivergenceResult:
    r"""$KL(P \| Q)$ of two networks over the same variables, by graph and families, or estimated from draws.

    In closed form for networks of discrete CPDs and linear Gaussians, mixed or not. Where the moments of a mixed one
    would take too much memory it raises `TooLarge`. Draws take networks of any CPDs; they are unbiased where the
    divergence is finite, and a single estimate can be below zero.

    Args:
        p: the reference, usually the truth.
        q: the network whose quality is asked.
        samples: the number of draws to estimate it from; by default none, and the closed form is used.
        seed: a number or a generator, for draws.
        method: what infers the marginals of families under $P$; exact by default. With an approximate one the
            divergence is an estimate.

    Cost: inference about each family of either graph, once for all `q` that the same `p` is compared with.
    Reference: Koller & Friedman, sections 8.4.2, 8.5.2 and 12.1, and box 17.C.
    Guarantee: exact.
    Tested by: learning/evaluation/divergence/test_discrete.py::test_the_total_is_the_divergence_of_the_joints

    >>> from sepset.graphs.graph import DAG
    >>> net = BayesNet.random(DAG.parse("a -> b <- c"), seed=1)
    >>> divergence(net, net).total
    0.0
    >>> from sepset.cpds.lineargaussian import LinearGaussian
    >>> from sepset.variables.variable import Real
    >>> standard, shifted = (BayesNet(LinearGaussian(Real("x"), mean, covariance=1.0)) for mean in (0.0, 2.0))
    >>> divergence(standard, shifted).total
    2.0
    >>> found = divergence(standard, shifted, samples=100_000)
    >>> abs(found.total - 2.0) < 4.0 * found.standard_error, found.guarantees
    (True, {'divergence': ESTIMATE})
    """
    if samples is not None:
        total, error = sampled(p, q, samples=samples, seed=seed)
        estimate = {"divergence": Guarantee.ESTIMATE}
        return DivergenceResult(total, standard_error=error, samples=samples, guarantees=estimate)
    truth = _truth(p, method)
    try:
        structure, families, error, lost = truth.parts(q)
    except TooLarge as error:
        raise TooLarge(f"{error} Or estimate the divergence from draws: samples=10_000.") from error
    total = structure + added(families)
    is_sure = error < math.inf and error <= max(RELATIVE * total, ABSOLUTE) and lost <= INEXACT * total
    guarantees = {"divergence": computed(truth.engine) if is_sure else Guarantee.ESTIMATE}
    return DivergenceResult(total, structure, families=families, method=truth.engine.method, guarantees=guarantees)


TRUTHS: Slot[Truth] = Slot("what divergences from a network need of it", size=2)


def _truth(network: BayesNet, method: Method | None) -> Truth:
    """The inferred parts of the network, kept with its problem, so that many comparisons share them."""
    if not isinstance(network, BayesNet) or type(method).__hash__ is None:
        return Truth(network, method)
    return network.problem().kept.get(TRUTHS, lambda: Truth(network, method), key=(method, id(network)))
