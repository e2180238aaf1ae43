"""Passes of arc consistency."""

import itertools

import numpy as np

import sepset as ss
from sepset.inference.wiring import Wiring


def test_equal_variables_share_what_is_possible():
    variables = [ss.Discrete(f"v{i}", 3) for i in range(4)]
    parts = [ss.Table((a, b), np.eye(3)) for a, b in itertools.pairwise(variables)]
    net = ss.MarkovNet(*parts, ss.Table(variables[3], [1, 0, 1]))
    possible = Wiring.of(net.problem()).consistent
    assert np.isfinite(possible.unary).reshape(4, 3).tolist() == [[True, False, True]] * 4
    assert possible.consistent is possible or not np.isfinite(possible.consistent.unary[1])


def test_a_parity_decides_its_last_variable():
    bits = ss.Discrete.array("bit", (4,))
    check = ss.potentials.over_scopes([[0, 1, 2, 3]], ss.potentials.Parity(), array=bits)
    net = ss.MarkovNet(check, *(ss.Table(bits[i], [0, 1]) for i in range(3)), variables=[bits])
    possible = Wiring.of(net.as_written()).consistent
    assert np.isfinite(possible.unary).reshape(4, 2).tolist() == [[False, True]] * 4
