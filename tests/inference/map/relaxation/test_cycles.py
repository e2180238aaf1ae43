"""Cycles of contradictions."""

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.inference.map.relaxation.cycles import triangles, triangulated, violated_cycles, violated_triplets
from sepset.inference.map.relaxation.highs import linear_optimum
from sepset.inference.map.relaxation.polytope import Polytope
from sepset.inference.map.relaxation.regions import Regions
from sepset.inference.wiring import Wiring
from support.blocks import in_blocks


def _ring(n, rng):
    """A ring of pairs of which an odd number favors unequal states."""
    bits = [ss.Discrete(f"b{i}") for i in rng.permutation(n)]
    apart = set(rng.permutation(n)[: 2 * int(rng.integers(0, (n + 1) // 2)) + 1].tolist())
    parts = [
        ss.Table((bits[i], bits[(i + 1) % n]), [[1, 2], [2, 1]] if i in apart else [[2, 1], [1, 2]]) for i in range(n)
    ]
    return ss.MarkovNet(*parts)


def _solved(net):
    polytope = Polytope.of(Regions.of(Wiring.of(net.as_written())))
    return polytope, linear_optimum(polytope).columns


@pytest.mark.parametrize("n", range(3, 9))
def test_violated_cycles_are_found(n):
    polytope, columns = _solved(_ring(n, np.random.default_rng(n)))
    assert [sorted(cycle) for cycle in violated_cycles(polytope, columns)] == [list(range(n))]
    triplets = violated_triplets(polytope, columns)
    assert len(triplets) == n - 2
    constant = polytope.regions.wiring.constant
    assert constant + polytope.gains @ columns == pytest.approx(n * np.log(2))
    tight = Polytope.of(Regions.of(polytope.regions.wiring, triplets))
    best = (n - 1) * np.log(2)  # one pair is unsatisfied
    assert constant + tight.gains @ linear_optimum(tight).columns == pytest.approx(best)


@in_blocks("seed", range(6))
def test_violated_cycles_are_exactly_those_of_all_odd_sets(seed):
    rng = np.random.default_rng(seed)
    bits = [ss.Discrete(f"b{i}") for i in range(5)]
    pairs = list(itertools.combinations(range(5), 2))
    parts = [ss.Table(bits[i], rng.gamma(3.0, size=2)) for i in range(5)]
    parts += [ss.Table((bits[i], bits[j]), np.exp(rng.normal(size=(2, 2)))) for i, j in pairs]
    polytope, columns = _solved(ss.MarkovNet(*parts))
    regions = polytope.regions
    apart = {}
    for r in range(regions.wiring.num_factors):
        table = polytope.table(r, columns)
        apart[tuple(sorted(regions.wiring.scope(r).tolist()))] = table[0, 1] + table[1, 0]
    least = 1.0
    for size in (3, 4, 5):
        for cycle in itertools.permutations(range(5), size):
            d = np.array([apart[tuple(sorted(e))] for e in zip(cycle, (*cycle[1:], cycle[0]), strict=True)])
            for odd in itertools.product([0, 1], repeat=size):
                if sum(odd) % 2:
                    least = min(least, float(np.where(odd, 1 - d, d).sum()))
    assert bool(violated_cycles(polytope, columns)) == (least < 1.0 - 1e-4)


def test_triplets_of_cycles_and_triangles():
    assert triangulated([0, 1, 2]) == [(0, 1, 2)]
    assert len(triangulated(range(9))) == 7
    assert triangles(itertools.combinations(range(5), 2)) == list(itertools.combinations(range(5), 3))
    assert triangles([]) == []
