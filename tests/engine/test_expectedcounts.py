"""Expected counts of any families against enumeration of completions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from sepset.api.learning import fit
from sepset.api.questions import expected_counts
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.table import TableCPD
from sepset.cpds.tree import Split, TreeCPD
from sepset.data.counts import Counts
from sepset.data.dataset import Dataset
from sepset.errors import DataError, NotApplicable, ScopeError
from sepset.factors.table import Table
from sepset.learning.incomplete.em import EM
from sepset.models.bayesnet import BayesNet
from sepset.models.markovnet import MarkovNet
from sepset.variables.variable import Discrete, Real
from support import random_models
from support.blocks import in_blocks

A, B, C = Discrete("a"), Discrete("b", 3), Discrete("c")


def by_enumeration(joint, variables, codes, weights, scope):
    """Each row's share of every completion, added up; `joint` is the probability of whole assignments."""
    places = [variables.index(v) for v in scope]
    table = np.zeros([v.num_states for v in scope])
    for row, weight in zip(codes, weights, strict=True):
        options = [[c] if c >= 0 else range(v.num_states) for c, v in zip(row, variables, strict=True)]
        cells = list(itertools.product(*options))
        shares = np.array([joint[cell] for cell in cells])
        for cell, share in zip(cells, shares / shares.sum(), strict=True):
            table[tuple(cell[p] for p in places)] += weight * share
    return table


@in_blocks("seed", range(12))
def test_any_family_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    net = random_models.structured_net(rng).model
    variables = list(net.variables)
    cells = itertools.product(*(range(v.num_states) for v in variables))
    grid = Dataset.from_codes(variables, np.array(list(cells)))
    joint = np.exp(net.log_probability(grid)).reshape([v.num_states for v in variables])
    data = net.sample(7, seed)
    codes = np.stack([data.codes(v) for v in variables], axis=1).astype(np.int64)
    codes[rng.random(codes.shape) < 0.4] = -1
    rows, weights = Dataset.from_codes(variables, codes), rng.random(7)
    some = [tuple(rng.permutation(variables)[: rng.integers(1, 4)]) for _ in range(3)]
    found = expected_counts(net, rows, families=[*net.cpds, *some], weights=weights)
    assert found.total == pytest.approx(weights.sum())
    for scope, table in zip(found.families, found.tables, strict=True):
        expected = by_enumeration(joint, variables, codes.tolist(), weights, scope)
        np.testing.assert_allclose(table, expected, atol=1e-9)


def test_complete_rows_are_counted():
    net = random_models.table_net(np.random.default_rng(4)).model
    data = net.sample(50, 0)
    found, plain = expected_counts(net, data), Counts.of(data, net.cpds)
    for mine, other in zip(found.tables, plain.tables, strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-9)
    halves = expected_counts(net, data[:20]) + expected_counts(net, data[20:])
    assert (halves.num_rows, halves.total) == (50, 50.0)
    np.testing.assert_allclose(halves.tables[0], plain.tables[0], atol=1e-9)


def test_their_ratios_are_a_step_of_em():
    """The text's example: thirteen, sixteen, ten and four rows, one of them without x."""
    rows = {"x": [1] * 29 + [0] * 13 + [None], "y": [1] * 13 + [0] * 16 + [1] * 9 + [0] * 4 + [1]}
    x, y = Discrete("x"), Discrete("y")
    net = fit(BayesNet(TableCPD(x, [0.5, 0.5]), TableCPD(y, [[0.5, 0.5]] * 2, given=x)), rows, EM()).model
    counts = expected_counts(net, rows)
    assert counts["x"][1] / 43 == pytest.approx(651 / 946, abs=1e-6)
    assert counts["y"][0, 1] / counts["y"][0].sum() == pytest.approx(207 / 295, abs=1e-6)
    assert counts["y"][1, 1] / counts["y"][1].sum() == pytest.approx(299 / 651, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_over_a_probability_they_are_the_slope_of_the_likelihood(seed):
    """Lemma 19.1: dP(o) / dP(x | u) = P(x, u, o) / P(x | u), by differences of a joint that is written out."""
    rng = np.random.default_rng(seed)
    a, b, c = (Discrete(n) for n in "abc")
    tables = [rng.dirichlet(np.ones(2)), rng.dirichlet(np.ones(2), 2), rng.dirichlet(np.ones(2), 2)]
    net = BayesNet(TableCPD(a, tables[0]), TableCPD(b, tables[1], given=a), TableCPD(c, tables[2], given=b))

    def probability(at_b):
        """P(c = 1), a polynomial in every entry, whether or not they sum to one."""
        return float(np.einsum("a,ab,b->", tables[0], at_b, tables[2][:, 1]))

    found = expected_counts(net, {"c": [1]})["b"] / tables[1] * probability(tables[1])
    h = 1e-5
    for cell in itertools.product(range(2), repeat=2):
        step = np.zeros((2, 2))
        step[cell] = h
        rise = probability(tables[1] + step) - probability(tables[1] - step)
        assert found[cell] == pytest.approx(rise / (2 * h), rel=1e-8)


def test_undirected_models_and_hidden_columns():
    a, b = Discrete("a"), Discrete("b", 3)
    net = MarkovNet(Table((a, b), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    found = expected_counts(net, {"b": [0, 2]}, families=[("a", ("b",))])
    np.testing.assert_allclose(found["a"], [[0.2, 0.8], [0, 0], [3 / 9, 6 / 9]])
    with pytest.raises(NotApplicable, match="families="):
        expected_counts(net, {"b": [0]})


def test_what_is_refused():
    x = Real("x")
    with pytest.raises(NotApplicable, match="not discrete"):
        expected_counts(BayesNet(LinearGaussian(x, covariance=1.0)), {"x": [1.0]}, families=[])
    net = BayesNet(TableCPD(Discrete("a"), [1.0, 0.0]))
    with pytest.raises(ScopeError, match="Unknown variable"):
        expected_counts(net, {"a": [0]}, families=["b"])
    with pytest.raises(ValueError, match="1 of 2 rows"):
        expected_counts(net, {"a": [0, 1]})
    with pytest.raises(DataError, match="not negative"):
        expected_counts(net, {"a": [0]}, weights=[-math.pi])
    assert expected_counts(net, {"a": [0, 1]}, weights=[2.0, 0.0])["a"].tolist() == [2.0, 0.0]
    assert len(expected_counts(net, {"a": [0, 0]}, families=[])) == 0


@pytest.mark.parametrize("tree", [[0.3, 0.7], Split(B, {0: [0.9, 0.1], (1, 2): [0.2, 0.8]})])
def test_families_of_cpds_that_use_few_of_their_parents(tree):
    net = BayesNet(TableCPD(A, [0.4, 0.6]), TableCPD(B, [0.5, 0.2, 0.3]), TreeCPD(C, tree, given=(A, B)))
    rows = {"a": [1, None], "b": [None, 2], "c": [0, 1]}
    joint = net.cpd("a").values[:, None, None] * net.cpd("b").values[:, None] * net.cpd("c").to_table().values
    first, second = joint[1, :, 0], joint[:, 2, 1]
    expected = np.zeros((2, 3, 2))
    expected[1, :, 0] += first / first.sum()
    expected[:, 2, 1] += second / second.sum()
    np.testing.assert_allclose(expected_counts(net, rows)["c"], expected, atol=1e-12)
