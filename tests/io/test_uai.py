from __future__ import annotations

import gzip
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, strategies as st

import oracle
from sepset import log_partition, potentials
from sepset.errors import NotApplicable, TooLarge
from sepset.factors.block import FactorBlock
from sepset.factors.sparse import SparseTable
from sepset.factors.table import Table
from sepset.io import results, uai
from sepset.models.bayesnet import BayesNet
from sepset.models.markovnet import MarkovNet
from sepset.problem import Problem
from sepset.variables.array import VariableArray
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, Real
from support.bounded import within
from support.file_laws import accept_or_refuse, mutated, refusal
from support.shared_files import each_shared, one_shared
from support.strategies import bayes_nets, markov_nets, plain_factors

MARKOV = """# a comment
MARKOV
3
2 1 3
4
2 0 1
2 0 2
2 2 0  # the same scope, turned
0
2 4.0 2.5
6 1 2 3
 4 5 0
6  1 1 1 1 1e-3 1
1 0.5
"""
BAYES = "BAYES\n2\n2 3\n2\n1 1\n2 1 0\n3 0.2 0.3 0.5\n6 0.1 0.9 1 0 0.25 0.75\n"


def test_last_variable_runs_fastest():
    net = uai.parse(MARKOV.encode())
    assert isinstance(net, MarkovNet)
    assert net.variables.names == ("x0", "x1", "x2")
    assert [v.states for v in net.variables] == [(0, 1), (0,), (0, 1, 2)]
    tables = net.factors
    assert tables[1].values.tolist() == [[1, 2, 3], [4, 5, 0]]
    assert tables[2].scope == (net["x2"], net["x0"])
    assert tables[3].scope == ()
    assert tables[0].values.tolist() == [[4.0], [2.5]]


def test_the_last_variable_of_a_scope_is_the_child():
    net = uai.parse(BAYES.encode())
    assert isinstance(net, BayesNet)
    assert net.parents("x0") == ("x1",)
    assert net.cpd("x0").values.tolist() == [[0.1, 0.9], [1, 0], [0.25, 0.75]]


@pytest.mark.parametrize(
    ("text", "old", "new", "line", "column", "message"),
    [
        (MARKOV, "MARKOV", "MARKOW", 2, 1, "expected 'BAYES' or 'MARKOV'"),
        (MARKOV, "2 1 3", "2 0 3", 4, 3, "the number of states of x1"),
        (MARKOV, "2 0 1\n", "2 0 3\n", 6, 5, "numbered 0 to 2"),
        (MARKOV, "2 0 1\n", "2 0 0\n", 7, 1, "names one variable twice"),
        (MARKOV, "2 4.0", "3 4.0", 10, 1, "the table over x0, x1 has 2 entries"),
        (MARKOV, "4.0", "-4.0", 10, 3, "found '-4.0'"),
        (MARKOV, "4.0", "inf", 10, 3, "found 'inf'"),
        (MARKOV, "1 0.5", "1", 15, 1, "needs 1 numbers"),
        (MARKOV, "1 0.5", "1 0.5 7", 14, 7, "expected the end of the file"),
        (BAYES, "0.2 0.3", "0.2 0.4", 7, 3, "the row of x1 sums to 1.1"),
        (BAYES, "0.25 0.75", "0.25 0.7", 8, 15, "the row of x0 given x1=2 sums to 0.95"),
        (BAYES, "2 1 0", "2 0 1", 6, 1, "second conditional"),
        (BAYES, "1 1\n", "0\n", 7, 1, "the table over no variables has 1 entries"),
    ],
)
def test_what_is_refused_and_where(text, old, new, line, column, message):
    assert old in text
    error = refusal(uai, text.replace(old, new, 1))
    assert message in str(error)
    assert (error.line, error.column) == (line, column)


