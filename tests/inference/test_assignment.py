"""Methods that search: what they find is checked, and proved if their bound says so."""

from dataclasses import dataclass

import numpy as np
import pytest

import sepset as ss
from sepset.inference.assignment import AssignmentTask, Assigns, Found, assign, best_of
from sepset.inference.wiring import Wiring
from sepset.variables.evidence import Evidence

NET = ss.datasets.load("misconception")


@dataclass(frozen=True)
class Guess:
    """A method that knows its answer and claims a bound."""

    codes: tuple[int, ...]
    bound: float

    def assign(self, task: AssignmentTask) -> Found:
        return Found(np.array([self.codes]), (123.0,), bound=self.bound)


def test_values_are_computed_again_and_gaps_decide_the_guarantee():
    task = AssignmentTask(NET.problem(), Evidence())
    best = float(np.log(5e6))
    assert isinstance(Guess((0, 1, 1, 0), best), Assigns)
    exact = assign(Guess((0, 1, 1, 0), best), task)
    assert exact.log_values == pytest.approx((best,))
    assert exact.guarantee is ss.inference.Guarantee.EXACT
    loose = assign(Guess((0, 0, 0, 0), best), task)
    assert loose.guarantee is ss.inference.Guarantee.HEURISTIC
    assert loose.log_values == pytest.approx((float(np.log(3e5)),))


def test_a_method_of_ones_own_answers_in_names():
    found = ss.map_assignment(NET, method=Guess((0, 1, 1, 0), 16.0))
    assert found.assignment == ss.map_assignment(NET).assignment
    assert found.gap == pytest.approx(16.0 - np.log(5e6))
    assert found.probability == pytest.approx(5_000_000 / 7_201_840)
    assert "gap 0.575" in repr(found)


def test_impossible_models_are_named():
    a = ss.Discrete("a")
    net = ss.MarkovNet(ss.Table(a, [0, 1]), ss.Table(a, [1, 0]))
    with pytest.raises(ss.errors.ImpossibleEvidence):
        ss.map_assignment(net, method=Guess((0,), -np.inf))


def test_the_best_of_several():
    wiring = Wiring.of(NET.problem())
    codes, value = best_of([[0, 0, 0, 0], [0, 1, 1, 0], [1, 1, 1, 1]], wiring)
    assert (codes.tolist(), value) == ([0, 1, 1, 0], pytest.approx(np.log(5e6)))


def test_certificates_are_checked_again():
    assert not ss.inference.Certificate("no", "because", verify=lambda: False).check()


@pytest.mark.parametrize("method", [ss.ICM(), ss.AlphaExpansion(), ss.inference.Annealing(sweeps=3), ss.MPLP()])
def test_no_method_calls_a_possible_model_impossible(method):
    a, b = ss.Discrete("a"), ss.Discrete("b")
    hard = ss.MarkovNet(ss.Table((a, b), [[0, 1], [1, 0]]), ss.Table(a, [0.1, 0.9]), ss.Table(b, [0.1, 0.9]))
    found = ss.map_assignment(hard, method=method, start={"a": 1, "b": 1})
    assert found.log_value == -np.inf or found.log_value == pytest.approx(np.log(0.09))
    assert found.log_value > -np.inf or found.guarantees["assignment"] is ss.Guarantee.HEURISTIC
    with pytest.raises(ss.ImpossibleEvidence, match="a=1, b=1 contradict"):
        ss.map_assignment(hard, given={"a": 1, "b": 1}, method=method)


def test_results_of_all_searches_are_pickled():
    import pickle

    rng = np.random.default_rng(0)
    coin = ss.Discrete.array("coin", (3, 3))
    net = ss.MarkovNet.potts(coin, 0.5, log_values=rng.normal(size=(3, 3, 2)))
    names = ("ICM", "MinCut", "QPBO", "AlphaExpansion", "AlphaBetaSwap", "TRWS", "MPLP", "LoopyBP", "TreeReweighted")
    methods = [getattr(ss, name)() for name in (*names, "BranchAndBound")]
    for method in (*methods, ss.inference.BeamSearch(), ss.inference.Annealing(sweeps=5)):
        found = ss.map_assignment(net, method=method)
        again = pickle.loads(pickle.dumps(found))
        assert (again.log_value, dict(again.assignment)) == (found.log_value, dict(found.assignment))
        assert again.certificate is None or again.certificate.check()


def test_methods_of_one_step_refuse_checkpoints_and_other_seeds_do_not_resume(tmp_path):
    net = ss.MarkovNet.potts(ss.Discrete.array("coin", (3, 3)), 0.5)
    for method in (ss.MinCut(), ss.QPBO(), ss.inference.BeamSearch()):
        with pytest.raises(ss.errors.NotApplicable, match="takes one step, and checkpoint= cannot"):
            ss.map_assignment(net, method=method, until=3, checkpoint=tmp_path / "c")
    ss.map_assignment(net, method=ss.ICM(restarts=5), until=2, checkpoint=tmp_path / "d", seed=1)
    with pytest.raises(ss.errors.DataError, match="belongs to"):
        ss.map_assignment(net, method=ss.ICM(restarts=5), checkpoint=tmp_path / "d", seed=2)
