from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from sepset.graphs.graph import DAG
from sepset.kernels.compiled.planning import transposed
from sepset.kernels.graphs.reachability import active_states, mark_ancestors, mark_connected
from support.small_contractions import compressed
from support.small_graphs import dags, descendants_of


@given(dags(), st.data())
def test_marked_ancestors(drawn, data):
    nodes, edges = drawn
    starts = data.draw(st.lists(st.sampled_from(range(len(nodes))))) if nodes else []
    marks = mark_ancestors(*DAG(nodes, edges).parent_csr, np.array(starts, dtype=np.int64))
    chosen = {nodes[i] for i in starts}
    assert marks.tolist() == [int(bool(descendants_of(node, edges) & chosen)) for node in nodes]


def test_states_of_a_collider():
    dag = DAG.parse("A -> B; C -> B")
    none, seen = np.zeros(3, dtype=np.uint8), np.array([0, 1, 0], dtype=np.uint8)
    start = np.array([0, 0], dtype=np.int64)
    closed = active_states(*dag.parent_csr, *dag.child_csr, start, none, none)
    opened = active_states(*dag.parent_csr, *dag.child_csr, start, seen, seen)
    assert closed.tolist() == [0, -1, -1, 0, -1, -1]
    assert opened.tolist() == [0, -1, -1, 0, 3, -1]


def test_interpreted_and_compiled_agree():
    dag = DAG.parse("A -> B -> C; D -> B; C -> E")
    seen = np.array([0, 0, 0, 0, 1], dtype=np.uint8)
    opened = np.array([1, 1, 1, 1, 1], dtype=np.uint8)
    arguments = (*dag.parent_csr, *dag.child_csr, np.array([0], dtype=np.int64), seen, opened)
    plain = getattr(active_states, "py_func", active_states)
    assert plain(*arguments).tolist() == active_states(*arguments).tolist()


def connected_by_sets(scopes, kept, closed, targets):
    """Factors reached from the targets, by growing sets until nothing is added."""
    variables, factors = {v for v in targets if v not in closed}, set()
    while True:
        more = {f for f, scope in enumerate(scopes) if kept[f] and variables & set(scope)}
        wider = variables | {v for f in more for v in scopes[f] if v not in closed}
        if (more, wider) == (factors, variables):
            return factors
        factors, variables = more, wider


@given(st.integers(0, 2**32 - 1))
def test_connected_factors(seed):
    rng = np.random.default_rng(seed)
    num = int(rng.integers(1, 9))
    scopes = [tuple(rng.permutation(num)[: rng.integers(0, 4)].tolist()) for _ in range(int(rng.integers(0, 9)))]
    kept, is_open = rng.random(len(scopes)) < 0.8, rng.random(num) < 0.7
    targets = rng.integers(0, num, int(rng.integers(0, 3)))
    rows = compressed(scopes)
    found = mark_connected(*rows, *transposed(*rows, num), kept, is_open, targets)
    closed = set(np.flatnonzero(~is_open).tolist())
    assert set(np.flatnonzero(found).tolist()) == connected_by_sets(scopes, kept, closed, targets.tolist())
