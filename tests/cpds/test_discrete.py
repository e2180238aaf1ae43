"""Shared parts of discrete CPDs: drawing, decoding, large inputs in chunks, checks of rows."""

from __future__ import annotations

from functools import reduce
from operator import mul

import numpy as np
import pytest

import sepset as ss
from sepset.cpds import discrete
from sepset.cpds.discrete import check_rows, chunks, decode, draw, parent_tuple
from sepset.cpds.jointstates import Undivided
from sepset.cpds.noisy import NoisyOr
from sepset.cpds.table import TableCPD
from sepset.errors import DataError, ModelError, ScopeError
from sepset.factors.chains import BY_NAME, Line
from sepset.inference.method import dense
from sepset.semiring import MAX, SUM
from sepset.variables.variable import Discrete
from support.bounded import within
from support.terminal import printed
from support.tolerances import CLOSE

A, B, X = Discrete("a", 2), Discrete("b", 3), Discrete("x", ("u", "v", "w"))


def test_draw_never_takes_a_state_of_probability_zero():
    rows = np.array([[0.0, 1.0, 0.0], [0.1, 0.0, 0.9], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    edge = np.nextafter(1.0, 0.0)
    for uniform in (0.0, 0.1, 0.5, edge):
        drawn = draw(rows, np.arange(4), np.full(4, uniform))
        assert (rows[np.arange(4), drawn] > 0).all()


def test_draw_survives_rows_that_round_below_one():
    row = np.array([[0.1] * 10 + [0.0]])
    assert draw(row, np.array([0]), np.array([np.nextafter(1.0, 0.0)])).tolist() == [9]


def test_decode_inverts_c_order():
    columns = decode(np.arange(6), (A, B))
    assert list(columns) == [A, B]
    assert columns[A].tolist() == [0, 0, 0, 1, 1, 1]
    assert columns[B].tolist() == [0, 1, 2, 0, 1, 2]


def test_chunks_cover_everything_once(monkeypatch):
    monkeypatch.setattr(discrete, "CHUNK", 4)
    assert [list(range(9))[part] for part in chunks(9)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8]]
    assert list(chunks(0)) == []


def test_pieces_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    cpd = TableCPD.normalized(X, rng.random((2, 3, 3)), given=(A, B))
    rows = {A: rng.integers(2, size=50), B: rng.integers(3, size=50)}
    whole = cpd.sample(rows, 50, np.random.default_rng(1))
    scores = cpd.log_probability({**rows, X: whole})
    monkeypatch.setattr(discrete, "CHUNK", 7)
    assert cpd.sample(rows, 50, np.random.default_rng(1)).tolist() == whole.tolist()
    assert cpd.log_probability({**rows, X: whole}).tolist() == scores.tolist()


def test_no_rows_give_no_draws():
    cpd = TableCPD(A, [0.5, 0.5])
    assert cpd.sample({}, 0, np.random.default_rng(0)).tolist() == []
    assert cpd.log_probability({A: np.zeros(0, np.int64)}).tolist() == []


def test_absent_columns_are_named():
    cpd = TableCPD(A, [[0.5, 0.5]] * 3, given=B)
    with pytest.raises(DataError, match=r"TableCPD\(a\[2\] \| b\[3\]\) needs a column"):
        cpd.sample({}, 3, np.random.default_rng(0))
    with pytest.raises(DataError, match="column for a"):
        cpd.log_probability({B: np.array([0])})


def test_contexts_outside_the_parents_are_ignored_and_unknown_states_are_not():
    cpd = TableCPD(A, [[0.5, 0.5]] * 3, given=B)
    assert cpd.irrelevant({"elsewhere": 5}) == (B,)
    with pytest.raises(ValueError, match="Unknown state 7 for b"):
        cpd.irrelevant({"b": 7})


def test_contexts_list_what_the_empty_context_does_not():
    table = [[[0.5, 0.5]] * 3, [[0.1, 0.9], [0.2, 0.8], [0.3, 0.7]]]
    found = TableCPD(Discrete("y"), table, given=(A, B)).contexts()
    assert [(c.context, c.irrelevant) for c in found] == [({"a": 0}, (B,))]


def test_parents_are_distinct_discrete_variables():
    assert parent_tuple(X, A) == (A,)
    assert parent_tuple(X, [A, B]) == (A, B)
    with pytest.raises(ScopeError, match="twice"):
        parent_tuple(X, (A, A))


def test_rows_are_checked_one_by_one():
    check_rows(np.array([[1.0, 0.0]]), "me", str)
    with pytest.raises(ModelError, match=r"the row 1 sums to 0\.5"):
        check_rows(np.array([[1.0, 0.0], [0.5, 0.0], [0.2, 0.2]]), "me", str)


def test_cpds_cannot_lose_fields():
    cpd = TableCPD(A, [0.5, 0.5])
    with pytest.raises(AttributeError, match="immutable"):
        del cpd.child


RAIN, WET = Discrete("rain", ("no", "<b>")), Discrete("wet", ("dry", "soaked"))
CPD = TableCPD(WET, [[0.9, 0.1], [0.25, 0.75]], given=RAIN)


def test_the_grid_has_parents_on_rows_and_states_as_columns():
    text = printed(CPD)
    assert "TableCPD(wet[2] | rain[2])" in text
    assert [line.split() for line in text.splitlines() if "0.25" in line] == [
        ["│", "<b>", "│", "0.25", "│", "0.75", "│"]
    ]
    assert "wet=dry" in text


def test_html_is_escaped():
    html = CPD._repr_html_()
    assert "<td>0.75</td>" in html
    assert "&lt;b&gt;" in html
    assert "<b>" not in html


def test_names_and_states_are_no_markup():
    x, y = Discrete("x[t]", ("[/b]", "low")), Discrete("y[t]", ("[a]", "b"))
    text = printed(TableCPD(y, [[0.5, 0.5], [0.25, 0.75]], given=x))
    assert all(part in text for part in ("x[t]", "[/b]", "y[t]=[a]", "y[t][2] | x[t][2]"))


def test_frames_of_each_kind():
    for kind in ("pandas", "polars", "pyarrow"):
        frame = CPD.to_frame(kind)
        names = frame.column_names if kind == "pyarrow" else list(frame.columns)
        assert names == ["rain", "wet=dry", "wet=soaked"]
    assert CPD.to_frame()["wet=soaked"].tolist() == [0.1, 0.75]
    assert CPD.to_frame()["rain"].tolist() == ["no", "<b>"]


def test_thirty_parents_print_at_once():
    parents = {Discrete(f"p{i}"): 0.1 for i in range(30)}
    text = within(5.0, lambda: printed(NoisyOr(Discrete("y"), parents)))
    assert "first 20 of 31 terms" in text
    assert repr(NoisyOr(Discrete("y"), parents)).endswith("... 30 variables)")


PARENTS = [ss.Discrete(name, k) for name, k in zip("abcdefghij", (2, 2, 3, *[2] * 7), strict=True)]
GRADED = {p: [[1.0, 0.0, 0.0]] * (p.num_states - 1) + [[0.5, 0.3, 0.2]] for p in PARENTS}
CPDS = [
    ss.NoisyOr(ss.Discrete("x"), dict.fromkeys(PARENTS, 0.3), leak=0.1),
    ss.NoisyMax(ss.Discrete("x", 3), GRADED, leak=[0.8, 0.1, 0.1]),
    ss.LogisticCPD(ss.Discrete("x"), {p: np.arange(p.num_states) * 0.5 for p in PARENTS}, bias=-1.0),
]
LINE = Line({name: i for i, name in enumerate("hcajgbfdie")})


def multiplied(parts, scope):
    product = reduce(mul, parts.filled)
    return dense(product.marginalize(list(parts.auxiliaries))).align(scope).values


def order_of(parts):
    """The parents in the order of the factors."""
    return "".join(next(v.name for v in f.scope if v in PARENTS) for f in parts.factors)


@pytest.mark.parametrize("cpd", CPDS, ids=lambda cpd: type(cpd).__name__)
def test_factors_follow_the_line_and_multiply_out(cpd):
    lined = cpd.along(LINE)
    assert order_of(cpd.decomposition()) == "abcdefghij"
    assert order_of(lined.decomposition()) == "hcajgbfdie"
    for semiring in (SUM, MAX):
        parts = lined.decomposed({}, semiring)
        assert order_of(parts) == "hcajgbfdie"
        np.testing.assert_allclose(multiplied(parts, cpd.scope), cpd.to_table().values, atol=CLOSE)
    seen = lined.decomposed({PARENTS[2]: 1, PARENTS[7]: 0}, SUM)
    assert order_of(seen) == "ajgbfdie"


@pytest.mark.parametrize("cpd", CPDS, ids=lambda cpd: type(cpd).__name__)
def test_a_cpd_keeps_its_line_also_with_other_parameters(cpd):
    lined = cpd.along(LINE)
    assert not cpd.line
    assert lined.along(Line({"a": 0})).line is LINE
    made = lined.parameters.random(np.random.default_rng(0))
    assert made.line is LINE
    assert cpd.parameters.random(np.random.default_rng(0)).line is BY_NAME
    assert lined.size == sum(dense(f).size for f in lined.decomposition().filled)


def test_one_factor_with_evidence_has_the_line_of_its_cpd():
    whole = Undivided(CPDS[2])
    assert whole.along(LINE).cpd.line is LINE
    assert Undivided(CPDS[2].along(LINE)).along(Line({"a": 0})).cpd.line is LINE
    table = Undivided(ss.TableCPD(PARENTS[0], [0.5, 0.5]))
    assert table.along(LINE) is table
