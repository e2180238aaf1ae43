"""Rounding of pseudo-marginals."""

import numpy as np
import pytest

import sepset as ss
from sepset.inference.map.relaxation.highs import linear_optimum
from sepset.inference.map.relaxation.polytope import Polytope
from sepset.inference.map.relaxation.regions import Regions
from sepset.inference.map.relaxation.rounding import fractional, rounded
from sepset.inference.wiring import Wiring
from support.blocks import in_blocks
from support.planted import planted_union


@in_blocks("seed", range(20))
def test_whole_solutions_are_kept_and_others_become_assignments(seed):
    rng = np.random.default_rng(seed)
    wiring, _ = planted_union(rng, 3)
    polytope = Polytope.of(Regions.of(wiring))
    columns = linear_optimum(polytope).columns
    marginals, codes = polytope.marginals(columns), rounded(polytope, columns)
    assert ((codes >= 0) & (codes < wiring.plugs.cards)).all()
    chosen = marginals[wiring.plugs.states[:-1] + codes]
    certain = np.setdiff1d(np.arange(wiring.num_variables), fractional(polytope, marginals))
    assert (chosen > 0.0).all()
    assert (chosen[certain] > 1.0 - 1e-5).all()
    if len(certain) == wiring.num_variables:
        assert wiring.log_value(codes) == pytest.approx(wiring.constant + polytope.gains @ columns, abs=1e-6)


def test_the_choice_of_a_variable_counts_for_the_next_ones():
    a, b, c = (ss.Discrete(n) for n in "abc")
    apart = [[1.0, 2.0], [2.0, 1.0]]
    net = ss.MarkovNet(ss.Table((a, b), apart), ss.Table((b, c), apart), ss.Table((a, c), apart))
    wiring = Wiring.of(net.as_written())
    polytope = Polytope.of(Regions.of(wiring))
    columns = linear_optimum(polytope).columns
    assert fractional(polytope, polytope.marginals(columns)).tolist() == [0, 1, 2]
    np.testing.assert_allclose(polytope.table(0, columns), [[0, 0.5], [0.5, 0]], atol=1e-9)
    assert wiring.log_value(rounded(polytope, columns)) == pytest.approx(np.log(4))  # 6 of 8 assignments
