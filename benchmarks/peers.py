"""Other libraries' models with exactly our parameters, made through their own interfaces (their readers may round)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.networks import load


def to_pyagrum(model: Any) -> Any:
    """The network in pyAgrum, on one thread; states by position, since its labels are strings."""
    import pyagrum as gum

    gum.setNumberOfThreads(1)
    bn = gum.BayesNet()
    for cpd in model.cpds:
        states = [str(i) for i in range(cpd.child.num_states)]
        bn.add(gum.LabelizedVariable(cpd.child.name, "", states))
    bn.beginTopologyTransformation()
    for cpd in model.cpds:
        for parent in cpd.parents:
            bn.addArc(parent.name, cpd.child.name)
    bn.endTopologyTransformation()
    for cpd in model.cpds:
        table = bn.cpt(cpd.child.name)
        names = [v.name for v in (*cpd.parents, cpd.child)]
        axes = [names.index(name) for name in reversed(table.names)]
        table[:] = np.ascontiguousarray(cpd.to_table().values.transpose(axes))
    return bn


def to_pgmpy(model: Any) -> Any:
    """The network in pgmpy; states by position."""
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    network = DiscreteBayesianNetwork()
    network.add_nodes_from(model.variables.names)
    network.add_edges_from((parent.name, cpd.child.name) for cpd in model.cpds for parent in cpd.parents)
    for cpd in model.cpds:
        table = cpd.to_table().values.reshape(-1, cpd.child.num_states).T
        parents = [parent.name for parent in cpd.parents]
        cards = [parent.num_states for parent in cpd.parents]
        network.add_cpds(TabularCPD(cpd.child.name, cpd.child.num_states, table, parents or None, cards or None))
    return network


@lru_cache(maxsize=4)
def pyagrum_of(path: str) -> Any:
    """The file's network in pyAgrum."""
    return to_pyagrum(load(path))


@lru_cache(maxsize=4)
def pgmpy_of(path: str) -> Any:
    """The file's network in pgmpy."""
    return to_pgmpy(load(path))
