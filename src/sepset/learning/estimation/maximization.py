r"""The parameters of one block that maximize likelihood or posterior, given its statistics.

Maximum likelihood and MAP end here; the CPDs of the block know how.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sepset.base.arraytypes import Floats
from sepset.base.checks import one_of
from sepset.base.text import listing
from sepset.cpds.cpd import CPD
from sepset.cpds.parameters import Parameterization, check_parameterization
from sepset.cpds.priors.dirichlet import DirichletMixture
from sepset.errors import ArgumentError, NotApplicable
from sepset.factors.algebra import Columns
from sepset.learning.blocks import prior_for, with_shared

POLICIES = ("raise", "uniform", "marginal", "keep")


def maximize_block(
    cpds: Sequence[CPD],
    total: Any,
    prior: object = None,
    *,
    parameterization: Parameterization = "softmax",
    unseen: object = "raise",
    rows: tuple[Columns, Floats | None] | None = None,
    floor: float | None = None,
    min_variance: float | None = None,
) -> tuple[CPD, ...]:
    r"""The CPDs of one block with the parameters of largest likelihood, or of largest posterior under a prior.

    With a Dirichlet the mode of logits is $(M_k + \alpha_k) / (M + \alpha)$ and the mode of probabilities
    $(M_k + \alpha_k - 1) / (M + \alpha - K)$.

    Args:
        cpds: the CPDs that share the block.
        total: their pooled statistics, observed or expected.
        prior: one prior, several of which the first that applies counts, or a mapping by name of block or child.
        parameterization: where the mode is taken; it matters, since modes move with the parameterization.
        unseen: contexts that neither data nor prior determine: "raise" an error, "uniform", the child's "marginal",
            "keep" the parameters as they are, or a prior to fill them with; or a mapping by name, as `prior` may be.
        rows: the columns and weights of the rows, where they are at hand; they keep digits that statistics lose.
        floor, min_variance: the smallest probability, and the smallest variance.

    Reference: Koller & Friedman, sections 17.2.3 and 17.4.4 and box 17.D.

    >>> import numpy as np
    >>> from sepset.cpds.priors.dirichlet import Dirichlet
    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.variables.variable import Discrete
    >>> coin = TableCPD(Discrete("coin"), [0.5, 0.5])
    >>> maximize_block([coin], np.zeros(2), Dirichlet([3, 2]), parameterization="theta")[0].values.round(4).tolist()
    [0.6667, 0.3333]
    """
    check_policy(unseen)
    check_parameterization(parameterization)
    chosen, first = prior_for(prior, cpds), cpds[0].parameters
    if isinstance(chosen, DirichletMixture):
        raise NotApplicable(f"{chosen!r} has several modes. Use Bayes, which averages over them.")
    if not cpds[0].num_parameters:
        return tuple(cpds)
    term = None if chosen is None else first.prior_term(chosen, cpds, is_theta=parameterization == "theta")
    made = first.maximized(total, term, unseen=_policy_for(unseen, cpds), cpds=cpds)
    own = made.parameters.settled(total, term, cpds=cpds, rows=rows, floor=floor, min_variance=min_variance)
    return with_shared(cpds, own)


def check_policy(unseen: object) -> None:
    """Raise unless `unseen` is a policy, a prior, or a mapping to them."""
    if isinstance(unseen, str):
        one_of("unseen", unseen, POLICIES, otherwise="a prior")
    for own in unseen.values() if isinstance(unseen, Mapping) else ():
        check_policy(own)
    if unseen is None or isinstance(unseen, type | int | float) or (isinstance(unseen, list | dict) and not unseen):
        raise ArgumentError(f"unseen= is {listing(POLICIES)} or a prior such as Dirichlet(1); found {unseen!r}.")


def _policy_for(unseen: object, cpds: Sequence[CPD]) -> object:
    """The policy or prior of one block; of several priors the first that applies, if any."""
    if isinstance(unseen, Mapping):
        return _policy_for(prior_for(unseen, cpds), cpds)
    if isinstance(unseen, list | tuple):
        return next((prior for prior in unseen if cpds[0].parameters.takes(prior)), unseen)
    return unseen
