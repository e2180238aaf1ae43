r"""Parameters shared between CPDs: which CPDs are tied, and how to tie them.

CPDs that name one `ParameterBlock` have one set of parameters. Their statistics add up,
$\check M_k[y, \mathbf w] = \sum_{X_i \in \mathcal V^k} M[X_i = y, \mathbf U_i = \mathbf w]$, and so the estimate
is that of all their rows stacked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sepset.cpds.cpd import CPD, ParameterBlock, with_block
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.errors import ModelError
from sepset.factors.algebra import AnyVariable
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, VariableLike


def blocks_of(net: BayesNet) -> dict[ParameterBlock, tuple[CPD, ...]]:
    """The CPDs of each parameter block, in the network's order; CPDs that cannot share one are refused.

    >>> from sepset.cpds.table import TableCPD
    >>> a, b = Discrete("a"), Discrete("b")
    >>> net = BayesNet(TableCPD(a, [0.5, 0.5], block="coin"), TableCPD(b, [0.5, 0.5], block="coin"))
    >>> {block.name: len(cpds) for block, cpds in blocks_of(net).items()}
    {'coin': 2}
    """
    found: dict[ParameterBlock, list[CPD]] = {}
    for cpd in net.cpds:
        found.setdefault(cpd.block, []).append(cpd)
    for block, cpds in found.items():
        for other in cpds[1:]:
            _check_tied(block, cpds[0], other)
    return {block: tuple(cpds) for block, cpds in found.items()}


def tie(net: BayesNet, groups: Mapping[str, Iterable[VariableLike]]) -> BayesNet:
    r"""The network in which the CPDs of each group share their parameters (those of the first).

    Parents correspond by their order in the CPDs, which must have equal states.

    Args:
        groups: for each name of a block the variables whose CPDs share it.

    Reference: Koller & Friedman, section 17.5.1.

    >>> from sepset.cpds.table import TableCPD
    >>> net = BayesNet(*(TableCPD(Discrete(n), [0.5, 0.5]) for n in "ab"))
    >>> tie(net, {"coin": ["a", "b"]}).num_parameters
    1
    """
    changed: dict[str, CPD] = {}
    for name, variables in groups.items():
        cpds = [net.cpd(v) for v in variables]
        for cpd in cpds:
            if cpd.child.name in changed:
                raise ModelError(f"{cpd.child.name!r} is in two groups. The groups of tied CPDs are disjoint.")
            _check_tied(ParameterBlock(name), cpds[0], cpd)
            changed[cpd.child.name] = with_block(cpd, ParameterBlock(name))
    return net.with_cpds(*changed.values())


def _check_tied(block: ParameterBlock, first: CPD, other: CPD) -> None:
    """Refuse CPDs of different kinds or over different domains."""
    if _shape(first) == _shape(other):
        return
    raise ModelError(
        f"{first!r} and {other!r} name the parameter block {block.name!r} but cannot share it: they need the same kind "
        "of CPD, and children and parents (in order) with the same states."
    )


def _shape(cpd: CPD) -> tuple[Any, ...]:
    """What tied CPDs agree about."""
    domains = tuple(_domain(v) for v in cpd.scope)
    if isinstance(cpd, LinearGaussian):
        return type(cpd), domains
    shared = getattr(cpd, "sharing_key", None)
    return (type(cpd), shared) if shared is not None else (type(cpd), domains)


def _domain(variable: AnyVariable) -> object:
    return variable.domain if isinstance(variable, Discrete) else variable.size
