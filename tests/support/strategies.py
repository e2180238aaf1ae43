"""Hypothesis strategies for variables, tables, models and evidence, awkward ones included.

Names have spaces, slashes, quotes and letters of several scripts; states are strings, ints, bools or floats; variables
may have one state; tables have zeros and deterministic rows; scopes may be empty; models may be disconnected, have
isolated variables, or be empty.

Hypothesis checks a strategy before the first draw from it, which takes longer than the draw: those that many draws
share are made once, and strategies draw the parts of a model by plain functions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import cache
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

one_of = cache(st.sampled_from)


@cache
def names() -> st.SearchStrategy[str]:
    """Names of variables: mostly awkward ones from practice, sometimes any text."""
    any_text = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=6)
    return st.sampled_from(AWKWARD) | any_text


@cache
def name_lists(min_size: int, max_size: int) -> st.SearchStrategy[list[str]]:
    """Different names of variables."""
    return st.lists(names(), min_size=min_size, max_size=max_size, unique=True)


@cache
def orders(size: int) -> st.SearchStrategy[list[int]]:
    """Orders of so many places."""
    return st.permutations(range(size))


def reordered(draw: Any, items: Sequence[Any]) -> list[Any]:
    """All items in some order."""
    return [items[i] for i in draw(orders(len(items)))]


@st.composite
def variable_lists(draw: Any, min_size: int = 0, max_size: int = 4, *, one_state: bool = True) -> tuple[Discrete, ...]:
    """Discrete variables with different names."""
    return some_variables(draw, min_size, max_size, one_state=one_state)


def some_variables(draw: Any, min_size: int, max_size: int, *, one_state: bool = True) -> tuple[Discrete, ...]:
    """Discrete variables with different names."""
    domains = one_of(DOMAINS if one_state else PLAIN_DOMAINS)
    return tuple(Discrete(name, draw(domains)) for name in draw(name_lists(min_size, max_size)))


@st.composite
def scopes(draw: Any, variables: Sequence[Discrete], max_size: int = 3) -> tuple[Discrete, ...]:
    """Some of the variables in some order, possibly none."""
    return some_scope(draw, variables, max_size)


def some_scope(draw: Any, variables: Sequence[Discrete], max_size: int = 3) -> tuple[Discrete, ...]:
    """Some of the variables in some order, possibly none."""
    order = reordered(draw, variables)
    return tuple(order[: draw(st.integers(0, min(max_size, len(order))))])


@st.composite
def tables(draw: Any, scope: Sequence[Discrete], *, zeros: bool = True) -> Table:
    """A table over `scope`: positive, with zeros, 0/1, or wholly zero once in a while."""
    return some_table(draw, scope, zeros=zeros)


def some_table(draw: Any, scope: Sequence[Discrete], *, zeros: bool = True) -> Table:
    """A table over `scope`: positive, with zeros, 0/1, or wholly zero once in a while."""
    size = math.prod(v.num_states for v in scope)
    if size <= 12:
        return Table(scope, draw(numbers(size, zeros)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = rng.exponential(size=size)
    if zeros:
        values[rng.random(size) < draw(one_of((0.0, 0.3, 0.8)))] = 0.0
    return Table(scope, values)


@cache
def numbers(size: int, zeros: bool) -> st.SearchStrategy[list[float]]:
    """The entries of a small table."""
    each = one_of((0.0, 0.25, 1.0, 3.0, 30.0, 1e-3)) if zeros else st.floats(0.01, 100.0)
    return st.lists(each, min_size=size, max_size=size)


@st.composite
def rows(draw: Any, num: int, size: int) -> np.ndarray:
    """Distributions `[num, size]`, some deterministic, some with zeros."""
    return some_rows(draw, num, size)


def some_rows(draw: Any, num: int, size: int) -> np.ndarray:
    """Distributions `[num, size]`, some deterministic, some with zeros."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    weights = rng.exponential(size=(num, size))
    weights[rng.random((num, size)) < draw(one_of((0.0, 0.4)))] = 0.0
    sharp = (rng.random(num) < draw(one_of((0.0, 0.3, 1.0)))) | (weights.sum(axis=1) == 0)
    weights[sharp] = np.eye(size)[rng.integers(0, size, num)][sharp]
    return weights / weights.sum(axis=1, keepdims=True)


