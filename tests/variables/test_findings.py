"""Evidence in words."""

from __future__ import annotations

import sepset as ss
from sepset.variables.evidence import resolve
from sepset.variables.findings import MOST_TOLD, NOTHING_FOUND, Findings
from sepset.variables.universe import Universe


def test_every_kind_of_finding_is_told():
    a, b, x = ss.Discrete("a", "uvw"), ss.Discrete("b", (False, True)), ss.Real("x")
    variables = Universe([a, b, x])
    told = Findings(resolve({"x": 0.25, "b": True, "a": ss.Not("u")}, variables), variables)
    assert str(told) == "a in {v, w}, b=True, x=0.25"
    assert told.to_dict() == {"a": {"u": 0.0, "v": 1.0, "w": 1.0}, "b": True, "x": 0.25}
    vague = Findings(resolve({"a": ss.Likelihood([0.1, 0.2, 0.3]), "b": ss.Soft([0.5, 0.5])}, variables), variables)
    assert str(vague) == "a likelihood of a, soft evidence on b"


def test_many_findings_are_counted():
    names = Universe([ss.Discrete(f"v{i}") for i in range(MOST_TOLD + 3)])
    told = Findings(resolve({v.name: 1 for v in names}, names), names)
    assert str(told).endswith("v5=1, 3 more")
    assert str(NOTHING_FOUND) == ""


def test_soft_findings_are_told_as_they_were_given():
    asia = ss.datasets.load("asia")
    answer = ss.query(asia, "lung", given={"dysp": ss.Soft([0.9, 0.1]), "xray": ss.Likelihood([0.2, 0.8])})
    assert "P(lung | a likelihood of xray, soft evidence on dysp)" in str(answer)
    given = answer.to_dict()["given"]
    assert given["dysp"] == [{"state": "yes", "probability": 0.9}, {"state": "no", "probability": 0.1}]
    assert given["xray"] == [{"state": "yes", "weight": 0.2}, {"state": "no", "weight": 0.8}]
