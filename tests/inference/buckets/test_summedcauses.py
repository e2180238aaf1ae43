"""Best causes with other causes summed out, against enumeration."""

from __future__ import annotations

import numpy as np

import sepset as ss
from sepset.inference.buckets.frontier import Walk
from sepset.inference.buckets.summedcauses import SummedCauses
from support.noisy_networks import assert_best, noisy_findings
from support.tolerances import CLOSE


def test_best_assignments_are_those_of_enumeration(monkeypatch):
    """Zeros, ties, variables of one state, and likelihoods."""
    monkeypatch.setattr("sepset.inference.rewriting.MOST_TABLED", 0)
    run, proved = SummedCauses.run, []

    def counted(self):
        found = run(self)
        proved.append(found.is_proved)
        return found

    monkeypatch.setattr(SummedCauses, "run", counted)
    for seed in range(30):
        rng = np.random.default_rng(seed)
        net, vs, joint = noisy_findings(rng, 7, int(rng.integers(1, 4)))
        given = {}
        for i, v in enumerate(vs):
            if i < 7 and rng.random() < 0.8:
                continue
            weights = rng.random(v.num_states) if i < 7 else np.eye(v.num_states)[rng.integers(v.num_states)]
            given[v.name] = ss.Likelihood(weights.tolist()) if i < 7 else v.states[int(weights.argmax())]
            joint = joint * weights.reshape([-1 if j == i else 1 for j in range(len(vs))])
        over = [v.name for v in vs[:7] if rng.random() < 0.6] or [vs[0].name]
        assert_best(net, vs, joint, given, over, 1)
    assert sum(proved) == len(proved) > 8


def test_wide_findings_take_few_partial_assignments(monkeypatch):
    """No table of any finding is made: 3**15 joint states of what is asked have a few thousand partial ones."""
    rng, child = np.random.default_rng(3), [ss.Discrete(f"f{j}", 3) for j in range(2)]
    causes = [ss.Discrete(f"c{i}", 3) for i in range(18)]
    priors, effects = rng.dirichlet(np.ones(3), 18), rng.dirichlet(np.ones(3), (2, 18, 3))
    effects[:, :, 0] = np.eye(3)[0]
    cpds = [ss.TableCPD(c, p) for c, p in zip(causes, priors, strict=True)]
    cpds += [ss.NoisyMax(f, dict(zip(causes, e, strict=True))) for f, e in zip(child, effects, strict=True)]
    best, widths = Walk.best, []
    monkeypatch.setattr(Walk, "best", lambda self, *args, **more: widths.append(1) or best(self, *args, **more))
    over = [f"c{i}" for i in range(15)]
    found = ss.map_assignment(ss.BayesNet(*cpds), given={"f0": 2, "f1": 1}, over=over)
    assert str(found.guarantees["assignment"]) == "exact"
    assert 0 < len(widths) <= 4

    def log_value(codes):
        """By inclusion and exclusion: each finding is at most its level, less what is below."""
        total = 0.0
        for below in np.ndindex(2, 2):
            upto = np.cumsum(effects, axis=3)
            level = [2 - below[0], 1 - below[1]]
            rows = np.prod([upto[j, :, :, level[j]] for j in range(2)], axis=0) * priors
            total += (-1) ** sum(below) * np.prod(rows[range(15), codes]) * np.prod(rows[15:].sum(axis=1))
        return np.log(total)

    codes = np.array([found.assignment[name] for name in over])
    np.testing.assert_allclose(log_value(codes), found.log_value, rtol=CLOSE)
    for i, state in np.ndindex(15, 3):
        other = codes.copy()
        other[i] = state
        assert log_value(other) <= found.log_value + 1e-9
