"""What every change is worth stays what it is from the beginning, and tournaments have the best change at the root."""

import numpy as np

from sepset.inference.map.search.localsearch import change_room
from sepset.inference.wiring import Wiring
from sepset.kernels.map.changes import change, is_above, replay, weigh_all
from support.blocks import in_blocks
from support.wired import random_problem


@in_blocks("seed", range(30))
def test_changes_are_kept_up_to_date(seed):
    rng = np.random.default_rng(seed)
    wiring = Wiring.of(random_problem(rng))
    n, kept, fresh = wiring.num_variables, change_room(wiring), change_room(wiring)
    size = len(kept.winners) // 4
    kept.leaves[:] = fresh.leaves[:] = size + rng.permutation(n)
    kept.free[:] = fresh.free[:] = rng.integers(0, 3, n)
    codes = (rng.random(n) * wiring.plugs.cards).astype(np.int64)
    model = wiring.wires, wiring.unary, wiring.factors
    weigh_all(*model, codes, kept, 1)
    for _ in range(10):
        free = np.flatnonzero(kept.choice >= 0)
        if not len(free):
            return
        i = int(rng.choice(free))
        change(wiring.wires, wiring.factors, codes, kept, i, 1)
        replay(kept, i, 1)
        weigh_all(*model, codes, fresh, 1)
        np.testing.assert_array_equal(kept.zeros, fresh.zeros)
        np.testing.assert_allclose(kept.values, fresh.values, atol=1e-12)
        np.testing.assert_array_equal(kept.fewer, fresh.fewer)
        np.testing.assert_allclose(kept.gain, fresh.gain, atol=1e-12)
        for root, side in ((1, kept.free <= 1), (2 * size + 1, kept.free > 1)):
            best, those = kept.winners[root], np.flatnonzero(side & (kept.choice >= 0))
            assert (best >= 0) == (len(those) > 0)
            assert not any(is_above(kept, int(j), int(best)) for j in those)
