"""Statistics are pooled by block, and fast paths count what plain ones do."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.cpds.configurations import Configurations
from sepset.cpds.moments import Scatters
from sepset.errors import DataError
from sepset.learning.statistics import Statistics
from sepset.learning.task import Task
from support import random_models


@pytest.mark.parametrize("seed", range(10))
def test_as_each_cpd_counts_for_itself(seed):
    rng = np.random.default_rng(seed)
    net = random_models.structured_net(rng).model
    data = net.sample(50, seed)
    weights = rng.random(50)
    stats = Statistics.of(Task(net, data, weights), "MLE")
    columns = {v: data.column(v) for v in net.variables}
    assert stats.num_rows == pytest.approx(weights.sum())
    for pool in stats.blocks.values():
        expected = pool.cpds[0].statistics(columns, weights)
        if isinstance(expected, Configurations):
            np.testing.assert_array_equal(pool.total.codes, expected.codes)
            np.testing.assert_allclose(pool.total.counts, expected.counts)
        else:
            np.testing.assert_allclose(pool.total, expected)
    expected = float(weights @ net.log_probability(data))
    assert stats.log_likelihood(net) == pytest.approx(expected, abs=1e-9)


def test_rows_without_weight_do_not_count_against_a_model():
    from sepset.cpds.noisy import NoisyOr
    from sepset.cpds.table import TableCPD
    from sepset.models.bayesnet import BayesNet
    from sepset.variables.variable import Discrete

    a, c = Discrete("a"), Discrete("c")
    net = BayesNet(TableCPD(a, [0.5, 0.5]), NoisyOr(c, {a: 0.5}))
    stats = Statistics.of(Task(net, {"a": [0, 1], "c": [1, 1]}, [0.0, 1.0]), "MLE")
    assert stats.log_likelihood(net) == pytest.approx(np.log(0.25))


def test_real_columns_are_centered():
    from sepset.graphs.graph import DAG
    from sepset.learning.task import template_of

    rows = {"x": [0.5, 1.5, 5.5]}
    stats = Statistics.of(Task(template_of(DAG.parse("x"), rows), rows), "MLE")
    (pool,) = stats.blocks.values()
    assert isinstance(pool.total, Scatters)
    assert pool.total.contexts[0].products.tolist() == [[14.0]]
    with pytest.raises(DataError, match="MLE needs complete data"):
        Statistics.of(Task(stats.template, {"x": [1.0, None]}), "MLE")


def test_nearly_perfect_lines_have_the_likelihood_of_their_rows():
    """What they leave over is a small difference of large sums, so the rows themselves are asked."""
    from sepset.graphs.graph import DAG
    from sepset.learning.fit import fit

    rng = np.random.default_rng(0)
    x = 3.0 * rng.normal(size=1000)
    rows = {"x": x, "y": x + 1e-6 * rng.normal(size=1000)}
    found = fit(DAG.parse("x -> y"), rows)
    assert found.log_likelihood == pytest.approx(float(found.model.log_probability(rows).sum()), rel=1e-12)
