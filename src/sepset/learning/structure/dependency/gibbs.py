r"""Ordered pseudo-Gibbs sampling: each variable in turn is drawn from its CPD, given the current states of the others.

Marginals average the distributions that variables are drawn from, which has less variance than counting states:

$$\hat P(x_i) = \frac1T \sum_t P_i(x_i \mid \mathbf{pa}_i^{(t)})$$
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.base.checks import generator, whole
from sepset.base.memory import check_rows_fit
from sepset.base.threads import interruptible
from sepset.cpds.discrete import draw
from sepset.errors import NotApplicable, TooLarge
from sepset.factors.table import Table
from sepset.inference.iterate import Info, Until, as_until, run
from sepset.inference.result import Guarantee, Guarantees, IterativeResult, MarginalsResult, QueryResult
from sepset.kernels.structure.pseudogibbs import sweep
from sepset.learning.structure.averaging.chains import r_hat
from sepset.learning.structure.dependency.flattrees import FlatTrees
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete

NUM_BLOCKS = 20
"""The number of parts that the sweeps of a chain are in; their means give standard errors."""

MOST_JOINT = 1 << 20
"""The largest number of joint states of the targets."""

LARGEST_R_HAT = 1.5
"""The R-hat of block means above which chains disagree; the largest of many is above one by chance."""

ESTIMATED: Guarantees = {"marginals": Guarantee.ESTIMATE}


class Conditionals(Protocol):
    """A network of one CPD per variable."""

    @property
    def cpds(self) -> tuple[Any, ...]:
        """The CPDs."""

    @property
    def variables(self) -> Universe:
        """The variables, in order."""


class Question(NamedTuple):
    """The variables that are asked about, those that are observed, and those that must be drawn.

    Attributes:
        net: the CPDs.
        targets: the places of the variables whose joint distribution is counted; empty for all marginals.
        known: observed codes by place.
        free: the places to draw, in order.
    """

    net: Conditionals
    targets: tuple[int, ...]
    known: Mapping[int, int]
    free: Ints

    @classmethod
    def about(cls, net: Conditionals, targets: Sequence[int], known: Mapping[int, int]) -> Question:
        """The question, with only those variables free that the targets depend on."""
        variables = net.variables
        if len(set(targets)) < len(targets):
            raise NotApplicable("A variable is asked about twice. Name each target once.")
        size = math.prod(int(variables.cards[v]) for v in targets)
        if size > MOST_JOINT:
            raise TooLarge(f"The targets have {size:,} joint states; the most is {MOST_JOINT:,}. Ask about fewer.")
        parents = [tuple(variables.id(p) for p in cpd.parents) for cpd in net.cpds]
        waiting, needed = list(targets or range(len(variables))), set[int]()
        while waiting:
            v = waiting.pop()
            if v not in known and v not in needed:
                needed.add(v)
                waiting += parents[v]
        return cls(net, tuple(targets), known, np.array(sorted(needed), np.int64))

    @property
    def offsets(self) -> Ints:
        """The place of each variable's states among those of all variables."""
        cards = np.asarray(self.net.variables.cards, np.int64)
        return np.concatenate([[0], np.cumsum(cards)]).astype(np.int64)


class GibbsState(NamedTuple):
    """The states of the chains, and what the blocks of sweeps so far have added up.

    Attributes:
        codes: one row per chain.
        sums: mean distributions, by block, chain and state.
        counts: shares of the targets' joint states, by block, chain and joint state.
    """

    codes: Ints
    sums: Floats
    counts: Floats


