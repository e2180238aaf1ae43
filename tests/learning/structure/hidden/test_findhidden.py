"""Hidden variables found where a learned structure has near-cliques."""

from __future__ import annotations

import pytest

import sepset as ss
from sepset.errors import ArgumentError, NotApplicable


def common_cause(num_rows: int, seed: int = 0, *, states: int = 2) -> ss.Dataset:
    """Four children of a hidden cause, and a child of one of them."""
    cause = ss.Discrete("h", states)
    noise = 0.2 / states

    def copy(name: str, parent: ss.Discrete) -> ss.TableCPD:
        rows = [[0.8 + noise if i == j else noise for j in range(states)] for i in range(states)]
        return ss.TableCPD(ss.Discrete(name, states), rows, given=parent)

    net = ss.BayesNet(
        ss.TableCPD(cause, [1 / states] * states),
        *(copy(name, cause) for name in "abcd"),
        copy("z", ss.Discrete("a", states)),
    )
    return net.sample(num_rows, seed=seed).select(list("abcdz"))


@pytest.mark.parametrize("states", [2, 3])
def test_a_common_cause_is_found(states: int) -> None:
    rows = common_cause(1_000, states=states)
    found = ss.learn_structure(rows, method=ss.structure.FindHidden(max_hidden=1))
    assert set(found.graph.children("H1")) == set("abcd")
    assert found.graph.has_edge("a", "z")
    assert [v.num_states for v in found.hidden] == [states]
    plain = ss.learn_structure(rows, method=ss.HillClimb())
    assert found.score > plain.score + 10
    best = max(found.tried, key=lambda one: one.score)
    assert best.score == pytest.approx(found.score, abs=1e-9)
    assert max(one.gain for one in found.tried) == pytest.approx(found.score - plain.score, abs=1e-6)
    assert found.fit().log_likelihood == pytest.approx(found.log_likelihood, abs=0.01)


def test_a_structure_without_near_cliques_stays_as_it_is() -> None:
    rows = ss.datasets.load("asia").sample(300, seed=0).select(["smoke", "lung", "bronc"])
    found = ss.learn_structure(rows, method=ss.structure.FindHidden())
    plain = ss.learn_structure(rows, method=ss.HillClimb())
    assert found.graph == plain.graph
    assert found.hidden == ()
    assert found.score == pytest.approx(plain.score, abs=1e-6)


def test_two_causes_that_depend_on_each_other() -> None:
    """The second hidden variable depends on the first; structural EM removes the edges that made up for that."""
    one, two = ss.Discrete("g"), ss.Discrete("h")

    def copy(child: ss.Discrete, parent: ss.Discrete, same: float) -> ss.TableCPD:
        return ss.TableCPD(child, [[same, 1 - same], [1 - same, same]], given=parent)

    net = ss.BayesNet(
        ss.TableCPD(one, [0.5, 0.5]),
        copy(two, one, 0.7),
        *(copy(ss.Discrete(n), one, 0.85) for n in "abcd"),
        *(copy(ss.Discrete(n), two, 0.85) for n in "efij"),
    )
    rows = net.sample(300, seed=1).select(list("abcdefij"))
    found = ss.learn_structure(rows, method=ss.structure.FindHidden(max_hidden=2, max_states=2))
    truth = ss.structure.log_evidence(net, rows, method=ss.structure.ObservedBIC("parameters"))
    assert len(found.hidden) == 2
    assert found.score == pytest.approx(truth.value, abs=0.01)
    assert sum("structural EM" in one.what and one.gain > 1.0 for one in found.tried) > 0


def test_missing_cells_are_summed_out() -> None:
    rows = common_cause(800)
    hidden = ss.missing.hide_cells(rows, ss.missing.MCAR(0.05), seed=0)
    method = ss.structure.FindHidden(max_hidden=1, max_states=2)
    found = ss.learn_structure(hidden, method=method)
    assert set(found.graph.children("H1")) >= set("bcd")
    assert found.columns.has_missing


def test_required_edges_stay() -> None:
    rows = common_cause(500)
    known = ss.structure.Constraints(required=["b -> c"])
    found = ss.learn_structure(rows, method=ss.structure.FindHidden(max_states=2), constraints=known)
    assert found.graph.has_edge("b", "c")
    assert found.hidden


def test_it_prints_what_was_tried() -> None:
    text = str(ss.learn_structure(common_cause(500), method=ss.structure.FindHidden(max_states=2, max_hidden=1)))
    assert "H1 -> a, b, c, d (2 states)" in text
    assert "gain +" in text


def test_bad_input_is_one_error() -> None:
    with pytest.raises(ArgumentError, match="search="):
        ss.structure.FindHidden(search=ss.HillClimb)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="share"):
        ss.structure.FindHidden(share=1.5)
    with pytest.raises(NotApplicable, match="BIC"):
        ss.learn_structure(common_cause(50), method=ss.structure.FindHidden(), score=ss.K2())
    with pytest.raises(NotApplicable, match="real"):
        ss.learn_structure({"x": [0.5, 1.5, 2.5]}, method=ss.structure.FindHidden())
