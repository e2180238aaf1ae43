r"""Rule CPDs: probabilities attached to partial assignments that together cover every joint state once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.checks import is_number
from sepset.base.display import Shown
from sepset.base.frozen import fill
from sepset.cpds.contexts import Node, Partition, reordered, setting, shown_rules
from sepset.cpds.counts import checked_counts, column, count, expected_log, num_rows_of, unseen_message
from sepset.cpds.cpd import ParameterBlock
from sepset.cpds.discrete import check_rows, discrete_scope
from sepset.cpds.multinomials import Multinomials
from sepset.cpds.parameters import PriorTerm, Varied
from sepset.cpds.registry import Fields, registered
from sepset.cpds.tree import ContextCPD
from sepset.errors import DataError, ModelError, NotApplicable, ScopeError, TooLarge
from sepset.factors.algebra import Columns, Scope, axis_of, num_entries
from sepset.factors.decomposition import Places
from sepset.factors.labels import name_of
from sepset.factors.table import Table
from sepset.variables.matching import Match
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, State

MAX_LEAVES = 2**18
"""The largest number of contexts that the rules may induce over the parents."""


@dataclass(frozen=True, slots=True)
class Rule:
    r"""A rule $\langle \mathbf c; p \rangle$: every joint state that agrees with the context has probability $p$.

    Args:
        context: variables (parents or child), each with a state or a set of states.
        probability: the probability $p$.

    >>> Rule({Discrete("a"): 0}, 0.3).probability
    0.3
    """

    context: Mapping[Any, Any]
    probability: float


@registered("rule")
class RuleCPD(ContextCPD):
    r"""A CPD given by rules: exactly one rule agrees with each joint state of child and parents.

    Args:
        child: the variable $X$.
        rules: `Rule`s, or pairs (context, probability).
        given: the parents in order; by default those of the rules, as they first appear.
        block: the parameters it uses; by default its own, named after the child.

    Overlapping rules, gaps between rules and rows that do not sum to one raise an error that names them.

    Reference: Koller & Friedman, section 5.3.1.
    Guarantee: exact.
    Tested by: cpds/test_rules.py::test_contract

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
        *,
        given: Discrete | Iterable[Discrete] | None = None,
        block: ParameterBlock | str | None = None,
    ) -> None:
        listed = [_rule(rule, child) for rule in rules]
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

    def _shown(self) -> Shown:
        """The rules, in order."""
        return shown_rules(self.label, map(self._written, range(len(self.probability))), self.probability)

    def _written(self, rule: int) -> str:
        scope = [(v, mask[rule]) for v, mask in zip(self.scope, self.masks, strict=True) if not mask[rule].all()]
        clauses = (setting(v, [v.states[code] for code in np.flatnonzero(mask)]) for v, mask in scope)
        return ", ".join(clauses) or "always"

    @property
    def num_parameters(self) -> int:
        """The number of rules minus the number of independent sum-to-one constraints."""
        constraints = occurrences(self.rule_of, len(self.probability))
        return len(self.probability) - int(np.linalg.matrix_rank(constraints))

    def _pieces(self) -> Iterator[Table]:
        """For each rule its probability in its context, and one elsewhere."""
        scopes = (tuple([self.scope[i] for i in places]) for places in self._piece_places())
        return itertools.starmap(self._rule_factor, enumerate(scopes))

    @property
    def _least_piece_entries(self) -> int:
        return len(self.probability) ** 2

    def _piece_entries(self) -> int:
        free: list[list[bool]] = [np.all(mask, axis=1).tolist() for mask in self.masks]
        if all(free[-1]):  # the child would be in no factor
            return num_entries(self.scope)
        pairs = zip(self.scope, free, strict=True)
        sizes = [[1 if is_any else v.num_states for is_any in rules] for v, rules in pairs]
        return sum(map(math.prod, zip(*sizes, strict=True)))

    @property
    def _num_pieces(self) -> int:
        return len(self.probability)

    def _piece_places(self) -> list[Places]:
        free = [mask.all(axis=1).tolist() for mask in self.masks]
        return [tuple([i for i, is_any in enumerate(row) if not is_any]) for row in zip(*free, strict=True)]

    def _rule_factor(self, rule: int, scope: tuple[Discrete, ...]) -> Table:
        box: Floats = np.ones(())
        for variable in scope:
            box = np.multiply.outer(box, self.masks[self.scope.index(variable)][rule].astype(np.float64))
        return Table(scope, box * self.probability[rule] + (1.0 - box))

    @classmethod
    def from_form(cls, child: Discrete, fields: Fields, *, parents: tuple[Discrete, ...], block: str | None) -> Self:
        """The CPD described by a file."""
        contexts = [_read(context, Universe((*parents, child))) for context in fields["contexts"]]
        probabilities = fields["probability"].array((len(contexts),)).tolist()
        return cls(child, map(Rule, contexts, probabilities), given=parents, block=block)

    @property
    def parameters(self) -> RuleCells:
        """The probabilities of the rules, with all operations that learning needs."""
        return RuleCells(self)