@dataclass(frozen=True, slots=True)
class PseudoGibbs:
    r"""Pseudo-Gibbs sampling in several chains that start at random states.

    Args:
        num_sweeps: the number of sweeps of each chain that count.
        burn_in: the number before these.
        num_chains: the number of chains.

    Reference: Heckerman et al. (2000); Koller & Friedman, section 12.3.
    Guarantee: an estimate, with standard errors of block means; of the joint if the CPDs are its conditionals.
    Tested by: learning/structure/dependency/test_gibbs.py::test_the_stationary_distribution_is_estimated

    >>> PseudoGibbs(500)
    PseudoGibbs(num_sweeps=500, burn_in=200, num_chains=4)
    """

    num_sweeps: int = 2_000
    _: KW_ONLY
    burn_in: int = 200
    num_chains: int = 4

    def __post_init__(self) -> None:
        whole("PseudoGibbs(num_sweeps=)", self.num_sweeps, least=NUM_BLOCKS)
        whole("PseudoGibbs(burn_in=)", self.burn_in, least=0)
        whole("PseudoGibbs(num_chains=)", self.num_chains, least=1)

    def run(self, question: Question, seed: Any, *, until: object = None, progress: bool | None = None) -> Chains:
        """The chains after all blocks, or as many as `until` allows."""
        rule = as_until(until, Until(steps=NUM_BLOCKS, tolerance=None))
        sampler = _Sampler(self, question)
        found: Chains = run(sampler, question, rng=generator(seed), until=rule, progress=progress).result(
            sampler, question
        )
        return found

    def rows(self, question: Question, num_rows: int, *, seed: Any) -> Ints:
        """The states after sweeps, the chains by turns, as rows of codes."""
        check_rows_fit(whole("num_rows", num_rows), 8 * len(question.net.variables))
        rng, sampler = generator(seed), _Sampler(self, question)
        codes = sampler.started(rng)
        rounds = -(-num_rows // self.num_chains)
        found = np.zeros((rounds, *codes.shape), np.int64)
        for step in range(rounds):
            sampler.swept(codes, 1, rng)
            found[step] = codes
        return found.reshape(rounds * self.num_chains, codes.shape[-1])[:num_rows]


@dataclass(frozen=True, eq=False)
class Chains(IterativeResult):
    """The estimates of chains.

    Attributes:
        question: the question that was asked.
        sampled: what the blocks added up.
        settings: how it was sampled.
    """

    question: Question
    sampled: GibbsState = field(repr=False)
    settings: PseudoGibbs

    def joint(self) -> QueryResult:
        """The distribution of the targets; of a single one that is drawn, by the mean of what it is drawn from."""
        question, variables = self.question, self.question.net.variables
        scope = _discrete(variables, question.targets)
        parts = self.sampled.counts
        if len(question.targets) == 1 and question.targets[0] in question.free:
            first, last = question.offsets[question.targets[0] :][:2]
            parts = self.sampled.sums[:, :, first:last]
        values = parts.mean((0, 1))
        table = Table(scope, (values / values.sum()).reshape([v.num_states for v in scope]))
        return QueryResult(
            table, math.nan, method=self.settings, guarantees=ESTIMATED, status=self.status, info=self._about(parts)
        )

    def marginals(self) -> MarginalsResult:
        """The marginal of every variable; those that are observed are certain."""
        question, variables, means = self.question, self.question.net.variables, self.sampled.sums.mean((0, 1))
        offsets, free = question.offsets, question.free.tolist()

        def read(place: int) -> Table:
            values = means[offsets[place] : offsets[place + 1]].copy()
            if place in question.known:
                values[question.known[place]] = 1.0
            return Table(_discrete(variables, (place,)), values / values.sum())

        drawn = np.concatenate([np.arange(offsets[v], offsets[v + 1]) for v in free] or [np.zeros(0, np.int64)])
        about = self._about(self.sampled.sums[:, :, drawn])
        return MarginalsResult(
            {variable.name: v for v, variable in enumerate(variables)}, read, log_partition=None,
            method=self.settings, guarantees=ESTIMATED, status=self.status, info=about,
        )  # fmt: skip

    def _about(self, parts: Floats) -> dict[str, object]:
        """The largest standard error and R-hat, and the sweeps."""
        blocks, chains = parts.shape[:2]
        flat = parts.reshape(blocks * chains, -1)
        errors = flat.std(0, ddof=1) / np.sqrt(len(flat)) if len(flat) > 1 else np.full(flat.shape[1], np.nan)
        hat = max((r_hat(parts[:, :, k].T) for k in np.argsort(-errors, kind="stable")[:50]), default=math.nan)
        if hat > LARGEST_R_HAT:
            warnings.warn(
                f"The chains disagree (R-hat {hat:.2f}): pseudo-Gibbs sampling moves slowly here, and standard errors "
                "are too small. Increase PseudoGibbs(num_sweeps=, burn_in=).",
                RuntimeWarning,
                stacklevel=4,
            )
        block = self.settings.num_sweeps // NUM_BLOCKS
        return {
            "standard_error": float(errors.max(initial=0.0)),
            "r_hat": hat,
            "sweeps": blocks * block * chains,
            "standard_errors": errors,
        }


class _Sampler:
    """The steps of a run: one block of sweeps of every chain."""

    def __init__(self, settings: PseudoGibbs, question: Question) -> None:
        self.settings, self.question = settings, question
        self.trees = FlatTrees.of(question.net.cpds, question.net.variables)
        self.cards = np.asarray(question.net.variables.cards, np.int64)

    def started(self, rng: np.random.Generator) -> Ints:
        """Random states, after the burn-in."""
        codes = rng.integers(0, self.cards, (self.settings.num_chains, len(self.cards)))
        for place, code in self.question.known.items():
            codes[:, place] = code
        codes = np.ascontiguousarray(codes, np.int64)
        self.swept(codes, self.settings.burn_in, rng)
        return codes

    def init(self, task: Question, rng: np.random.Generator) -> GibbsState:
        """The chains before the first block."""
        chains, size = self.settings.num_chains, math.prod(int(self.cards[v]) for v in task.targets)
        empty = np.zeros((0, chains, int(self.cards.sum())))
        return GibbsState(self.started(rng), empty, np.zeros((0, chains, size if task.targets else 0)))

    def step(self, task: Question, state: GibbsState, rng: np.random.Generator) -> tuple[GibbsState, Info]:
        """One block more."""
        codes, num = state.codes.copy(), self.settings.num_sweeps // NUM_BLOCKS
        sums, joint = self.swept(codes, num, rng)
        size = state.counts.shape[2]
        counts = np.array([np.bincount(one, minlength=size)[:size] for one in joint]) / num
        after = GibbsState(
            codes, np.concatenate([state.sums, sums[None] / num]), np.concatenate([state.counts, counts[None]])
        )
        rest = 1.0 - len(after.sums) / NUM_BLOCKS
        return after, Info(float(len(after.sums)), math.inf, is_done=rest <= 0, rest=rest)

    def read(self, task: Question, state: GibbsState) -> Chains:
        """The estimates so far."""
        if not len(state.sums):
            raise NotApplicable("The run stopped before its first block of sweeps. Allow more time.")
        return Chains(task, state, self.settings, method=self.settings, guarantees=ESTIMATED)

    def swept(self, codes: Ints, num: int, rng: np.random.Generator) -> tuple[Floats, Ints]:
        """Sweeps of every chain, whose codes change: sums of distributions, and joint states of the targets."""
        chains, free = len(codes), self.question.free
        sums, joint = np.zeros((chains, int(self.cards.sum()))), np.zeros((chains, num), np.int64)
        uniforms = rng.random((chains, num, len(free)))
        if self.trees is None:
            self._together(codes, uniforms, sums, joint)
            return sums, joint
        trees, offsets, targets = self.trees, self.question.offsets, np.array(self.question.targets, np.int64)

        def work(cancel: Bytes) -> None:
            for c in range(chains):
                sweep(codes[c], free, *trees, uniforms[c], offsets, sums[c], targets, joint[c], cancel)

        interruptible(work)
        return sums, joint

    def _together(self, codes: Ints, uniforms: Floats, sums: Floats, joint: Ints) -> None:
        """The same for CPDs of any form, all chains at once."""
        net, offsets = self.question.net, self.question.offsets
        variables = net.variables
        for t in range(uniforms.shape[1]):
            for k, v in enumerate(self.question.free.tolist()):
                rows = {p: codes[:, variables.id(p)] for p in net.cpds[v].parents}
                found = net.cpds[v].probabilities(rows, len(codes))
                codes[:, v] = draw(found, np.arange(len(codes)), uniforms[:, t, k])
                sums[:, offsets[v] : offsets[v + 1]] += found
            for v in self.question.targets:
                joint[:, t] = joint[:, t] * self.cards[v] + codes[:, v]


def _discrete(variables: Universe, places: Sequence[int]) -> tuple[Discrete, ...]:
    return tuple(variables[place] for place in places)  # type: ignore[misc]  # as a network checks


def exact_row(net: Conditionals, targets: Sequence[int], known: Mapping[int, int]) -> QueryResult | None:
    """The distribution of one target whose parents are all observed: the row of its CPD; None otherwise."""
    if len(targets) != 1 or targets[0] in known:
        return None
    cpd = net.cpds[targets[0]]
    places = {p: net.variables.id(p) for p in cpd.parents}
    if not all(place in known for place in places.values()):
        return None
    row = cpd.probabilities({p: np.array([known[place]]) for p, place in places.items()}, 1)[0]
    exact = {"marginals": Guarantee.EXACT}
    return QueryResult(Table(cpd.child, row), math.nan, method="its CPD", guarantees=exact)
