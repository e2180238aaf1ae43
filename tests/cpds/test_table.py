"""Table CPDs: validation, forms of input, and the contract on random tables."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import oracle
from sepset.cpds.priors.dirichlet import Dirichlet
from sepset.cpds.table import TableCPD
from sepset.errors import DataError, ModelError, ScopeError, StateError, TooLarge
from sepset.factors.table import Table
from sepset.graphs.graph import DAG
from sepset.models.defaults import default_network
from sepset.variables.variable import Discrete, Real
from support.blocks import in_blocks
from support.cpd_contract import check_contract

I = Discrete("intelligence", ("low", "high"))
D = Discrete("difficulty", ("easy", "hard"))
G = Discrete("grade", ("A", "B", "C"))
GRADES = [[[0.3, 0.4, 0.3], [0.05, 0.25, 0.7]], [[0.9, 0.08, 0.02], [0.5, 0.3, 0.2]]]


def random_case(cards, seed):
    rng = np.random.default_rng(seed)
    *parents, child = [Discrete(f"v{i}", card) for i, card in enumerate(cards)]
    table = oracle.random_rows(rng, tuple(cards), deterministic=0.3, zeros=0.3)
    return TableCPD(child, table, given=tuple(parents)), table


@pytest.mark.parametrize("cards", [(2,), (1,), (3, 2), (2, 1), (1, 3, 2), (2, 3, 4), (2, 2, 2, 3)])
@pytest.mark.parametrize("seed", [0, 1])
def test_contract(cards, seed):
    check_contract(*random_case(cards, seed))


def test_contract_with_context_specific_rows():
    table = np.array(GRADES)
    table[0, 1] = table[0, 0]
    check_contract(TableCPD(G, table, given=(I, D)), table)


def test_the_student_grade():
    cpd = TableCPD(G, GRADES, given=(I, D))
    assert cpd.label == "TableCPD(grade[3] | intelligence[2], difficulty[2])"
    assert repr(cpd) == "TableCPD(grade[3] | intelligence[2], difficulty[2]; 0.3 0.4 0.3, 0.05 0.25 0.7, ...)"
    assert cpd["high", "hard"].tolist() == [0.5, 0.3, 0.2]
    assert cpd.num_parameters == 8
    assert cpd.scope == (I, D, G)


def test_all_forms_of_input_agree():
    rows = {(i, d): GRADES[a][b] for a, i in enumerate(I.states) for b, d in enumerate(D.states)}
    named = {key: dict(zip(G.states, row, strict=True)) for key, row in rows.items()}
    turned = Table((G, D, I), np.array(GRADES).transpose(2, 1, 0))
    flat = np.array(GRADES).reshape(-1)
    for given_form in (rows, named, turned, flat, np.array(GRADES), Table((I, D, G), GRADES)):
        np.testing.assert_array_equal(TableCPD(G, given_form, given=(I, D)).values, GRADES)


def test_one_parent_takes_bare_states():
    cpd = TableCPD(D, {"low": [0.5, 0.5], "high": {"easy": 0.1, "hard": 0.9}}, given=I)
    assert cpd["high"].tolist() == [0.1, 0.9]
    assert cpd.parents == (I,)


def test_no_parents_take_a_row_by_state():
    assert TableCPD(D, {"hard": 0.4, "easy": 0.6}).values.tolist() == [0.6, 0.4]


def test_values_are_copied_and_read_only():
    row = np.array([0.5, 0.5])
    cpd = TableCPD(D, row)
    row[0] = 9.0
    assert cpd.values.tolist() == [0.5, 0.5]
    with pytest.raises(ValueError, match="read-only"):
        cpd.values[0] = 1.0


@pytest.mark.parametrize(
    ("row", "figure"),
    [
        ([0.5, 0.3, 0.1], "sums to 0.9, off by -0.1"),
        ([0.5, 0.3, 0.2 + 2e-9], "sums to 1.000000002, off by 2e-09"),
        ([1.2, -0.2, 0.0], "the entry -0.2"),
        ([np.nan, 0.5, 0.5], "the entry nan"),
        ([np.inf, 0.0, 0.0], "the entry inf"),
    ],
)
def test_bad_rows_are_named_with_their_figure(row, figure):
    table = np.array(GRADES)
    table[1, 0] = row
    with pytest.raises(ModelError, match=figure) as error:
        TableCPD(G, table, given=(I, D))
    assert "TableCPD(grade[3] | intelligence[2], difficulty[2])" in str(error.value)
    assert "(intelligence='high', difficulty='easy')" in str(error.value)


def test_rounding_dust_is_allowed():
    TableCPD(G, [1 / 3, 1 / 3, 1 / 3 + 5e-10])


def test_normalized_divides_on_purpose():
    cpd = TableCPD.normalized(G, [[2, 1, 1], [0, 0, 5]], given=I)
    assert cpd.values.tolist() == [[0.5, 0.25, 0.25], [0.0, 0.0, 1.0]]
    assert TableCPD.normalized(D, [1e308, 1e308]).values.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("row", [[0, 0, 0], [1, -1, 1], [np.nan, 1, 1]])
def test_normalized_refuses_rows_without_weight(row):
    with pytest.raises(ModelError, match=r"\(intelligence='low'\) has the weights"):
        TableCPD.normalized(G, [row, [1, 1, 1]], given=I)


@pytest.mark.parametrize(
    ("table", "given_parents", "error", "message"),
    [
        ([[0.5, 0.5]], (), ModelError, r"shape \(2,\).*found the shape \(1, 2\)"),
        ([0.5, 0.5], "intelligence", ScopeError, "'intelligence' is a name"),
        ([0.5, 0.5], (Real("x"),), ScopeError, "Discrete variables"),
        ([[0.5, 0.5], [0.5, 0.5]], (D,), ScopeError, "twice"),
        ("no", (), ModelError, "needs numbers"),
        ({"low": [0.5, 0.5]}, (I,), ModelError, r"1 of 2 rows; the row \(intelligence='high'\) is missing"),
        ({"low": [0.5, 0.5], "hihg": [0.5, 0.5]}, (I,), StateError, "Did you mean 'high'"),
        ({("low", "x"): [0.5, 0.5]}, (I,), ScopeError, "1 parents; found 2 states"),
        ({"low": [0.5, 0.5], ("low",): [0.5, 0.5]}, (I,), ModelError, "twice"),
        ({"low": "no", "high": [0.5, 0.5]}, (I,), ModelError, "rows of 2 numbers"),
        ({"low": [0.5], "high": [0.5, 0.5]}, (I,), ModelError, "rows of 2 numbers"),
        ({"low": {"easy": 1.0}, "high": [0.5, 0.5]}, (I,), StateError, "no probability for difficulty='hard'"),
    ],
)
def test_bad_input_is_refused(table, given_parents, error, message):
    with pytest.raises(error, match=message):
        TableCPD(D, table, given=given_parents)


def test_tables_too_large_are_refused_before_anything_is_allocated():
    parents = tuple(Discrete(f"p{i}", 10) for i in range(12))
    with pytest.raises(TooLarge, match="entries"):
        TableCPD(D, [0.5, 0.5], given=parents)


def test_missing_codes_are_refused():
    cpd = TableCPD(D, [0.5, 0.5])
    with pytest.raises(DataError, match=r"1 of 2 are missing for difficulty\. Use EM"):
        cpd.statistics({D: np.array([0, -1])})


def test_statistics_are_the_contingency_table():
    cpd = TableCPD(G, GRADES, given=(I, D))
    rng = np.random.default_rng(3)
    rows = {v: rng.integers(v.num_states, size=200) for v in cpd.scope}
    expected = np.zeros((2, 2, 3))
    for i, d, g in zip(rows[I], rows[D], rows[G], strict=True):
        expected[i, d, g] += 1
    counts = cpd.statistics(rows)
    assert counts.tolist() == expected.reshape(-1).tolist()
    learned = cpd.from_statistics(expected).values
    np.testing.assert_allclose(learned, expected / expected.sum(axis=2, keepdims=True), rtol=1e-15)
    smoothed = cpd.from_statistics(counts, Dirichlet(1.0)).values
    np.testing.assert_allclose(smoothed, (expected + 1) / (expected + 1).sum(axis=2, keepdims=True), rtol=1e-15)


def test_unseen_rows_follow_the_policy():
    cpd = TableCPD(D, [[0.5, 0.5], [0.5, 0.5]], given=I)
    assert cpd.from_statistics([0, 0, 1, 3]).values.tolist() == [[0.5, 0.5], [0.25, 0.75]]
    with pytest.raises(DataError, match=r"data: \(intelligence='low'\)"):
        cpd.from_statistics([0, 0, 1, 3], unseen="raise")


@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_estimates_recover_the_table_from_its_own_expected_counts(seed):
    cpd, table = random_case((2, 3, 2), seed)
    np.testing.assert_allclose(cpd.from_statistics(7.0 * table).values, table, rtol=0, atol=1e-15)


def test_many_one_state_parents_need_no_axes():
    parents = tuple(Discrete(f"p{i}", 1) for i in range(70))
    cpd = TableCPD(D, [0.25, 0.75], given=parents)
    assert cpd.irrelevant({}) == parents
    rows = {p: np.zeros(3, np.int64) for p in parents}
    assert np.exp(cpd.log_probability({**rows, D: np.array([0, 1, 1])})).tolist() == [0.25, 0.75, 0.75]


def labeled(cpd: TableCPD, rng: np.random.Generator):
    """The rows of a CPD as a frame with its rows and columns in any order, and either way round."""
    import pandas as pd

    contexts = list(itertools.product(*(p.states for p in cpd.parents)))
    index = pd.MultiIndex.from_tuples(contexts, names=[p.name for p in cpd.parents])
    if len(cpd.parents) == 1:
        index = pd.Index([context[0] for context in contexts], name=cpd.parents[0].name)
    columns = pd.Index(list(cpd.child.states), name=cpd.child.name)
    frame = pd.DataFrame(cpd.values.reshape(len(contexts), -1), index=index, columns=columns)
    frame = frame.iloc[rng.permutation(len(frame)), rng.permutation(len(columns))]
    return frame.T if rng.random() < 0.5 else frame


@in_blocks("seed", range(12))
@pytest.mark.parametrize(
    "parents",
    [
        (Discrete("a", ("x", "y", "z")),),
        (Discrete("a", (False, True)),),
        (Discrete("a", ("u", "v")), Discrete("b", (0, 1, 2))),
    ],
    ids=["texts", "the child's own states", "two parents"],
)
def test_frames_are_read_by_their_labels(parents, seed):
    rng = np.random.default_rng(seed)
    child = Discrete("c", (False, True))
    cpd = TableCPD(child, rng.dirichlet([1, 1], [p.num_states for p in parents]), given=parents)
    frame = labeled(cpd, rng)
    np.testing.assert_array_equal(TableCPD(child, frame, given=parents).values, cpd.values)
    if len(parents) == 2:
        swapped = frame.reorder_levels(["b", "a"], axis=int(frame.index.name == "c"))
        np.testing.assert_array_equal(TableCPD(child, swapped, given=parents).values, cpd.values)


def test_frames_without_the_labels_are_refused():
    import pandas as pd
    import polars as pl

    a, c = Discrete("a", ("x", "y")), Discrete("c", ("no", "yes"))
    for frame in (
        pd.DataFrame([[0.5, 0.5], [0.2, 0.8]]),
        pd.DataFrame([[0.5, 0.5], [0.2, 0.8]], columns=["no", "maybe"], index=["x", "y"]),
        pl.DataFrame({"no": [0.5, 0.2], "yes": [0.5, 0.8]}),
    ):
        with pytest.raises(ModelError, match=r"a column for each parent|by their names"):
            TableCPD(c, frame, given=a)
    with pytest.raises(StateError, match="Unknown state 0"):
        TableCPD(c, pd.DataFrame([[0.5, 0.5], [0.2, 0.8]], columns=["no", "yes"]), given=a)
    with pytest.raises(ModelError, match="twice"):
        TableCPD(c, pd.DataFrame([[0.5, 0.5]] * 3, columns=["no", "yes"], index=["x", "y", "x"]), given=a)


def test_uniform_tables_are_those_of_equal_weights():
    a, b, x = Discrete("a", 2), Discrete("b", 3), Discrete("x", 4)
    found = TableCPD.uniform(x, given=(a, b))
    same = TableCPD.normalized(x, np.ones((2, 3, 4)), given=(a, b))
    assert (found.scope, found.block, found.num_parameters) == (same.scope, same.block, same.num_parameters)
    np.testing.assert_array_equal(found.values, same.values)
    assert TableCPD.uniform(x).values.tolist() == [0.25] * 4
    many = default_network(DAG.parse("a -> x <- b"), {"a": a, "b": b, "x": x}).cpds
    one_by_one = [TableCPD.uniform(cpd.child, given=cpd.parents) for cpd in many]
    assert [cpd.values.tolist() for cpd in many] == [cpd.values.tolist() for cpd in one_by_one]
    assert [(cpd.scope, cpd.block) for cpd in many] == [(cpd.scope, cpd.block) for cpd in one_by_one]
    assert not many[0].values.flags.writeable
    with pytest.raises(ScopeError, match="twice"):
        TableCPD.uniform(x, given=(a, a))
