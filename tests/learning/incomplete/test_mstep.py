"""Blocks, their pseudo-counts, and what is negligible."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sepset.cpds.priors.dirichlet import BDeu, Dirichlet
from sepset.cpds.table import TableCPD
from sepset.errors import NotApplicable
from sepset.learning.incomplete.families import family_of
from sepset.learning.incomplete.mstep import Reestimation
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete

a, b, c = Discrete("a"), Discrete("b"), Discrete("c", 1)


def blocks():
    tied = [TableCPD(v, [0.25, 0.75], block="coin") for v in (a, b)]
    return Reestimation.of(BayesNet(*tied, TableCPD(c, [1.0])), lambda cpd, first: family_of(cpd))


def test_tied_statistics_are_summed_and_shared():
    found = blocks()
    assert found.members == ((0, 1), (2,))
    stats = found.pooled([np.array([1.0, 2.0]), np.array([0.0, 3.0]), np.array([6.0])], 6.0)
    assert stats[0].tolist() == [1.0, 5.0]
    made = found.maximize(found.template, stats, (None, None))
    assert made.cpd("a").values.tolist() == made.cpd("b").values.tolist() == [1 / 6, 5 / 6]


def test_what_no_posterior_notices_is_zero():
    stats = blocks().pooled([np.array([1e-40, 2.0]), np.array([0.0, 3.0]), np.array([5.0])], 5.0)
    assert stats[0].tolist() == [0.0, 5.0]
    kept = blocks().pooled([np.array([1e-20, 2.0]), np.array([0.0, 3.0]), np.array([5.0])], 5.0)
    assert kept[0][0] == 1e-20


def test_pseudo_counts_and_their_density():
    found = blocks()
    assert found.alphas(None) == (None, None)
    soft, theta = found.alphas(Dirichlet(3.0)), found.alphas(Dirichlet(3.0), is_theta=True)
    assert (soft[0].tolist(), theta[0].tolist()) == ([3.0, 3.0], [2.0, 2.0])
    assert_allclose(found.log_prior(found.template, soft), 3 * np.log(0.25) + 3 * np.log(0.75))
    assert_allclose(found.alphas(BDeu(4.0))[0], [4.0, 4.0])  # both coins speak for the shared block
    with pytest.raises(NotApplicable, match="no mode"):
        found.alphas(Dirichlet(0.5), is_theta=True)


def test_score_is_the_log_likelihood_of_completed_rows():
    found = blocks()
    stats = (np.array([2.0, 0.0]), np.array([1.0]))
    assert_allclose(found.score(found.template, stats), 2 * np.log(0.25))
