r"""The meta-network: parameters as variables together with the rows that depend on them.

Rows are independent given the parameters, and dependent without them. In complete data the parameters of different
blocks are d-separated, and so their posterior is a product; parameters of different contexts are separated only in
the context that each row is in, which drops an edge.

Reference: Koller & Friedman, sections 17.3.1, 17.4.1 and 17.4.2.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any, Literal

from sepset.base.checks import one_of, whole
from sepset.base.foreign import translated
from sepset.base.memory import check_fits
from sepset.cpds.cpd import CPD
from sepset.graphs.graph import DAG
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete

NODE_BYTES = 400
"""The memory of a node of a graph, at least."""


@translated
def meta_network(net: BayesNet, num_rows: int, *, parameters: Literal["blocks", "contexts"] = "blocks") -> DAG:
    """The graph of parameters and rows: `theta[grade]` above `grade[0]`, `grade[1]`, and so on.

    Args:
        net: the network of one row; CPDs that share a block share its parameter node.
        num_rows: the number of rows.
        parameters: one node per block, or one per context (`theta[grade|'low']`) of each block.

    Reference: Koller & Friedman 17.4.1.
    Guarantee: exact.
    Tested by: learning/estimation/test_metanetwork.py::test_contexts_are_separated_only_by_the_context

    >>> from sepset.cpds.table import TableCPD
    >>> meta_network(BayesNet(TableCPD(Discrete("coin"), [0.5, 0.5])), 2)
    DAG(theta[coin] -> coin[0]; theta[coin] -> coin[1])
    """
    whole("num_rows", num_rows, least=1)
    check_fits(NODE_BYTES * len(net.cpds) * num_rows, f"A meta-network of {num_rows} rows")
    one_of("parameters", parameters, ("blocks", "contexts"))
    edges = [
        (source, f"{cpd.child.name}[{m}]")
        for cpd in net.cpds
        for m in range(num_rows)
        for source in (*_parameters(cpd, parameters), *(f"{p.name}[{m}]" for p in cpd.parents))
    ]
    above = dict.fromkeys(node for cpd in net.cpds for node in _parameters(cpd, parameters))
    rows = [f"{cpd.child.name}[{m}]" for m in range(num_rows) for cpd in net.cpds]
    return DAG([*above, *rows], edges)


@translated
def irrelevant_parameters(net: BayesNet) -> Callable[[str, Mapping[str, Any]], list[str]]:
    """For each node of a meta-network by contexts, the parameters that its parents' states switch off.

    `csi_separated` takes it as `irrelevant`: of all contexts, only the observed one matters.

    Reference: Koller & Friedman 17.4.2.
    Guarantee: exact.
    Tested by: learning/estimation/test_metanetwork.py::test_contexts_are_separated_only_by_the_context

    >>> from sepset.cpds.table import TableCPD
    >>> x, y = Discrete("x"), Discrete("y")
    >>> net = BayesNet(TableCPD(x, [0.5, 0.5]), TableCPD(y, [[0.5, 0.5]] * 2, given=x))
    >>> irrelevant_parameters(net)("y[3]", {"x[3]": 0})
    ['theta[y|1]']
    """
    by_child = {cpd.child.name: cpd for cpd in net.cpds}

    def dropped(node: str, context: Mapping[str, Any]) -> list[str]:
        name, _, place = node.rpartition("[")
        cpd = by_child.get(name)
        if cpd is None or node.startswith("theta["):
            return []
        states = [context.get(f"{p.name}[{place}") for p in cpd.parents]
        if any(state is None for state in states):
            return []
        return [p for p in _parameters(cpd, "contexts") if p != _context_node(cpd, tuple(states))]

    return dropped


def _parameters(cpd: CPD, kind: str) -> list[str]:
    if kind == "blocks":
        return [f"theta[{cpd.block.name}]"]
    parents = [p for p in cpd.parents if isinstance(p, Discrete)]
    return [_context_node(cpd, states) for states in itertools.product(*(p.states for p in parents))]


def _context_node(cpd: CPD, states: tuple[Any, ...]) -> str:
    """Tied CPDs share their contexts by the parents' order, so a context is named by states alone."""
    return f"theta[{cpd.block.name}|{', '.join(map(repr, states))}]" if states else f"theta[{cpd.block.name}]"
