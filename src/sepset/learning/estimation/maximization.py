r"""The parameters of one block that maximize likelihood or posterior, given its (expected) statistics.

Every estimator that maximizes ends here: maximum likelihood, MAP, and the M-step of EM.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.checks import one_of
from sepset.base.text import listing, nearest
from sepset.cpds.configurations import Configurations
from sepset.cpds.counts import unseen_message
from sepset.cpds.cpd import CPD
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.logistic import LogisticCPD
from sepset.cpds.moments import Scatters
from sepset.cpds.parameters import Multinomials, child_states, multinomials
from sepset.cpds.priors.dirichlet import (
    CellPrior,
    Dirichlet,
    DirichletMixture,
    FamilyPrior,
    Laplace,
    Normal,
    RowPrior,
    pseudo_counts_of,
)
from sepset.errors import ArgumentError, DataError, ModelError, NotApplicable
from sepset.factors.coordinates import states_of
from sepset.learning.estimation.linepriors import is_conjugate, is_conjugate_of, posterior_of
from sepset.learning.estimation.regression import at_variances, mode_of
from sepset.learning.incomplete.families import check_rows_join, contributing, contributions, weight_prior
from sepset.learning.statistics import realigned

Parameterization: TypeAlias = Literal["softmax", "theta"]
"""Where a mode is taken: of unconstrained parameters (logits, logarithms of variances), or of the parameters
themselves."""

POLICIES = ("raise", "uniform", "marginal", "keep")


def maximize_block(
    cpds: Sequence[CPD],
    total: Any,
    prior: object = None,
    *,
    parameterization: Parameterization = "softmax",
    unseen: object = "raise",
) -> tuple[CPD, ...]:
    r"""The CPDs of one block with the parameters of largest likelihood, or of largest posterior under a prior.

    With a Dirichlet the mode of logits is $(M_k + \alpha_k) / (M + \alpha)$ and the mode of probabilities
    $(M_k + \alpha_k - 1) / (M + \alpha - K)$.

    Args:
        cpds: the CPDs that share the block.
        total: their pooled statistics, observed or expected.
        prior: one prior, several of which the first that applies counts, or a mapping by name of block or child.
        parameterization: where the mode is taken; it matters, since modes move with the parameterization.
        unseen: contexts that neither data nor prior speak of: "raise" an error, "uniform", the child's "marginal",
            "keep" the parameters as they are, or a prior to fill them with; or a mapping by name, as `prior` may be.

    Reference: Koller & Friedman, sections 17.2.3 and 17.4.4 and box 17.D.

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.variables.variable import Discrete
    >>> coin = TableCPD(Discrete("coin"), [0.5, 0.5])
    >>> maximize_block([coin], np.zeros(2), Dirichlet([3, 2]), parameterization="theta")[0].values.round(4).tolist()
    [0.6667, 0.3333]
    """
    check_policy(unseen)
    check_parameterization(parameterization)
    chosen = prior_for(prior, cpds)
    unseen = prior_for(unseen, cpds) if isinstance(unseen, Mapping) else unseen
    if isinstance(chosen, DirichletMixture):
        raise NotApplicable(f"{chosen!r} has several modes. Use Bayes, which averages over them.")
    if cpds[0].num_parameters == 0 and not isinstance(cpds[0], LinearGaussian):
        return tuple(cpds)
    if isinstance(cpds[0], LinearGaussian):
        return _lines(cpds, cpds[0], total, chosen, parameterization, unseen)
    cells = multinomials(cpds[0])
    if cells is None:
        return _numeric(cpds, total, chosen, parameterization, unseen)
    alpha = np.zeros(len(cells.parameters)) if chosen is None else pseudo_counts_of(chosen, cpds)
    counts = np.asarray(total, dtype=np.float64) + _shifted(alpha, chosen, parameterization, cpds[0])
    try:
        groups = cells.groups
    except NotApplicable:  # rules whose contexts overlap: their estimate is numeric
        fallback = _two_policies(unseen, cpds[0])
        return tuple(_estimated(cpd, counts, None, fallback) for cpd in cpds)
    filled = _filled(cpds, cells, counts, groups, unseen)
    return tuple(cpd.from_statistics(filled) for cpd in cpds)


def check_policy(unseen: object) -> None:
    """Raise unless `unseen` is a policy, a prior, or a mapping to them."""
    if isinstance(unseen, str):
        one_of("unseen", unseen, POLICIES, otherwise="a prior")
    for own in unseen.values() if isinstance(unseen, Mapping) else ():
        check_policy(own)
    if unseen is None or isinstance(unseen, type | int | float) or (isinstance(unseen, list | dict) and not unseen):
        raise ArgumentError(f"unseen= is {listing(POLICIES)} or a prior such as Dirichlet(1); found {unseen!r}.")


def check_parameterization(parameterization: object) -> None:
    """Raise unless this names a parameterization."""
    one_of("parameterization", parameterization, ("softmax", "theta"))


def prior_for(prior: object, cpds: Sequence[CPD]) -> Any:
    """The prior of one block, out of one for all, several by kind, or a mapping by name of block or child."""
    if isinstance(prior, Mapping):
        names = [cpds[0].block.name, *(cpd.child.name for cpd in cpds)]
        found = next((prior[name] for name in names if name in prior), prior.get(...))
        if found is None:
            raise ModelError(f"There is no prior for {cpds[0]!r}.{nearest(names[0], prior)} Use ... for all others.")
        return prior_for(found, cpds)
    if isinstance(prior, list | tuple):
        fitting = next((p for p in prior if is_prior_of(p, cpds[0])), None)
        if fitting is None and cpds[0].num_parameters:
            raise NotApplicable(f"None of {listing(prior)} is a prior for {cpds[0]!r}.")
        return fitting
    if isinstance(prior, type):
        raise ArgumentError(f"A prior is a value, such as BDeu(10); found the class {prior.__name__}.")
    return prior


def is_prior_of(prior: object, cpd: CPD) -> bool:
    """Whether a prior is about the parameters of this kind of CPD."""
    if multinomials(cpd) is not None:
        return isinstance(prior, CellPrior | FamilyPrior | DirichletMixture)
    if isinstance(prior, RowPrior):
        return True
    if isinstance(cpd, LinearGaussian | LogisticCPD):
        return isinstance(prior, Normal | Laplace) or (isinstance(cpd, LinearGaussian) and is_conjugate_of(prior, cpd))
    return isinstance(prior, CellPrior)


def _shifted(alpha: Floats, prior: object, parameterization: Parameterization, cpd: object) -> Floats:
    """What a prior adds to counts at the mode of logits, or of probabilities."""
    if prior is None or parameterization == "softmax":
        return alpha
    if (alpha < 1.0).any():
        raise NotApplicable(
            f"{cpd!r}: with pseudo-counts below one ({float(alpha.min()):g}) the density is unbounded at the border, "
            "so probabilities have no mode. Use parameterization='softmax', or Bayes."
        )
    return np.asarray(alpha - 1.0)


def _filled(cpds: Sequence[CPD], cells: Multinomials, counts: Floats, groups: Ints, unseen: object) -> Floats:
    """The counts, with something in every context."""
    empty = np.bincount(groups, weights=counts) == 0
    if not empty.any():
        return counts
    if unseen == "raise":
        raise DataError(unseen_message(cpds[0], np.flatnonzero(empty), len(empty), cells.describe_group))
    return np.where(empty[groups], _filling(cpds, cells, counts, unseen), counts)


def _filling(cpds: Sequence[CPD], cells: Multinomials, counts: Floats, unseen: object) -> Floats:
    if unseen == "uniform":
        return cells.multiplicities
    if unseen == "keep":
        return np.asarray(cells.parameters * cells.multiplicities)
    if unseen != "marginal":
        return pseudo_counts_of(prior_for(unseen, cpds), cpds)
    k = cpds[0].child.num_states  # type: ignore[union-attr]  # multinomials are discrete
    states = child_states(cells, k)
    if (states.sum(axis=1) > 1).any():
        raise NotApplicable(f"{cpds[0]!r} has cells of several states; there unseen= is 'uniform' or a prior.")
    marginal = counts @ states
    if not marginal.any():
        raise DataError(f"{cpds[0]!r} has no data at all, so the child's marginal is unknown. Use unseen='uniform'.")
    return np.asarray(marginal[states.argmax(axis=1)])


def _numeric(
    cpds: Sequence[CPD], total: Any, prior: Any, parameterization: Parameterization, unseen: object
) -> tuple[CPD, ...]:
    """Noisy-or, noisy-max and logistic CPDs: their own search."""
    if isinstance(prior, RowPrior):
        check_rows_join(prior, cpds[0], parameterization == "theta")
        total, prior = total + prior.hyperparameters(cpds), None
    if prior is not None and isinstance(cpds[0], LogisticCPD):
        prior = weight_prior(cpds[0], prior)
    elif isinstance(prior, CellPrior):
        k = cpds[0].child.num_states  # type: ignore[union-attr]  # discrete, as it takes pseudo-counts
        prior = Dirichlet.improper(_shifted(prior.pseudo_counts((1, k))[0], prior, parameterization, cpds[0]))
    speaks = prior is not None and not (isinstance(prior, Dirichlet) and not prior.alpha.any())
    fallback = "uniform" if speaks or unseen == "keep" else _two_policies(unseen, cpds[0])
    made = tuple(_estimated(cpd, realigned(total, cpd), prior, fallback) for cpd in cpds)
    return tuple(map(_kept, made, cpds, itertools.repeat(total))) if unseen == "keep" and not speaks else made


def _kept(made: Any, cpd: Any, total: Configurations) -> CPD:
    """An estimate that keeps what the CPD says of parents' states that never occur."""
    silent = [total.state_counts(axis) == 0 for axis in range(len(cpd.parents))]
    if isinstance(made, LogisticCPD):
        odds = [w - w[:, :1] for w in cpd.weights]
        rows = [np.where(s[:, None], o - o[:1], w) for s, o, w in zip(silent, odds, made.weights, strict=True)]
        return LogisticCPD(cpd.child, dict(zip(cpd.parents, rows, strict=True)), made.bias, block=cpd.block)
    leak, *tables = contributions(made)
    before = contributions(cpd)[1:]
    return contributing(
        cpd, [leak, *(np.where(s[:, None], b, t) for s, b, t in zip(silent, before, tables, strict=True))]
    )


