"""One small world in many orders: networks, rows, findings and graphs that list what they have in any order.

Everything is written down once, by names of variables and states. `Orders` says in which order an object lists its
variables, CPDs, parents and states; the objects of a world may each have their own. Answers are compared in a form
that knows names only.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

import sepset as ss

STATES: dict[str, tuple[Any, ...]] = {"a": ("u", "v"), "b": ("p", "q", "r"), "c": (0, 1, 2), "d": (False, True)}
FAMILIES = {"a": (), "b": (), "c": ("a", "b"), "d": ("b", "c")}
LINES = {"x": (("a",), ()), "y": (("a", "c"), ("x",)), "z": ((), ("x", "y"))}
NUM_ROWS = 40


def rng_of(*words: object) -> np.random.Generator:
    """A generator that belongs to these words, on every machine."""
    return np.random.default_rng([zlib.crc32(repr(word).encode()) for word in words])


@dataclass(frozen=True)
class Orders:
    """In which order an object lists its variables, parents and states; all as written where the seed is zero."""

    seed: int = 0

    def shuffled(self, items: Any, what: object) -> list[Any]:
        """The items in the order that belongs to them."""
        listed = list(items)
        return listed if not self.seed else [listed[i] for i in rng_of(self.seed, what).permutation(len(listed))]

    def variable(self, name: str) -> Any:
        """The variable, its states in this order."""
        return ss.Discrete(name, self.shuffled(STATES[name], name)) if name in STATES else ss.Real(name)

    def variables(self, names: Any) -> list[Any]:
        """The variables in this order."""
        return [self.variable(name) for name in self.shuffled(names, "variables")]


def chances(salt: str, child: str, context: Mapping[str, Any]) -> dict[Any, float]:
    """P(child | context) by state: numbers that belong to the names."""
    draws = rng_of(salt, child, sorted(context.items())).dirichlet(np.full(len(STATES[child]), 2.0))
    return dict(zip(STATES[child], draws.tolist(), strict=True))


def table_cpd(salt: str, child: str, orders: Orders) -> ss.TableCPD:
    """The CPD of a discrete variable."""
    own, parents = orders.variable(child), [orders.variable(p) for p in orders.shuffled(FAMILIES[child], ("of", child))]
    cells = []
    for states in itertools.product(*(p.states for p in parents)):
        row = chances(salt, child, {p.name: s for p, s in zip(parents, states, strict=True)})
        cells += [row[state] for state in own.states]
    return ss.TableCPD(own, cells, given=parents)


def line_cpd(salt: str, child: str, orders: Orders) -> ss.LinearGaussian:
    """The CPD of a real variable: numbers that belong to the names of its contexts and parents."""
    states, reals = LINES[child]
    by = [orders.variable(p) for p in orders.shuffled(states, ("by", child))]
    given = [ss.Real(p) for p in orders.shuffled(reals, ("given", child))]
    contexts = [
        sorted((v.name, s) for v, s in zip(by, joint, strict=True))
        for joint in itertools.product(*(v.states for v in by))
    ]
    intercept = [rng_of(salt, child, context).normal() for context in contexts]
    slopes = [[rng_of(salt, child, context, v.name).normal() for v in given] for context in contexts]
    noise = [0.5 + rng_of(salt, child, context, "noise").random() for context in contexts]
    shape = [v.num_states for v in by]
    return ss.LinearGaussian(
        ss.Real(child),
        np.reshape(intercept, (*shape, 1)),
        coefficients=np.reshape(slopes, (*shape, 1, len(given))) if given else None,
        covariance=np.reshape(noise, (*shape, 1, 1)),
        given=given,
        by=by,
    )


def network(salt: str, orders: Orders, *, mixed: bool = False) -> ss.BayesNet:
    """A network of four states, with three real numbers where it is mixed."""
    names = orders.shuffled([*FAMILIES, *(LINES if mixed else ())], "cpds")
    return ss.BayesNet(*((table_cpd if name in FAMILIES else line_cpd)(salt, name, orders) for name in names))


def drawn_rows(salt: str, *, mixed: bool = False) -> list[dict[str, Any]]:
    """Rows by name, drawn from the network in its written order."""
    rows = network("truth", Orders(), mixed=mixed).sample(NUM_ROWS, seed=rng_of(salt, "rows"))
    return list(rows.rows())


def hidden_cells(rows: list[dict[str, Any]], salt: str) -> list[dict[str, Any]]:
    """The rows with a fifth of their cells missing."""
    return [
        {name: None if rng_of(salt, place, name).random() < 0.2 else value for name, value in row.items()}
        for place, row in enumerate(rows)
    ]


@dataclass(frozen=True)
class World:
    """Networks, rows, findings and graphs, each with an order of its own.

    Attributes:
        one: the order of the first network, and of what is made of it.
        two: the order of the second network, of graphs and of estimators.
        three: the order of rows and findings.
    """

    one: Orders = Orders()
    two: Orders = Orders()
    three: Orders = Orders()

    @cached_property
    def net(self) -> ss.BayesNet:
        """A discrete network."""
        return network("truth", self.one)

    @cached_property
    def other(self) -> ss.BayesNet:
        """Another with the same families."""
        return network("other", self.two)

    @cached_property
    def mixed(self) -> ss.BayesNet:
        """A network with real variables."""
        return network("truth", self.one, mixed=True)

    @cached_property
    def mixed_other(self) -> ss.BayesNet:
        """Another with the same families."""
        return network("other", self.two, mixed=True)

    @cached_property
    def engine(self) -> ss.inference.Engine:
        """The prepared network."""
        return ss.prepare(self.net)

    @cached_property
    def markov(self) -> ss.MarkovNet:
        """The network as a product of factors."""
        return self.net.markov_net()

    @cached_property
    def dag(self) -> ss.DAG:
        """The graph, its nodes and edges in an order of its own."""
        edges = [(p, child) for child, parents in FAMILIES.items() for p in parents]
        return ss.DAG(self.two.shuffled(FAMILIES, "nodes"), self.two.shuffled(edges, "edges"))

    def dataset(self, rows: list[dict[str, Any]], salt: str = "") -> ss.Dataset:
        """Rows as a dataset whose variables and states have an order of their own."""
        variables = Orders(self.three.seed and self.three.seed + len(salt)).variables(rows[0])
        return ss.Dataset({v.name: [row[v.name] for row in rows] for v in variables}, variables)

    @cached_property
    def rows(self) -> ss.Dataset:
        """Complete rows of states."""
        return self.dataset(drawn_rows("rows"))

    @cached_property
    def more(self) -> ss.Dataset:
        """Other rows, in another order still."""
        return self.dataset(drawn_rows("more"), "more")

    @cached_property
    def gaps(self) -> ss.Dataset:
        """Rows with missing cells."""
        return self.dataset(hidden_cells(drawn_rows("rows"), "gaps"))

    @cached_property
    def mixed_rows(self) -> ss.Dataset:
        """Complete rows of states and numbers."""
        return self.dataset(drawn_rows("mixed", mixed=True))

    @cached_property
    def mixed_gaps(self) -> ss.Dataset:
        """Those with missing cells."""
        return self.dataset(hidden_cells(drawn_rows("mixed", mixed=True), "mixed gaps"))

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The complete rows as a frame, its columns in an order of its own."""
        rows = drawn_rows("rows")
        return pd.DataFrame({name: [row[name] for row in rows] for name in self.three.shuffled(STATES, "columns")})

    def given(self, *names: str) -> dict[str, Any]:
        """Findings of several kinds, in an order of their own, their states by name."""
        known = {
            "a": ss.Likelihood(dict(self.three.shuffled({"u": 0.9, "v": 0.3}.items(), "likelihood"))),
            "b": ss.Not(*self.three.shuffled(["p"], "not")),
            "c": ss.Soft(dict(self.three.shuffled({0: 0.2, 1: 0.5, 2: 0.3}.items(), "soft"))),
            "d": True,
        }
        return {name: known[name] for name in self.three.shuffled(names, "findings")}

    @cached_property
    def hard(self) -> dict[str, Any]:
        """A state for each variable."""
        return dict(self.three.shuffled({"a": "v", "b": "q", "c": 2, "d": True}.items(), "hard"))


