"""Pseudo-Gibbs sampling: the exact stationary distribution, errors that are right, seeds, stopping."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from learning.structure.dependency.test_network import inconsistent, random_net
from sepset.learning.structure.dependency.gibbs import PseudoGibbs
from sepset.learning.structure.dependency.network import DependencyNet


def clashing(seed: int) -> DependencyNet:
    """CPDs that no joint has."""
    rng = np.random.default_rng(seed)
    x, y, z = (ss.Discrete(name, size) for name, size in (("x", 2), ("y", 3), ("z", 2)))
    rows = lambda *shape: rng.dirichlet(np.ones(shape[-1]), shape[:-1])  # noqa: E731
    return DependencyNet(
        ss.TableCPD(x, rows(3, 2, 2), given=(y, z)),
        ss.TableCPD(y, rows(2, 2, 3), given=(z, x)),
        ss.TableCPD(z, rows(2, 2), given=x),
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_stationary_distribution_is_estimated(seed: int) -> None:
    net = clashing(seed)
    exact = net.stationary()
    found = net.query(["x", "y", "z"], method=PseudoGibbs(8_000), seed=seed)
    assert np.abs(found.values - np.asarray(exact.values)).max() < 5 * found.info["standard_error"]  # type: ignore[operator]
    marginals = net.marginals(method=PseudoGibbs(8_000), seed=seed)
    for name in "xyz":
        others = [v for v in exact.scope if v.name != name]
        expected = np.asarray(exact.marginalize(others).values)
        assert np.abs(marginals[name].values - expected).max() < 5 * marginals.info["standard_error"]  # type: ignore[operator]
    assert marginals.info["r_hat"] < 1.3  # type: ignore[operator]
    assert marginals.info["sweeps"] == 32_000


def test_standard_errors_cover() -> None:
    net, inside = inconsistent(), 0
    expected = float(np.asarray(net.stationary().values)[1].sum())
    for seed in range(60):
        found = net.query("a", method=PseudoGibbs(100, burn_in=10), seed=seed)
        inside += abs(found.values[1] - expected) < 2 * found.info["standard_errors"][1]  # type: ignore[index]
    assert inside >= 50  # 57 expected


def test_chains_that_disagree_are_told() -> None:
    """Two copies of a coin: each chain keeps the side that it began with."""
    a, b = ss.Discrete("a"), ss.Discrete("b")
    same = [[1 - 1e-6, 1e-6], [1e-6, 1 - 1e-6]]
    net = DependencyNet(ss.TableCPD(a, same, given=b), ss.TableCPD(b, same, given=a))
    with pytest.warns(RuntimeWarning, match="chains disagree"):
        net.query("a", method=PseudoGibbs(200))
    with pytest.warns(RuntimeWarning, match="num_sweeps"):
        net.marginals(method=PseudoGibbs(200))


def test_same_seed_same_answer() -> None:
    net = clashing(0)
    one, same, other = (net.query("x", method=PseudoGibbs(100), seed=s).values for s in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_a_run_can_stop_early() -> None:
    found = clashing(0).query("x", until=3)
    assert found.status is ss.Status.STEP_LIMIT
    assert found.info["sweeps"] == 3 * 100 * 4


def test_only_what_matters_is_drawn() -> None:
    """Of a chain, the variables that the target depends on; the rest is left alone."""
    a, b, c = (ss.Discrete(n) for n in "abc")
    net = DependencyNet(
        ss.TableCPD(a, [0.2, 0.8]),
        ss.TableCPD(b, [[0.9, 0.1], [0.5, 0.5]], given=a),
        ss.TableCPD(c, [[1, 0], [0, 1]], given=b),
    )
    assert list(net.query("b", method=PseudoGibbs(1_000)).keys()) == [0, 1]
    found = net.query("b", method=PseudoGibbs(20_000))
    assert found[1] == pytest.approx(0.2 * 0.1 + 0.8 * 0.5, abs=5 * found.info["standard_error"])  # type: ignore[operator]


def test_trees_and_tables_walk_alike() -> None:
    """The same conditionals as trees give the same draws."""
    net = DependencyNet.of(random_net(4))
    trees = []
    for cpd in net.cpds:
        first, *rest = cpd.parents
        values = np.asarray(cpd.to_table().values)

        def grown(parents, part):
            if not parents:
                return part.tolist()
            return ss.cpds.Split(parents[0], {s: grown(parents[1:], part[s]) for s in parents[0].states})

        trees.append(ss.TreeCPD(cpd.child, grown([first, *rest], values), given=cpd.parents))
    one = net.query(["a", "d"], method=PseudoGibbs(200), seed=1).values
    assert np.array_equal(one, DependencyNet(*trees).query(["a", "d"], method=PseudoGibbs(200), seed=1).values)


@pytest.mark.parametrize("settings", [{"num_sweeps": 3}, {"burn_in": -1}, {"num_chains": 0}])
def test_settings_are_checked(settings: dict[str, int]) -> None:
    with pytest.raises(ss.SepsetError, match=next(iter(settings))):
        PseudoGibbs(**settings)  # type: ignore[arg-type]
