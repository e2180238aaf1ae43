"""Beam search: the partial assignments of largest bound, variable by variable."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.base.checks import whole
from sepset.base.threads import interruptible
from sepset.errors import TooLarge
from sepset.inference.assignment import AssignmentTask, Found, best_of
from sepset.inference.map.coordinates import improved
from sepset.inference.map.minibuckets import MiniBuckets
from sepset.inference.result import Guarantee, Status
from sepset.kernels.map.branching import Buckets, level

MOST_KEPT = 2**22
"""The largest number of partial assignments."""


@dataclass(frozen=True)
class BeamSearch:
    """The best of the assignments that a beam keeps: variable by variable, the partial ones of largest bound.

    Bounds are those of mini-buckets. The largest bound among those that were dropped bounds all assignments; with
    `width=math.inf` none is dropped but impossible ones, and the answer is exact.

    Args:
        width: the number of partial assignments that are kept, or `math.inf`.
        entries: the most entries of a mini-bucket's table: more give better bounds.

    Cost: the width times the number of states and factors.
    Reference: Koller & Friedman, section 13.7 and appendix A.4.2.
    Guarantee: upper bound; exact if it is reached.
    Tested by: inference/map/test_beam.py::test_wide_beams_are_exact

    >>> import sepset as ss
    >>> found = ss.map_assignment(ss.datasets.load("asia"), method=ss.inference.BeamSearch(width=3))
    >>> round(float(np.exp(found.log_value)), 4), found.guarantees["assignment"]
    (0.2904, EXACT)
    """

    width: float = 100
    entries: int = 2**10

    def __post_init__(self) -> None:
        if self.width != math.inf:
            whole("BeamSearch(width=)", self.width, least=1, otherwise="math.inf")
        whole("BeamSearch(entries=)", self.entries, least=1)

    def assign(self, task: AssignmentTask) -> Found:
        """The best assignment that is left at the end, and the bound of what was dropped."""
        task.require_all(self)
        task.require_no_checkpoint(self)
        task.wiring.require_tables(self)
        wiring = task.wiring.consistent
        messages = np.zeros(int(wiring.wires.messages[-1]))
        with task.limited():
            made = MiniBuckets.of(wiring, messages, entries=self.entries)
            kept, values, dropped = interruptible(lambda cancel: self._searched(made, cancel), is_partial=True)
        codes, is_whole = task.first_codes().copy(), kept.shape[1] == len(made.order)
        if len(kept):
            codes[made.order[: kept.shape[1]]] = kept[int(np.argmax(values))]
        best, value = best_of([codes, improved(wiring, codes)], wiring)
        return Found(
            best[None],
            (value,),
            bound=max(dropped, level(float(values.max(initial=-np.inf)))),
            guarantee=Guarantee.HEURISTIC,
            status=Status.COMPLETED if is_whole or not len(kept) else Status.TIME_LIMIT,
            info={"dropped": dropped > -np.inf},
        )

    def _searched(self, made: MiniBuckets, cancel: Bytes) -> tuple[Ints, Floats, float]:
        """The full assignments of the beam in search order, their values, and the largest bound of dropped ones."""
        kept, values, dropped = np.zeros((1, 0), np.int64), np.array([made.root]), -math.inf
        if made.root == -math.inf:
            return kept[:0], values[:0], dropped
        for d, card in enumerate(made.buckets.cards.tolist()):
            if cancel[0]:
                break
            if len(kept) * card > MOST_KEPT:
                raise TooLarge(
                    f"BeamSearch(width={self.width}) keeps more than {MOST_KEPT:,} assignments. Use a width."
                )
            after = _branches(made.buckets, d, kept, values).reshape(-1)
            listed = np.argsort(-after, kind="stable")
            listed = listed[after[listed] > -np.inf]
            most = len(listed) if self.width == math.inf else int(self.width)
            if len(listed) > most:
                dropped = max(dropped, float(after[listed[most]]))
            listed = listed[:most]
            kept = np.column_stack([kept[listed // card], listed % card])
            values = after[listed]
        return kept, values, dropped


def _branches(buckets: Buckets, d: int, kept: Ints, values: Floats) -> Floats:
    """The bounds of assignments with each state of variable `d` added: one row per assignment."""
    states = np.arange(int(buckets.cards[d]))
    found = np.repeat(values[:, None], len(states), axis=1)
    for g in range(int(buckets.starts[d]), int(buckets.starts[d + 1])):
        terms = slice(int(buckets.terms[g]), int(buckets.terms[g + 1]))
        at = buckets.places[g] + kept[:, buckets.depths[terms]] @ buckets.steps[terms]
        found += buckets.signs[g] * buckets.tables[at[:, None] + states * buckets.own[g]]
    return found
