r"""Contraction trees rearranged: from the products of a forward sweep to cheaper ones with the same sums.

The order of elimination fixes cliques, and within them products are chosen greedily. Where the steps are expensive, the
binary tree of all products is searched for one of a smaller estimated time

$$\sum_{\text{steps } d = \sum a\,b} c_\times\, |\mathbf S_a \cup \mathbf S_b| + c_e (|a| + |b| + |d|) + c_s,$$

derivatives included: first downhill, then by simulated annealing (Kalachev, Panteleev & Yung, 2021), for a share of
that time. The search counts rotations, not seconds, so that equal questions have equal trees.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.base.threads import NEVER, interruptible
from sepset.inference import costs
from sepset.inference.compiled.contraction import Contraction, Products

SEED = 1


class Found(NamedTuple):
    """A tree, and the estimated nanoseconds of its steps and of those of the first tree."""

    tree: Products
    cost: float
    first: float


class Given(NamedTuple):
    """The constants of a search: the leaves' scopes as words, which of them have derivatives, the variables
    kept, the products of numbers of states by byte, and the rates."""

    scopes: Ints
    asked: Bytes
    kept: Ints
    products: Floats
    rates: Floats


def rates(*, maximize: bool) -> Floats:
    """Nanoseconds per multiplication, per entry that is packed or streamed, and per step."""
    product = costs.NANOSECONDS_PER_MAXIMIZED_PRODUCT if maximize else costs.NANOSECONDS_PER_PRODUCT
    entries = costs.NANOSECONDS_PER_ENTRY, costs.NANOSECONDS_PER_STREAMED_ENTRY
    return np.array([product, *entries, costs.NANOSECONDS_PER_STEP])


def estimated(made: Contraction, *, maximize: bool = False) -> float:
    """The estimated nanoseconds of all steps."""
    from sepset.kernels.compiled.trees import estimate

    parts = made.weights, made.bounds, made.pool, made.sizes, made.rows
    return float(estimate(*parts, rates(maximize=maximize)))


def is_searched(made: Contraction) -> bool:
    """Whether the steps are expensive enough, and their scopes few enough, to look for a cheaper tree."""
    words = made.num_inputs * (len(made.weights) // 28 + 2)
    moved = float(made.sizes[made.rows].sum())
    return moved > costs.ENTRIES_BEFORE_TREE_SEARCH and words <= costs.MOST_TREE_WORDS


def cheaper_tree(
    made: Contraction,
    *,
    kept: Ints,
    targets: Ints,
    num_factors: int = 0,
    maximize: bool = False,
    share: float = costs.SHARE_OF_TREE_SEARCH,
) -> Found:
    """The best tree found for the forward sweep of a contraction.

    Args:
        kept, targets, num_factors: those of the contraction.
        maximize: whether products are maximized instead of summed, which takes loops.
        share: the time of annealing as a share of the estimated time of the steps.

    Cost: linear in the steps, then `share` of the estimated time.
    Reference: Kalachev, Panteleev & Yung (2021), simulated annealing of contraction trees; Gray & Kourtis (2021).
    Guarantee: never more expensive by the estimate; deterministic.
    Tested by: inference/compiled/test_treesearch.py::test_the_estimate_never_grows
    """
    from sepset.kernels.compiled.trees import leaves

    steps = made.rows[: made.num_forward]
    parts = made.weights, made.bounds, made.pool, made.sizes, steps
    rows, scopes, asked, last, products = leaves(*parts, made.num_inputs, kept, targets, num_factors)
    given = Given(scopes, asked, last, products, rates(maximize=maximize))
    if len(rows) < 2:
        return Found(Products(rows, len(rows) * len(made.weights)), 0.0, 0.0)
    downhill = _annealed(rows, given, np.full(4, np.inf), costs.SWEEPS_DOWNHILL * len(rows))
    per_rotation = costs.NANOSECONDS_PER_ROTATION + costs.NANOSECONDS_PER_ROTATED_WORD * given.scopes.shape[1]
    num_rotations = int(min(costs.MOST_ROTATIONS, share * downhill.cost / per_rotation))
    is_stuck = share < 1.0 and downhill.cost > costs.GAIN_BEFORE_ANNEALING * downhill.first
    if is_stuck or num_rotations < costs.SWEEPS_ANNEALED * len(rows):
        return downhill
    return _annealed(downhill.tree.rows, given, _schedule(num_rotations, len(rows)), num_rotations, downhill.first)


def _schedule(num_rotations: int, num_products: int) -> Floats:
    """The sharpness of each stage."""
    num = min(costs.MOST_STAGES, max(costs.FINAL_STAGES, num_rotations // (4 * num_products)))
    found = np.geomspace(*costs.SHARPNESS, num)
    found[-max(1, num * costs.FINAL_STAGES // costs.MOST_STAGES) :] = np.inf
    return found


def _annealed(rows: Ints, given: Given, schedule: Floats, num_rotations: int, first: float = 0.0) -> Found:
    from sepset.kernels.compiled.trees import anneal

    def search(cancel: Bytes) -> tuple[Ints, float, float, int]:
        return anneal(rows, *given, schedule, num_rotations // len(schedule), SEED, cancel)

    is_long = num_rotations > costs.ROTATIONS_UNINTERRUPTED
    found, cost, before, num_members = interruptible(search) if is_long else search(NEVER)
    return Found(Products(found, num_members), cost, first or before)
