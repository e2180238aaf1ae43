"""Dependency networks: conditionals of a joint give it back, one CPD answers, bad input is refused."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.learning.structure.dependency.network import DependencyNet


def random_net(seed: int = 0, states: int = 2) -> ss.BayesNet:
    return ss.BayesNet.random(ss.DAG.parse("a -> b; a -> c; b -> d; c -> d"), states=states, seed=seed)


def inconsistent() -> DependencyNet:
    a, b = ss.Discrete("a"), ss.Discrete("b")
    return DependencyNet(ss.TableCPD(a, [[0.9, 0.1], [0.1, 0.9]], given=b), ss.TableCPD(b, [0.3, 0.7]))


@pytest.mark.parametrize("seed", range(3))
def test_conditionals_of_a_joint_give_it_back(seed: int) -> None:
    net = random_net(seed, 3)
    found = DependencyNet.of(net)
    joint = ss.query(net, list("abcd")).values
    np.testing.assert_allclose(np.asarray(found.stationary().values), joint, atol=1e-10)
    drawn = found.query(["d", "a"], method=ss.structure.PseudoGibbs(10_000), seed=seed)
    error = drawn.info["standard_error"]
    np.testing.assert_allclose(drawn.values, ss.query(net, ["d", "a"]).values, atol=5 * error)
    assert drawn.guarantees["marginals"] is ss.Guarantee.ESTIMATE


def test_one_cpd_answers_where_its_parents_are_observed() -> None:
    net = random_net(1)
    found = DependencyNet.of(net)
    given = {"a": 1, "b": 0, "d": 1}
    answer = found.query("c", given=given)
    assert answer.guarantees["marginals"] is ss.Guarantee.EXACT
    np.testing.assert_allclose(answer.values, ss.query(net, "c", given=given).values)
    assert found.query("c", given={"a": 1, "b": 0}).guarantees["marginals"] is ss.Guarantee.ESTIMATE


def test_evidence_holds_in_chains() -> None:
    net = random_net(2, 3)
    found = DependencyNet.of(net).marginals(given={"d": 2}, method=ss.structure.PseudoGibbs(4_000), seed=1)
    truth = ss.marginals(net, given={"d": 2})
    assert list(found) == ["a", "b", "c", "d"]
    assert found["d"].values.tolist() == [0.0, 0.0, 1.0]
    for name in found:
        np.testing.assert_allclose(found[name].values, truth[name].values, atol=5 * found.info["standard_error"])  # type: ignore[operator]
    rows = DependencyNet.of(net).sample(50, given={"d": 2}, seed=3)
    assert len(rows) == 50
    assert set(rows.column("d").tolist()) == {2}


def test_an_observed_target_is_certain() -> None:
    found = DependencyNet.of(random_net()).query(["a", "b"], given={"a": 1}, method=ss.structure.PseudoGibbs(40))
    assert found.values[0].sum() == 0.0


def test_variables_in_any_order() -> None:
    net = random_net(3, 3)
    one, other = DependencyNet.of(net), DependencyNet(*reversed(DependencyNet.of(net).cpds))
    joint = other.stationary().align([one.variables[n] for n in "abcd"])
    np.testing.assert_allclose(np.asarray(joint.values), np.asarray(one.stationary().values), atol=1e-10)


def test_pseudo_likelihood_is_the_sum_of_conditionals() -> None:
    found = inconsistent()
    values = found.log_pseudo_likelihood({"a": [0, 1], "b": [1, 1]})
    np.testing.assert_allclose(values, np.log([0.1 * 0.7, 0.9 * 0.7]))


def test_shape() -> None:
    found = DependencyNet.of(random_net())
    assert found.parents("a") == ("b", "c")
    assert ("b", "a") in found.edges
    assert ("a", "b") in found.edges
    assert sorted(found.graph.edges) == sorted(found.edges)
    assert found == DependencyNet.of(random_net())
    assert found != DependencyNet.of(random_net(5))
    assert repr(found) == "DependencyNet(4 variables, 10 edges)"
    assert "parameters" in str(found)
    assert "DependencyNet" in found._repr_html_()


def test_zero_probabilities_stay_zero() -> None:
    a, b = ss.Discrete("a", 3), ss.Discrete("b", 3)
    copy = np.eye(3)
    found = DependencyNet(ss.TableCPD(a, copy, given=b), ss.TableCPD(b, [0.5, 0.5, 0.0]))
    assert found.query(["a"], method=ss.structure.PseudoGibbs(1000)).values[2] == 0.0
    assert np.asarray(found.stationary().values)[2].sum() == 0.0


def test_one_state_variables() -> None:
    a, b = ss.Discrete("a", ("only",)), ss.Discrete("b")
    found = DependencyNet(ss.TableCPD(a, [[1.0], [1.0]], given=b), ss.TableCPD(b, [[0.2, 0.8]], given=a))
    np.testing.assert_allclose(np.asarray(found.stationary().values), [[0.2, 0.8]])
    assert found.marginals(method=ss.structure.PseudoGibbs(100))["a"].values.tolist() == [1.0]


def test_wide_cpds_of_any_form() -> None:
    """A logistic CPD of twenty parents fits in no table; the chains go on together."""
    rng = np.random.default_rng(0)
    variables = [ss.Discrete(f"x{k}") for k in range(20)]
    weights = rng.normal(0, 0.3, (20, 20))
    weights += weights.T
    cpds = [
        ss.LogisticCPD(v, {u: weights[i, j] for j, u in enumerate(variables) if i != j}, bias=0.1)
        for i, v in enumerate(variables)
    ]
    settings, given = ss.structure.PseudoGibbs(200, num_chains=16, burn_in=20), {f"x{k}": 1 for k in range(2, 20)}
    found = DependencyNet(*cpds).marginals(given=given, method=settings)
    base = 0.1 + weights[:2, 2:].sum(1)
    joint = np.exp([[0, base[1]], [base[0], base.sum() + weights[0, 1]]])
    joint /= joint.sum()
    assert found["x0"].values[1] == pytest.approx(joint[1].sum(), abs=0.03)


def test_refusals() -> None:
    a, b = ss.Discrete("a"), ss.Discrete("b")
    with pytest.raises(ss.SepsetError, match="'b' have none"):
        DependencyNet(ss.TableCPD(a, [[0.5, 0.5]] * 2, given=b))
    with pytest.raises(ss.SepsetError, match="at least one CPD"):
        DependencyNet()
    with pytest.raises(ss.SepsetError, match="made of CPDs"):
        DependencyNet(3)  # type: ignore[arg-type]
    with pytest.raises(ss.SepsetError, match="are real"):
        DependencyNet(ss.LinearGaussian(ss.Real("x"), 0.0, covariance=1.0))
    with pytest.raises(ss.SepsetError, match="not likelihoods"):
        inconsistent().marginals(given={"a": ss.Likelihood([0.5, 0.1])})
    with pytest.raises(ss.SepsetError, match="asked about twice"):
        inconsistent().query(["a", "a"])
