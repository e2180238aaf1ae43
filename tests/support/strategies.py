"""Hypothesis strategies for variables, tables, models and evidence, awkward ones included.

Names have spaces, slashes, quotes and letters of several scripts; states are strings, ints, bools or floats; variables
may have one state; tables have zeros and deterministic rows; scopes may be empty; models may be disconnected, have
isolated variables, or be empty.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from sepset.cpds.table import TableCPD
from sepset.factors.table import Table
from sepset.models.bayesnet import BayesNet
from sepset.models.chaincomponent import ChainComponent
from sepset.models.chaingraph import ChainGraph
from sepset.models.markovnet import MarkovNet
from sepset.variables.evidence import Likelihood, Not
from sepset.variables.variable import Discrete

AWKWARD = (
    "a",
    "B",
    "my node",
    "Asy/Patch",
    "it's",
    'say "so"',
    "<0.5",
    "größe",
    "λ",
    "雨",
    "x[1",
    "a\\b",
    "a;b",
    "-",
    "0",
)

DOMAINS = (
    ("low", "high"),
    ("<0.5", 'the "rest"', "größer"),
    (False, True),
    (True, False),
    (0, 1),
    (-1, 1),
    (3, 1, 2),
    (0.5, 1.5),
    (-1.25, 0, 7.0),
    ("only",),
    (0,),
    (True,),
)

PLAIN_DOMAINS = tuple(d for d in DOMAINS if len(d) > 1)


def names() -> st.SearchStrategy[str]:
    """Names of variables: mostly awkward ones from practice, sometimes any text."""
    any_text = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=6)
    return st.sampled_from(AWKWARD) | any_text


@st.composite
def variable_lists(draw: Any, min_size: int = 0, max_size: int = 4, *, one_state: bool = True) -> tuple[Discrete, ...]:
    """Discrete variables with different names."""
    listed = draw(st.lists(names(), min_size=min_size, max_size=max_size, unique=True))
    domains = st.sampled_from(DOMAINS if one_state else PLAIN_DOMAINS)
    return tuple(Discrete(name, draw(domains)) for name in listed)


@st.composite
def scopes(draw: Any, variables: Sequence[Discrete], max_size: int = 3) -> tuple[Discrete, ...]:
    """Some of the variables in some order, possibly none."""
    order = draw(st.permutations(list(variables)))
    return tuple(order[: draw(st.integers(0, min(max_size, len(order))))])


@st.composite
def tables(draw: Any, scope: Sequence[Discrete], *, zeros: bool = True) -> Table:
    """A table over `scope`: positive, with zeros, 0/1, or wholly zero once in a while."""
    size = math.prod(v.num_states for v in scope)
    numbers = st.sampled_from([0.0, 0.25, 1.0, 3.0, 30.0, 1e-3]) if zeros else st.floats(0.01, 100.0)
    if size <= 12:
        return Table(scope, draw(st.lists(numbers, min_size=size, max_size=size)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = rng.exponential(size=size)
    if zeros:
        values[rng.random(size) < draw(st.sampled_from([0.0, 0.3, 0.8]))] = 0.0
    return Table(scope, values)


@st.composite
def rows(draw: Any, num: int, size: int) -> np.ndarray:
    """Distributions `[num, size]`, some deterministic, some with zeros."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    weights = rng.exponential(size=(num, size))
    weights[rng.random((num, size)) < draw(st.sampled_from([0.0, 0.4]))] = 0.0
    sharp = (rng.random(num) < draw(st.sampled_from([0.0, 0.3, 1.0]))) | (weights.sum(axis=1) == 0)
    weights[sharp] = np.eye(size)[rng.integers(0, size, num)][sharp]
    return weights / weights.sum(axis=1, keepdims=True)


@st.composite
def cpds(draw: Any, child: Discrete, given: Sequence[Discrete]) -> TableCPD:
    """A table CPD of `child` given parents."""
    num = math.prod(p.num_states for p in given)
    table = draw(rows(num, child.num_states))
    return TableCPD(child, table.reshape(-1), given=tuple(given))


@st.composite
def bayes_nets(draw: Any, max_variables: int = 5, max_parents: int = 3, *, min_variables: int = 0) -> BayesNet:
    """Bayesian networks: CPDs in an order of their own, not always parents first."""
    variables = draw(variable_lists(min_variables, max_variables))
    made = [draw(cpds(v, draw(scopes(variables[:i], max_parents)))) for i, v in enumerate(variables)]
    return BayesNet(*draw(st.permutations(made)))


