r"""Clique trees as contractions: every message is a chain of binary sums of products, and so is every gradient.

No table over a whole clique is made: its message $\sum_{C - S} \prod_i \phi_i$ is contracted pairwise, small
results
first. The reverse sweep follows each step $d = \sum a b$ with $\bar a = \sum \bar d\, b$ and $\bar b = \sum
\bar d\, a$; then
$t \bar t / Z$ is the marginal over the scope of any tensor $t$, without dividing by a message.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.base.lazy import lazy
from sepset.base.threads import NEVER, interruptible
from sepset.graphs.symbolic import SymbolicElimination
from sepset.inference import costs

Ranks = tuple[int, ...]
"""Variables by their place in the elimination order, ascending: also the axis order of every tensor."""

ONE = 0
"""The tensor that is the number one."""


@dataclass(frozen=True, eq=False)
class Groups:
    """The cliques of a tree in collect order: which one eliminates each variable, and the scope of its message.

    Attributes:
        group: for each rank the clique that eliminates it; -1 for kept variables.
        start, members: for each clique the ranks of its message, as compressed rows.
    """

    group: Ints
    start: Ints = field(repr=False)
    members: Ints = field(repr=False)

    @lazy
    def sepsets(self) -> tuple[Ranks, ...]:
        """For each clique the ranks of its message."""
        return tuple(_rows(self.start, self.members))


def _rows(start: Ints, members: Ints) -> list[Ranks]:
    flat = members.tolist()
    return [tuple(flat[i:j]) for i, j in itertools.pairwise(start.tolist())]


def tree_groups(elimination: SymbolicElimination, kept: int = 0) -> Groups:
    """The maximal cliques of an order, children before parents.

    Args:
        kept: the number of variables at the end of the order that are not eliminated.
    """
    from sepset.kernels.compiled.planning import maximal_cliques

    num = len(elimination.order) - kept
    return Groups(*maximal_cliques(elimination.start, elimination.scopes, elimination.absorbed, num))


@dataclass(frozen=True, eq=False)
class Contraction:
    """Tensors and the binary steps between them: a forward sweep, then a reverse sweep and reads.

    Attributes:
        weights: the number of states by rank.
        bounds, pool: the scope of each tensor, as compressed rows of ranks; the first tensor is the number one, then
            come the inputs.
        sizes: the entries of each tensor.
        rows: the steps as rows (result, first, second); a second of `ONE` only sums.
        roots: tensors whose product is the answer of the forward sweep.
        boxes: for each clique the tensors it multiplies, as compressed rows.
        reads: the tensors of the marginals of the targets, then of those over the factors asked for.
        num_inputs: the number of given tensors.
        num_forward: the number of steps of the forward sweep; -1 if it was not completed.
    """

    weights: Floats = field(repr=False)
    bounds: Ints = field(repr=False)
    pool: Ints = field(repr=False)
    sizes: Floats = field(repr=False)
    rows: Ints = field(repr=False)
    roots: Ints
    boxes: tuple[Ints, Ints] = field(repr=False)
    reads: Ints = field(repr=False)
    num_inputs: int
    num_forward: int

    @property
    def num_tensors(self) -> int:
        """The number of tensors."""
        return len(self.sizes)

    @lazy
    def cards(self) -> tuple[int, ...]:
        """The number of states by rank."""
        return tuple(self.weights.astype(np.int64).tolist())

    @lazy
    def scopes(self) -> list[Ranks]:
        """The scope of each tensor."""
        return _rows(self.bounds, self.pool)

    @lazy
    def steps(self) -> list[tuple[int, int, int]]:
        """(result, first, second); a second of `ONE` only sums."""
        return [(d, a, b) for d, a, b in self.rows.tolist()]

    @lazy
    def inboxes(self) -> list[Ranks]:
        """For each clique the tensors it multiplies."""
        start, tensors = self.boxes
        return _rows(start[:-1], tensors)

    def size(self, scope: Iterable[int]) -> int:
        """The number of joint states of a scope."""
        return math.prod(map(self.cards.__getitem__, scope))

    @property
    def entries(self) -> int:
        """The number of entries of all tensors together."""
        return int(np.add.reduce(self.sizes))


class Choice(NamedTuple):
    """Variables that are read back together, given others that were read before.

    Attributes:
        scope: the ranks that are known.
        tensors: those whose product, at the known values, is the weight of each joint state.
        residual: the ranks that are chosen.
        is_step: whether it is one of several for a clique.
    """

    scope: Ranks
    tensors: Ranks
    residual: Ranks
    is_step: bool = False


def choices(made: Contraction, groups: Groups) -> list[Choice]:
    r"""How all variables are drawn after the forward sweep, root first: by cliques, or by steps where a clique's joint
    states are many.

    A step $d = \bigoplus_u a\, b$ has only the states of the variables $u$ that it removes, which both operands have.
    """
    residuals = _residuals(groups)
    large = {g for g, ranks in enumerate(residuals) if made.size(ranks) > costs.STATES_READ_BY_CLIQUE}
    by_step = _step_choices(made, groups, large) if large else {}
    found: list[Choice] = []
    for g in reversed(range(len(residuals))):
        clique = Choice(groups.sepsets[g], made.inboxes[g], residuals[g])
        found += by_step[g] if g in large else [clique]
    return found


def mode_choices(made: Contraction, groups: Groups, *, work: float = math.inf) -> list[Choice]:
    """How a most probable assignment is read back, root first: by cliques, the variable eliminated last first.

    The lowest state of one variable after the other then depends on the order of elimination alone.

    Args:
        work: the products above which a clique with many joint states is read back by steps, which removed its
            variables in an order of their own.
    """
    residuals = _residuals(groups)
    large = {g for g, ranks in enumerate(residuals) if _is_long(made, ranks, made.inboxes[g], work)}
    by_step = _step_choices(made, groups, large) if large else {}
    found: list[Choice] = []
    for g in reversed(range(len(residuals))):
        parts = by_step[g] if g in large else [Choice(groups.sepsets[g], made.inboxes[g], residuals[g])]
        found += [choice._replace(residual=choice.residual[::-1], is_step=g in large) for choice in parts]
    return found


def _is_long(made: Contraction, residual: Ranks, tensors: Ranks, work: float) -> bool:
    size = made.size(residual)
    return size > costs.STATES_READ_BY_CLIQUE and size * len(tensors) > work


def _residuals(groups: Groups) -> list[Ranks]:
    """The ranks that each clique eliminates, ascending."""
    found: list[list[int]] = [[] for _ in groups.sepsets]
    for r, group in enumerate(groups.group.tolist()):
        if group >= 0:
            found[group].append(r)
    return [tuple(ranks) for ranks in found]


class Traceback(NamedTuple):
    """All choices as flat arrays, root first.

    Attributes:
        tensor_start, tensors: the tensors of each choice, as compressed rows.
        residual_start, residuals: the ranks that each chooses, as compressed rows.
        is_step: whether each is one of several for a clique.
        largest: the most joint states that are weighed together.
        passes: the number of products of all choices.
    """

    tensor_start: Ints
    tensors: Ints
    residual_start: Ints
    residuals: Ints
    is_step: Bytes
    largest: int
    passes: int


def traceback(made: Contraction, groups: Groups, *, work: float = math.inf) -> Traceback:
    """The choices of `mode_choices`, from the arrays of cliques if each is read back as a whole."""
    num = len(groups.start) - 1
    ranks = np.flatnonzero(groups.group >= 0)[::-1]
    behind = num - 1 - groups.group[ranks]  # cliques counted from the root
    states = np.bincount(behind, np.log2(made.weights[ranks]), num)
    if num and states.max() > math.log2(costs.STATES_READ_BY_CLIQUE) - 1e-9:
        return _listed(made, mode_choices(made, groups, work=work))
    start, boxes = made.boxes[0][: num + 1], made.boxes[1]
    counts = np.diff(start)[::-1]
    tensor_start = _bounds(counts)
    tensors = boxes[np.repeat(start[:-1][::-1] - tensor_start[:-1], counts) + np.arange(tensor_start[-1])]
    residuals = ranks[np.argsort(behind, kind="stable")]
    sizes = np.rint(2.0**states)
    largest, passes = int(sizes.max(initial=1.0)), int((sizes * counts).sum())
    bounds = _bounds(np.bincount(behind, minlength=num))
    return Traceback(tensor_start, tensors, bounds, residuals, np.zeros(num, np.uint8), largest, passes)


def _listed(made: Contraction, found: list[Choice]) -> Traceback:
    sizes = [made.size(choice.residual) for choice in found]
    return Traceback(
        _bounds(np.array([len(choice.tensors) for choice in found], np.int64)),
        np.array([t for choice in found for t in choice.tensors], np.int64),
        _bounds(np.array([len(choice.residual) for choice in found], np.int64)),
        np.array([r for choice in found for r in choice.residual], np.int64),
        np.array([choice.is_step for choice in found], np.uint8),
        max(min(max(sizes, default=1), costs.STATES_READ_BY_CLIQUE), max(made.cards, default=1)),
        min(sum(size * len(choice.tensors) for size, choice in zip(sizes, found, strict=True)), 2**62),
    )


def _bounds(counts: Ints) -> Ints:
    """The bounds of compressed rows of these lengths."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