def _estimated(cpd: Any, total: Any, prior: object, unseen: str) -> CPD:
    return cpd.from_statistics(total, prior, unseen=unseen)  # type: ignore[no-any-return]


def _two_policies(unseen: object, cpd: object) -> str:
    if unseen in ("raise", "uniform"):
        return str(unseen)
    others = "'raise', 'uniform' or 'keep'" if multinomials(cpd) is None else "'raise' or 'uniform'"
    raise NotApplicable(f"{cpd!r} has no separate contexts; there unseen= is {others}, not {unseen!r}.")


def _lines(
    cpds: Sequence[CPD],
    first: LinearGaussian,
    total: Floats | Scatters,
    prior: Any,
    parameterization: Parameterization,
    unseen: object,
) -> tuple[CPD, ...]:
    stats = first.centered(total)
    if prior is None:
        made = _plain_lines(first, stats, None, unseen)
    elif isinstance(prior, RowPrior):
        stats = stats + first.centered(prior.hyperparameters(cpds))
        made = _plain_lines(first, stats, None, unseen)
        made = at_variances(made, stats.counts) if parameterization == "theta" else made
    elif is_conjugate(prior):
        made = mode_of(first, posterior_of(first, prior, stats), parameterization)
    else:
        made = _plain_lines(first, stats, weight_prior(first, prior), unseen)
    parts = made.intercept, made.coefficients, made.covariance
    return tuple(cpd.with_parameters(*parts) for cpd in cpds)  # type: ignore[attr-defined]  # all are of one kind


