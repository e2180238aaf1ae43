"""The forms that a question for best values needs: which are wide, and when a search is refused before its start."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.cpds.influences import Influences
from sepset.inference import costs, maxima
from sepset.inference.buckets import askedforms
from sepset.inference.forms import PreparedForms
from sepset.semiring import MAX
from sepset.variables.evidence import Evidence


def findings(seed, num_findings, num_causes, each):
    """Findings that share causes, listed in any order."""
    rng = np.random.default_rng(seed)
    causes = [ss.Discrete(f"c{i}") for i in range(num_causes)]
    cpds = [ss.TableCPD(c, [1 - p, p]) for c, p in zip(causes, rng.uniform(0.05, 0.4, num_causes), strict=True)]
    for j in range(num_findings):
        chosen = rng.choice(num_causes, each, replace=False)
        strengths = {causes[i]: float(rng.uniform(0.1, 0.9)) for i in chosen}
        cpds.append(ss.NoisyOr(ss.Discrete(f"f{j}"), strengths, leak=float(rng.uniform(0.0, 0.1))))
    return ss.BayesNet(*(cpds[i] for i in rng.permutation(len(cpds))))


def enumerated(net, given):
    """The largest log probability of all joint states with these findings."""
    free = [v for v in net.variables if v.name not in given]
    rows = np.array(list(itertools.product(*(range(v.num_states) for v in free))))
    columns = {v: rows[:, i] for i, v in enumerate(free)}
    columns |= {net[name]: np.full(len(rows), code) for name, code in given.items()}
    with np.errstate(divide="ignore"):
        return float(sum(cpd.log_probability(columns) for cpd in net.cpds).max())


@pytest.mark.parametrize("seed", range(4))
def test_best_causes_of_wide_findings_are_those_of_enumeration(seed, monkeypatch):
    monkeypatch.setattr("sepset.inference.rewriting.MOST_TABLED", 1)
    net = findings(seed, 4, 9, 6)
    for given in ({f"f{j}": 1 for j in range(4)}, {"f0": 1, "f1": 0, "f2": 1}, {"f3": 1, "c2": 1}, {}):
        found = ss.map_assignment(ss.BayesNet(*net.cpds), given=given)
        assert found.log_value == pytest.approx(enumerated(net, given), rel=1e-9)


def asked(net, given):
    prepared = PreparedForms(net.problem(), ss.CliqueTree())
    evidence = Evidence({net.variables.id(name): code for name, code in given.items()})
    return prepared, evidence, [v for v in range(len(net.variables)) if v not in evidence.codes]


def test_each_form_has_what_is_observed_of_it():
    net = findings(5, 5, 12, 8)
    given = {"f0": 1, "f1": 0, "c3": 1, "c7": 0}
    prepared, evidence, over = asked(net, given)
    found = prepared.asked(evidence, over)
    assert found is prepared.asked(evidence, over)
    assert {one for _, one in found.codes.values()} == {MAX}
    for i, (codes, _) in found.codes.items():
        scope = net.problem().forms[i].source.scope
        assert codes == {v: given[v.name] for v in scope if v.name in given}
    children = [net.problem().forms[i].source.scope[-1].name for i in found.functions.forms]
    assert sorted(children) == ["f0", "f1"]


def test_what_cannot_be_prepared_is_refused_before_it_is(monkeypatch):
    """The work is that of the causes of wide findings, which are looked at until it is too much, and not prepared."""
    monkeypatch.setattr("sepset.inference.rewriting.MOST_TABLED", 1)
    monkeypatch.setattr(askedforms, "MAX_ENTRIES", 1)
    monkeypatch.setattr(costs, "NANOSECONDS_OF_A_SEARCH", 2.5 * 6 * maxima.PARENT_NANOSECONDS)
    net, given = findings(6, 5, 9, 6), {f"f{j}": 1 for j in range(5)}
    looked_at, prepared = [], []
    products, concave = Influences.products, Influences.concave
    monkeypatch.setattr(Influences, "products", lambda *args: looked_at.append(1) or products(*args))
    monkeypatch.setattr(Influences, "concave", lambda *args: prepared.append(1) or concave(*args))
    engine, evidence, over = asked(net, given)
    with pytest.raises(ss.TooLarge, match="3 or more functions of many variables couple"):
        engine.best(evidence, over)
    assert len(looked_at) == 3
    assert len(prepared) <= 3  # one for each, to see that it is concave
    later = ss.map_assignment(net, given=given, until=ss.Until(seconds=60))
    assert later.log_value == pytest.approx(enumerated(net, given), rel=1e-9)
