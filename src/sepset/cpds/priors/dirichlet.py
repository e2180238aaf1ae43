r"""Priors over the probabilities of CPDs, checked on construction.

Three quantities have three names and cannot be confused: a *pseudo-count* for every cell (`Dirichlet`, `K2`), a
*strength* for every context (`ContextStrength`), and one *equivalent sample size* for the whole network (`BDeu`).
Where parameters are shared, the first two count once for the shared block; the last adds up over its occurrences.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats
from sepset.base.checks import check_positive, finite_array, whole
from sepset.base.frozen import fill, made
from sepset.base.memory import check_fits
from sepset.base.text import brief
from sepset.errors import ArgumentError, ModelError
from sepset.factors.algebra import Columns, num_entries


@runtime_checkable
class CellPrior(Protocol):
    """A prior that gives each cell its pseudo-counts, whatever the CPD.

    >>> isinstance(Dirichlet(1.0), CellPrior), isinstance(BDeu(10), CellPrior)
    (True, False)
    """

    def pseudo_counts(self, shape: tuple[int, int]) -> Floats:
        """The pseudo-counts of `shape` = (contexts, child states)."""


@runtime_checkable
class FamilyPrior(Protocol):
    """A prior that depends on the families: the CPDs of one block, which share their parameters.

    >>> isinstance(BDeu(10), FamilyPrior)
    True
    """

    def hyperparameters(self, cpds: Sequence[Any]) -> Any:
        """The pseudo-counts to add to the block's statistics."""


@runtime_checkable
class RowPrior(FamilyPrior, Protocol):
    """A prior in the form of rows, which are added to those of the data whatever the CPD.

    >>> isinstance(BDeu(10), RowPrior)
    False
    """

    def rows(self, cpds: Sequence[Any]) -> tuple[Columns, Floats]:
        """The rows of a block, as columns of its first CPD's variables, and the weight of each."""


class _Evidence:
    r"""The score of structures under a prior with one pseudo-count $a$ for all cells of a family: its log evidence.

    $$\sum_{\mathbf u} \left[ \log\frac{\Gamma(r a)}{\Gamma(r a + M[\mathbf u])}
    + \sum_x \log\frac{\Gamma(a + M[x, \mathbf u])}{\Gamma(a)} \right]$$
    """

    __slots__ = ()

    kinds = frozenset({"discrete"})
    """Discrete columns."""

    def pseudo_count(self, q: Floats, r: int) -> Floats:
        """The pseudo-count of each cell of families with `q` contexts and `r` states."""
        raise NotImplementedError

    def family(self, child: int, parents: tuple[int, ...], columns: Any) -> float:
        """The log evidence of one family of columns."""
        from scipy.special import gammaln

        counts = columns.counts(child, parents)
        r, q = counts.shape[1], np.prod(columns.cards[list(parents)], dtype=np.float64)
        a = float(self.pseudo_count(np.atleast_1d(q), r)[0])
        cells = gammaln(a + counts) - gammaln(a)
        contexts = gammaln(r * a + counts.sum(1)) - gammaln(r * a)
        return float(cells.sum() - contexts.sum())


def table_shape(shape: tuple[int, int]) -> tuple[int, int]:
    """The numbers of contexts and of child states, after checking that they are such numbers.

    >>> table_shape((6, 2))
    (6, 2)
    """
    if not isinstance(shape, list | tuple) or len(shape) != 2:
        raise ArgumentError(f"shape= is (contexts, child states); found {brief(shape)}.")
    contexts, states = whole("The number of contexts", shape[0]), whole("The number of states", shape[1], least=1)
    check_fits(8 * contexts * states, f"A table of {contexts:,} contexts by {states:,} states")
    return contexts, states


def block_of(cpds: Sequence[Any]) -> Sequence[Any]:
    """The CPDs of a block, after checking that there are some and that they are CPDs."""
    if not len(cpds) or not all(hasattr(cpd, "parameters") and hasattr(cpd, "child") for cpd in cpds):
        raise ModelError(f"The hyperparameters of a block are those of its CPDs, one or more; found {brief(cpds)}.")
    return cpds


