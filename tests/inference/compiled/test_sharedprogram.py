"""Groups of targets as one program: the answers of each, and every common step once."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.inference import costs
from sepset.inference.compiled import planner
from sepset.inference.compiled.dense import run_dense
from sepset.inference.compiled.sharedprogram import bundle
from sepset.inference.compiled.store import FactorValues
from sepset.variables.evidence import Evidence, resolve
from support.random_models import table_net
from support.tolerances import CLOSE


def groups_of(rng, num):
    """Positions dealt to two or three groups, none empty."""
    count = min(num, int(rng.integers(2, 4)))
    dealt = np.concatenate([np.arange(count), rng.integers(0, count, num - count)])
    return [tuple(np.flatnonzero(dealt == g).tolist()) for g in range(count)]


@pytest.mark.parametrize("seed", range(40))
def test_groups_asked_often_answer_as_enumeration_does(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    case = table_net(rng)
    num = len(case.variables)
    if num < 3:
        pytest.skip("nothing to group")
    seen = rng.permutation(num)[: rng.integers(0, num - 1)].tolist()
    hidden = [v for v in range(num) if v not in seen]
    split = [tuple(hidden[i] for i in group) for group in groups_of(rng, len(hidden))] if len(hidden) > 1 else None
    if split is None:
        pytest.skip("nothing to group")
    monkeypatch.setattr(costs, "ENTRIES_PER_SINK_FOR_GROUPS", 0)
    monkeypatch.setattr(costs, "ENTRIES_PER_SINK_FOR_GROUPS_LATER", 0)
    monkeypatch.setattr(planner, "target_groups", lambda *args, **settings: tuple(split))
    engine = ss.CliqueTree().prepare(case.model.problem())
    weights = {hidden[0]: rng.uniform(0.1, 1.0, case.variables[hidden[0]].num_states)} if seed % 2 else {}
    for _ in range(5):
        codes = {v: int(rng.integers(case.variables[v].num_states)) for v in seen}
        read, log_partition = engine.marginals(Evidence(codes, weights))
        given = {case.variables[v].name: code for v, code in codes.items()}
        joint = oracle.joint(case.factors, case.cards, given)
        for v, weight in weights.items():
            joint = joint * weight.reshape([-1 if axis == v else 1 for axis in range(joint.ndim)])
        assert np.exp(log_partition) == pytest.approx(joint.sum(), rel=1e-9, abs=1e-300)
        for v in range(num) if joint.sum() > 0 else ():
            truth = joint.sum(axis=tuple(axis for axis in range(num) if axis != v))
            np.testing.assert_allclose(read(v).values, truth / truth.sum(), atol=CLOSE)


def questions(net, groups, given=None):
    tables = ss.CliqueTree().prepare(net.problem())
    pattern = tables.compiler.planner.pattern(resolve(given, net.variables))
    first = tables.compiler.question("joint", (), pattern)
    return tables.store, first, [tables.compiler.question("group", group, pattern) for group in groups]


def test_common_steps_are_made_once():
    alarm = ss.datasets.load("alarm")
    ids = [alarm.variables.id(name) for name in ("HRBP", "HREKG", "HRSAT", "CVP")]
    store, first, rest = questions(alarm, [(v,) for v in ids], {"HISTORY": "TRUE"})
    made = bundle(first, rest, store.layout)
    apart = [len(part.contraction.steps) for part in rest]
    assert len(made.contraction.steps) < sum(apart)
    keys = [(*sorted(pair[1:]), made.contraction.scopes[pair[0]]) for pair in made.contraction.steps]
    assert len(set(keys)) == len(keys)
    assert made.targets.tolist() == ids


def test_equal_questions_cost_one():
    student = ss.datasets.load("student")
    store, first, (one,) = questions(student, [(2,)])
    made = bundle(first, [one], store.layout)
    twice = bundle(first, [one, one], store.layout)
    assert twice.contraction.steps == made.contraction.steps
    with run_dense(made, FactorValues(student.problem(), store), Evidence()) as run:
        assert not run.is_wide
        assert run.log_partition == pytest.approx(0.0, abs=CLOSE)
        np.testing.assert_allclose(run.singles(), [0.362, 0.2884, 0.3496], atol=CLOSE)  # Koller & Friedman, figure 3.4


def test_what_is_too_large_stays_apart(monkeypatch):
    student = ss.datasets.load("student")
    store, first, rest = questions(student, [(0,), (1, 2)])
    monkeypatch.setattr(costs, "MOST_SHARED_ENTRIES", 3)
    assert bundle(first, rest, store.layout) is None
