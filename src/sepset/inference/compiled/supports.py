"""The executor over supports: if tables are mostly zeros, only products that can be positive are computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints, UInt32s
from sepset.base.cache import Cache
from sepset.base.threads import interruptible
from sepset.inference import costs
from sepset.inference.compiled.domains import Domains
from sepset.inference.compiled.question import Question
from sepset.inference.compiled.run import Run
from sepset.inference.compiled.store import FactorStore, FactorValues, near_one
from sepset.variables.evidence import Evidence


@dataclass(frozen=True, eq=False)
class SupportProgram:
    """The forward sweep of a question as triples of entries.

    Attributes:
        tensors: the start of each tensor's entries in a workspace, and the end.
        steps: rows of result, first and second.
        pairs: places of a and b, by the entry of the result.
        bounds: the start of each entry's pairs, and the end.
        sources: for each entry of a factor its place in the store, with all findings at state 0.
        owner: for each of these the index of its factor among the inputs.
        findings: rows of factor, finding and stride: the shift of a factor's places by a finding's code.
        reads: entry and place in the answer: the terms of single marginals.
        root_cells: the cells of the first root in its scope.
    """

    question: Question = field(repr=False)
    tensors: Ints = field(repr=False)
    steps: Ints = field(repr=False)
    pairs: tuple[UInt32s, UInt32s] = field(repr=False)
    bounds: Ints = field(repr=False)
    sources: Ints = field(repr=False)
    owner: Ints = field(repr=False)
    findings: Ints = field(repr=False)
    reads: tuple[Ints, Ints] = field(repr=False)
    root_cells: Ints = field(repr=False)

    @property
    def num_triples(self) -> int:
        """Multiplications of the forward sweep."""
        return len(self.pairs[0])

    def run(self, values: FactorValues, evidence: Evidence) -> SupportRun:
        """A run of the program with these findings; with the reverse sweep if single marginals are read."""
        from sepset.kernels.compiled.triples import run_triples

        question = self.question
        w, g = np.ones(int(self.tensors[-1])), np.empty(int(self.tensors[-1]) if question.reads_singles else 0)
        exponents = self._filled(w, values.store, evidence)
        program = self.steps, self.tensors, *self.pairs, self.bounds
        roots = question.contraction.roots

        def run(cancel: Bytes) -> tuple[float, bool]:
            return run_triples(w, g, *program, exponents, roots, len(g) > 0, cancel)

        is_long = self.num_triples > costs.TRIPLES_UNINTERRUPTED
        log_partition, is_wide = interruptible(run) if is_long else run(np.zeros(1, np.uint8))
        return SupportRun(self, w, g, evidence, log_partition, is_wide)

    def _filled(self, w: Floats, store: FactorStore, evidence: Evidence) -> Ints:
        """Fill a workspace with the factors at the findings and the likelihoods; the power of two of each tensor."""
        question = self.question
        exponents = np.zeros(len(self.tensors) - 1, np.int64)
        exponents[1 : len(question.numbers) + 1] = store.exponents[question.numbers]
        moved = np.zeros(len(question.numbers), np.int64)
        np.add.at(moved, self.findings[0], question.codes(evidence)[self.findings[1]] * self.findings[2])
        w[1 : 1 + len(self.sources)] = store.values[self.sources + moved[self.owner]]
        for place, v in enumerate(question.touched, start=len(question.numbers) + 1):
            w[self.tensors[place] : self.tensors[place + 1]], exponents[place] = near_one(evidence.weights[v])
        return exponents


class SupportRun(Run):
    """The entries of every support after a run.

    Attributes:
        is_wide: whether some range was too wide for linear arithmetic; then nothing can be read.
    """

    __slots__ = ("_evidence", "_g", "_program", "_w", "is_wide", "log_partition", "question")

    def __init__(
        self, program: SupportProgram, w: Floats, g: Floats, evidence: Evidence, log_partition: float, is_wide: bool
    ) -> None:
        self.question = program.question
        self.log_partition = log_partition
        self.is_wide = is_wide
        self._program, self._w, self._g, self._evidence = program, w, g, evidence

    def __exit__(self, *_: object) -> None:
        """Nothing to return: the workspace belongs to the run."""

    def joint(self) -> Floats:
        """The normalized joint over the kept variables, flat in rank order."""
        made, tensors = self.question.contraction, self._program.tensors
        root = int(made.roots[0])
        flat = np.zeros(int(made.sizes[root]))
        flat[self._program.root_cells] = self._w[tensors[root] : tensors[root + 1]]
        return np.asarray(flat / flat.sum())

    def singles(self) -> Floats:
        """All single marginals, concatenated at the question's `places`; findings are point masses."""
        question, (entries, places) = self.question, self._program.reads
        found = np.bincount(places, self._w[entries] * self._g[entries], question.width).astype(np.float64, copy=False)
        starts, sizes = question.program.reads[:, 1], question.program.reads[:, 2]
        if len(starts):
            totals = np.add.reduceat(found, starts)
            found /= np.repeat(np.where(totals > 0.0, totals, 1.0), sizes)
        for v in question.observed:
            found[question.places[v]][self._evidence.codes[v]] = 1.0
        found.setflags(write=False)
        return found