@st.composite
def markov_nets(draw: Any, max_variables: int = 5, max_factors: int = 5, *, zeros: bool = True) -> MarkovNet:
    """Markov networks with several factors on one scope, empty scopes and isolated variables."""
    variables = draw(variable_lists(0, max_variables))
    factors = [draw(tables(draw(scopes(variables)), zeros=zeros)) for _ in range(draw(st.integers(0, max_factors)))]
    return MarkovNet(*factors, variables=variables)


@st.composite
def chain_graphs(draw: Any, max_components: int = 3) -> ChainGraph:
    """Chain graphs of components of one to three variables, chained inside, with positive tables."""
    variables = list(draw(variable_lists(0, 2 * max_components)))
    components: list[ChainComponent] = []
    used = 0
    while used < len(variables):
        size = draw(st.integers(1, min(3, len(variables) - used)))
        own = variables[used : used + size]
        scopes_ = [*list(itertools.pairwise(own)), (draw(st.sampled_from(own)),)]
        parents = draw(scopes(variables[:used], 2))
        scopes_ += [(parent, draw(st.sampled_from(own))) for parent in parents]
        factors = [draw(tables(scope, zeros=False)) for scope in scopes_]
        components.append(ChainComponent(own, *factors))
        used += size
    return ChainGraph(*draw(st.permutations(components)))


@st.composite
def evidence(draw: Any, variables: Sequence[Discrete], *, hard: bool = False) -> dict[Any, Any]:
    """Evidence on some variables, by variable or by name: states, missing values, subsets, exclusions, likelihoods."""
    given: dict[Any, Any] = {}
    for variable in draw(scopes(list(variables), max_size=len(variables))):
        key = variable if draw(st.booleans()) else variable.name
        given[key] = draw(findings(variable, hard=hard))
    return given


@st.composite
def findings(draw: Any, variable: Discrete, *, hard: bool = False) -> Any:
    """What may be said of one variable."""
    state = draw(st.sampled_from(variable.states))
    kind = draw(st.sampled_from(["state", "missing"] if hard else ["state", "missing", "subset", "not", "likelihood"]))
    if kind == "missing":
        return draw(st.sampled_from([None, math.nan]))
    if kind == "subset":
        return {state, draw(st.sampled_from(variable.states))}
    if kind == "not" and variable.num_states > 1:
        return Not(state)
    if kind == "likelihood":
        weights = draw(
            st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=variable.num_states, max_size=variable.num_states)
        )
        return Likelihood(weights if any(weights) else [1.0] * variable.num_states)
    return state


def plain_factors(model: Any) -> tuple[list[tuple[tuple[str, ...], np.ndarray]], dict[str, int]]:
    """A model's factors as the oracle takes them, and the number of states of every variable, hidden ones included."""
    problem = model.problem()
    factors = []
    for factor in problem.factors():
        table = factor if isinstance(factor, Table) else factor.to_table()
        shape = tuple(v.num_states for v in table.scope)
        factors.append((tuple(v.name for v in table.scope), np.asarray(table.values).reshape(shape)))
    return factors, {v.name: v.num_states for v in problem.variables}


def plain_evidence(given: Any, model: Any) -> dict[str, Any]:
    """Evidence as the oracle takes it: one array of weights a variable."""
    plain: dict[str, Any] = {}
    for key, finding in given.items():
        variable = model[key]
        if finding is None or (isinstance(finding, float) and math.isnan(finding) and finding not in variable.states):
            continue
        if isinstance(finding, Likelihood):
            weights = list(finding.weights)
        elif isinstance(finding, Not):
            weights = [0.0 if same(s, finding.states) else 1.0 for s in variable.states]
        else:
            allowed = finding if isinstance(finding, set) else {finding}
            weights = [1.0 if same(s, allowed) else 0.0 for s in variable.states]
        plain[variable.name] = np.array(weights)
    return plain


def same(state: Any, allowed: Any) -> bool:
    """Whether a state is among others, telling booleans from numbers."""
    return any(state == other and isinstance(state, bool) == isinstance(other, bool) for other in allowed)