def _plain_lines(first: LinearGaussian, stats: Scatters, prior: Any, unseen: object) -> LinearGaussian:
    if not (stats.counts == 0).any():
        return first.from_statistics(stats, prior, unseen="keep")
    unseen = unseen if isinstance(unseen, str) else prior_for(unseen, [first])
    if unseen == "marginal":
        stats = Scatters.stacked(s if s.count > 0 else stats.pooled for s in stats.contexts)
    elif is_conjugate(unseen):
        return _fill_lines(first, stats, prior, unseen)
    elif unseen not in ("raise", "keep"):
        raise NotApplicable(f"{first!r}: no line is uniform; there unseen= is 'raise', 'marginal', 'keep' or a prior.")
    silent = np.flatnonzero(stats.counts == 0)
    if silent.size and unseen != "keep":
        remedy = "Give a prior such as NormalGamma(0, 1, 2, 1), or unseen='marginal'."
        raise DataError(
            unseen_message(first, silent, len(stats.counts), lambda e: f"({states_of(first.by, e)})", remedy)
        )
    return first.from_statistics(stats, prior, unseen="keep")


def _fill_lines(first: LinearGaussian, stats: Scatters, prior: Any, unseen: object) -> LinearGaussian:
    plain = first.from_statistics(stats, prior, unseen="keep")
    other = mode_of(first, posterior_of(first, unseen, stats), "softmax")
    silent = (stats.counts == 0)[:, None]
    return first.with_parameters(
        np.where(silent, other.intercept, plain.intercept),
        np.where(silent[..., None], other.coefficients, plain.coefficients),
        np.where(silent[..., None], other.covariance, plain.covariance),
    )
