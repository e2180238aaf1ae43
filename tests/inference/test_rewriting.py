"""Rewritten problems: the model's own variables keep their positions, and sums over the parts are the whole."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.inference.rewriting import functional, rewritten
from sepset.semiring import MAX, SUM
from sepset.variables.evidence import Evidence

CAUSES = [ss.Discrete(f"c{i}") for i in range(7)]
NET = ss.BayesNet(
    *(ss.TableCPD(c, [0.8, 0.2]) for c in CAUSES),
    ss.NoisyOr(ss.Discrete("y"), {c: 0.1 + 0.1 * i for i, c in enumerate(CAUSES)}, leak=0.05),
)


@pytest.mark.parametrize("semiring", [SUM, MAX], ids=str)
def test_parts_are_the_conditional(semiring):
    problem = NET.problem()
    parts = {i: form.source.decomposed({}, semiring) for i, form in enumerate(problem.forms)}
    made, places, homes = rewritten(problem, range(problem.num_factors), parts)
    assert made.variables.names[: problem.num_visible] == NET.variables.names
    assert all(places[v] == i for i, v in enumerate(NET.variables))
    assert set(homes) == set(parts)
    for code in (0, 1):
        found = ss.CliqueTree().prepare(made).log_partition(Evidence({7: code}))
        expected = np.log(ss.query(NET, "y").values[code])
        assert found == pytest.approx(expected, abs=1e-12)


def test_functional_problems_have_one_product_per_joint_state():
    made = functional(NET.problem())
    assert set(made.functions) == set(range(made.num_visible, len(made.variables)))
