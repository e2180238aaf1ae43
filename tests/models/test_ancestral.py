"""Forward sampling: frequencies, zeros, independence of threads, every kind of CPD."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings

import oracle
import sepset as ss
from sepset.base import memory
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.noisy import NoisyOr
from sepset.cpds.table import TableCPD
from sepset.errors import ArgumentError, TooLarge
from sepset.factors.studentt import StudentT
from sepset.graphs.graph import DAG
from sepset.models import ancestral
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Real, Vector
from support import strategies
from support.tolerances import assert_counts


def occurrences(data, variables):
    """The number of occurrences of each joint state, one axis per variable."""
    counts = np.zeros([v.num_states for v in variables])
    np.add.at(counts, tuple(data.codes(v).astype(int) for v in variables), 1)
    return counts


@given(strategies.bayes_nets(max_variables=4, min_variables=1))
@settings(max_examples=25)
def test_frequencies_are_the_joint(net):
    factors, cards = strategies.plain_factors(net)
    expected = oracle.joint(factors, cards)
    data = net.sample(20_000, seed=11)
    assert data.is_complete
    observed = occurrences(data, net.variables)
    assert_counts(observed, expected, 20_000)
    assert not observed[expected == 0].any()


def test_rows_do_not_depend_on_threads_and_follow_the_seed():
    net = BayesNet.random(DAG.parse("a -> b -> c; a -> c"), states=3, seed=1)
    one = net.sample(3 * ancestral.CHUNK + 5, seed=4, threads=1)
    many = net.sample(3 * ancestral.CHUNK + 5, seed=4, threads=3)
    assert one.equals(many)
    assert not one.equals(net.sample(3 * ancestral.CHUNK + 5, seed=5))
    # A longer sample begins with the shorter one, chunk by chunk.
    assert net.sample(ancestral.CHUNK, seed=4).equals(one[: ancestral.CHUNK])


def test_a_generator_moves_on():
    net = BayesNet.random(DAG.parse("a -> b"), seed=1)
    rng = np.random.default_rng(2)
    first, second = net.sample(100, rng), net.sample(100, rng)
    assert not first.equals(second)
    again = np.random.default_rng(2)
    assert first.equals(net.sample(100, again))
    assert second.equals(net.sample(100, again))


def test_impossible_states_never_come_even_last_and_after_rounding():
    tenth = Discrete("tenth", 11)
    net = BayesNet(TableCPD(tenth, [0.1] * 10 + [0.0]))
    assert ancestral.cumulative_rows(net.cpds[0]).tolist()[-1] == 1.0
    head = BayesNet(TableCPD(tenth, [0.0, *[0.1] * 10]))
    assert ancestral.cumulative_rows(head.cpds[0])[0] == 0.0
    assert net.sample(50_000, 0).codes("tenth").max() == 9
    assert head.sample(50_000, 0).codes("tenth").min() == 1


def test_many_states_use_wider_codes():
    big, child = Discrete("big", 300), Discrete("child", 2)
    table = np.zeros((300, 2))
    table[np.arange(300), np.arange(300) % 2] = 1.0
    net = BayesNet(TableCPD(child, table, given=big), TableCPD(big, np.full(300, 1 / 300)))
    data = net.sample(5_000, 1)
    codes = data.codes("big").astype(int)
    assert codes.max() > 127
    assert (data.codes("child") == codes % 2).all()


def test_empty_network_and_no_rows():
    assert len(BayesNet().sample(7, 0)) == 7
    assert len(BayesNet.random(DAG.parse("a -> b")).sample(0, 0)) == 0
    with pytest.raises(ArgumentError, match="num_rows= is a whole number of at least 0"):
        BayesNet.random(DAG.parse("a")).sample(-1, 0)


def test_many_rows_are_drawn_part_by_part(monkeypatch):
    """So that an interruption is heard in between; lines and tables with local structure draw the same rows."""
    d, x, y, p = Discrete("d", 3), Real("x"), Vector("p", 2), Discrete("q")
    net = BayesNet(
        TableCPD(d, [0.2, 0.3, 0.5]),
        LinearGaussian(x, [0.0, 1.0, 2.0], covariance=[1.0, 2.0, 3.0], by=d),
        LinearGaussian(y, [0.5, 1.5], coefficients=[[1.0], [2.0]], covariance=np.eye(2), given=x),
        NoisyOr(p, {Discrete("e"): 0.3}, leak=0.1),
        TableCPD(Discrete("e"), [0.5, 0.5]),
    )
    before, most = net.sample_columns(100, 1), []
    sample = LinearGaussian.sample
    monkeypatch.setattr(LinearGaussian, "sample", lambda *args: (most.append(args[2]), sample(*args))[1])
    monkeypatch.setattr(ancestral, "ROWS_DRAWN_AT_ONCE", 40)
    after = net.sample_columns(100, 1)
    assert most == [40, 40, 20] * 2
    assert before.keys() == after.keys()
    for variable, column in before.items():
        np.testing.assert_allclose(after[variable], column, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("way", ["sample", "given", "chain graph", "table", "normal", "mixture", "student"])
def test_many_rows_are_drawn_by_portions_into_columns_of_their_size(way, monkeypatch):
    """Beside the columns only one portion is in memory, and what is refused is counted with all that is held."""
    net = ss.datasets.load("student")
    gaussian = ss.Gaussian([ss.Real("x"), ss.Real("y")], [0.0, 1.0], covariance=np.eye(2))
    mixture = ss.GaussianMixture(ss.Real("x"), [0.5, 0.5], means=[[0.0], [4.0]], covariances=[[[1.0]], [[1.0]]])
    draw = {
        "sample": lambda n: ss.sample(net, n),
        "given": lambda n: ss.sample(net, n, given={"grade": "A"}),
        "chain graph": ss.models.to_chain_graph(net).sample,
        "table": lambda n: ss.query(net, ["grade", "sat"]).sample(n),
        "normal": gaussian.sample,
        "mixture": mixture.sample,
        "student": StudentT(3.0, 0.0, dispersion=1.0).sample,
    }[way]
    monkeypatch.setattr(memory, "CELLS_AT_ONCE", 1 << 12)
    draw(100_000)  # what is compiled and imported stays
    tracemalloc.start()
    try:
        found = draw(100_000)
        peak, width = tracemalloc.get_traced_memory()[1], 1 if way == "student" else len(found.keys())
    finally:
        tracemalloc.stop()
    cell = {"sample": 1, "given": 1, "chain graph": 1, "table": 9}.get(way, 8)
    assert peak < 1.2 * 100_000 * width * cell + 1_000_000
    monkeypatch.setattr(memory, "machine_memory", lambda: 1000 * width * cell)
    draw(1000)
    with pytest.raises(TooLarge, match="1,001 rows"):
        draw(1001)