def by_states(scope: Any, values: Any) -> dict[Any, float]:
    """An array over variables as numbers by their states."""
    joint = itertools.product(*(v.states for v in scope))
    named = (frozenset((v.name, s) for v, s in zip(scope, states, strict=True)) for states in joint)
    return dict(zip(named, np.asarray(values, dtype=float).reshape(-1).tolist(), strict=True))


def plain_table(factor: Any) -> dict[Any, float]:
    """A table of states, by name."""
    return by_states(factor.scope, factor.values)


def plain_cpd(cpd: Any) -> dict[Any, Any]:
    """A CPD as numbers by the states of child and parents; of a line, its regression in each context."""
    if not hasattr(cpd, "intercept"):
        return by_states(cpd.scope, cpd.to_table().values)
    contexts = itertools.product(*(v.states for v in cpd.by))
    found = {}
    for place, states in enumerate(contexts):
        context = frozenset((v.name, s) for v, s in zip(cpd.by, states, strict=True))
        slopes = zip((v.name for v in cpd.given), cpd.coefficients[place, 0].tolist(), strict=True)
        found[context] = {
            "intercept": float(cpd.intercept[place, 0]),
            "variance": float(cpd.covariance[place, 0, 0]),
            **dict(slopes),
        }
    return found


def plain_net(net: Any) -> dict[str, Any]:
    """A network, CPD by CPD."""
    return {cpd.child.name: plain_cpd(cpd) for cpd in net.cpds}


