"""The parts of a model that a text format can express: discrete variables with printed states, and tables."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sepset.base.arraytypes import Floats
from sepset.cpds.cpd import CPD
from sepset.cpds.discrete import DiscreteCPD
from sepset.cpds.table import TableCPD
from sepset.errors import NotApplicable
from sepset.factors.labels import name_of
from sepset.models.bayesnet import BayesNet
from sepset.models.model import Model
from sepset.variables.variable import Discrete, Vector


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
    rows: Floats

    def contexts(self, word: Callable[[str], str] = str) -> Iterator[tuple[str, ...]]:
        """The states of the parents for each row, each printed by `word`."""
        return itertools.product(*([word(state) for state in parent.states] for parent in self.parents))


@dataclass(frozen=True, slots=True)
class NetworkView:
    """A Bayesian network as a text format prints it."""

    name: str
    variables: tuple[VariableView, ...]
    tables: tuple[TableView, ...]


def bayes_net(model: Model, format: str) -> BayesNet:
    """The model as a Bayesian network over discrete variables; raises if the format cannot express it."""
    if not isinstance(model, BayesNet):
        raise NotApplicable(
            f"{format} files store Bayesian networks; found a {type(model).__name__}. "
            "Write it as .json, or .uai for factors."
        )
    for variable in model.variables:
        if not isinstance(variable, Discrete):
            raise NotApplicable(
                f"{format} files store discrete variables; {variable.name} is continuous. Write the network as .json."
            )
    return model


def table_of(cpd: CPD, format: str) -> TableCPD:
    """The CPD as a table; its size is checked first."""
    if not isinstance(cpd, DiscreteCPD):
        raise NotApplicable(f"{format} files store tables; {name_of(cpd)} cannot be converted to one.")
    return cpd.to_table()


def rows_of(table: TableCPD) -> Floats:
    """The numbers of a table, one row for each context of the parents."""
    return table.table.flat.reshape(-1, table.child.num_states)


def views(net: BayesNet, format: str) -> dict[str, VariableView]:
    """The variables as names and printed states, by name."""
    return {variable.name: _view(variable, format) for variable in net.variables}


def discrete_network(model: Model, format: str) -> NetworkView:
    """The model as names, printed states and tables."""
    net = bayes_net(model, format)
    seen = views(net, format)
    tables = []
    for cpd in net.cpds:
        table = table_of(cpd, format)
        parents = tuple(seen[parent.name] for parent in table.parents)
        tables.append(TableView(seen[table.child.name], parents, rows_of(table)))
    return NetworkView(net.name, tuple(seen.values()), tuple(tables))


def _view(variable: Discrete | Vector, format: str) -> VariableView:
    states = tuple(map(str, variable.states)) if isinstance(variable, Discrete) else ()
    if len(set(states)) != len(states) or "" in states:
        raise NotApplicable(
            f"{format} files store states as text; those of {variable!r} do not all print differently. "
            "Write the network as .json."
        )
    return VariableView(variable.name, states)