def _step_choices(made: Contraction, groups: Groups, cliques: Collection[int]) -> dict[int, list[Choice]]:
    """For each of these cliques its steps that remove variables, the last first."""
    found: dict[int, list[Choice]] = {g: [] for g in cliques}
    for d, a, b in reversed(made.steps[: made.num_forward]):
        removed = sorted({*made.scopes[a], *made.scopes[b]}.difference(made.scopes[d]))
        if removed and int(groups.group[removed[0]]) in found:
            tensors = (a,) if b == ONE else (a, b)
            found[int(groups.group[removed[0]])].append(Choice(made.scopes[d], tensors, tuple(removed)))
    return found


class Inputs(NamedTuple):
    """The inputs of a contraction.

    Attributes:
        start, members: the scopes of all factors, as compressed rows of variables.
        numbers: the numbers of the factors used.
        rank: the place of each variable in the order; -1 if it is not in it.
        touched: ranks with a likelihood, which come after the factors; last comes a tensor of ones for each rank in no
            scope.
    """

    start: Ints
    members: Ints
    numbers: Ints
    rank: Ints
    touched: Ints


def contract(
    inputs: Inputs,
    cards: Floats,
    groups: Groups,
    *,
    kept: Ints | None = None,
    targets: Ints | None = None,
    num_factors: int = 0,
    limit: float = math.inf,
) -> Contraction:
    r"""The forward sweep, cliques in collect order, each contracted to its sepset; and the reverse sweep if anything is
    read.

    The adjoint of a tensor is $\partial Z / \partial t$, without the variables it does not depend on. A target is read
    from the smallest tensor of the forward sweep with it in scope.

    Args:
        cards: the number of states by rank.
        groups: the cliques.
        kept: ranks that are not eliminated: the scope of the only root.
        targets: ranks whose marginals are wanted.
        num_factors: the number of inputs, from the first, whose marginal over their own scope is wanted.
        limit: the entries of all results from which the contraction is not completed: then it has -1 forward steps.

    Reference: Koller & Friedman, algorithm 10.1; the pairwise order is greedy on the growth of results.
    Guarantee: exact; exact; nothing is divided.
    Tested by: inference/test_method.py::test_every_answer_is_what_was_promised,
        inference/compiled/test_gradients.py::test_gradient_of_the_log_partition_function
    """
    return _traced(inputs, cards, groups, NO_TREE, _Ends.of(kept, targets, num_factors), limit)[0]


