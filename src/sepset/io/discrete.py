"""What a text format can carry of a model: discrete variables with printed states, and tables."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sepset.errors import NotApplicable, listing
from sepset.models.bayesnet import BayesNet
from sepset.models.model import Model
from sepset.variables import Discrete

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class VariableView:
    """A variable as a text format prints it."""

    name: str
    states: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableView:
    """A conditional table: a row of the child for each context of the parents, the last parent fastest."""

    child: VariableView
    parents: tuple[VariableView, ...]
    rows: Array

    def contexts(self, word: Callable[[str], str] = str) -> Iterator[tuple[str, ...]]:
        """The states of the parents, row by row, each printed by `word`."""
        return itertools.product(*([word(state) for state in parent.states] for parent in self.parents))


@dataclass(frozen=True, slots=True)
class NetworkView:
    """A Bayesian network as a text format prints it."""

    name: str
    variables: tuple[VariableView, ...]
    tables: tuple[TableView, ...]


def bayes_net(model: Model, format: str) -> BayesNet:
    """The model as a Bayesian network over discrete variables, or an error that says what the format cannot carry."""
    if not isinstance(model, BayesNet):
        raise NotApplicable(
            f"{format} holds Bayesian networks; found a {type(model).__name__}. Write it as .json, or .uai for factors."
        )
    for variable in model.variables:
        if not isinstance(variable, Discrete):
            raise NotApplicable(
                f"{format} holds discrete variables; {variable.name} is continuous. Write the network as .json."
            )
    return model


def discrete_network(model: Model, format: str) -> NetworkView:
    """The model as names, printed states and tables."""
    net = bayes_net(model, format)
    views = {variable.name: _view(variable, format) for variable in net.variables}
    tables = []
    for cpd in net.cpds:
        table = cpd.to_table()
        rows = np.asarray(table.values, np.float64).reshape(-1, cpd.child.num_states)
        tables.append(TableView(views[cpd.child.name], tuple(views[p.name] for p in table.parents), rows))
    return NetworkView(net.name, tuple(views.values()), tuple(tables))


def _view(variable: Discrete, format: str) -> VariableView:
    states = tuple(map(str, variable.states))
    if len(set(states)) != len(states) or "" in states:
        raise NotApplicable(
            f"{format} holds states as text; those of {variable.name} do not print apart: "
            f"{listing(variable.states)}. Write the network as .json."
        )
    return VariableView(variable.name, states)