@dataclass(frozen=True, eq=False, repr=False)
class RuleCells(Multinomials[RuleCPD]):
    r"""The probabilities of rules: $p_r$, with counts $M[r]$ of the rows that agree with each.

    Rule $r$ occurs $n_{cr}$ times in context $c$ of the parents. The estimate maximizes $\sum_r M[r] \log p_r$ subject
    to $\sum_r n_{cr} p_r = 1$ for every $c$: ratios of counts if contexts do not share rules, else a small concave
    program.

    Reference: Koller & Friedman, section 17.5.2.
    """

    @property
    def form(self) -> dict[str, Any]:
        """The context of each rule, as codes."""
        scope = list(zip(self.cpd.scope, self.cpd.masks, strict=True))
        rules = range(len(self.cpd.probability))
        return {"contexts": [{v.name: _codes(m[r]) for v, m in scope if not m[r].all()} for r in rules]}

    @property
    def arrays(self) -> dict[str, Floats]:
        """The probabilities."""
        return {"probability": self.cpd.probability}

    def check_arrays(self, arrays: Mapping[str, Floats], tolerance: float) -> None:
        """Raise unless the probabilities sum to one in every context."""
        check_rows(arrays["probability"][self.cpd.rule_of], self.cpd, self.cpd.partition.describe, tolerance)

    def from_arrays(self, arrays: Mapping[str, Floats]) -> RuleCPD:
        """The same rules with these probabilities."""
        return self.from_probabilities(arrays["probability"])

    def from_probabilities(self, probabilities: Floats) -> RuleCPD:
        """The same rules with these probabilities."""
        return self.cpd._with(probability=probabilities)

    def reordered(self, scope: Scope) -> RuleCPD:
        """The same rules, with parents and states in another order."""
        own = discrete_scope(scope)
        whole, among = Match.of(self.cpd.scope, own), Match.of(self.cpd.parents, own[:-1])
        masks = tuple(self.cpd.masks[axis][:, order] for axis, order in zip(whole.axes, whole.orders, strict=True))
        return self.cpd._named(
            own,
            masks=masks,
            partition=Partition(own[:-1], reordered(self.cpd.partition.root, among)),
            rule_of=self.cpd.rule_of[:, whole.orders[-1]],
        )

    @property
    def probabilities(self) -> Floats:
        """The probabilities of the rules."""
        return self.cpd.probability

    @property
    def _occurrences(self) -> Floats:
        return occurrences(self.cpd.rule_of, len(self.cpd.probability))

    @property
    def overlaps(self) -> bool:
        """Whether contexts share rules, so that a rule is in several sum-to-one constraints."""
        return bool(((self._occurrences > 0).sum(axis=0) > 1).any())

    @property
    def groups(self) -> Ints:
        """The context of each rule; raises if contexts share rules."""
        table = self._occurrences
        if ((table > 0).sum(axis=0) > 1).any():
            raise self.refusal(
                "has rules that several contexts share, so no Dirichlet is conjugate", "Use PosteriorMode."
            )
        return np.asarray((table > 0).argmax(axis=0), dtype=np.int64)

    @property
    def multiplicities(self) -> Floats:
        """The number of the child's states that each rule stands for."""
        return np.asarray(self._occurrences.max(axis=0))

    @property
    def varied(self) -> Varied | None:
        """The rules of each context; None if contexts share rules, or one rule is for several states of the child."""
        if self.overlaps or (self.multiplicities > 1).any():
            return None
        return Varied(self.probabilities[self.arranged], np.arange(self.cpd.child.num_states))

    @property
    def arranged(self) -> Ints:
        """The rule of each context and state of the child."""
        first = np.unique(self.groups, return_index=True)[1]
        order = np.lexsort([self.child_states.argmax(axis=1), self.groups])
        return order.reshape(len(first), -1)

    def varied_slopes(self, slopes: Sequence[Floats]) -> Floats:
        """The sums of the derivatives over all entries that are one rule."""
        return self.cell_sums(slopes)[self.arranged]

    def varied_context(self, row: int) -> dict[str, Any]:
        """The states of the parents in a rule's context."""
        context = self.cpd._context(int(self.arranged[row, 0]))
        return {name: state for name, state in context.items() if name != self.cpd.child.name}

    @property
    def sizes(self) -> Floats:
        """The number of joint states of parents and child that each rule stands for."""
        return np.asarray(np.prod([mask.sum(axis=1) for mask in self.cpd.masks], axis=0), dtype=np.float64)

    @property
    def child_states(self) -> Bools:
        """Which of the child's states each rule is for, `[rules, states]`: rules are in any order."""
        return self.cpd.masks[-1]

    def cells(self, codes: Columns) -> Ints:
        """The rule that each row of codes agrees with."""
        num_rows = num_rows_of(codes, self.cpd.child, self.cpd)
        leaves = self.cpd.partition.locate(codes, num_rows, self.cpd)
        return np.asarray(self.cpd.rule_of[leaves, column(codes, self.cpd.child, num_rows, self.cpd)], dtype=np.int64)

    def describe_context(self, context: int) -> str:
        """The context of the first leaf that a group of rules covers."""
        rules = set(np.flatnonzero(self.groups == context).tolist())
        leaf = next(leaf for leaf, row in enumerate(self.cpd.rule_of.tolist()) if rules.issuperset(row))
        return self.cpd.partition.describe(leaf)

    def tells(self, parent: Discrete) -> bool:
        """Whether a parent is named by some rule."""
        return self.cpd.partition.tests(parent)

    def ratios(self, counts: Floats) -> Floats:
        """The maximum likelihood probabilities; contexts without any count are uniform."""
        return shared_probabilities(self.cpd.rule_of, counts)

    def maximized(
        self, stats: Floats, prior: PriorTerm | None = None, *, unseen: object = "uniform", cpds: Sequence[RuleCPD] = ()
    ) -> RuleCPD:
        """Ratios of counts, or the optimum of a concave program if contexts share rules."""
        if not self.overlaps:
            return super().maximized(stats, prior, unseen=unseen, cpds=cpds)
        total = self.joined(checked_counts(stats, len(self.probabilities), self.cpd), prior)
        empty = total[self.cpd.rule_of].sum(axis=1) == 0
        if empty.any() and unseen == "raise":
            raise DataError(unseen_message(self.cpd, np.flatnonzero(empty), len(empty), self.cpd.partition.describe))
        if unseen not in ("raise", "uniform"):
            what = f"has no separate contexts; there unseen= is 'raise' or 'uniform', not {unseen!r}"
            raise NotApplicable(f"{name_of(self.cpd)} {what}.")
        return self.from_probabilities(self.ratios(total))

    def estimate(self, stats: Floats, prior: PriorTerm | None = None) -> RuleCPD:
        """Ratios of counts; if contexts share rules, this CPD unless the search for an optimum improves it."""
        total = self.joined(stats, prior)
        made = self.from_probabilities(self.ratios(total))
        return made if expected_log(made.probability, total) >= self.score(total) else self.cpd

    @property
    def coordinates(self) -> Floats:
        """The logits of the rules, if each is in only one sum-to-one constraint."""
        if self.overlaps:
            what = "has rules that several contexts share, so its parameters have no unconstrained coordinates"
            raise self.refusal(what, "Use EM(), plain or with acceleration='squarem' or 'aitken'.")
        return super().coordinates

    @property
    def names(self) -> tuple[str, ...]:
        """Each free rule as a conditional probability, or by its context if contexts share rules."""
        if not self.overlaps:
            return super().names
        contexts = [self.cpd.rules[rule].context for rule in null_space(self._occurrences)[0].tolist()]
        shown = (", ".join(f"{name}={state!r}" for name, state in context.items()) for context in contexts)
        return tuple(f"P({self.cpd.child.name} by the rule {context})" for context in shown)

    @property
    def values(self) -> Floats:
        """The probabilities of the free rules."""
        return self.probabilities[null_space(self._occurrences)[0]] if self.overlaps else super().values

    def moved(self, step: Floats) -> RuleCPD | None:
        """The CPD with the free rules changed by a step, others compensating; None if one would leave [0, 1]."""
        if not self.overlaps:
            return super().moved(step)
        new = self.probabilities + step @ null_space(self._occurrences)[1]
        return None if (new < 0).any() else self.from_probabilities(new)

    def table_slope(self, slope: Floats) -> Floats:
        """The gradient with respect to the free rules, others compensating."""
        if not self.overlaps:
            return super().table_slope(slope)
        total = count(self._cell_of, len(self.probabilities), slope)
        return np.asarray(null_space(self._occurrences)[1] @ total)


