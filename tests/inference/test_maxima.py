"""Best assignments of problems with concave functions: variables summed out first, and refusals of wide tables."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

import sepset as ss
from sepset.base.threads import work_left, working
from sepset.cpds.influences import Influences
from sepset.inference import costs, maxima
from sepset.inference.forms import PreparedForms
from sepset.inference.map import kbest
from sepset.semiring import MAX
from sepset.variables.evidence import Evidence
from support.tolerances import CLOSE

ON, CLASS = ss.Discrete("y"), ss.Discrete("class", 3)


def network(num):
    """Causes with a common class, each with a symptom of its own, and a noisy-or of all causes."""
    rng = np.random.default_rng(num)
    vs = [ss.Discrete(f"c{i}") for i in range(num)]
    cpds = [ss.TableCPD(CLASS, [0.2, 0.3, 0.5])]
    cpds += [ss.TableCPD(v, rng.dirichlet([3.0, 1.0], size=3), given=CLASS) for v in vs]
    cpds += [ss.TableCPD(ss.Discrete(f"s{i}"), rng.dirichlet([1.0, 1.0], size=2), given=v) for i, v in enumerate(vs)]
    return vs, ss.BayesNet(*cpds, ss.NoisyOr(ON, {v: rng.uniform(0.05, 0.9) for v in vs}, leak=0.01))


@pytest.mark.parametrize("given", [{"y": 1}, {"y": 1, "s0": 1, "s2": 0}, {"y": 0}, {}])
def test_classes_are_summed_out(monkeypatch, given):
    """The causes alone are asked for; the class is not, nor are symptoms that were not observed."""
    vs, net = network(6)
    shape = [v.num_states for v in net.variables]
    columns = dict(zip(net.variables, np.indices(shape).reshape(len(shape), -1), strict=True))
    joint = np.exp(sum(cpd.log_probability(columns) for cpd in net.cpds)).reshape(shape)
    known = joint[tuple(given.get(v.name, slice(None)) for v in net.variables)]
    free = [v for v in net.variables if v.name not in given]
    table = known.sum(axis=tuple(i for i, v in enumerate(free) if v not in vs))
    monkeypatch.setattr("sepset.cpds.discrete.MOST_TABLED", 8)
    monkeypatch.setattr("sepset.cpds.discrete.MOST_ENTRIES", 8)
    monkeypatch.setattr("sepset.inference.rewriting.MOST_TABLED", 8)
    for k in (1, 4):
        found = ss.map_assignment(net, over=vs, given=given, k=k)
        np.testing.assert_allclose(found.log_values, np.sort(np.log(table).ravel())[::-1][:k], rtol=CLOSE)


def test_wide_tables_are_left_to_bounds(monkeypatch):
    """Without frontiers the answer is the same."""
    _, net = network(30)
    expected = ss.map_assignment(net, given={"y": 1}).log_value
    monkeypatch.setattr(maxima, "MOST_ENTRIES", 1)
    assert ss.map_assignment(net, given={"y": 1}).log_value == pytest.approx(expected, rel=CLOSE)


def test_a_frontier_without_proof_is_searched_once(monkeypatch):
    _, net = network(30)
    monkeypatch.setattr("sepset.inference.buckets.frontier.MOST_WORK", 0)
    expected = ss.map_assignment(net, given={"y": 1}).log_value
    calls = []
    search = maxima.Frontiers.best
    monkeypatch.setattr(maxima.Frontiers, "best", lambda *args: calls.append(1) or search(*args))
    assert ss.map_assignment(net, given={"y": 1}).log_value == pytest.approx(expected, rel=CLOSE)
    assert len(calls) == 1


def enumerated(net, given, over):
    """The log value of each joint state of some variables, the others summed out."""
    shape = [v.num_states for v in net.variables]
    codes = np.indices(shape).reshape(len(shape), -1)
    columns = dict(zip(net.variables, codes, strict=True))
    with np.errstate(divide="ignore"):
        joint = sum(cpd.log_probability({v: columns[v] for v in cpd.scope}) for cpd in net.cpds).reshape(shape)
    joint = joint[tuple(given.get(v.name, slice(None)) for v in net.variables)]
    free = [v for v in net.variables if v.name not in given]
    places = tuple(i for i, v in enumerate(free) if v.name not in over)
    kept = np.moveaxis(joint, places, range(len(places))).reshape(-1, *(2 for _ in over))
    with np.errstate(invalid="ignore"):
        return np.logaddexp.reduce(kept, axis=0)


STRENGTHS = {
    "multiples of a tiny number": lambda i, j: (i + 1) * (j + 1) * 1e-300,
    "tiny or a half": lambda i, j: 0.5 if (i + j) % 2 else (i + 1) * 1e-300,
    "tiny or none": lambda i, j: 0.0 if (i + j) % 3 else (i + 1) * 1e-300,
    "tenths": lambda i, j: (i % 5 + j) / 10,
}


def diagnosis(num, strength, kind="or", leak=0.0):
    """Causes of which each of three findings has all."""
    vs = [ss.Discrete(f"c{i}") for i in range(num)]
    cpds = [ss.TableCPD(v, [0.9 - i / 100, 0.1 + i / 100]) for i, v in enumerate(vs)]
    for j in range(3):
        chances = {v: strength(i, j) for i, v in enumerate(vs)}
        if kind == "or":
            cpds.append(ss.NoisyOr(ss.Discrete(f"y{j}"), chances, leak=leak))
        elif kind == "max":
            rows = {v: [[1.0, 0.0, 0.0], [1.0 - p, p / 4, p - p / 4]] for v, p in chances.items()}
            cpds.append(ss.NoisyMax(ss.Discrete(f"y{j}", 3), rows, leak=[1.0 - leak, leak, 0.0]))
        else:
            cpds.append(ss.LogisticCPD(ss.Discrete(f"y{j}"), {v: [0.0, float(i % 3 - 1)] for i, v in enumerate(vs)}))
    return ss.BayesNet(*cpds)


@pytest.mark.parametrize("kind", ["or", "max", "logistic"])
@pytest.mark.parametrize("strength", STRENGTHS.values(), ids=STRENGTHS)
def test_few_of_many_causes_are_enumeration(kind, strength):
    """Some of the causes are asked for, so that a sum over the others may come first or not."""
    net, given = diagnosis(8, strength, kind), {f"y{j}": 1 for j in range(3)}
    for over in (["c1"], ["c0", "c3", "c6"], [f"c{i}" for i in range(7)]):
        values = np.sort(enumerated(net, given, over).ravel())[::-1]
        expected = values[values > -np.inf]
        if not len(expected):
            with pytest.raises(ss.ImpossibleEvidence):
                ss.map_assignment(net, given=given, over=over)
            continue
        for k in (1, 5):
            found = ss.map_assignment(net, given=given, over=over, k=k)
            np.testing.assert_allclose(found.log_values, expected[:k], rtol=CLOSE)
            assert found.guarantees["assignment"].name == "EXACT"


@pytest.mark.parametrize("kind", ["or", "max"])
@pytest.mark.parametrize("strength", STRENGTHS.values(), ids=STRENGTHS)
def test_few_of_twenty_causes_take_little_work(kind, strength):
    """Sums of twenty causes under three findings have small tables, however many different strengths there are."""
    net, over = diagnosis(20, strength, kind), ["c0", "c1", "c2"]
    given = {f"y{j}": 1 for j in range(3)}
    with working(1e8):
        found = ss.map_assignment(ss.BayesNet(*net.cpds), given=given, over=over)
        assert work_left() > 0.0
    each = ss.query(net, over, given=given)
    assert found.log_value == pytest.approx(
        float(np.log(np.asarray(each.values).max())) + float(ss.log_probability(net, given=given)), rel=1e-9
    )


def test_maxima_of_functions_are_refused_after_counted_work(monkeypatch):
    """Sums of so many different strengths have too many rows; the work is counted, not the time."""
    net = diagnosis(9, STRENGTHS["tenths"], "logistic")
    given, over = {f"y{j}": 1 for j in range(3)}, [f"c{i}" for i in range(5)]
    expected = ss.map_assignment(net, given=given, over=over).log_value
    monkeypatch.setattr(costs, "NANOSECONDS_OF_ONE_MAXIMUM", 1.0)
    monkeypatch.setattr(costs, "NANOSECONDS_OF_A_SEARCH", 1.0)
    prepared = PreparedForms(net.problem(), ss.VariableElimination())
    evidence, places = ss.prepare(net).evidence(given), [net.variables.id(name) for name in over]
    with pytest.raises(ss.TooLarge, match="until=Until"):
        prepared.best(evidence, places)
    with pytest.raises(ss.TooLarge, match="until=Until"):
        kbest.k_best(prepared, evidence, places, 3)
    monkeypatch.undo()
    assert prepared.best(evidence, places).log_value == pytest.approx(expected, rel=CLOSE)


def test_tangents_are_refused_with_the_best_value_and_a_bound(monkeypatch):
    _, net = network(30)
    exact = ss.map_assignment(net, given={"y": 1}).log_value
    monkeypatch.setattr(maxima, "MOST_ENTRIES", 1)
    monkeypatch.setattr(costs, "NANOSECONDS_OF_A_SEARCH", 2e7)
    with pytest.raises(ss.TooLarge, match="until=Until") as refused:
        ss.map_assignment(ss.BayesNet(*net.cpds), given={"y": 1}, method=ss.CliqueTree())
    best, bound = map(
        float, re.search(r"log value (\S+), and none have more than (\S+)\.", str(refused.value)).groups()
    )
    assert best <= exact + 1e-4 <= bound + 2e-4
    longer = ss.map_assignment(ss.BayesNet(*net.cpds), given={"y": 1}, until=ss.Until(seconds=600))
    assert longer.log_value == pytest.approx(exact, rel=CLOSE)


def test_the_k_best_are_refused_after_those_that_are_certain(monkeypatch):
    net = ss.BayesNet(*(ss.TableCPD(ss.Discrete(f"c{i}"), [0.6, 0.4]) for i in range(6)))
    prepared, evidence = ss.prepare(net).prepared, ss.prepare(net).evidence(None)
    assert len(kbest.partitioned(prepared, evidence, range(6), 3)) == 3
    with working(8 * kbest.CELL_NANOSECONDS), pytest.raises(ss.TooLarge, match="first 2 of the 9 best"):
        kbest.partitioned(prepared, evidence, range(6), 9)


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


def largest_of_all(net, given):
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
        assert found.log_value == pytest.approx(largest_of_all(net, given), rel=1e-9)


def prepared_for(net, given):
    prepared = PreparedForms(net.problem(), ss.CliqueTree())
    evidence = Evidence({net.variables.id(name): code for name, code in given.items()})
    return prepared, evidence, [v for v in range(len(net.variables)) if v not in evidence.codes]


def test_each_form_has_what_is_observed_of_it():
    net = findings(5, 5, 12, 8)
    given = {"f0": 1, "f1": 0, "c3": 1, "c7": 0}
    prepared, evidence, over = prepared_for(net, given)
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
    monkeypatch.setattr(maxima, "MAX_ENTRIES", 1)
    monkeypatch.setattr(maxima, "LARGE", 1)
    monkeypatch.setattr(costs, "NANOSECONDS_OF_A_SEARCH", 2.5 * 6 * maxima.PARENT_NANOSECONDS)
    net, given = findings(6, 5, 9, 6), {f"f{j}": 1 for j in range(5)}
    looked_at, prepared = [], []
    products, concave = Influences.products, Influences.concave
    monkeypatch.setattr(Influences, "products", lambda *args: looked_at.append(1) or products(*args))
    monkeypatch.setattr(Influences, "concave", lambda *args: prepared.append(1) or concave(*args))
    engine, evidence, over = prepared_for(net, given)
    with pytest.raises(ss.TooLarge, match="3 or more functions of many variables couple"):
        engine.best(evidence, over)
    assert len(looked_at) == 3
    assert len(prepared) <= 3  # one for each, to see that it is concave
    later = ss.map_assignment(net, given=given, until=ss.Until(seconds=60))
    assert later.log_value == pytest.approx(largest_of_all(net, given), rel=1e-9)
