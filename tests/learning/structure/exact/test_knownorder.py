"""Parents along a known order: enumeration, K2's greedy version and its counterexample."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.cpds.priors.dirichlet import K2, BDeu
from sepset.errors import ArgumentError
from sepset.inference.result import Guarantee
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.constraints import Constraints
from sepset.learning.structure.exact.enumeration import all_parents, all_scores
from sepset.learning.structure.exact.families import score_table
from sepset.learning.structure.exact.knownorder import KnownOrder
from sepset.learning.structure.exact.scoretable import bits
from sepset.learning.structure.exact.search import ExactSearch
from sepset.learning.structure.learned import StructureTask
from sepset.learning.structure.scores.likelihood import BIC
from support.score_tables import dependent_rows


@pytest.mark.parametrize("score", [BIC(), BDeu(1.0), K2()], ids=repr)
def test_against_enumeration(score):
    rng = np.random.default_rng(0)
    for seed in range(3):
        for constraints in (Constraints(), Constraints(max_parents=1, forbidden=[("x0", "x1"), ("x1", "x0")])):
            task = StructureTask(Columns.of(dependent_rows(seed, 4, 30)), score, constraints=constraints)
            names = task.columns.names
            order = rng.permutation(4).tolist()
            rank = np.argsort(order)
            forward = [all(rank[p] < rank[v] for v in range(4) for p in bits(row[v])) for row in all_parents(4)]
            best = all_scores(score_table(task.scorer, task.allowed))[forward].max()
            found = KnownOrder([names[i] for i in order]).learn(task)
            assert found.score == pytest.approx(best, abs=1e-9)
            assert found.guarantees["structure"] is Guarantee.EXACT
            greedy = KnownOrder([names[i] for i in order], is_greedy=True).learn(task)
            assert greedy.score <= found.score + 1e-9 <= ExactSearch().learn(task).score + 2e-9
            assert greedy.guarantees["structure"] is Guarantee.HEURISTIC


def test_greedy_fails_on_a_noisy_xor():
    """A and B are fair, C is their exclusive or in nine of ten rows; 1,000 rows of expected counts."""
    states = [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]
    weights = [1000 * 0.25 * (0.9 if c == a ^ b else 0.1) for a, b, c in states]
    data = Columns.of(dict(zip("abc", zip(*states, strict=True), strict=True)), weights=weights)
    task = StructureTask(data, BIC())
    greedy = KnownOrder("abc", is_greedy=True).learn(task)
    assert greedy.graph.edges == ()
    assert greedy.score == pytest.approx(-2089.80317, abs=1e-5)
    found = KnownOrder("abc").learn(task)
    assert set(found.graph.edges) == {("a", "c"), ("b", "c")}
    assert found.score == pytest.approx(-1732.10060, abs=1e-5)
    assert ExactSearch().learn(task).score == pytest.approx(-1732.10060, abs=1e-5)


def test_refused():
    data = Columns.of(dependent_rows(0, 3, 10))
    with pytest.raises(ArgumentError, match="lists every column once; 'x2' differ"):
        KnownOrder(["x0", "x1"]).learn(StructureTask(data, BIC()))
    against = Constraints(required=[("x2", "x0")])
    with pytest.raises(ArgumentError, match="x2 -> x0 is required, but goes against"):
        KnownOrder(["x0", "x1", "x2"]).learn(StructureTask(data, BIC(), constraints=against))