@pytest.mark.parametrize(
    "text",
    [
        "MARKOV 999999999999 2 2",
        "MARKOV 1 999999999 0",
        "MARKOV 40 " + "2 " * 40 + "1 40 " + " ".join(map(str, range(40))) + " 1099511627776 1 1",
        "MARKOV 1 2 999999999 1 0",
        "MARKOV 1 2 1 999999999 0",
        "MARKOV 2 1000000 1000000 1 2 0 1 1000000000000 1",
    ],
)
def test_huge_declarations_are_refused_before_anything_is_made(text):
    within(3.0, lambda: refusal(uai, text))


@given(markov_nets())
def test_markov_networks_come_back(net):
    back = uai.parse(uai.render(net))
    assert isinstance(back, MarkovNet)
    assert back.variables.cards.tolist() == net.variables.cards.tolist()
    for ours, theirs in zip(net.factors, back.factors, strict=True):
        assert net.variables.ids(ours.scope).tolist() == back.variables.ids(theirs.scope).tolist()
        assert ours.values.tobytes() == theirs.values.tobytes()


@given(bayes_nets())
def test_bayesian_networks_come_back(net):
    back = uai.parse(uai.render(net))
    assert isinstance(back, BayesNet)
    for ours, theirs in zip(net.cpds, back.cpds, strict=True):
        assert net.variables.ids(ours.scope).tolist() == back.variables.ids(theirs.scope).tolist()
        assert ours.table.flat.tobytes() == theirs.table.flat.tobytes()


def test_blocks_over_arrays_are_written_without_a_variable_for_each_factor(monkeypatch):
    pixel = Discrete.array("pixel", (7, 6), states=3)
    levels = np.random.default_rng(0).normal(size=(7, 6, 3))
    levels[0, 0] = [800.0, 801.0, -np.inf]
    levels[0, 0] -= 200.0  # e^601 is a float, far from one
    net = MarkovNet(
        potentials.unary(pixel, levels),
        potentials.pairwise(pixel.grid_edges(), potentials.Potts(0.5)),
        Table(pixel[0, 0], [1.0, 2.0, 0.0]),
    )
    single = [(net.variables.ids(f.scope).tolist(), f.values.reshape(-1).tolist()) for f in net.factors]
    asked = []
    element = VariableArray.element
    monkeypatch.setattr(VariableArray, "element", lambda *args: asked.append(1) or element(*args))
    text = uai.render(net)
    assert len(asked) < 10  # 42 pixels, 113 factors
    monkeypatch.undo()
    back = uai.parse(text)
    assert [(back.variables.ids(f.scope).tolist(), f.values.reshape(-1).tolist()) for f in back.factors] == single


def test_blocks_that_uai_cannot_hold():
    pixel = Discrete.array("pixel", (2, 30))
    for level in (800.0, -800.0):
        logs = np.zeros((2, 30, 2))
        logs[1, 2, 0] = level
        with pytest.raises(NotApplicable, match=r"pixel\[1,2\].* exceeds their range"):
            uai.render(MarkovNet(potentials.unary(pixel, logs)))
    wide = FactorBlock(np.arange(60).reshape(1, 60).repeat(2, axis=0), (2,) * 60, values=potentials.Parity())
    known = Universe([pixel])
    with pytest.raises(TooLarge):
        uai.render(SimpleNamespace(variables=known, problem=lambda: Problem(known, (wide,), conditionals=())))


def test_what_uai_cannot_hold():
    a = Discrete("a")
    with pytest.raises(NotApplicable, match="exceeds their range"):
        uai.render(MarkovNet(Table.from_log(a, [0.0, -1e5])))
    with pytest.raises(NotApplicable, match="discrete"):
        uai.render(MarkovNet(variables=[Real("x")]))
    sparse = MarkovNet(SparseTable((a, Discrete("b", 3)), [[1, 2]], values=[0.5]))
    assert uai.parse(uai.render(sparse)).factors[0].values.tolist() == [[0, 0, 0], [0, 0, pytest.approx(0.5)]]


