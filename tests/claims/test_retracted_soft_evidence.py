"""Withdrawing a finding beside soft ones: what stays is fitted again, as if the finding had never been.

Soft evidence says what a posterior shall be, given all findings. The weights that bring it about depend on the others,
so they change when one is withdrawn. Expected values come from iterative proportional fitting of the whole joint.
"""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from support.tolerances import CLOSE

STUDENT = ss.datasets.load("student")
NAMES = STUDENT.variables.names


def joint():
    """The whole table, one axis per variable in the order of the model."""
    letters = {name: chr(97 + place) for place, name in enumerate(NAMES)}
    tables = [cpd.values for cpd in STUDENT.cpds]
    axes = ["".join(letters[v.name] for v in (*cpd.parents, cpd.child)) for cpd in STUDENT.cpds]
    return np.einsum(",".join(axes) + "->" + "".join(letters.values()), *tables)


def along(name, weights):
    shape = [1] * len(NAMES)
    shape[NAMES.index(name)] = -1
    return np.reshape(weights, shape)


def marginal(table, name):
    place = NAMES.index(name)
    return table.sum(axis=tuple(axis for axis in range(len(NAMES)) if axis != place))


def posterior(name, given):
    """P(name | findings): hard and likelihood findings as factors, soft ones by proportional fitting."""
    table = joint()
    soft = {}
    for about, finding in given.items():
        if isinstance(finding, ss.Soft):
            soft[about] = np.asarray(finding.probabilities, dtype=float)
        elif isinstance(finding, ss.Likelihood):
            table = table * along(about, finding.weights)
        else:
            table = table * along(about, [float(state == finding) for state in STUDENT[about].states])
    for _ in range(500 if soft else 0):
        for about, shares in soft.items():
            table = table * along(about, shares / marginal(table, about))
    found = marginal(table, name)
    return found / found.sum()


SAT, LETTER = ss.Soft([0.2, 0.8]), ss.Soft([0.65, 0.35])
FINDINGS = {
    "a hard and a soft one": {"letter": "weak", "sat": SAT},
    "two soft ones": {"letter": LETTER, "sat": SAT},
    "hard, likely and soft": {"difficulty": "hard", "letter": ss.Likelihood([0.9, 0.3]), "sat": SAT},
    "two soft ones and a hard one": {"difficulty": "easy", "letter": LETTER, "sat": SAT},
}
PLAIN = {
    "hard ones": {"letter": "weak", "grade": "A", "sat": "high"},
    "hard and likely": {"letter": "weak", "sat": ss.Likelihood([0.9, 0.3])},
}


def check(found, given):
    for name in given:
        expected = posterior(name, {other: finding for other, finding in given.items() if other != name})
        np.testing.assert_allclose(found[name].values, expected, rtol=0, atol=CLOSE, err_msg=name)


cases = pytest.mark.parametrize(
    "given",
    [pytest.param(given, id=name) for name, given in PLAIN.items()]
    + [pytest.param(given, id=name) for name, given in FINDINGS.items()],
)


@cases
@pytest.mark.parametrize(
    "method",
    [
        None,
        ss.VariableElimination(),
        ss.inference.ShaferShenoy(),
        ss.inference.BeliefUpdate(),
        ss.inference.BruteForce(),
    ],
    ids=lambda m: type(m).__name__,
)
def test_a_finding_is_withdrawn_as_if_it_had_never_been(given, method):
    check(ss.prepare(STUDENT, method=method).retracted_marginals(given=given), given)


@cases
def test_a_view_withdraws_its_findings_the_same_way(given):
    check(ss.prepare(STUDENT).observe(given).retracted_marginals(), given)


@pytest.mark.parametrize("given", FINDINGS.values(), ids=FINDINGS)
def test_asking_without_the_finding_gives_the_same(given):
    """The question that a withdrawal answers, asked directly."""
    engine = ss.prepare(STUDENT)
    rest = {name: {n: f for n, f in given.items() if n != name} for name in given}
    check({name: engine.query(name, given=others) for name, others in rest.items()}, given)
