from __future__ import annotations

import contextlib
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.table import TableCPD
from sepset.errors import FileFormatError
from sepset.io import results
from sepset.io.lexer import Words, decode
from sepset.io.results import Explanation, Marginals, PartitionFunction
from sepset.io.uai import WORDS
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Real
from support.shared_files import each_shared

NET = BayesNet(
    TableCPD(Discrete("rain", ("yes", "no")), [0.5, 0.5]),
    TableCPD(Discrete("grade", "ABC"), [0.5, 0.25, 0.25]),
    LinearGaussian(Real("height"), covariance=1.0),
)


def words(text: str | bytes) -> Words:
    return Words(decode(text if isinstance(text, bytes) else text.encode()), WORDS, "f.evid")


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("0", [{}]),
        ("2 0 1 1 2", [{"x0": 1, "x1": 2}]),
        ("1\n2 0 1 1 2", [{"x0": 1, "x1": 2}]),
        ("1\n0", [{}]),
        ("1 7 0", [{"x7": 0}]),
        ("2\n1 0 1\n1 1 2\n", [{"x0": 1}, {"x1": 2}]),
        ("3 0 0 0", [{}, {}, {}]),
    ],
)
def test_both_forms_of_evidence(text, rows):
    assert list(results.parse_evidence(words(text))) == rows


def test_evidence_by_the_names_of_a_model(tmp_path):
    path = tmp_path / "a.evid"
    results.write_evidence({"grade": "C", "rain": "yes"}, path, model=NET)
    assert path.read_text() == "2 1 2 0 0\n"
    assert results.read_evidence(path, model=NET) == {"grade": "C", "rain": "yes"}
    with pytest.raises(FileFormatError, match="height is continuous"):
        results.write_evidence({"height": 1.0}, path, model=NET)
    assert path.read_text() == "2 1 2 0 0\n"
    (tmp_path / "b.evid").write_text("2 1 0 0 1 1 2")
    assert results.read_evidence_rows(tmp_path / "b.evid", NET) == ({"rain": "yes"}, {"grade": "C"})
    with pytest.raises(FileFormatError, match="read_evidence_rows"):
        results.read_evidence(tmp_path / "b.evid", NET)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the number of observed"),
        ("2 0 1 0 1", "observed twice"),
        ("1 0 2", "rain has the codes 0 to 1"),
        ("1 9 0", "the model has 3 variables"),
        ("1 2 0", "height is continuous"),
        ("1 0", "found '0'|end of the file"),
        ("1 1 0 1 5", "expected the end"),
        ("x", "found 'x'"),
        ("-1", "found '-1'"),
        ("99999999 1", "end of the file"),
    ],
)
def test_bad_evidence(text, message):
    if text == "1 0":
        assert results.parse_evidence(words(text), NET) == ({},)
        return
    with pytest.raises(FileFormatError, match=message):
        results.parse_evidence(words(text), NET)


@given(
    st.one_of(
        st.floats(allow_nan=False, allow_infinity=False).map(PartitionFunction),
        st.lists(st.integers(0, 9)).map(lambda codes: Explanation(tuple(codes))),
        st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=4)).map(
            lambda rows: Marginals(tuple(map(np.array, rows)))
        ),
    )
)
def test_results_come_back(result):
    back = results.parse_result(words("\n".join(results.lines_of(result))))
    assert type(back) is type(result)
    if isinstance(result, Marginals):
        assert [row.tolist() for row in back.rows] == [row.tolist() for row in result.rows]
    else:
        assert back == result


def test_a_number_of_samples_is_stepped_over():
    assert results.parse_result(words("PR 1 -3.5")) == PartitionFunction(-3.5)
    assert results.parse_result(words("PR\n1")) == PartitionFunction(1.0)
    assert results.parse_result(words("MPE\n1\n3 0 1 2")) == Explanation((0, 1, 2))
    assert results.parse_result(words("MPE 1 0")) == Explanation((0,))
    rows = results.parse_result(words("MAR\n1\n2 2 0.5 0.5 1 1.0")).rows
    assert [row.tolist() for row in rows] == [[0.5, 0.5], [1.0]]
    assert results.parse_result(words("MAR 1 1 1.0")).rows[0].tolist() == [1.0]


def test_impossible_evidence_has_no_probability():
    assert results.parse_result(words("PR -inf")).log_value == -math.inf
    assert PartitionFunction(2.0).log_value == pytest.approx(math.log(100))


def test_an_explanation_by_name():
    net = BayesNet(*NET.cpds[:2])
    assert Explanation((1, 2)).assignment(net) == {"rain": "no", "grade": "C"}


@given(st.text(alphabet="0123 .-eMARPE\n") | st.binary(max_size=50))
def test_noise_is_refused(text):
    for head in ("", "PR ", "MAR ", "MPE "):
        data = text if isinstance(text, bytes) else text.encode()
        for read in (results.parse_result, results.parse_evidence):
            with contextlib.suppress(FileFormatError):
                read(words(head.encode() + data))


def test_files_of_results(tmp_path):
    for result in (PartitionFunction(-1.5), Explanation((1, 0)), Marginals((np.array([0.25, 0.75]),))):
        results.write_result(result, tmp_path / "r.gz")
        assert type(results.read_result(tmp_path / "r.gz")) is type(result)


@pytest.mark.parametrize("text", ["1\n7 2 0.7 x", "1 7 2 0 0", "2 7 1 1 7 1 1", "1 7 2 0.5", "1 0 3 1 1 1", "0 1"])
def test_bad_virtual_evidence(text, tmp_path):
    (tmp_path / "a.virt").write_text(text)
    with pytest.raises(FileFormatError):
        results.read_virtual_evidence(tmp_path / "a.virt", NET if text.startswith("1 0") else None)


@each_shared("uai/mar/*.PR")
def test_competition_results(path):
    assert math.isfinite(results.read_result(path).log10_value)


@each_shared("uai/mar/*.MAR")
def test_competition_marginals(path):
    rows = results.read_result(path).rows
    assert all(abs(row.sum() - 1) < 2e-4 for row in rows)