@st.composite
def cpds(draw: Any, child: Discrete, given: Sequence[Discrete]) -> TableCPD:
    """A table CPD of `child` given parents."""
    return some_cpd(draw, child, given)


def some_cpd(draw: Any, child: Discrete, given: Sequence[Discrete]) -> TableCPD:
    """A table CPD of `child` given parents."""
    num = math.prod(p.num_states for p in given)
    table = some_rows(draw, num, child.num_states)
    return TableCPD(child, table.reshape(-1), given=tuple(given))


@st.composite
def bayes_nets(draw: Any, max_variables: int = 5, max_parents: int = 3, *, min_variables: int = 0) -> BayesNet:
    """Bayesian networks: CPDs in an order of their own, not always parents first."""
    variables = some_variables(draw, min_variables, max_variables)
    made = [some_cpd(draw, v, some_scope(draw, variables[:i], max_parents)) for i, v in enumerate(variables)]
    return BayesNet(*reordered(draw, made))


@st.composite
def markov_nets(draw: Any, max_variables: int = 5, max_factors: int = 5, *, zeros: bool = True) -> MarkovNet:
    """Markov networks with several factors on one scope, empty scopes and isolated variables."""
    variables, num = some_variables(draw, 0, max_variables), draw(st.integers(0, max_factors))
    factors = [some_table(draw, some_scope(draw, variables), zeros=zeros) for _ in range(num)]
    return MarkovNet(*factors, variables=variables)


@st.composite
def chain_graphs(draw: Any, max_components: int = 3) -> ChainGraph:
    """Chain graphs of components of one to three variables, chained inside, with positive tables."""
    variables = list(some_variables(draw, 0, 2 * max_components))
    components: list[ChainComponent] = []
    used = 0
    while used < len(variables):
        size = draw(st.integers(1, min(3, len(variables) - used)))
        own = variables[used : used + size]
        scopes_ = [*list(itertools.pairwise(own)), (draw(st.sampled_from(own)),)]
        parents = some_scope(draw, variables[:used], 2)
        scopes_ += [(parent, draw(st.sampled_from(own))) for parent in parents]
        factors = [some_table(draw, scope, zeros=False) for scope in scopes_]
        components.append(ChainComponent(own, *factors))
        used += size
    return ChainGraph(*reordered(draw, components))


@st.composite
def evidence(draw: Any, variables: Sequence[Discrete], *, hard: bool = False) -> dict[Any, Any]:
    """Evidence on some variables, by variable or by name: states, missing values, subsets, exclusions, likelihoods."""
    given: dict[Any, Any] = {}
    for variable in some_scope(draw, variables, max_size=len(variables)):
        key = variable if draw(st.booleans()) else variable.name
        given[key] = some_finding(draw, variable, hard=hard)
    return given


@st.composite
def findings(draw: Any, variable: Discrete, *, hard: bool = False) -> Any:
    """What may be said of one variable."""
    return some_finding(draw, variable, hard=hard)


def some_finding(draw: Any, variable: Discrete, *, hard: bool = False) -> Any:
    """What may be said of one variable."""
    state = variable.states[draw(st.integers(0, variable.num_states - 1))]
    kind = draw(one_of(("state", "missing") if hard else ("state", "missing", "subset", "not", "likelihood")))
    if kind == "missing":
        return draw(one_of((None, math.nan)))
    if kind == "subset":
        return {state, variable.states[draw(st.integers(0, variable.num_states - 1))]}
    if kind == "not" and variable.num_states > 1:
        return Not(state)
    if kind == "likelihood":
        size = variable.num_states
        weights = draw(st.lists(one_of((0.0, 0.5, 1.0, 2.0)), min_size=size, max_size=size))
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
