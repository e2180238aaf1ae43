"""Best assignments over the states of hidden children, against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.base.threads import OutOfWork, spend, working
from sepset.inference.buckets.children import ChildSearch
from sepset.inference.buckets.frontier import FrontierSearch
from sepset.variables.evidence import Evidence
from support.noisy_networks import assert_best, findings, noisy_network
from support.tolerances import CLOSE


def test_best_assignments_are_those_of_enumeration(monkeypatch):
    """Zeros, ties, variables of one state, likelihoods, and some variables summed out."""
    monkeypatch.setattr("sepset.inference.rewriting.MOST_TABLED", 0)
    monkeypatch.setattr("sepset.inference.forms.FEW_BRANCHES", 1)
    run, used = ChildSearch.run, []
    monkeypatch.setattr(ChildSearch, "run", lambda self, k: used.append(k) or run(self, k))
    for seed in range(12):
        rng = np.random.default_rng(seed)
        net, vs, joint = noisy_network(rng, int(rng.integers(8, 12)), is_tree=False)
        given, joint = findings(rng, vs, joint)
        over = None if rng.random() < 0.7 else [v.name for v in vs if rng.random() < 0.8] or [vs[0].name]
        assert_best(net, vs, joint, given, over, int(rng.choice([1, 1, 3])))
    assert len(used) > 4


def effects_of_a_chain(rng, num_causes, num_effects):
    """A chain of causes, hidden effects of all of them, and the log weight of the best states of effects for each
    joint state of the causes."""
    causes = [ss.Discrete(f"c{i}") for i in range(num_causes)]
    first, steps = rng.dirichlet([1, 1]), rng.dirichlet([1, 1], (num_causes - 1, 2))
    cpds = [ss.TableCPD(causes[0], first)]
    cpds += [ss.TableCPD(b, t, given=a) for (a, b), t in zip(itertools.pairwise(causes), steps, strict=True)]
    codes = (np.arange(2**num_causes)[:, None] >> np.arange(num_causes)) & 1
    logs = np.log(first)[codes[:, 0]]
    for i, step in enumerate(steps):
        logs = logs + np.log(step)[codes[:, i], codes[:, i + 1]]
    for j in range(num_effects):
        strengths = rng.uniform(0.05, 0.6, num_causes)
        cpds.append(ss.NoisyOr(ss.Discrete(f"f{j}"), dict(zip(causes, strengths, strict=True)), leak=0.02))
        off = np.log(0.98) + codes @ np.log1p(-strengths)
        logs = logs + np.maximum(off, np.log(-np.expm1(off)))
    return ss.BayesNet(*cpds), logs


def test_few_of_the_joint_states_of_many_children_are_looked_at(monkeypatch):
    run, searches = FrontierSearch.run, []
    monkeypatch.setattr(FrontierSearch, "run", lambda self, *args: searches.append(1) or run(self, *args))
    net, logs = effects_of_a_chain(np.random.default_rng(1), 16, 5)
    found = ss.map_assignment(net)
    assert str(found.guarantees["assignment"]) == "exact"
    np.testing.assert_allclose(found.log_value, logs.max(), rtol=CLOSE)
    assert 0 < len(searches) <= 2**5 / 2


def test_a_search_that_would_take_too_long_ends_after_its_first_states():
    children = {i: ss.Discrete(f"y{i}") for i in range(20)}
    looked_at = []

    def relaxed(told, known):
        looked_at.append(known)
        spend(1e8)
        return {}, 0.0

    search = ChildSearch(
        children, Evidence(), lambda told, known, above: ([], 0.0), relaxed, lambda child, values: np.full(2, 0.5)
    )
    with working(5e8), pytest.raises(OutOfWork):
        search.run(1)
    assert looked_at == [{}]
