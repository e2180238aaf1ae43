r"""Rule CPDs: probabilities attached to partial assignments that together cover every joint state once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.frozen import fill, made
from sepset.cpds import tying
from sepset.cpds.contexts import Gates, Node, Partition
from sepset.cpds.counts import Unseen, checked_counts, checked_weights, column, count, num_rows_of
from sepset.cpds.cpd import ParameterBlock
from sepset.cpds.discrete import DiscreteCPD, check_rows
from sepset.cpds.tree import smallest_form
from sepset.errors import ModelError, NotApplicable, ScopeError, TooLarge
from sepset.factors.algebra import Columns, Factor, axis_of, num_entries
from sepset.factors.table import Table
from sepset.variables.variable import Discrete

MAX_LEAVES = 2**18
"""The most contexts that the rules may induce over the parents."""


@dataclass(frozen=True, slots=True)
class Rule:
    r"""A rule $\langle \mathbf c; p \rangle$: every joint state that agrees with the context has probability $p$.

    Args:
        context: variables (parents or child), each with a state or a set of states.
        probability: the number $p$.

    >>> Rule({Discrete("a"): 0}, 0.3).probability
    0.3
    """

    context: Mapping[Any, Any]
    probability: float


class RuleCPD(DiscreteCPD):
    r"""A CPD given by rules: exactly one rule agrees with each joint state of child and parents.

    Args:
        child: the variable $X$.
        rules: `Rule`s, or pairs (context, probability).
        given: the parents in order; by default those of the rules, as they first appear.
        block: the parameters it uses; by default its own, named after the child.

    Overlapping rules, gaps between rules and rows that do not sum to one are refused by name.

    Reference: Koller & Friedman, section 5.3.1.

    >>> a, b, x = Discrete("a"), Discrete("b"), Discrete("x")
    >>> rules = [({a: 0, x: 0}, 0.3), ({a: 0, x: 1}, 0.7), ({a: 1, b: 0, x: 0}, 0.9), ({a: 1, b: 0, x: 1}, 0.1),
    ...          ({a: 1, b: 1}, 0.5)]
    >>> cpd = RuleCPD(x, rules)
    >>> cpd, cpd.irrelevant({"a": 0}), cpd.num_parameters
    (RuleCPD(x[2] | a[2], b[2]), (Discrete('b', (0, 1)),), 2)
    """

    __slots__ = ("masks", "partition", "probability", "rule_of")
    masks: tuple[Bools, ...]
    partition: Partition
    rule_of: Ints
    probability: Floats

    def __init__(
        self,
        child: Discrete,
        rules: Iterable[Rule | tuple[Mapping[Any, Any], float]],
        given: Discrete | Iterable[Discrete] | None = None,
        *,
        block: ParameterBlock | str | None = None,
    ) -> None:
        listed = [rule if isinstance(rule, Rule) else Rule(*rule) for rule in rules]
        self._init(child, _parents(child, listed) if given is None else given, block)
        masks = _masks(self, listed)
        leaves: list[Ints] = []
        root = _grow(self, masks, np.arange(len(listed)), leaves)
        fill(
            self,
            masks=masks,
            partition=Partition(self.parents, root),
            rule_of=np.array(leaves),
            probability=np.array([rule.probability for rule in listed], dtype=np.float64),
        )
        check_rows(self._distributions(), self, self.partition.describe)

    def _distributions(self) -> Floats:
        return np.asarray(self.probability[self.rule_of])

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, each context by name with a state or a set of states."""
        return tuple(Rule(self._context(r), float(p)) for r, p in enumerate(self.probability))

    def _context(self, rule: int) -> dict[str, Any]:
        context: dict[str, Any] = {}
        for variable, mask in zip(self.scope, self.masks, strict=True):
            if not mask[rule].all():
                states = [variable.states[code] for code in np.flatnonzero(mask[rule])]
                context[variable.name] = states[0] if len(states) == 1 else frozenset(states)
        return context

    @property
    def num_parameters(self) -> int:
        """The number of rules less the number of independent sums to one."""
        constraints = tying.multiplicities(self.rule_of, len(self.probability))
        return len(self.probability) - int(np.linalg.matrix_rank(constraints))

    def _select(self, rows: Columns, num_rows: int) -> tuple[Floats, Ints]:
        return self._distributions(), self.partition.locate(rows, num_rows, self)

    @property
    def auxiliaries(self) -> tuple[Discrete, ...]:
        """The gates of the contexts, where rules are too wide for a factor each; else none."""
        return self._gates().auxiliaries if self._form() == "gates" else ()

    def factors(self) -> tuple[Factor, ...]:
        """The table; or one factor a rule (its probability in its context, one elsewhere); or gates over contexts."""
        form = self._form()
        if form == "table":
            return super().factors()
        if form == "gates":
            return self._gates().factors(self._distributions())
        return tuple(self._rule_factor(r, self._rule_scope(r)) for r in range(len(self.probability)))

    def _gates(self) -> Gates:
        return Gates.of(self.child, self.parents, self.partition.root)

    def _form(self) -> Literal["table", "leaves", "gates"]:
        table = num_entries(self.scope)
        scopes = [self._rule_scope(rule) for rule in range(len(self.probability))]
        speaks = any(self.child in scope for scope in scopes)  # else the child would be in no factor
        return smallest_form(
            table=table,
            leaves=sum(map(num_entries, scopes)) if speaks else table,
            gates=sum(map(num_entries, self._gates().scopes)),
        )

    def _rule_scope(self, rule: int) -> tuple[Discrete, ...]:
        return tuple(v for v, mask in zip(self.scope, self.masks, strict=True) if not mask[rule].all())

    def _rule_factor(self, rule: int, scope: tuple[Discrete, ...]) -> Table:
        box: Floats = np.ones(())
        for variable in scope:
            box = np.multiply.outer(box, self.masks[self.scope.index(variable)][rule].astype(np.float64))
        return Table(scope, box * self.probability[rule] + (1.0 - box))

    def irrelevant(self, context: Mapping[Any, Any]) -> tuple[Discrete, ...]:
        """The parents outside `context` that drop out in it: exact, by comparing the contexts the rules induce."""
        return self.partition.irrelevant(self._distributions(), self.fixed(context))

    @property
    def parameters(self) -> Floats:
        """The probabilities of the rules."""
        return self.probability

    @property
    def groups(self) -> Ints:
        """The context of each rule; refused where contexts overlap, since their rules then share several sums."""
        table = tying.multiplicities(self.rule_of, len(self.probability))
        if ((table > 0).sum(axis=0) > 1).any():
            raise NotApplicable(
                f"{self!r} has rules that several contexts share, so no Dirichlet is conjugate. Use MAP."
            )
        return np.asarray((table > 0).argmax(axis=0), dtype=np.int64)

    @property
    def multiplicities(self) -> Floats:
        """How many of the child's states each rule stands for."""
        return np.asarray(tying.multiplicities(self.rule_of, len(self.probability)).max(axis=0))

    @property
    def sizes(self) -> Floats:
        """How many joint states of parents and child each parameter stands for."""
        return np.asarray(np.prod([mask.sum(axis=1) for mask in self.masks], axis=0), dtype=np.float64)

    @property
    def child_states(self) -> Bools:
        """Which of the child's states each rule is about, `[rules, states]`: rules stand in any order."""
        return self.masks[-1]

    def cells(self, codes: Columns) -> Ints:
        """The rule that each row of codes agrees with."""
        num_rows = num_rows_of(codes, self.child, self)
        leaves = self.partition.locate(codes, num_rows, self)
        return np.asarray(self.rule_of[leaves, column(codes, self.child, num_rows, self)], dtype=np.int64)

    def describe_group(self, group: int) -> str:
        """The context of the first leaf that a group of rules covers, for messages."""
        rules = set(np.flatnonzero(self.groups == group).tolist())
        leaf = next(leaf for leaf, row in enumerate(self.rule_of.tolist()) if rules.issuperset(row))
        return self.partition.describe(leaf)

    def statistics(self, codes: Columns, weights: ArrayLike | None = None) -> Floats:
        """How many rows (or what total weight) each rule agrees with; additive."""
        cells = self.cells(codes)
        return count(cells, len(self.probability), checked_weights(weights, len(cells), self))

    def from_statistics(self, stats: ArrayLike, prior: object = None, *, unseen: Unseen = "uniform") -> Self:
        r"""The same rules with the probabilities that maximize $\sum_r (M[r] + \alpha_r) \log p_r$.

        Where rules share one context of the parents this is a ratio of counts; where contexts overlap, the concave
        problem is solved numerically under the sums to one.

        Args:
            stats: counts as `statistics` gives them.
            prior: `Dirichlet` pseudo-counts, one a rule, or None for maximum likelihood.
            unseen: contexts without data or pseudo-counts become "uniform" (the default), or "raise" an error.

        Reference: Koller & Friedman, section 17.5.2.
        """
        counts = checked_counts(stats, len(self.probability), self)
        probability = tying.estimate(self.rule_of, counts, prior, unseen, self, self.partition.describe)
        names = ("child", "parents", "block", "masks", "partition", "rule_of")
        return made(type(self), **{name: getattr(self, name) for name in names}, probability=probability)


