"""The discrete part of a problem is the problem of its discrete factors."""

from __future__ import annotations

import numpy as np

import sepset as ss
from sepset.inference.cliquetree.method import CliqueTree
from sepset.inference.hybrid.discretepart import discrete_part
from sepset.variables.evidence import Evidence
from support.blocks import in_blocks
from support.hybrid_rows import random_case


@in_blocks("seed", range(10))
def test_its_distribution_is_the_marginal(seed):
    net, (families, cards, _), _ = random_case(seed)
    part = discrete_part(net.problem())
    if not cards:
        assert part.problem is None
        return
    assert [net.variables[v].name for v in part.positions] == list(part.problem.variables.names)
    assert part.problem.is_normalized
    assert len(part.factors) == len(families)
    own = ss.BayesNet(*(cpd for cpd in net.cpds if cpd.child.is_discrete))
    expected = ss.query(own, own.variables.names).values
    names = [own.variables.names.index(n) for n in part.problem.variables.names]
    answer = CliqueTree().prepare(part.problem).query(range(len(part.positions)), Evidence())
    np.testing.assert_allclose(answer.distribution.values, expected.transpose(names))


def test_auxiliaries_stay_behind_the_models_own_variables():
    *causes, e = (ss.Discrete(n) for n in "abcfghe")
    x = ss.Real("x")
    cause = ss.NoisyOr(e, dict.fromkeys(causes, 0.3), leak=0.1)
    roots = [ss.TableCPD(v, [0.4, 0.6]) for v in causes]
    net = ss.BayesNet(ss.LinearGaussian(x, [0.0, 1.0], covariance=1.0, by=e), *roots, cause)
    part = discrete_part(net.problem())
    assert part.problem.num_visible == 7
    assert part.positions[:7] == (1, 2, 3, 4, 5, 6, 7)
    assert len(part.positions) == 7 + len(cause.auxiliaries)
