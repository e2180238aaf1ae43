"""Uncertain findings wherever findings are taken: beside a frame of rows, in its cells, on joints, on the command line.

A likelihood is one more factor; a soft finding is what the posterior of its variable shall be. Both are the same in one
question and in ten thousand. Expected values come from the whole joint of a small network.
"""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import sepset as ss
from sepset import cli
from support.tolerances import CLOSE

STUDENT = ss.datasets.load("student")
NAMES = STUDENT.variables.names
ROWS = {"grade": ["A", "C", None, "B"], "letter": ["weak", None, None, "strong"]}
VIRTUAL, SOFT = ss.Likelihood([0.9, 0.3]), ss.Soft([0.2, 0.8])
FINDINGS = {"a likelihood": {"sat": VIRTUAL}, "a soft finding": {"sat": SOFT}, "a state": {"sat": "high"}}


def joint(replaced=None):
    """The whole table, one axis per variable; some CPDs may have other numbers."""
    letters = {name: chr(97 + place) for place, name in enumerate(NAMES)}
    axes = ["".join(letters[v.name] for v in (*cpd.parents, cpd.child)) for cpd in STUDENT.cpds]
    tables = [(replaced or {}).get(cpd.child.name, cpd.values) for cpd in STUDENT.cpds]
    return np.einsum(",".join(axes) + "->" + "".join(letters.values()), *tables)


def along(names, weights):
    """An array over some variables, shaped to multiply the joint; names in the order of the model."""
    sizes = iter(np.shape(weights))
    return np.reshape(weights, [next(sizes) if name in names else 1 for name in NAMES])


def marginal(table, names):
    kept = table.sum(axis=tuple(i for i, name in enumerate(NAMES) if name not in names))
    order = [name for name in NAMES if name in names]
    return kept.transpose([order.index(name) for name in names])


def updated(given, replaced=None):
    """The posterior joint: factors for states and likelihoods, proportional fitting for soft findings."""
    table, soft = joint(replaced), {}
    for about, finding in given.items():
        if isinstance(finding, ss.Soft):
            soft[about] = np.asarray(finding.probabilities)
        elif isinstance(finding, ss.Likelihood):
            table = table * along([about], finding.weights)
        elif finding is not None:
            table = table * along([about], [float(state == finding) for state in STUDENT[about].states])
    for _ in range(300 if soft else 0):
        for about, shares in soft.items():
            table = table * along([about], shares / marginal(table, [about]))
    return table / table.sum()


def expected(target, given, rows=None):
    """The posterior of a target in every row."""
    rows = ROWS if rows is None else rows
    found = []
    for cells in zip(*rows.values(), strict=True):
        found.append(marginal(updated({**dict(zip(rows, cells, strict=True)), **given}), [target]))
    return np.array(found)


each_finding = pytest.mark.parametrize("given", FINDINGS.values(), ids=FINDINGS)


@each_finding
def test_predictions_take_findings_that_hold_in_every_row(given):
    found = ss.predict(STUDENT, ROWS, targets="intelligence", given=given).probabilities("intelligence")
    np.testing.assert_allclose(found, expected("intelligence", given), rtol=0, atol=CLOSE)


@each_finding
def test_an_engine_predicts_under_findings(given):
    found = ss.prepare(STUDENT).predict(ROWS, targets=["intelligence", "difficulty"], given=given)
    for target in ("intelligence", "difficulty"):
        np.testing.assert_allclose(found.probabilities(target), expected(target, given), rtol=0, atol=CLOSE)


@each_finding
def test_a_view_predicts_under_its_findings(given):
    found = ss.prepare(STUDENT).observe(given).predict(ROWS, targets="intelligence").probabilities("intelligence")
    np.testing.assert_allclose(found, expected("intelligence", given), rtol=0, atol=CLOSE)