def support_program(question: Question, store: FactorStore, most: float = costs.MOST_TRIPLES) -> SupportProgram | None:
    """The program of a question over the supports of a store's factors; None if it takes more than `most` triples.

    It is valid for all findings: a cell is in a factor's support if it is positive for some of them.

    Guarantee: exact.
    Tested by: inference/compiled/test_supports.py::test_every_question
    """
    from sepset.kernels.compiled.triples import join_step

    made, cards = question.contraction, question.contraction.weights.astype(np.int64)
    scopes = [np.array(scope, dtype=np.int64) for scope in made.scopes]
    cells, sources = _supports(question, store)
    sizes = [len(part) for part in cells]
    joined: list[tuple[Ints, Ints, Ints]] = []
    left = int(most)
    for d, a, b in made.steps[: made.num_forward]:
        first, second, counts, found = join_step(cells[a], scopes[a], cells[b], scopes[b], scopes[d], cards, left)
        if not len(found):
            return None
        joined.append((first, second, counts))
        left -= len(first)
        cells += [None] * (d + 1 - len(cells))  # type: ignore[list-item]  # filled as steps come
        cells[d] = found
    sizes = [0 if part is None else len(part) for part in cells]
    return _laid_out(question, cells, sizes, sources, joined)


def _supports(question: Question, store: FactorStore) -> tuple[list[Ints], list[Ints]]:
    """The cells of the tensor one and of every input, and for each factor the places of its cells in the store."""
    from sepset.kernels.compiled.triples import input_support

    made = question.contraction
    rank = np.full(len(question.cards), -1, np.int64)
    rank[question.order] = np.arange(len(question.order))
    cards = np.array(question.cards, dtype=np.int64)
    cells, sources = [np.zeros(1, np.int64)], []
    for number in question.numbers.tolist():
        own, places = input_support(*store.rows, store.layout.offsets[number], store.values, cards, rank, number)
        cells.append(own)
        sources.append(places)
    cells += [np.arange(int(made.sizes[t])) for t in range(len(cells), made.num_inputs + 1)]
    return cells, sources


def _laid_out(
    question: Question,
    cells: list[Ints],
    sizes: list[int],
    sources: list[Ints],
    joined: list[tuple[Ints, Ints, Ints]],
) -> SupportProgram:
    """The program with every tensor at its place in one workspace."""
    made = question.contraction
    tensors = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    rows = made.rows[: made.num_forward]
    counts = np.zeros(int(tensors[-1]), np.int64)
    for (_, _, own), (d, _, _) in zip(joined, rows, strict=True):
        counts[tensors[d] : tensors[d + 1]] = own
    bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def placed(side: int) -> UInt32s:
        flat = np.empty(int(bounds[-1]), np.uint32)
        for part, row in zip(joined, rows, strict=True):
            flat[bounds[tensors[row[0]]] : bounds[tensors[row[0] + 1]]] = part[side] + tensors[row[1 + side]]
        return flat

    flat = np.concatenate(sources) if sources else np.zeros(0, np.int64)
    owner = np.repeat(np.arange(len(sources)), [len(part) for part in sources])
    roots = made.roots
    first_root = cells[int(roots[0])] if len(roots) else np.zeros(1, np.int64)
    return SupportProgram(
        question,
        tensors,
        rows,
        (placed(0), placed(1)),
        bounds,
        flat,
        owner,
        _findings(question),
        _reads(question, cells, tensors),
        first_root,
    )


