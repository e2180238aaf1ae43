"""The sizes of the parts of a question, counted from the graph of the regressions."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.inference import costs
from sepset.inference.hybrid.components import components
from sepset.inference.hybrid.coordinates import Coordinates
from sepset.inference.hybrid.widths import Widths, all_regressions


def random_network(rng, num):
    """Real variables, one in three a vector of two, and coins; parents at random."""
    coins = [ss.Discrete(f"c{i}") for i in range(3)]
    x = [ss.Vector(f"x{i}", 2) if i % 3 == 2 else ss.Real(f"x{i}") for i in range(num)]
    cpds = [ss.TableCPD(c, [0.5, 0.5]) for c in coins]
    for i, child in enumerate(x):
        given = [x[j] for j in range(i) if rng.random() < 1.5 / num]
        by = [c for c in coins if rng.random() < 0.2]
        shape, size, width = (2,) * len(by), child.size, sum(v.size for v in given)
        a, B = rng.normal(size=(*shape, size)), rng.normal(size=(*shape, size, width))
        C = np.broadcast_to(np.eye(size), (*shape, size, size))
        cpds.append(ss.LinearGaussian(child, a, coefficients=B, covariance=C, given=given, by=by))
    return ss.BayesNet(*cpds)


@pytest.mark.parametrize("seed", range(20))
def test_sizes_are_those_of_the_parts(seed):
    rng = np.random.default_rng(seed)
    problem = random_network(rng, 15).problem()
    coordinates, widths = Coordinates.of(problem), Widths(problem)
    real = np.flatnonzero(problem.variables.cards == 0)
    for _ in range(10):
        wanted, found = np.array_split(rng.permutation(real)[: rng.integers(1, len(real))], [rng.integers(0, 4)])
        own = [[int(i) for v in chosen for i in coordinates.families[v].own] for chosen in (wanted, found)]
        made = components(coordinates, *own, {})
        expected = sorted(len(part.hidden) for part in made if len(part.hidden))
        assert sorted(widths.part_sizes(wanted, found).tolist()) == expected


def test_problems_of_regressions_alone():
    x, y = ss.Real("x"), ss.Real("y")
    net = ss.BayesNet(
        ss.LinearGaussian(x, 0.0, covariance=1.0), ss.LinearGaussian(y, 0.0, coefficients=1.0, covariance=1.0, given=x)
    )
    assert all_regressions(net.problem())
    assert not all_regressions(ss.datasets.load("asia").problem())
    assert not all_regressions(ss.MarkovNet(ss.factors.CanonicalGaussian([x], [[1.0]], h=[0.0])).problem())


@pytest.mark.parametrize("ask", [lambda net: ss.plan(net), lambda net: ss.marginals(net)])
def test_a_refusal_reads_no_regression(ask, monkeypatch):
    """What is refused for its width is refused by its graph: no coordinate is made."""
    rng = np.random.default_rng(0)
    num = 20 * costs.NUMBERS_SWEPT
    x = [ss.Real(f"x{i}") for i in range(num)]
    above = [sorted(set(rng.integers(0, i, 20).tolist())) if i else [] for i in range(num)]
    net = ss.BayesNet(
        *(
            ss.LinearGaussian(x[i], 0.0, coefficients=[0.1] * len(p), covariance=1.0, given=[x[j] for j in p])
            for i, p in enumerate(above)
        )
    )

    def refuse(*_):
        raise AssertionError("a regression was read")

    monkeypatch.setattr(Coordinates, "with_values", refuse)
    with pytest.raises(ss.TooLarge, match="real variables that depend on each other"):
        ask(net)
