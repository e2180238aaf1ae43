r"""Parameter blocks: CPDs that share parameters, and estimates from the flat statistics of all blocks together.

CPDs that name one `ParameterBlock` have one set of parameters. Their statistics add up,
$\check M_k[y, \mathbf w] = \sum_{X_i \in \mathcal V^k} M[X_i = y, \mathbf U_i = \mathbf w]$, and so the estimate
is that of all their rows stacked.

Reference: Koller & Friedman, section 17.5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.foreign import translated
from sepset.base.memory import uncollected
from sepset.base.text import listing, nearest
from sepset.cpds.cpd import CPD, ParameterBlock, with_block
from sepset.cpds.parameters import AnyParameters, PriorTerm
from sepset.errors import ArgumentError, ModelError, NotApplicable
from sepset.factors.algebra import Columns
from sepset.factors.chains import Line
from sepset.factors.labels import name_of
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import VariableLike

FlatStatistics: TypeAlias = tuple[Floats, ...]
"""One array per parameter block, in the order of `blocks_of`."""

PriorTerms: TypeAlias = Sequence[PriorTerm | None]
"""The terms that a prior adds to each parameter block, in the order of `blocks_of`."""

NEGLIGIBLE = 1e-30
"""Expected counts below this share of all rows are zero: no row's posterior knows the difference.

Where a posterior avoids these cells, the likelihood loses less than this share of itself, so that steps stay monotone;
kept, they would be squared again and again until they underflow.
"""


def blocks_of(net: BayesNet) -> dict[ParameterBlock, tuple[CPD, ...]]:
    """The CPDs of each parameter block, in the network's order; raises if CPDs cannot share one.

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.variables.variable import Discrete
    >>> a, b = Discrete("a"), Discrete("b")
    >>> net = BayesNet(TableCPD(a, [0.5, 0.5], block="coin"), TableCPD(b, [0.5, 0.5], block="coin"))
    >>> {block.name: len(cpds) for block, cpds in blocks_of(net).items()}
    {'coin': 2}
    """
    return {net.cpds[block[0]].block: tuple(net.cpds[i] for i in block) for block in _members(net)}


def _members(net: BayesNet) -> tuple[tuple[int, ...], ...]:
    """The positions of the CPDs of each parameter block; raises if CPDs cannot share one."""
    found: dict[ParameterBlock, list[int]] = {}
    for i, cpd in enumerate(net.cpds):
        own = found.setdefault(cpd.block, [i])
        if own[0] != i:
            _check_tied(cpd.block, net.cpds[own[0]], cpd)
            own.append(i)
    return tuple(map(tuple, found.values()))


@translated
def tie(net: BayesNet, groups: Mapping[str, Iterable[VariableLike]]) -> BayesNet:
    r"""The network in which the CPDs of each group share their parameters (those of the first).

    Parents correspond by their order in the CPDs, which must have equal states.

    Args:
        groups: for each name of a block the variables whose CPDs share it.

    Reference: Koller & Friedman, section 17.5.1.
    Guarantee: exact.
    Tested by: learning/test_blocks.py::test_pooled_counts

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.variables.variable import Discrete
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
    """Raise if two CPDs are of different kinds or over different domains."""
    if first.parameters.key != other.parameters.key:
        raise ModelError(
            f"{first!r} and {other!r} name the parameter block {block.name!r} but cannot share it: they need the same "
            "kind of CPD, and children and parents (in order) with the same states."
        )


def with_shared(cpds: Sequence[CPD], first: CPD) -> tuple[CPD, ...]:
    """The CPDs of a block with the parameters of the first of them, as it was estimated."""
    return first, *(cpd.parameters.like(first) for cpd in cpds[1:])


def prior_for(prior: object, cpds: Sequence[CPD]) -> Any:
    """The prior of one block, out of one for all, several by kind, or a mapping by name of block or child."""
    if isinstance(prior, Mapping):
        names = [cpds[0].block.name, *(cpd.child.name for cpd in cpds)]
        found = next((prior[name] for name in names if name in prior), prior.get(...))
        if found is None:
            raise ModelError(
                f"There is no prior for {name_of(cpds[0])}.{nearest(names[0], prior)} Use ... for all others."
            )
        return prior_for(found, cpds)
    if isinstance(prior, list | tuple):
        fitting = next((p for p in prior if cpds[0].parameters.takes(p)), None)
        if fitting is None and cpds[0].num_parameters:
            raise NotApplicable(f"None of {listing(prior)} is a prior for {name_of(cpds[0])}.")
        return fitting
    if isinstance(prior, type):
        raise ArgumentError(f"A prior is a value, such as BDeu(10); found the class {prior.__name__}.")
    return prior


