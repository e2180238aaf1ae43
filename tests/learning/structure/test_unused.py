"""Arguments that a method has no use for are refused; a checkpoint that is kept is resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sepset as ss
from sepset.errors import ArgumentError, NotApplicable
from sepset.learning.checkpoints import keeps_checkpoint
from sepset.learning.structure.averaging.posterior import StructureAveraging
from sepset.learning.structure.learned import StructureMethod
from sepset.learning.structure.unused import uses_score
from support.structure_methods import (
    BY_PENALTY,
    BY_TESTS,
    CHAINS,
    DATA,
    NAMES,
    REALS,
    SEARCHES,
    SUMS,
    WITHOUT,
    rows_for,
    score_for,
)

ST = ss.structure


@pytest.mark.parametrize("method", SEARCHES, ids=lambda m: repr(m)[:40])
def test_resumed_is_uninterrupted(tmp_path: Path, method: StructureMethod[Any]) -> None:
    """Stopped after two steps and resumed from the file, a search ends where it would have ended."""
    score, rows = score_for(method), rows_for(method)
    whole = ss.learn_structure(rows, method=method, score=score, seed=4)
    file = tmp_path / "run"
    ss.learn_structure(
        rows, method=method, score=score, seed=4, until=ss.Until(steps=2, tolerance=None), checkpoint=file
    )
    assert file.exists()
    again = ss.learn_structure(rows, method=method, score=score, seed=4, checkpoint=file)
    assert again.graph == whole.graph
    assert again.score == pytest.approx(whole.score, rel=1e-12)


@pytest.mark.parametrize("method", CHAINS, ids=lambda m: repr(m)[:40])
def test_resumed_averages_are_uninterrupted(tmp_path: Path, method: StructureAveraging) -> None:
    whole = ss.structure_posterior(DATA, method=method, seed=4)
    file = tmp_path / "run"
    ss.structure_posterior(DATA, method=method, seed=4, until=ss.Until(steps=3, tolerance=None), checkpoint=file)
    again = ss.structure_posterior(DATA, method=method, seed=4, checkpoint=file)
    np.testing.assert_array_equal(again.edges, whole.edges)


def test_averages_need_a_method() -> None:
    with pytest.raises(ArgumentError, match=r"structure_posterior takes a method such as .*; found None"):
        ss.structure_posterior(DATA, method=None)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", [*WITHOUT, *BY_TESTS, *BY_PENALTY], ids=lambda m: repr(m)[:40])
def test_a_checkpoint_that_nobody_keeps(tmp_path: Path, method: StructureMethod[Any]) -> None:
    rows = REALS if method in BY_PENALTY else DATA
    with pytest.raises(NotApplicable, match=r"keeps no checkpoint; HillClimb\(\), GES\(\)"):
        ss.learn_structure(rows, method=method, checkpoint=tmp_path / "file")
    assert not (tmp_path / "file").exists()


@pytest.mark.parametrize("method", SUMS, ids=lambda m: repr(m)[:40])
def test_sums_keep_no_checkpoint(tmp_path: Path, method: StructureAveraging) -> None:
    with pytest.raises(NotApplicable, match=r"keeps no checkpoint; OrderMCMC\(\)"):
        ss.structure_posterior(DATA, method=method, checkpoint=tmp_path / "file")


@pytest.mark.parametrize("method", [*BY_TESTS, *BY_PENALTY], ids=lambda m: repr(m)[:40])
def test_a_score_that_nobody_uses(method: StructureMethod[Any]) -> None:
    rows = REALS if method in BY_PENALTY else DATA
    with pytest.raises(NotApplicable, match=r"uses no score; found score=BIC\(.*HillClimb"):
        ss.learn_structure(rows, method=method, score=ss.BIC())
    with pytest.raises(NotApplicable, match="uses no score; found structure_prior=EdgePenalty"):
        ss.learn_structure(rows, method=method, structure_prior=ST.EdgePenalty(0.5))
    assert not uses_score(method)
    with pytest.raises(NotApplicable, match="uses no score"):
        ss.structure_posterior(rows, method=ST.BootstrapStructures(method, 2), score=ss.BIC())


def test_tests_are_no_scores_and_scores_no_tests() -> None:
    for wrong in (ST.G(), ST.FisherZ(), "bic", ss.BIC):
        with pytest.raises(ss.SepsetError, match="score= takes"):
            ss.learn_structure(DATA, method=ss.HillClimb(), score=wrong)  # type: ignore[arg-type]
    for kind in (ss.PC, ss.FCI, ST.MMPC):
        for other in (ss.BIC(), ss.HillClimb(), "g", ST.G):
            with pytest.raises(ss.SepsetError, match="test= takes"):
                kind(test=other)


def test_what_methods_say() -> None:
    assert keeps_checkpoint(ss.HillClimb())
    assert keeps_checkpoint(object())
    assert not keeps_checkpoint(ss.ExactSearch())
    assert uses_score(ss.MMHC())
    assert uses_score(ST.BootstrapStructures(ss.GES()))


@pytest.mark.parametrize("method", BY_TESTS, ids=lambda m: repr(m)[:40])
def test_tests_do_not_limit_parents(method: StructureMethod[Any]) -> None:
    with pytest.raises(NotApplicable, match=r"found max_parents=2\. Leave it out \(max_condition="):
        ss.learn_structure(DATA, method=method, constraints=ST.Constraints(max_parents=2))


def test_a_hybrid_search_limits_parents() -> None:
    found = ss.learn_structure(DATA, method=ss.MMHC(), constraints=ST.Constraints(max_parents=1))
    assert max(len(found.graph.parents(name)) for name in NAMES) == 1


def test_constraints_and_priors_are_what_they_are_called() -> None:
    for method in (ss.HillClimb(), ss.ExactSearch(), ss.PC()):
        with pytest.raises(ArgumentError, match=r"constraints= takes Constraints\(.*found 'a->b'"):
            ss.learn_structure(DATA, method=method, constraints="a->b")  # type: ignore[arg-type]
    for prior in (0.5, ST.EdgePenalty, "uniform"):
        with pytest.raises(ArgumentError, match="structure_prior= takes a prior over structures such as EdgePenalty"):
            ss.learn_structure(DATA, method=ss.HillClimb(), structure_prior=prior)  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="structure_prior= takes"):
            ss.structure_posterior(DATA, method=ST.TianHe(), structure_prior=prior)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", [ss.OrderMCMC(), ss.structure.BestStructures(3), "hc", ss.EM(), ss.HillClimb])
def test_what_learns_no_structure_is_refused(method):
    with pytest.raises(ArgumentError, match=r"learn_structure takes a method such as HillClimb\(\)") as error:
        ss.learn_structure(DATA, method=method)
    assert ("structure_posterior" in str(error.value)) == hasattr(method, "average")
    assert ("call it" in str(error.value)) == isinstance(method, type)


def test_what_averages_nothing_is_refused():
    with pytest.raises(ArgumentError, match=r"found HillClimb\(\). It is a method of learn_structure"):
        ss.structure_posterior(DATA, method=ss.HillClimb())