def _findings(question: Question) -> Ints:
    """The strides of findings in factors: rows of factor, finding and stride."""
    counts, fixed = question.program.num_fixed, question.program.fixed
    factor = np.repeat(np.arange(len(counts)), counts)
    return np.stack([factor, fixed[0], fixed[1]])


def _reads(question: Question, cells: list[Ints], tensors: Ints) -> tuple[Ints, Ints]:
    """Which entries are summed at which place of the single marginals: those of the smallest tensor with the target."""
    made = question.contraction
    home: dict[int, int] = {}
    for t in range(1, len(cells)):
        for r in made.scopes[t]:
            if r not in home or len(cells[t]) < len(cells[home[r]]):
                home[r] = t
    entries, places = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    rank = {v: r for r, v in enumerate(question.ids)}
    for v in question.targets.tolist():
        t = home[rank[v]]
        scope = made.scopes[t]
        inner = made.size(scope[scope.index(rank[v]) + 1 :])
        codes = cells[t] // inner % made.cards[rank[v]]
        entries.append(tensors[t] + np.arange(len(codes)))
        places.append(question.places[v].start + codes)
    return np.concatenate(entries), np.concatenate(places)


class Supports:
    """Programs over supports by question: considered once, after some uses or at the first.

    Args:
        domains: the zeros shared by the values of all runs.
        claim: whether all values will have these zeros, if a program is made that needs them.
        at_once: make the program at the first use, at any cost.
    """

    def __init__(self, domains: Domains, claim: Callable[[], bool], *, at_once: bool) -> None:
        self._domains, self._claim, self._at_once = domains, claim, at_once
        self._tiers: Cache[_Tier] = Cache()

    def program(self, question: Question) -> SupportProgram | None:
        """The program to run instead of the dense one, or None."""
        if question.is_shared:
            return None
        tier = self._tiers.get(question, _Tier)
        if tier.uses < costs.USES_BEFORE_SUPPORTS:
            with tier.lock:
                self._look(question, tier)
        return tier.found

    def _look(self, question: Question, tier: _Tier) -> None:
        tier.uses = costs.USES_BEFORE_SUPPORTS if self._at_once else tier.uses + 1
        if tier.uses == costs.USES_BEFORE_SUPPORTS:
            if self._at_once:
                tier.found = support_program(question, self._domains.store_over(question.states))
            else:
                found = _cheaper(question, self._domains)
                tier.found = found if found is not None and self._claim() else None


class _Tier:
    """The number of uses of a question, and its program over supports, if any."""

    def __init__(self) -> None:
        self.uses, self.lock = 0, Lock()
        self.found: SupportProgram | None = None

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled as one that was never used."""
        return _Tier, ()


def _cheaper(question: Question, domains: Domains) -> SupportProgram | None:
    """The program over supports if it is estimated to be faster than the dense one; otherwise None.

    A dense run computes only what depends on changed findings.
    """
    if question.program.work < costs.WORK_FOR_SUPPORTS or not (question.observed or question.touched):
        return None
    store = domains.store_over(question.states)
    if (store.values == 0.0).mean() < costs.ZEROS_FOR_SUPPORTS:
        return None
    sweeps = 3 if len(question.targets) else 1
    dense = costs.SHARE_OF_CHANGED_WORK * question.program.work * costs.DENSE_NANOSECONDS
    most = dense / (sweeps * costs.TRIPLE_NANOSECONDS)
    return support_program(question, store, min(costs.MOST_FAST_TRIPLES, most))
