from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from sepset.graphs.graph import DAG
from sepset.kernels.reachability import active_states, mark_ancestors
from small_graphs import dags, descendants_of


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