def plain_marginals(found: Any) -> dict[str, Any]:
    """Marginals by variable and state."""
    return {getattr(name, "name", name): plain_table(table) for name, table in found.items()}


def plain_counts(counts: Any) -> dict[Any, Any]:
    """Counts of families by state."""
    return {
        (scope[-1].name, frozenset(v.name for v in scope)): by_states(scope, table)
        for scope, table in zip(counts.families, counts.tables, strict=True)
    }


def plain_rows(data: Any) -> list[Any]:
    """The rows of a dataset by name."""
    return [frozenset(row.items()) for row in data.rows()]


def shares(data: Any) -> dict[Any, float]:
    """How often each pair of a variable and a state occurs among rows, and the means of numbers."""
    found: dict[Any, float] = {}
    for variable in data.variables:
        if isinstance(variable, ss.Discrete):
            codes = data.codes(variable)
            found |= {(variable.name, s): float((codes == i).mean()) for i, s in enumerate(variable.states)}
        else:
            found[variable.name] = float(data.values(variable).mean())
    return found


def assert_same(found: Any, expected: Any, tolerance: float, where: str = "") -> None:
    """Raise unless two answers are equal: numbers within a tolerance, relative where they are large."""
    if isinstance(expected, Mapping):
        assert found.keys() == expected.keys(), where
        for key, value in expected.items():
            assert_same(found[key], value, tolerance, f"{where} {key}")
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected), where
        for place, (one, two) in enumerate(zip(found, expected, strict=True)):
            assert_same(one, two, tolerance, f"{where} [{place}]")
    elif isinstance(expected, float):
        both_nan = np.isnan(found) and np.isnan(expected)
        assert both_nan or found == expected or abs(found - expected) <= tolerance * max(1.0, abs(expected)), (
            f"{where}: {found} instead of {expected}"
        )
    else:
        assert found == expected, where