@pytest.mark.parametrize("given", [FINDINGS["a likelihood"], FINDINGS["a state"]], ids=["a likelihood", "a state"])
def test_rows_have_their_probabilities_together_with_a_finding(given):
    found = ss.prepare(STUDENT).log_probabilities(ROWS, given=given)
    weights = VIRTUAL.weights if given["sat"] is VIRTUAL else [float(s == "high") for s in STUDENT["sat"].states]
    for row, cells in enumerate(zip(*ROWS.values(), strict=True)):
        table = joint() * along(["sat"], weights)
        for about, state in zip(ROWS, cells, strict=True):
            if state is not None:
                table = table * along([about], [float(s == state) for s in STUDENT[about].states])
        assert found[row] == pytest.approx(np.log(table.sum()), abs=CLOSE)


@pytest.mark.parametrize("finding", [VIRTUAL, SOFT, ss.Not("A"), {"A", "B"}], ids=lambda f: type(f).__name__)
def test_a_cell_may_hold_an_uncertain_finding(finding):
    """One row with the finding, one with a state, one with nothing."""
    name = "sat" if isinstance(finding, ss.Likelihood | ss.Soft) else "grade"
    column = [finding, STUDENT[name].states[0], None]
    found = ss.predict(STUDENT, {name: column}, targets="intelligence").probabilities("intelligence")
    if name == "grade":
        allowed = [1.0, 1.0, 0.0] if isinstance(finding, set) else [0.0, 1.0, 1.0]
        column[0] = ss.Likelihood(allowed)
    rows = [marginal(updated({name: cell}), ["intelligence"]) for cell in column]
    np.testing.assert_allclose(found, rows, rtol=0, atol=CLOSE)


def test_a_frame_predicts_joints():
    found = ss.predict(STUDENT, ROWS, targets=[("intelligence", "difficulty")])
    for row, cells in enumerate(zip(*ROWS.values(), strict=True)):
        table = marginal(updated(dict(zip(ROWS, cells, strict=True))), ["intelligence", "difficulty"])
        np.testing.assert_allclose(found.probabilities(("intelligence", "difficulty"))[row], table, rtol=0, atol=CLOSE)


JOINT = np.array([[0.1, 0.2], [0.3, 0.4]])  # of (letter, sat)


@pytest.mark.parametrize("pair", [("letter", "sat"), ("sat", "letter")], ids=" and ".join)
def test_a_soft_finding_on_a_joint(pair):
    """Jeffrey's rule with a partition of two variables: each cell's posterior keeps, its weight is what was said."""
    said = JOINT if pair == ("letter", "sat") else JOINT.T
    given = {pair: ss.Soft(said)}
    np.testing.assert_allclose(ss.query(STUDENT, pair, given=given).values, said, rtol=0, atol=CLOSE)
    prior = joint()
    places = [NAMES.index(name) for name in sorted(pair, key=NAMES.index)]
    ordered = JOINT if places == [NAMES.index("letter"), NAMES.index("sat")] else JOINT.T
    shares = prior.sum(axis=tuple(i for i in range(len(NAMES)) if i not in places))
    table = prior * along(list(pair), ordered / shares)
    found = ss.query(STUDENT, "intelligence", given=given).values
    np.testing.assert_allclose(found, marginal(table, ["intelligence"]), rtol=0, atol=CLOSE)


def varied(child, row, state, theta):
    """The child's table with one parameter changed and the rest of its row in proportion."""
    table = STUDENT.cpd(child).values.copy()
    rest = 1.0 - table[(*row, state)]
    table[row] = table[row] * (1.0 - theta) / rest
    table[(*row, state)] = theta
    return {child: table}