def _parents(child: Discrete, rules: list[Rule]) -> tuple[Discrete, ...]:
    found = dict.fromkeys(variable for rule in rules for variable in rule.context)
    for variable in found:
        if not isinstance(variable, Discrete):
            raise ScopeError(f"A rule for {child.name} names {variable!r}. Name variables, or say given=.")
    return tuple(v for v in found if v != child)


def _masks(cpd: RuleCPD, rules: list[Rule]) -> tuple[Bools, ...]:
    """For each variable of the scope, which states each rule allows."""
    masks = tuple(np.ones((len(rules), v.num_states), np.bool_) for v in cpd.scope)
    for place, rule in enumerate(rules):
        for key, states in rule.context.items():
            axis = axis_of(cpd.scope, key)
            allowed = [cpd.scope[axis].code(s) for s in (states if isinstance(states, Set | tuple) else (states,))]
            masks[axis][place] = np.isin(np.arange(cpd.scope[axis].num_states), allowed)
            if not allowed:
                raise ModelError(f"{cpd!r}: rule {place} allows no state of {cpd.scope[axis].name}.")
    return masks


def _grow(cpd: RuleCPD, masks: tuple[Bools, ...], root: Ints, leaves: list[Ints]) -> Node | int:
    """A decision tree over the parents at whose leaves the rules speak of the child alone."""
    everything = tuple(np.ones(v.num_states, np.bool_) for v in cpd.parents)

    def grow(active: Ints, possible: tuple[Bools, ...]) -> Node | int:
        mentions = [(~masks[axis][active][:, here]).any(axis=1).sum() for axis, here in enumerate(possible)]
        if not any(mentions):
            leaves.append(_leaf(cpd, masks[-1], active, possible))
            if len(leaves) > MAX_LEAVES:
                raise TooLarge(f"{cpd!r}: its rules induce more than {MAX_LEAVES} contexts of the parents.")
            return len(leaves) - 1
        axis = int(np.argmax(mentions))
        route = [-1] * cpd.parents[axis].num_states
        branches: list[Node | int] = []
        for codes in _groups(masks[axis][active], possible[axis]):
            for code in codes:
                route[code] = len(branches)
            here = np.isin(np.arange(len(route)), codes)
            kept = active[masks[axis][active, codes[0]]]
            branches.append(grow(kept, (*possible[:axis], here, *possible[axis + 1 :])))
        return Node(axis, tuple(route), tuple(branches))

    return grow(root, everything)


def _groups(allowed: Bools, possible: Bools) -> list[list[int]]:
    """The possible states, grouped by which rules allow them."""
    groups: dict[bytes, list[int]] = {}
    for code in np.flatnonzero(possible).tolist():
        groups.setdefault(allowed[:, code].tobytes(), []).append(code)
    return list(groups.values())


def _leaf(cpd: RuleCPD, allowed: Bools, active: Ints, possible: tuple[Bools, ...]) -> Ints:
    """The rule of each state of the child in one context of the parents."""
    chosen = np.zeros(cpd.child.num_states, np.int64)
    for code in range(cpd.child.num_states):
        rules = active[allowed[active, code]]
        if len(rules) != 1:
            states = [
                (v, v.states[int(np.flatnonzero(mask)[0])]) for v, mask in zip(cpd.parents, possible, strict=True)
            ]
            where = ", ".join(f"{v.name}={s!r}" for v, s in [*states, (cpd.child, cpd.child.states[code])])
            what = f"rules {', '.join(map(str, rules))} all apply" if len(rules) else "no rule applies"
            raise ModelError(f"{cpd!r}: {what} at ({where}). Exactly one rule must apply everywhere.")
        chosen[code] = rules[0]
    return chosen
