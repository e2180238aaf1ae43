"""Networks with the same variables in other orders: CPDs, parents and states are matched by name, never by position."""

from __future__ import annotations

from collections.abc import Iterable
from operator import is_

from sepset.base.text import listing, nearest
from sepset.cpds.cpd import CPD
from sepset.errors import ModelError, ScopeError
from sepset.factors.labels import name_of
from sepset.models.bayesnet import BayesNet
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, Vector


def over(net: BayesNet, variables: Iterable[Discrete | Vector]) -> BayesNet:
    """The same distribution over variables of the same names, with their states in the order of those.

    >>> from sepset.cpds.table import TableCPD
    >>> coin = BayesNet(TableCPD(Discrete("coin", ("head", "tail")), [0.3, 0.7]))
    >>> over(coin, [Discrete("coin", ("tail", "head"))]).cpd("coin").values.tolist()
    [0.7, 0.3]
    """
    wanted = Universe(variables)
    if len(wanted) == len(net.variables) and all(v in wanted for v in net.variables):
        return net
    differ = sorted({*wanted.names} ^ {*net.variables.names})
    if differ:
        raise ScopeError(f"Both networks need the same variables; they differ in {listing(differ)}.")
    return BayesNet(
        *(cpd.parameters.over(tuple(wanted[v.name] for v in cpd.scope)) for cpd in net.cpds),
        name=net.name,
        notes=net.notes,
        drawing=net.drawing,
    )


def with_parameters_of(template: BayesNet, net: BayesNet, role: str) -> BayesNet:
    """The network `template` with the parameters of another of the same form: its CPDs, parents and states by name.

    Args:
        template: says which CPDs there are, and in which order.
        net: the network that has the parameters.
        role: what `net` is, in errors.

    >>> from sepset.cpds.table import TableCPD
    >>> net = BayesNet(TableCPD(Discrete("coin", ("head", "tail")), [0.5, 0.5]))
    >>> other = BayesNet(TableCPD(Discrete("coin", ("tail", "head")), [0.7, 0.3]))
    >>> with_parameters_of(net, other, "start").cpd("coin").values.tolist()
    [0.3, 0.7]
    """
    refuse_other_names(net, template.variables, role)
    made = tuple(like(cpd, net.cpd(cpd.child.name), role) for cpd in template.cpds)
    return net if all(map(is_, made, net.cpds)) else template.with_parameters(made)


def like(cpd: CPD, other: CPD, role: str) -> CPD:
    """A CPD with the parameters of another of the same form, its parents and states matched by name.

    Args:
        cpd: says the form, and the order of parents and states.
        other: the CPD that has the parameters.
        role: what has the other CPD, in errors.
    """
    mine, theirs = {p.name for p in cpd.parents}, {p.name for p in other.parents}
    if mine != theirs:
        raise ModelError(
            f"The {role} has other parents of {cpd.child.name!r}: {listing(sorted(theirs)) or 'none'} instead of "
            f"{listing(sorted(mine)) or 'none'}. Give it the same families."
        )
    if type(cpd) is not type(other):
        raise ModelError(
            f"The {role} has {other!r} where the network has {name_of(cpd)}. Give it CPDs of the same form."
        )
    made: CPD = other.parameters.over(cpd.scope)
    if made.parameters.form != cpd.parameters.form or made.parameters.key != cpd.parameters.key:
        raise ModelError(
            f"The {role} has another form of {name_of(cpd)}: the same kind of CPD, and other contexts, tests or "
            "rules. Give "
            "it the same."
        )
    return made


def refuse_other_names(net: BayesNet, wanted: Universe, role: str) -> None:
    """Raise unless a network has exactly the variables with these names."""
    names, found = set(wanted.names), set(net.variables.names)
    absent = [name for name in wanted.names if name not in found]
    if absent:
        raise ScopeError(f"The {role} has no variable {absent[0]!r}.{nearest(absent[0], found)}")
    more = [name for name in net.variables.names if name not in names]
    if more:
        raise ScopeError(f"The {role} has the variable {more[0]!r}, which is unknown here.{nearest(more[0], names)}")