def require_taken(net: BayesNet, prior: object, apply: Callable[[Sequence[CPD], Any], object]) -> None:
    """Raise for a prior that the parameters of some block do not take, before a row is read.

    Args:
        net: the network to be fitted.
        prior: as `prior_for` takes it.
        apply: says why, given the CPDs of a block and its prior.
    """
    for cpds in blocks_of(net).values():
        if cpds[0].num_parameters:
            chosen = prior_for(prior, cpds)
            if chosen is not None and not cpds[0].parameters.takes(chosen):
                apply(cpds, chosen)


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """The blocks of a network whose parameters are learned from incomplete rows.

    Attributes:
        template: says which CPDs there are, and which share parameters.
        forms: the parameters of each CPD, ready for the rows, in the order of the network's CPDs.
        members: the positions of each block's CPDs.
    """

    template: BayesNet
    forms: tuple[AnyParameters, ...] = field(repr=False)
    members: tuple[tuple[int, ...], ...] = field(repr=False)

    @classmethod
    def of(cls, template: BayesNet, columns: Columns) -> Blocks:
        """The blocks of a network.

        Args:
            columns: the rows, missing codes -1 and missing numbers NaN; none where all variables are discrete.
        """
        choices = template.line.choices
        chosen = template.along(Line(choices=choices)) if choices else template  # whose factors are those of the engine
        with uncollected():
            forms: list[AnyParameters] = [cpd.parameters.for_rows(columns) for cpd in chosen.cpds]
            members = _members(template)
        for block in members:
            for i in block[1:]:
                forms[block[0]] = forms[block[0]].including(forms[i])
            for i in block[1:]:
                forms[i] = forms[i].about(forms[block[0]])
        return cls(template, tuple(forms), members)

    def parameters(self, model: BayesNet) -> list[AnyParameters]:
        """The parameters of each CPD of a network of this form."""
        return [form.of(cpd) for form, cpd in zip(self.forms, model.cpds, strict=True)]

    def firsts(self, model: BayesNet) -> list[AnyParameters]:
        """The parameters of each block, as its first CPD has them."""
        return [self.forms[block[0]].of(model.cpds[block[0]]) for block in self.members]

    def check_bounded(self, model: BayesNet, terms: PriorTerms) -> None:
        """Raise if the likelihood is unbounded where the parameters of a network are."""
        for own, term in zip(self.firsts(model), terms, strict=True):
            own.check_bounded(term)

    def pooled(self, per_cpd: Sequence[Any], total: float) -> FlatStatistics:
        """The statistics of each block from those of its CPDs; counts negligible among `total` rows are zero."""
        made = []
        for block in self.members:
            form = self.forms[block[0]]
            stats = np.array(per_cpd[block[0]])
            for i in block[1:]:
                stats += per_cpd[i]
            if form.is_counted:
                stats[stats < NEGLIGIBLE * total] = 0.0
            stats.setflags(write=False)
            made.append(stats)
        return tuple(made)

    def prior_terms(self, prior: object, *, is_theta: bool = False) -> tuple[PriorTerm | None, ...]:
        """The terms that a prior adds to each block; None without one, and for blocks without parameters."""
        if prior is None:
            return (None,) * len(self.members)
        return tuple(self._prior_term(block, prior, is_theta) for block in self.members)

    def _prior_term(self, block: tuple[int, ...], prior: object, is_theta: bool) -> PriorTerm | None:
        cpds = [self.template.cpds[i] for i in block]
        if not cpds[0].num_parameters:
            return None
        chosen = prior_for(prior, cpds)
        return None if chosen is None else self.forms[block[0]].prior_term(chosen, cpds, is_theta=is_theta)

    def log_prior(self, model: BayesNet, terms: PriorTerms) -> float:
        """The log density of the network's parameters, up to a constant."""
        if not any(terms):
            return 0.0
        return float(sum(own.log_prior(term) for own, term in zip(self.firsts(model), terms, strict=True)))

    def score(self, model: BayesNet, statistics: FlatStatistics) -> float:
        r"""The expected log-likelihood of completed rows, $E_Q[\log P(\mathcal D, \mathcal H \mid \theta)]$."""
        return float(sum(own.score(stats) for own, stats in zip(self.firsts(model), statistics, strict=True)))

    def maximize(
        self, model: BayesNet, statistics: FlatStatistics, terms: PriorTerms, known: Mapping[int, CPD] | None = None
    ) -> BayesNet:
        """The network whose parameters maximize expected log-likelihood and log prior: the M-step.

        Args:
            known: by the position of their block, CPDs that are estimated already.
        """
        made: list[CPD] = list(model.cpds)
        own = self.parameters(model)
        for place, (block, stats, term) in enumerate(zip(self.members, statistics, terms, strict=True)):
            made[block[0]] = known[place] if known and place in known else own[block[0]].estimate(stats, term)
            for i in block[1:]:
                made[i] = model.cpds[i].parameters.like(made[block[0]])
        return model.with_parameters(made)