def _read(fields: Fields, known: Universe) -> dict[Discrete, tuple[State, ...]]:
    """The context of one rule in a file."""
    context: dict[Discrete, tuple[State, ...]] = {}
    for name, codes in fields.items():
        variable = known[name]
        if not isinstance(variable, Discrete):
            raise codes.error("expected a discrete variable")
        context[variable] = tuple(variable.states[c] for c in codes.wholes(0, variable.num_states - 1).tolist())
    return context


def _codes(allowed: Bools) -> list[int]:
    codes: list[int] = np.flatnonzero(allowed).tolist()
    return codes


def _rule(rule: object, child: Discrete) -> Rule:
    """A rule, or a pair of a context and a probability, as a rule; what is neither is refused."""
    found = rule if isinstance(rule, Rule) else Rule(*rule) if isinstance(rule, tuple) and len(rule) == 2 else None
    if found is None or not isinstance(found.context, Mapping):
        raise ModelError(f"A rule is a pair of a context and a probability, such as ({{a: 0}}, 0.3); found {rule!r}.")
    if not is_number(found.probability):
        raise ModelError(
            f"The rule of {dict(found.context)!r} has one probability; found {found.probability!r}. Write one rule for "
            f"each state of {child.name!r}, with that state in its context."
        )
    return found


