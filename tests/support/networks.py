"""Networks for comparisons with other libraries: those that come with the library, and the shared ones."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

import sepset as ss
from support.shared_files import one_shared

BUILT_IN = ("alarm", "asia", "cancer", "child", "earthquake", "insurance", "sachs", "sprinkler", "student", "survey")
TINY = ("asia", "cancer", "earthquake", "sprinkler", "student", "survey")  # small enough to write out every joint
MEDIUM = ("andes", "hailfinder", "hepar2", "mildew", "pathfinder", "pigs", "water", "win95pts")  # shared
LARGE = ("barley", "diabetes", "munin", "munin2", "munin3", "munin4")  # shared; quick once a tenth is observed


@lru_cache(maxsize=2)
def network(name: str) -> ss.BayesNet:
    """The network of this name; the test is skipped where it is not found."""
    if name in BUILT_IN:
        return ss.datasets.load(name)
    return ss.read(one_shared(f"nets/{name}.bif.gz"))


def findings(net: ss.BayesNet, share: float, seed: int = 0) -> dict[str, int]:
    """Positions of states for a share of the variables, drawn from the network and so of positive probability."""
    names = net.variables.names
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.choice(len(names), round(share * len(names)), replace=False))
    row = net.sample(1, seed=seed).matrix()[0]
    return {names[v]: int(row[v]) for v in chosen}


def states(net: ss.BayesNet, found: dict[str, int]) -> dict[str, object]:
    """The findings as states."""
    return {name: net[name].states[code] for name, code in found.items()}


def each_network(*names: str) -> pytest.MarkDecorator:
    """Run a test for each network."""
    return pytest.mark.parametrize("name", names)
