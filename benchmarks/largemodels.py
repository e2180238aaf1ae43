"""Models that are too large for exact answers."""

from __future__ import annotations

from typing import Any


def complete(size: int) -> Any:
    """All pairs of binary variables."""
    import numpy as np

    import sepset as ss

    v, rng = [ss.Discrete(f"v{i}", 2) for i in range(size)], np.random.default_rng(0)
    return ss.MarkovNet(*(ss.Table([v[i], v[j]], rng.random((2, 2))) for i in range(size) for j in range(i)))


def sparse(size: int) -> Any:
    """Three random neighbors for each variable, on average."""
    import numpy as np

    import sepset as ss

    v, rng = [ss.Discrete(f"v{i}", 2) for i in range(size)], np.random.default_rng(0)
    edges = {(min(a, b), max(a, b)) for a, b in rng.integers(0, size, (3 * size // 2, 2)).tolist() if a != b}
    return ss.MarkovNet(*(ss.Table([v[a], v[b]], rng.random((2, 2))) for a, b in sorted(edges)), variables=v)


def grid(side: int) -> Any:
    """A square Potts grid."""
    import numpy as np

    import sepset as ss

    fields = np.random.default_rng(0).normal(size=(side, side, 2))
    return ss.MarkovNet.potts(ss.Discrete.array("p", (side, side), states=2), 1.0, log_values=fields)


def network(size: int) -> Any:
    """A Bayesian network with up to three random parents for each variable."""
    import numpy as np

    import sepset as ss

    rng, names = np.random.default_rng(0), [f"v{i}" for i in range(size)]
    parents = (set(rng.integers(0, i, min(3, i)).tolist()) for i in range(1, size))
    edges = [(names[p], names[i]) for i, chosen in enumerate(parents, 1) for p in chosen]
    return ss.BayesNet.random(ss.DAG(names, edges))
