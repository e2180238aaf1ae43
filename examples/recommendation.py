"""Recommendations for users of a synthetic catalogue: two networks over items against two baselines."""

from time import perf_counter

import numpy as np
from rich.console import Console
from rich.table import Table

import sepset as ss


def catalogue(num_users: int, num_items: int, num_topics: int, seed: int) -> ss.recommend.Baskets:
    """Baskets of users with a few topics each, whose items differ in popularity."""
    rng = np.random.default_rng(seed)
    likes = rng.dirichlet(np.full(num_items, 0.05), num_topics)
    tastes = rng.dirichlet(np.full(num_topics, 0.2), num_users)
    rows = [np.unique(rng.choice(num_items, rng.poisson(8), p=taste @ likes)).tolist() for taste in tastes]
    return ss.recommend.Baskets(rows, range(num_items))


def main() -> None:
    train, test = catalogue(5_000, 300, 12, seed=0).split(0.3, seed=1)
    methods = {
        "popular items": ss.recommend.Popularity(),
        "similar items": ss.recommend.Similarity(),
        "dependency network": ss.recommend.DependencyRecommender(),
        "Bayesian network": ss.recommend.BayesRecommender(),
    }
    table = Table("method", "seconds", "all but one", "given 2", "ROC area")
    for name, method in methods.items():
        start = perf_counter()
        fitted = method.fit(train)
        seconds = perf_counter() - start
        one = ss.recommend.evaluate_ranking(fitted, test)
        two = ss.recommend.evaluate_ranking(fitted, test, protocol=ss.recommend.GivenK(2))
        numbers = (f"{s['accuracy']:.1f} ± {s.errors['accuracy']:.1f}" for s in (one, two))
        table.add_row(name, f"{seconds:.2f}", *numbers, f"{one['roc_area']:.3f}")
    Console().print(table)


if __name__ == "__main__":
    main()