class Products(NamedTuple):
    """A binary tree of products, each summed over the variables that nothing else has in scope.

    Attributes:
        rows: the operands of each product, which come before it; the inputs have the first numbers.
        num_members: the number of variables in the scopes of all products together.
    """

    rows: Ints
    num_members: int


NO_TREE = Products(np.zeros((0, 2), np.int64), 0)


def follow(
    inputs: Inputs,
    cards: Floats,
    tree: Products,
    *,
    kept: Ints | None = None,
    targets: Ints | None = None,
    num_factors: int = 0,
    limit: float = math.inf,
) -> tuple[Contraction, Groups]:
    """The contraction along a given tree; each step that removes variables is then a clique.

    Args:
        tree: its products, at least one.
        cards, kept, targets, num_factors, limit: as those of `contract`.

    Guarantee: exact; exact; nothing is divided.
    Tested by: inference/compiled/test_treesearch.py::test_every_tree_gives_the_sums_over_all_states
    """
    none = np.zeros(0, np.int64)
    no_cliques = Groups(np.full(len(cards), -1, np.int64), np.zeros(1, np.int64), none)
    return _traced(inputs, cards, no_cliques, tree, _Ends.of(kept, targets, num_factors), limit)


class _Ends(NamedTuple):
    """The ends of the sweeps: the ranks kept, those whose marginals are read, and the number of factors read."""

    kept: Ints
    targets: Ints
    num_factors: int

    @classmethod
    def of(cls, kept: Ints | None, targets: Ints | None, num_factors: int) -> _Ends:
        none = np.zeros(0, np.int64)
        return cls(none if kept is None else kept, none if targets is None else targets, num_factors)


def _traced(
    inputs: Inputs, cards: Floats, groups: Groups, tree: Products, ends: _Ends, limit: float
) -> tuple[Contraction, Groups]:
    from sepset.kernels.compiled import steps

    cliques, most = (groups.group, groups.start, groups.members), float(limit)

    def trace(cancel: Bytes) -> tuple[Ints, Ints, Floats, Ints, Ints, Ints, Ints, Ints, int, int, Ints, Ints, Ints]:
        return steps.trace(*inputs, cards, *cliques, *ends, *tree, most, cancel)

    is_long = len(inputs.numbers) > costs.FACTORS_UNINTERRUPTED
    found = interruptible(trace) if is_long else trace(NEVER)
    bounds, pool, sizes, rows, roots, box_start, boxes, reads, num_inputs, num_forward, *made = found
    boxed = box_start, boxes
    groups = Groups(*made) if len(tree.rows) else groups
    return Contraction(cards, bounds, pool, sizes, rows, roots, boxed, reads, num_inputs, num_forward), groups