@given(mutated(MARKOV.encode()) | mutated(BAYES.encode()))
def test_damaged_files_are_read_or_refused(data):
    accept_or_refuse(uai, data)


@given(st.binary(max_size=100) | st.text(alphabet="0123 .-#\n").map(str.encode))
def test_noise_is_refused(data):
    for head in (b"", b"MARKOV ", b"BAYES "):
        accept_or_refuse(uai, head + data)


@each_shared("uai/mar/*.uai")
def test_competition_files(path):
    net = uai.parse(path.read_bytes(), path.name)
    results.read_evidence(path.with_name(f"{path.name}.evid"), net)
    numbers = [float(word) for word in path.read_text().split()[1:]]
    assert numbers[0] == len(net.variables)
    assert numbers[1 : len(net.variables) + 1] == net.variables.cards.tolist()
    assert numbers[len(net.variables) + 1] == net.num_factors
    last = net.factors[-1].values.reshape(-1)
    assert numbers[-last.size :] == last.tolist()


@each_shared("uai/m*/*.uai.gz")
def test_large_competition_files(path):
    if path.name.startswith(("relational", "Grids_20")):
        pytest.skip("more of the same")
    assert uai.parse(gzip.decompress(path.read_bytes())).num_factors > 0


def test_chest_clinic_with_evidence():
    path = one_shared("uai/ChestClinic.uai")
    net = uai.parse(path.read_bytes())
    assert results.read_evidence(path.with_suffix(".evid"), net) == {"x6": 0}
    assert results.read_virtual_evidence(path.with_suffix(".virt"), net)["x7"].weights == (0.7, 0.5)
    factors, cards = plain_factors(net)
    assert oracle.log_z(factors, cards) == pytest.approx(0, abs=1e-12)
    # Lauritzen and Spiegelhalter's clinic: P(X-ray abnormal) = 0.11029.
    assert oracle.marginal(factors, cards, ["x6"])[0] == pytest.approx(0.11029, abs=5e-6)
    assert np.isfinite(oracle.log_z(factors, cards, {"x6": 0}))


@pytest.mark.parametrize("name", ["Grids_12", "Pedigree_12", "Promedus_24", "Segmentation_12"])
def test_the_published_partition_functions_confirm_the_order_of_axes(name):
    path = one_shared(f"uai/mar/{name}.uai")
    net = uai.parse(path.read_bytes())
    given = results.read_evidence(f"{path}.evid", net)
    published = results.read_result(f"{path}.PR").log_value
    assert float(log_partition(net, given=given)) == pytest.approx(published, rel=1e-5)


@pytest.mark.parametrize("rest", ["1 0 5", "1 2 0", "2 0 1", "0.5", "1 0 1 x", "-1", "2 1 0 1"])
def test_what_follows_the_tables_is_evidence_or_refused(rest):
    error = refusal(uai, f"BAYES 2 2 2 2  1 0  2 0 1  2 0.2 0.8  4 0.3 0.7 0.6 0.4\n{rest}\n")
    assert "expected the end of the file after the last table, or evidence" in str(error)
    assert error.line == 2


def test_a_network_with_rows_of_zeros_is_a_markov_network():
    model = uai.parse(b"BAYES 2 2 2 2  1 0  2 0 1  2 1 0  4 0.3 0.7 0 0  1 1 1")
    assert isinstance(model, MarkovNet)
    assert "evidence" in model.notes[0]
    assert "1 row of its conditional tables sum to zero" in model.notes[1]


@pytest.mark.parametrize("rest", ["0", "1 0"])
def test_no_evidence_after_the_tables_is_no_evidence(rest):
    model = uai.parse(f"BAYES 2 2 2 2  1 0  2 0 1  2 0.2 0.8  4 0.3 0.7 0.6 0.4\n{rest}\n".encode())
    assert model.notes == ()