def _parents(child: Discrete, rules: list[Rule]) -> tuple[Discrete, ...]:
    found = dict.fromkeys(variable for rule in rules for variable in rule.context)
    for variable in found:
        if not isinstance(variable, Discrete):
            raise ScopeError(f"A rule for {child.name} names {variable!r}. Name variables, or give given=.")
    return tuple(v for v in found if v != child)


def _masks(cpd: RuleCPD, rules: list[Rule]) -> tuple[Bools, ...]:
    """For each variable of the scope, which states each rule allows."""
    masks = tuple(np.ones((len(rules), v.num_states), np.bool_) for v in cpd.scope)
    for place, rule in enumerate(rules):
        for key, states in rule.context.items():
            axis = axis_of(cpd.scope, key)
            allowed = [cpd.scope[axis].code(s) for s in (states if isinstance(states, Set | tuple) else (states,))]
            if not allowed:
                raise ModelError(f"{name_of(cpd)}: rule {place} allows no state of {cpd.scope[axis].name}.")
            masks[axis][place] = False
            masks[axis][place, allowed] = True
    return masks


def _grow(cpd: RuleCPD, masks: tuple[Bools, ...], root: Ints, leaves: list[Ints]) -> Node | int:
    """A decision tree over the parents; the rules at a leaf depend on the child only."""
    everything = tuple(np.ones(v.num_states, np.bool_) for v in cpd.parents)

    def grow(active: Ints, possible: tuple[Bools, ...]) -> Node | int:
        mentions = [(~masks[axis][active][:, here]).any(axis=1).sum() for axis, here in enumerate(possible)]
        if not any(mentions):
            leaves.append(_leaf(cpd, masks[-1], active, possible))
            if len(leaves) > MAX_LEAVES:
                raise TooLarge(f"{name_of(cpd)}: its rules induce more than {MAX_LEAVES} contexts of the parents.")
            return len(leaves) - 1
        axis = int(np.argmax(mentions))
        route = [-1] * cpd.parents[axis].num_states
        branches: list[Node | int] = []
        for codes in _groups(masks[axis][active], possible[axis]):
            for code in codes:
                route[code] = len(branches)
            here = np.zeros(len(route), np.bool_)
            here[codes] = True
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
            raise ModelError(f"{name_of(cpd)}: {what} at ({where}). Exactly one rule must apply everywhere.")
        chosen[code] = rules[0]
    return chosen