@dataclass(frozen=True, slots=True, eq=False)
class Dirichlet:
    r"""Pseudo-counts added to the counts of each cell: $\theta_k = (M_k + \alpha_k) / \sum_j (M_j + \alpha_j)$.

    That is the posterior mean under a Dirichlet with these hyperparameters. They are positive: with a zero the prior
    would be improper; maximum likelihood is the limit of zeros.

    Args:
        alpha: one number for every cell, or an array that broadcasts to the counts (contexts by states).

    Reference: Koller & Friedman, section 17.3.
    Guarantee: exact.
    Tested by: cpds/priors/test_dirichlet.py::test_pseudo_counts_broadcast

    >>> Dirichlet(0.5).pseudo_counts((1, 3)).tolist()
    [[0.5, 0.5, 0.5]]
    """

    alpha: Floats

    def __init__(self, alpha: ArrayLike) -> None:
        array = finite_array("Dirichlet", "pseudo-counts", alpha)
        if not (array > 0).all():
            raise ModelError(
                f"Dirichlet needs finite pseudo-counts > 0; found {array.tolist()}. Without a prior, use MLE."
            )
        fill(self, alpha=array)

    @classmethod
    def improper(cls, alpha: Floats) -> Dirichlet:
        """Pseudo-counts that may be zero: those of cells without imaginary rows, and those minus one at a mode."""
        return made(cls, alpha=np.array(alpha, dtype=np.float64))

    def pseudo_counts(self, shape: tuple[int, int]) -> Floats:
        """The pseudo-counts of `shape` = (contexts, child states)."""
        shape = table_shape(shape)
        alpha = self.alpha.reshape(shape) if self.alpha.size == math.prod(shape) else self.alpha
        try:
            return np.broadcast_to(alpha, shape)
        except ValueError as error:
            raise ModelError(
                f"Dirichlet pseudo-counts of shape {self.alpha.shape} do not fit {shape[0]} contexts by "
                f"{shape[1]} states. Give one number, one per state, or one per cell."
            ) from error

    def __repr__(self) -> str:
        return f"Dirichlet({self.alpha.tolist()})"


@dataclass(frozen=True, slots=True)
class K2(_Evidence):
    r"""One pseudo-count for every cell: $\alpha_{x \mid \mathbf u} = 1$.

    The total strength grows with the number of contexts, and so equivalent networks have different evidence.

    Reference: Koller & Friedman, section 17.4.3; Cooper & Herskovits (1992).
    Guarantee: exact.
    Tested by: cpds/priors/test_dirichlet.py::test_three_strengths_have_three_meanings

    >>> K2().pseudo_counts((2, 2)).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """

    is_equivalent = False
    """Whether I-equivalent structures have equal evidence: they have not."""

    def pseudo_counts(self, shape: tuple[int, int]) -> Floats:
        """Ones of `shape` = (contexts, child states)."""
        return np.ones(table_shape(shape))

    def pseudo_count(self, q: Floats, r: int) -> Floats:
        """One, whatever the family."""
        return np.ones(len(q))