@pytest.mark.parametrize(
    "given",
    [{"sat": SOFT}, {"sat": SOFT, "grade": "C"}, {"sat": SOFT, "letter": ss.Soft([0.6, 0.4])}],
    ids=["one", "beside a state", "two"],
)
def test_sensitivity_under_soft_findings(given):
    """The slope of the posterior in each parameter, soft findings fitted again at each value."""
    found = ss.sensitivity(STUDENT, "intelligence", state="high", given=given)
    high = STUDENT["intelligence"].states.index("high")
    assert found.probability == pytest.approx(marginal(updated(given), ["intelligence"])[high], abs=CLOSE)
    step, seen = 1e-5, 0
    for parameter in (one for v in STUDENT.variables for one in found.of(v)):
        cpd = STUDENT.cpd(parameter.child)
        row = tuple(p.states.index(parameter.parents[p.name]) for p in cpd.parents)
        state = cpd.child.states.index(parameter.state)
        ends = [
            marginal(updated(given, varied(parameter.child, row, state, parameter.value + d)), ["intelligence"])[high]
            for d in (-step, step)
        ]
        assert parameter.derivative == pytest.approx((ends[1] - ends[0]) / (2 * step), abs=1e-6)
        seen += 1
    assert seen >= 20


RUN = CliRunner()


def answered(*arguments):
    result = RUN.invoke(cli.app, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


@pytest.mark.parametrize(
    ("option", "finding"), [("--likelihood", VIRTUAL), ("--soft", SOFT)], ids=["likelihood", "soft"]
)
@pytest.mark.parametrize("command", ["query", "map"])
def test_the_command_line_takes_uncertain_findings(command, option, finding):
    numbers = finding.weights if isinstance(finding, ss.Likelihood) else finding.probabilities
    text = f"sat={','.join(map(str, numbers))}"
    table = updated({"sat": finding, "grade": "C"})
    if command == "query":
        answer = answered("query", "student", "-t", "intelligence", "-g", "grade=C", option, text)
        assert answer["values"] == pytest.approx(marginal(table, ["intelligence"]).tolist(), abs=CLOSE)
    else:
        (best,) = answered("map", "student", "--over", "intelligence", "-g", "grade=C", option, text)["assignments"]
        place = marginal(table, ["intelligence"]).argmax()
        assert best == {"intelligence": STUDENT["intelligence"].states[place]}


METHOD_NAMES = (
    "elimination",
    "clique-tree",
    "brute-force",
    "belief-update",
    "shafer-shenoy",
    "recursive-conditioning",
    "cutset-conditioning",
)


@pytest.mark.parametrize("name", METHOD_NAMES)
def test_the_command_line_offers_every_exact_method(name):
    answer = answered("query", "student", "-t", "intelligence", "-g", "grade=C", "-m", name)
    assert answer["values"] == pytest.approx(marginal(updated({"grade": "C"}), ["intelligence"]).tolist(), abs=CLOSE)


def test_the_command_line_gives_joints_of_states_and_numbers(tmp_path):
    d, x = ss.Discrete("d", 2), ss.Real("x")
    net = ss.BayesNet(ss.TableCPD(d, [0.25, 0.75]), ss.LinearGaussian(x, [0.0, 4.0], covariance=[1.0, 2.0], by=d))
    ss.write(net, tmp_path / "hybrid.json")
    answer = answered("query", str(tmp_path / "hybrid.json"), "-t", "d", "-t", "x")
    assert answer["variables"] == ["d", "x"]
    assert answer["weights"] == pytest.approx([0.25, 0.75], abs=CLOSE)
    assert np.ravel(answer["means"]).tolist() == pytest.approx([0.0, 4.0], abs=CLOSE)
    assert np.ravel(answer["covariances"]).tolist() == pytest.approx([1.0, 2.0], abs=CLOSE)


def test_one_question_takes_them_all():
    """The same findings, one row at a time."""
    for given in FINDINGS.values():
        for row, cells in enumerate(itertools.islice(zip(*ROWS.values(), strict=True), 3)):
            found = ss.query(STUDENT, "intelligence", given={**dict(zip(ROWS, cells, strict=True)), **given})
            np.testing.assert_allclose(found.values, expected("intelligence", given)[row], rtol=0, atol=CLOSE)
