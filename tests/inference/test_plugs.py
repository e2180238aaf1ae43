"""Parts of a wiring: groups and counts at evidence, and their values."""

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.factors.block import FactorBlock
from sepset.factors.potentials import Cardinality, RobustPotts
from sepset.inference.plugs import numbered_values, starts_of
from sepset.inference.wiring import Wiring
from sepset.kernels.propagation.wires import COUNT, GROUP
from sepset.problem import Problem
from sepset.variables.evidence import Evidence
from sepset.variables.universe import Universe
from support.blocks import in_blocks


@in_blocks("seed", range(30))
@pytest.mark.parametrize("kind", ["group", "count"])
def test_groups_and_counts_know_their_observed_members(seed, kind):
    rng = np.random.default_rng(seed)
    n, states = 5, 2 if kind == "count" else 3
    rows = np.stack([rng.permutation(n)[:4] for _ in range(3)])
    potential = Cardinality(rng.normal(size=5)) if kind == "count" else RobustPotts(rng.normal(), rng.uniform(0.3, 2.0))
    problem = Problem(
        Universe([ss.Discrete(f"v{i}", states) for i in range(n)]),
        (FactorBlock(rows, (states,) * 4, values=potential),),
    )
    seen = {int(v): int(rng.integers(states)) for v in rng.permutation(n)[: int(rng.integers(0, 5))]}
    wiring = Wiring.of(problem, Evidence(seen))
    free = wiring.free.tolist()
    for codes in itertools.product(range(states), repeat=len(free)):
        whole = {**seen, **dict(zip(free, codes, strict=True))}
        expected = sum(float(potential.log_values(np.array([whole[v] for v in row.tolist()]))) for row in rows)
        assert wiring.log_value(codes) == pytest.approx(expected, abs=1e-12)
        assert wiring.tabled.log_value(codes) == pytest.approx(expected, abs=1e-12)


def test_values_at_codes():
    codes = np.array([[0, 1, 1], [0, 1, 0], [0, 1, 1]])
    counts = numbered_values(COUNT, np.array([[5.0, 6.0, 7.0, 8.0]]), np.zeros(1), np.zeros(1), codes)
    assert counts.tolist() == [[5.0, 8.0, 7.0]]
    groups = numbered_values(GROUP, np.array([[1.0, 0.0]]), np.array([2.0]), np.array([2.0]), codes)
    assert groups.tolist() == [[2.0, 1.0, 0.0]]
    assert starts_of([2, 0, 3]).tolist() == [0, 2, 2, 5]