def occurrences(rule_of: Ints, num_rules: int) -> Floats:
    """The number of occurrences of each rule in each distinct row of rules.

    >>> occurrences(np.array([[0, 1], [2, 2]]), 3).tolist()
    [[0.0, 0.0, 2.0], [1.0, 1.0, 0.0]]
    """
    table = np.zeros((len(rule_of), num_rules))
    np.add.at(table, (np.arange(len(rule_of))[:, None], rule_of), 1.0)
    return np.unique(table, axis=0)


def shared_probabilities(rule_of: Ints, counts: Floats) -> Floats:
    """The maximum likelihood probabilities of rules that rows share; groups of rows without any count are uniform.

    Args:
        rule_of: the rule of each state of the child in each context, `[contexts, states]`.
        counts: one per rule.

    >>> shared_probabilities(np.array([[0, 1], [2, 2]]), np.array([3.0, 1.0, 5.0])).tolist()
    [0.75, 0.25, 0.5]
    """
    table = occurrences(rule_of, len(counts))
    # The uniform distribution satisfies all constraints, so it starts the search and fills groups without counts.
    result = np.full(len(counts), 1.0 / rule_of.shape[1])
    for rows, rules in _connected(table):
        if counts[rules].sum() > 0:
            result[rules] = _solve(table[np.ix_(rows, rules)], counts[rules], result[rules])
    return result


def _connected(table: Floats) -> list[tuple[Ints, Ints]]:
    """The connected groups of rows and of the rules they share."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    num_groups, label = connected_components(csr_array(table.T @ table), directed=False)
    rules = [np.flatnonzero(label == group) for group in range(num_groups)]
    return [(np.flatnonzero(table[:, members].any(axis=1)), members) for members in rules]


def _solve(table: Floats, counts: Floats, start: Floats) -> Floats:
    if len(table) == 1:
        return np.asarray(counts / (table[0] * counts.sum()))
    from scipy.optimize import minimize

    seen = counts > 0
    scale = counts.sum()

    def loss(p: Floats) -> tuple[float, Floats]:
        slope = np.zeros(len(p))
        slope[seen] = -counts[seen] / p[seen] / scale
        return float(-(counts[seen] * np.log(p[seen])).sum() / scale), slope

    found = minimize(  # type: ignore[call-overload]  # the stubs lack linear constraints with a constant Jacobian
        loss,
        start,
        jac=True,
        method="SLSQP",
        bounds=[(1e-9 if s else 0.0, 1.0) for s in seen],  # a parameter with counts is positive at the optimum
        constraints={"type": "eq", "fun": lambda p: table @ p - 1.0, "jac": lambda _: table},
        options={"maxiter": 500, "ftol": 1e-14},
    )
    return _feasible(table, np.clip(found.x, 0.0, 1.0))


def _feasible(table: Floats, p: Floats) -> Floats:
    """The nearest point that satisfies the sum-to-one constraints; zeros stay zero."""
    inside = p > 1e-12
    p = np.where(inside, p, 0.0)
    for _ in range(3):
        step, *_ = np.linalg.lstsq(table[:, inside], 1.0 - table @ p, rcond=None)
        p[inside] = np.clip(p[inside] + step, 0.0, 1.0)
    return p


def null_space(table: Floats) -> tuple[Ints, Floats]:
    r"""The free rules under $N p = 1$, and for each a direction that keeps all sums, one row each.

    >>> null_space(np.array([[1.0, 1.0]]))[1].tolist()
    [[-1.0, 1.0]]
    """
    from scipy.linalg import qr

    _, R, order = qr(table, mode="economic", pivoting=True)
    rank = int((np.abs(np.diag(R)) > 1e-10 * abs(R[0, 0])).sum())
    bound, free = order[:rank], np.sort(order[rank:])
    at = np.argsort(order, kind="stable")[free]
    directions = np.zeros((len(free), table.shape[1]))
    directions[np.arange(len(free)), free] = 1.0
    directions[:, bound] = -np.linalg.solve(R[:rank, :rank], R[:rank, at]).T
    return free.astype(np.int64), directions
