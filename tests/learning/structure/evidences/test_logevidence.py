"""The verb, and the worked evidences of forty-three rows with one missing cell."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.errors import ArgumentError, DataError, NotApplicable

X_TO_Y = ss.DAG.parse("x -> y")
ROWS = {"x": [1] * 29 + [0] * 13 + [None], "y": [1] * 13 + [0] * 16 + [1] * 9 + [0] * 4 + [1]}
"""x1y1 13, x1y0 16, x0y1 10, x0y0 4, with x of one (x0, y1) row missing."""


@pytest.mark.parametrize(
    ("method", "value", "guarantee"),
    [
        (ss.structure.CompletionSum(ss.K2()), -59.023282, ss.Guarantee.EXACT),
        (ss.structure.CheesemanStutz(ss.K2(), "theta"), -59.044724, ss.Guarantee.LOWER_BOUND),
        (ss.structure.Laplace(ss.K2(), "theta"), -58.933391, ss.Guarantee.ESTIMATE),
        (ss.structure.ObservedBIC(), -60.234012, ss.Guarantee.ESTIMATE),
        (ss.structure.ObservedBIC("parameters"), -60.234012, ss.Guarantee.ESTIMATE),
    ],
)
def test_worked_evidences(method: object, value: float, guarantee: ss.Guarantee) -> None:
    found = ss.structure.log_evidence(X_TO_Y, ROWS, method=method)
    assert found.value == pytest.approx(value, abs=1e-6)
    assert found.guarantees["log_evidence"] is guarantee
    assert sum(found.terms.values()) == pytest.approx(found.value, abs=1e-9)
    assert found.dimension == 3
    assert float(found) == found.value


def test_the_mode_of_the_worked_rows() -> None:
    found = ss.structure.log_evidence(X_TO_Y, ROWS, method=ss.structure.ObservedBIC())
    assert found.model is not None
    assert found.log_likelihood == pytest.approx(-54.592212, abs=1e-6)
    assert found.model.cpd("x").values[1] == pytest.approx(651 / 946, abs=1e-6)
    assert found.model.cpd("y").values[:, 1] == pytest.approx([207 / 295, 299 / 651], abs=1e-6)


METHODS = [
    ss.structure.CheesemanStutz(ss.BDeu(2)),
    ss.structure.Laplace(ss.BDeu(2)),
    ss.structure.ObservedBIC(),
    ss.structure.CompletionSum(ss.BDeu(2)),
]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_orders_say_nothing(method: object) -> None:
    """Rows, columns, states and parents in another order, rows as weights."""
    rng = np.random.default_rng(3)
    names = {"a": ("p", "q"), "b": ("r", "s", "t"), "c": ("u", "v")}
    rows = {n: rng.choice(np.array([*states, None], dtype=object), 14) for n, states in names.items()}
    graph = ss.DAG.parse("a -> c <- b")
    written = [ss.Discrete(n, states) for n, states in names.items()]
    turned = [ss.Discrete(n, states[::-1]) for n, states in reversed(names.items())]
    one = ss.structure.log_evidence(graph, rows, method=method, variables=written).value
    order = rng.permutation(14)
    other = {n: rows[n][order] for n in reversed(rows)}
    assert ss.structure.log_evidence(ss.DAG.parse("b -> c <- a"), other, method=method, variables=turned).value == (
        pytest.approx(one, abs=1e-6)
    )
    distinct = {n: np.concatenate([rows[n], rows[n][:3]]) for n in rows}
    weights = np.concatenate([np.ones(14), np.zeros(3)])
    weighted = ss.structure.log_evidence(graph, distinct, method=method, variables=written, weights=weights)
    assert weighted.value == pytest.approx(one, abs=1e-6)


def test_equivalent_graphs_have_equal_evidence_with_bdeu() -> None:
    for method in (ss.structure.CompletionSum(ss.BDeu(3)), ss.structure.CheesemanStutz(ss.BDeu(3))):
        there, back = (ss.structure.log_evidence(ss.DAG.parse(g), ROWS, method=method) for g in ("x -> y", "y -> x"))
        assert there.value == pytest.approx(back.value, abs=1e-7)


def test_constant_columns_and_variables_with_one_state() -> None:
    """A hidden variable with one state, and a constant column, add nothing."""
    rows = ROWS | {"k": ["same"] * 43}
    variables = [ss.Discrete("h", 1), ss.Discrete("k", ("same",)), ss.Discrete("x"), ss.Discrete("y")]
    for method in METHODS:
        plain = ss.structure.log_evidence(X_TO_Y, ROWS, method=method).value
        more = ss.structure.log_evidence(ss.DAG.parse("h -> x -> y; k -> y"), rows, method=method, variables=variables)
        assert more.value == pytest.approx(plain, abs=1e-9)


def test_bad_input_is_one_error() -> None:
    with pytest.raises(ArgumentError, match="Laplace"):
        ss.structure.log_evidence(X_TO_Y, ROWS, method=ss.structure.Laplace)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="em="):
        ss.structure.log_evidence(X_TO_Y, ROWS, em=ss.MLE())  # type: ignore[arg-type]
    with pytest.raises(DataError, match="positive weight"):
        ss.structure.log_evidence(X_TO_Y, ROWS, weights=np.zeros(43))
    with pytest.raises(NotApplicable, match="ObservedBIC"):
        ss.structure.log_evidence(ss.DAG.parse("z"), {"z": [0.5, 1.5, 0.2]}, method=ss.structure.Laplace())


def test_numbers_have_a_bic() -> None:
    """The BIC of a normal with one missing number is that of the others, with the rows that are there."""
    values = np.array([0.5, 1.5, 0.2, 0.9])
    rows = {"z": [*values, None]}
    found = ss.structure.log_evidence(ss.DAG.parse("z"), rows, method=ss.structure.ObservedBIC("parameters"))
    fitted = -0.5 * 4 * (np.log(2 * np.pi * values.var()) + 1)
    assert found.value == pytest.approx(fitted - np.log(5.0), abs=1e-6)


def test_it_prints_its_numbers() -> None:
    found = ss.structure.log_evidence(X_TO_Y, ROWS)
    assert "lower bound" in repr(found)
    assert f"{found.value:.7g}" in repr(found)
    assert "entropy of missing cells" in str(found)
    assert "<table>" in found._repr_html_()