@dataclass(frozen=True, slots=True, eq=False)
class ContextStrength:
    r"""The same strength in every context: $\alpha_{x \mid \mathbf u} = s\, \theta'_x$.

    Args:
        strength: $s$, the number of imaginary rows in *each* context.
        mean: $\theta'$, one probability for each state of the child; uniform by default.

    Reference: Koller & Friedman, equation 17.11.
    Guarantee: exact.
    Tested by: cpds/priors/test_dirichlet.py::test_three_strengths_have_three_meanings

    >>> ContextStrength(5.0).pseudo_counts((1, 2)).tolist()
    [[2.5, 2.5]]
    """

    strength: float
    mean: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        check_positive("ContextStrength", strength=self.strength)
        if self.mean is not None:
            mean = tuple(finite_array("ContextStrength", "mean", self.mean).reshape(-1).tolist())
            if not (all(p > 0 for p in mean) and math.isclose(sum(mean), 1.0, rel_tol=0, abs_tol=1e-9)):
                raise ModelError(f"ContextStrength needs a mean of positive numbers that sum to one; found {mean}.")
            fill(self, mean=mean)

    def pseudo_counts(self, shape: tuple[int, int]) -> Floats:
        """The pseudo-counts of `shape` = (contexts, child states)."""
        shape = table_shape(shape)
        if self.mean is None:
            return np.full(shape, self.strength / shape[1])
        if len(self.mean) != shape[1]:
            raise ModelError(f"ContextStrength has a mean over {len(self.mean)} states; the child has {shape[1]}.")
        return np.broadcast_to(self.strength * np.array(self.mean), shape)


@dataclass(frozen=True, slots=True)
class BDeu(_Evidence):
    r"""One equivalent sample size for the whole network, spread evenly.

    $$\alpha_{x \mid \mathbf u} = \frac{\alpha}{|Val(X)|\,|Val(\mathbf U)|}$$

    Shared parameters get the sum over all families, contexts and states that use them. Equivalent networks have equal
    evidence.

    Args:
        sample_size: $\alpha$, the number of imaginary rows.

    Reference: Koller & Friedman, box 17.C and exercise 17.13; Heckerman, Geiger & Chickering (1995).
    Guarantee: exact.
    Tested by: cpds/priors/test_dirichlet.py::test_bdeu_gives_each_block_its_prior_mass

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.variables.variable import Discrete
    >>> BDeu(10).hyperparameters([TableCPD(Discrete("x"), [[0.5, 0.5]] * 5, given=Discrete("u", 5))])[:3].tolist()
    [1.0, 1.0, 1.0]
    """

    sample_size: float

    def __post_init__(self) -> None:
        check_positive("BDeu", sample_size=self.sample_size)

    is_equivalent = True
    """Whether I-equivalent structures have equal evidence."""

    def pseudo_count(self, q: Floats, r: int) -> Floats:
        """The sample size over the number of cells."""
        return np.asarray(self.sample_size / (q * r))

    def hyperparameters(self, cpds: Sequence[Any]) -> Floats:
        """The pseudo-counts of a block's cells, flat."""
        parts = [self.sample_size / num_entries(cpd.scope) * cpd.parameters.sizes for cpd in block_of(cpds)]
        return np.asarray(np.sum(parts, axis=0), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False, init=False)
class DirichletMixture:
    r"""A mixture of Dirichlet priors, the same in every context: $\sum_i \lambda^i\, \text{Dir}(\alpha^i)$.

    Args:
        weights: $\lambda$, divided by their sum.
        alphas: the pseudo-counts of each component, as `Dirichlet` takes them.

    Reference: Koller & Friedman, exercise 17.7.
    Guarantee: exact.
    Tested by: cpds/test_dirichletposterior.py::test_a_mixture_by_quadrature

    >>> DirichletMixture([19, 1], [5000, 1]).weights.tolist()
    [0.95, 0.05]
    """

    weights: Floats
    components: tuple[Dirichlet, ...]

    def __init__(self, weights: Iterable[float], alphas: Iterable[ArrayLike]) -> None:
        share = np.array([finite_array("DirichletMixture", "weights", w) for w in weights], dtype=np.float64).reshape(
            -1
        )
        components = tuple(a if isinstance(a, Dirichlet) else Dirichlet(a) for a in alphas)
        if not (len(share) == len(components) > 0 and (share > 0).all()):
            raise ModelError(f"DirichletMixture needs a positive weight for each component; found {share.tolist()}.")
        fill(self, weights=share / share.sum(), components=components)

    def __repr__(self) -> str:
        return f"DirichletMixture({self.weights.tolist()}, {[c.alpha.tolist() for c in self.components]})"
