"""Module networks: local optima, all assignments of few columns, tied CPDs, resuming, refusals."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sepset as ss
from learning.structure.modules.test_assignment import ground
from learning.structure.modules.test_pooledcounts import written_out
from sepset.learning.structure.modules.assignment import Modules
from sepset.learning.structure.modules.pooledcounts import PooledCounts
from sepset.learning.structure.modules.search import ModuleSearch


def grouped(num_rows: int = 500, size: int = 5, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    g, h = rng.integers(0, 2, (2, num_rows))
    rows = {"g": g, "h": h}
    for k in range(size):
        rows[f"a{k}"] = (rng.random(num_rows) < np.where(g, 0.9, 0.1)).astype(int)
        rows[f"b{k}"] = (rng.random(num_rows) < np.where(h ^ g, 0.8, 0.1)).astype(int)
    return rows


def state_of(found: ss.structure.LearnedModules) -> tuple[np.ndarray, list[list[int]]]:
    place = {name: k for k, name in enumerate(found.columns.names)}
    assigned = np.zeros(len(place), np.int64)
    for k, module in enumerate(found.modules):
        assigned[[place[name] for name in module.members]] = k
    return assigned, [[place[p] for p in module.parents] for module in found.modules]


@pytest.mark.parametrize("score", [ss.BDeu(1.0), ss.BIC()], ids=repr)
def test_no_change_improves(score: object) -> None:
    found = ss.learn_structure(grouped(200), method=ModuleSearch(4, restarts=3), score=score, seed=1)  # type: ignore[arg-type]
    assigned, parents = state_of(found)
    free = ss.structure.Constraints().bind(found.columns.names)
    modules = Modules(PooledCounts(found.columns, score), free, assigned, parents)  # type: ignore[arg-type]
    assert modules.score == pytest.approx(found.score) == pytest.approx(sum(m.score for m in found.modules))
    assert modules.best(1e-7) is None
    assert found.guarantees["structure"] is ss.Guarantee.LOCAL_OPTIMUM
    assert (np.diff(found.trace) >= 0).all()


def test_grouped_columns_are_found() -> None:
    found = ss.learn_structure(grouped(), method=ModuleSearch(4, restarts=10), score=ss.BDeu(1.0), seed=0)
    groups = {frozenset(m.members) - {"g", "h"} for m in found.modules} - {frozenset()}
    assert groups == {frozenset(f"a{k}" for k in range(5)), frozenset(f"b{k}" for k in range(5))}


def partitions(n: int, size: int) -> list[tuple[int, ...]]:
    every = itertools.product(range(size), repeat=n)
    return [a for a in every if all(k <= max(a[:i], default=-1) + 1 for i, k in enumerate(a))]


@pytest.mark.parametrize("seed", range(3))
def test_all_modules_of_three_columns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, 40)
    rows = {"x": a, "y": np.where(rng.random(40) < 0.7, a, 0), "z": (a + (rng.random(40) < 0.4)) % 3}
    subsets = [list(s) for k in range(3) for s in itertools.combinations(range(3), k)]
    best = max(
        sum(written_out(rows, [x for x in range(3) if assigned[x] == k], parents[k], ss.BDeu(2.0)) for k in range(2))
        for assigned in partitions(3, 2)
        for parents in itertools.product(subsets, repeat=2)
        if all(k in assigned or not parents[k] for k in range(2)) and ground(np.array(assigned), list(parents))
    )
    variables = [ss.Discrete(name, (0, 1, 2)) for name in rows]
    found = ss.learn_structure(rows, method=ModuleSearch(2), score=ss.BDeu(2.0), variables=variables)
    assert found.score == pytest.approx(best)


@pytest.mark.parametrize("prior", [ss.BDeu(3.0), ss.K2()], ids=repr)
def test_the_score_is_the_evidence_of_the_tied_network(prior: object) -> None:
    found = ss.learn_structure(grouped(100, 3), method=ModuleSearch(3, restarts=2), score=prior)  # type: ignore[arg-type]
    fitted = found.fit(ss.Bayes(prior))
    assert fitted.posterior.log_marginal_likelihood == pytest.approx(found.score)
    assert fitted.model.dag == found.graph
    free = sum(2 ** len(module.parents) for module in found.modules)
    assert fitted.model.num_parameters == free
    for module in found.modules:
        tables = [np.asarray(fitted.model.cpd(name).values) for name in module.members]
        assert all(np.array_equal(tables[0], other) for other in tables)


def test_columns_in_any_order() -> None:
    rows = grouped(300, 3)
    names = list(np.random.default_rng(1).permutation(list(rows)))
    one = ss.learn_structure(rows, method=ModuleSearch(4, restarts=10), score=ss.BDeu(1.0))
    other = ss.learn_structure({n: rows[n] for n in names}, method=ModuleSearch(4, restarts=10), score=ss.BDeu(1.0))
    assert one.score == pytest.approx(other.score)


def test_a_stopped_search_goes_on(tmp_path: Path) -> None:
    rows, method = grouped(100, 3), ModuleSearch(3, restarts=4)
    whole = ss.learn_structure(rows, method=method, score=ss.BDeu(1.0), seed=5)
    file = tmp_path / "modules"
    cut = ss.learn_structure(rows, method=method, score=ss.BDeu(1.0), seed=5, until=7, checkpoint=file)
    assert cut.status is ss.Status.STEP_LIMIT
    assert cut.guarantees["structure"] is ss.Guarantee.HEURISTIC
    again = ss.learn_structure(rows, method=method, score=ss.BDeu(1.0), seed=5, checkpoint=file)
    assert again.modules == whole.modules
    np.testing.assert_array_equal(again.trace, whole.trace)


def test_constraints_hold() -> None:
    known = ss.structure.Constraints(tiers=[["g"], ["h"]], forbidden=["g -> a0"], max_parents=1)
    found = ss.learn_structure(grouped(200), method=ModuleSearch(4, restarts=2), score=ss.BDeu(1.0), constraints=known)
    assert not found.graph.has_edge("h", "g")
    assert not found.graph.has_edge("g", "a0")
    assert max(len(m.parents) for m in found.modules) <= 1


def test_few_columns() -> None:
    alone = ss.learn_structure({"x": [0, 1, 1]}, method=ModuleSearch(5), score=ss.K2())
    assert [m.members for m in alone.modules] == [("x",)]
    zeros = ss.Dataset({"x": [0, 0], "y": [0, 0]})
    constant = ss.learn_structure(zeros, method=ModuleSearch(2), score=ss.K2())
    assert constant.score == pytest.approx(0.0)


def test_all_numbers_are_shown() -> None:
    found = ss.learn_structure(grouped(100, 2), method=ModuleSearch(2, restarts=1), score=ss.BDeu(1.0))
    assert f"{found.modules[0].score:.7g}" in str(found)
    assert found.modules[0].members[0] in found._repr_html_()
    assert "2 modules" in repr(found) or "1 modules" in repr(found)


@pytest.mark.parametrize(
    ("rows", "options", "words"),
    [
        ({"a": [0, 1], "b": ["x", "y"]}, {}, "all columns need the states of 'a'; they are others in 'b'"),
        ({"a": [0.5, 1.5], "b": [0.25, 0.5]}, {}, "real"),
        ({"a": [0, 1, None], "b": [0, 1, 1]}, {"missing": "available"}, "complete rows"),
        ({"a": [0, 1], "b": [0, 1]}, {"start": ss.DAG("ab")}, "no structure_prior=, start= or required"),
        ({"a": [0, 1], "b": [0, 1]}, {"score": ss.structure.QNML()}, "does not score pooled counts"),
    ],
)
def test_refusals(rows: dict[str, list[object]], options: dict[str, object], words: str) -> None:
    with pytest.raises(ss.SepsetError, match=words):
        ss.learn_structure(pd.DataFrame(rows), method=ModuleSearch(2), **({"score": ss.BDeu(1.0)} | options))  # type: ignore[call-overload]


def test_settings_are_checked() -> None:
    with pytest.raises(ss.SepsetError, match="num_modules"):
        ModuleSearch(0)
