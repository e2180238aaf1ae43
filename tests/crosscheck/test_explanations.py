"""Most probable explanations of small networks, against every assignment written out."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
import sepset as ss
from support.networks import TINY, each_network, findings, network, states
from support.tolerances import CLOSE

pytestmark = pytest.mark.crosscheck


def factors_of(net):
    return [(tuple(v.name for v in (*c.parents, c.child)), np.array(c.to_table().values)) for c in net.cpds]


@each_network(*TINY)
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_the_k_best(name, share):
    net = network(name)
    found = findings(net, share, seed=2)
    cards = {v.name: v.num_states for v in net.variables}
    expected = oracle.k_best(factors_of(net), cards, 5, evidence=found)
    ours = ss.map_assignment(net, given=states(net, found), k=5)
    values = [value for _, value in expected]
    assert list(ours.log_values[: len(values)]) == pytest.approx(values, abs=CLOSE)
    for assignment, value in zip(ours.assignments, values, strict=False):
        codes = {**{v: net[v].states.index(state) for v, state in assignment.items()}, **found}
        logs = [np.log(table[tuple(codes[v] for v in scope)]) for scope, table in factors_of(net)]
        assert sum(logs) == pytest.approx(value, abs=CLOSE)
