r"""Markov networks: Gibbs distributions over factors, given as tables or as blocks.

$$P(\mathbf x) = \frac1Z \prod_i \phi_i(\mathbf x_{D_i}), \qquad Z = \sum_{\mathbf x} \prod_i \phi_i(\mathbf x_{D_i})$$
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import AnyArray, Floats
from sepset.base.frozen import made
from sepset.base.lazy import lazy
from sepset.base.text import listing
from sepset.errors import ModelError, NotApplicable, ScopeError
from sepset.factors.algebra import Factor
from sepset.factors.block import Block, FactorBlock, Single
from sepset.factors.potentials import Potts
from sepset.factors.table import Table
from sepset.graphs.csr import pairs_within_rows
from sepset.graphs.graph import UndirectedGraph
from sepset.graphs.pictures.sketch import Sketch
from sepset.models.blocks import FactorArray, over_scopes, pairwise, unary
from sepset.models.features import Feature
from sepset.models.model import NamedModel, is_factor
from sepset.models.reduction import reduced, scaled_block
from sepset.models.rows import code_matrix, complete
from sepset.problem import Problem
from sepset.variables.array import Edges, VariableArray
from sepset.variables.evidence import Given, resolve
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, VariableLike, Vector

if TYPE_CHECKING:
    from sepset.cpds.lineargaussian import LinearGaussian
    from sepset.models.factorgraph import FactorGraph

Part = Factor | FactorArray | FactorBlock | Single


class MarkovNet(NamedModel):
    r"""A Gibbs distribution $P \propto \prod_i \phi_i$; factors need not be normalized.

    Args:
        parts: factors (`Table`, `SparseTable`, `CanonicalGaussian`, ...), or `unary`, `pairwise` and `over_scopes` over
            arrays; also a `FactorBlock` whose scopes are positions in `variables`.
        variables: the variables in the order they will have; those of the factors follow. Isolated ones are uniform.
        auxiliaries: hidden variables of the factors: they are summed out, and are not the model's own.
        name: the name of the network.
        notes: notes about it, such as those of a file reader.

    A network whose factors conflict has $Z = 0$; inference reports it, construction does not.

    Reference: Koller & Friedman, definition 4.3.
    Guarantee: exact.
    Tested by: models/test_markovnet.py::test_misconception_values_and_normalizer

    >>> a, b = Discrete("a", 2), Discrete("b", 2)
    >>> net = MarkovNet(Table((a, b), [[30, 5], [1, 10]]))
    >>> net, net.log_value({"a": [0, 1], "b": [0, 0]}).round(4).tolist()
    (MarkovNet(2 variables, 1 factor), [3.4012, 0.0])
    """

    _CONTENTS = ("blocks", "auxiliaries", "features", "weights")

    blocks: tuple[Block, ...]
    auxiliaries: tuple[Discrete | Vector, ...]
    features: tuple[Feature, ...]
    weights: Floats

    def __init__(
        self,
        *parts: Part,
        variables: Iterable[Discrete | Vector | VariableArray] | None = None,
        auxiliaries: Iterable[Discrete | Vector] = (),
        name: str = "",
        notes: Iterable[str] = (),
    ) -> None:
        hidden = tuple(auxiliaries)
        own = _universe(parts, () if variables is None else tuple(variables), hidden)
        everything = Universe([*own.parts, *hidden]) if hidden else own
        blocks = tuple(_bound(part, everything) for part in parts)
        self._set(own, blocks, hidden, name, notes)

    def _set(
        self,
        variables: Universe,
        blocks: Iterable[Block],
        auxiliaries: tuple[Discrete | Vector, ...],
        name: str,
        notes: Iterable[str],
        features: tuple[Feature, ...] = (),
        weights: Floats | None = None,
    ) -> None:
        self._fill(
            name,
            notes,
            variables=variables,
            blocks=tuple(blocks),
            auxiliaries=auxiliaries,
            features=features,
            weights=np.zeros(0) if weights is None else weights,
        )

    @classmethod
    def _of(cls, source: MarkovNet, variables: Universe, blocks: Iterable[Block]) -> MarkovNet:
        net = made(cls)
        net._set(variables, blocks, source.auxiliaries, source.name, source.notes)
        return net

    @classmethod
    def pairwise_energies(
        cls,
        nodes: Mapping[Discrete, ArrayLike],
        edges: Mapping[tuple[Discrete, Discrete], ArrayLike],
        *,
        name: str = "",
    ) -> MarkovNet:
        r"""The network $P \propto \exp\bigl(-\sum_i \epsilon_i(x_i) - \sum_{ij} \epsilon_{ij}(x_i, x_j)\bigr)$.

        Args:
            nodes: one energy per state, for some or all variables.
            edges: a matrix of energies for each pair.
            name: the name of the network.

        Reference: Koller & Friedman, section 4.4.1.

        >>> a, b = Discrete("a"), Discrete("b")
        >>> MarkovNet.pairwise_energies({a: [0, 1]}, {(a, b): [[0, 2], [2, 0]]}).log_value({"a": 1, "b": 0}).tolist()
        [-3.0]
        """
        ones = [Table.from_energy(v, energy) for v, energy in nodes.items()]
        return cls(*ones, *(Table.from_energy(pair, energy) for pair, energy in edges.items()), name=name)

    @classmethod
    def ising(
        cls,
        array: VariableArray,
        coupling: ArrayLike,
        *,
        field: ArrayLike = 0.0,
        edges: Edges | None = None,
        name: str = "",
    ) -> MarkovNet:
        r"""The Ising model $P \propto \exp\bigl(\sum_{ij} w_{ij} x_i x_j - \sum_i u_i x_i\bigr)$, $x_i = \pm 1$.

        Args:
            array: spins with the states -1 and 1, in either order.
            coupling: $w$, one number or one per edge; positive favors equal neighbors.
            field: $u$, one number or one per spin; note the minus sign: a positive field favors -1.
            edges: the neighbors; the array's grid by default.
            name: the name of the model.

        Reference: Koller & Friedman, box 4.C.
        Guarantee: exact.
        Tested by: models/test_markovnet.py::test_ising_by_definition

        >>> spin = Discrete.array("spin", (2,), states=(-1, 1))
        >>> net = MarkovNet.ising(spin, 0.5, field=0.2)
        >>> round(float(net.log_value({"spin[0]": 1, "spin[1]": 1})[0]), 6)
        0.1
        """
        spins = _spins(array)
        neighbors = array.grid_edges() if edges is None else edges
        parts = [_coupled(neighbors, np.asarray(coupling, np.float64), np.multiply.outer(spins, spins))]
        u = np.asarray(field, np.float64)
        if u.any():
            parts.append(unary(array, np.multiply.outer(-u, spins)))
        return cls(*parts, variables=[array], name=name)

    @classmethod
    def potts(
        cls,
        array: VariableArray,
        weight: ArrayLike,
        *,
        log_values: ArrayLike | None = None,
        edges: Edges | None = None,
        name: str = "",
    ) -> MarkovNet:
        r"""The Potts model $P \propto \exp\bigl(\sum_i \ell_i(x_i) + \sum_{ij} w_{ij} 1[x_i = x_j]\bigr)$.

        Args:
            array: the variables.
            weight: $w$, one number or one per edge; positive favors equal neighbors.
            log_values: $\ell$, of shape `(*array.shape, states)`; none by default.
            edges: the neighbors; the array's grid by default.
            name: the name of the model.

        Reference: Koller & Friedman 4.4.1.
        Guarantee: exact.
        Tested by: models/test_markovnet.py::test_potts_by_definition_with_weights_an_edge

        >>> MarkovNet.potts(Discrete.array("pixel", (3, 3), states=4), 1.5)
        MarkovNet(9 variables, 12 factors)
        """
        neighbors = array.grid_edges() if edges is None else edges
        w = np.asarray(weight, np.float64)
        pairs = pairwise(neighbors, Potts(float(w))) if not w.ndim else _coupled(neighbors, w, np.eye(array.num_states))
        ones = [] if log_values is None else [unary(array, log_values)]
        return cls(*ones, pairs, variables=[array], name=name)

    @classmethod
    def log_linear(
        cls, features: Iterable[Feature], weights: ArrayLike, *, name: str = "", notes: Iterable[str] = ()
    ) -> MarkovNet:
        r"""The log-linear model $P \propto \exp\bigl(\sum_k w_k f_k(\mathbf x_{D_k})\bigr)$; it keeps its features.

        Reference: Koller & Friedman, definition 4.15 (with the sign of chapter 20).
        Guarantee: exact.
        Tested by: models/test_markovnet.py::test_log_linear_features

        >>> a = Discrete("a")
        >>> MarkovNet.log_linear([Feature(a, [0, 1])], [0.75]).log_value({"a": 0}).tolist()
        [0.0]
        """
        listed = tuple(features)
        numbers = np.array(weights, np.float64)
        if numbers.shape != (len(listed),) or not np.isfinite(numbers).all():
            raise ModelError(f"{len(listed)} features need {len(listed)} finite weights; found shape {numbers.shape}.")
        net = cls(*(f.factor(float(w)) for f, w in zip(listed, numbers, strict=True)), name=name)
        net._set(net.variables, net.blocks, (), name, notes, listed, numbers)
        return net

    def with_weights(self, weights: ArrayLike) -> MarkovNet:
        """The log-linear model with the same features and other weights."""
        if not self.features:
            raise NotApplicable(f"{self!r} has no features. Use MarkovNet.log_linear.")
        return MarkovNet.log_linear(self.features, weights, name=self.name)

    @property
    def num_factors(self) -> int:
        """The number of factors."""
        return sum(len(b) for b in self.blocks)

    @property
    def factors(self) -> tuple[Factor, ...]:
        """Every factor as an object of its own. Cost: one object per factor, so use `blocks` for large grids."""
        return tuple(self._own.factors())

    @lazy
    def graph(self) -> UndirectedGraph:
        """The undirected graph: an edge between variables that share a factor.

        Reference: Koller & Friedman, definition 4.4 (factorization over a graph).
        """
        return markov_graph(self._own)

    def log_value(self, data: object) -> Floats:
        r"""$\log \tilde P(\mathbf x) = \sum_i \log \phi_i(\mathbf x_{D_i})$ of every row of data; not normalized.

        Args:
            data: complete assignments: a dataset, any data frame, a mapping of columns, or one assignment.
        """
        self._refuse_auxiliaries("log_value")
        columns, num_rows = complete(data, self.variables)
        if all(isinstance(v, Discrete) for v in columns):
            return self.log_value_codes(code_matrix(columns, self.variables, num_rows))
        total = np.zeros(num_rows)
        for factor in self.factors:
            total += [factor.log_value(_assignment(factor, columns, row)) for row in range(num_rows)]
        return total

    def log_value_codes(self, codes: ArrayLike) -> Floats:
        r"""$\log \tilde P$ of rows of codes, `[rows, variables]` or one row; fast for variable arrays of any size."""
        self._refuse_auxiliaries("log_value_codes")
        matrix = np.atleast_2d(np.asarray(codes))
        if matrix.shape[1] != len(self) or not np.issubdtype(matrix.dtype, np.integer):
            raise ModelError(f"Codes are integers of shape (rows, {len(self)}); found {matrix.dtype} {matrix.shape}.")
        if matrix.size and not ((matrix >= 0) & (matrix < self.variables.cards)).all():
            row, place = np.argwhere((matrix < 0) | (matrix >= self.variables.cards))[0]
            raise ModelError(f"Row {row} has the code {matrix[row, place]} for {self.variables[int(place)]!r}.")
        return sum((b.log_values(matrix) for b in self.blocks), np.zeros(len(matrix)))

    def _refuse_auxiliaries(self, what: str) -> None:
        if self.auxiliaries:
            raise NotApplicable(
                f"{what} needs a product of factors over the model's own variables; {self!r} has "
                f"{len(self.auxiliaries)} hidden ones. Ask the Bayesian network, or log_probability, instead."
            )

    def scaled(self, scale: float) -> MarkovNet:
        r"""The network with every energy multiplied by `scale`: $P \propto \tilde P(\mathbf x)^s$; above 1 it sharpens.

        >>> a = Discrete("a")
        >>> MarkovNet(Table(a, [1, 4])).scaled(0.5).factors[0].values.tolist()
        [1.0, 2.0]
        """
        self._refuse_auxiliaries("scaled")
        return MarkovNet._of(self, self.variables, [scaled_block(b, scale, self.variables) for b in self.blocks])

    def condition(self, given: Given) -> MarkovNet:
        r"""The network reduced by evidence, over the variables without a known value; its $Z$ is $\tilde P(\mathbf e)$.

        Args:
            given: observed variables leave the model; subsets and likelihoods become factors. `Soft` needs inference.

        Reference: Koller & Friedman, definition 4.7.

        >>> a, b = Discrete("a"), Discrete("b")
        >>> MarkovNet(Table((a, b), [[30, 5], [1, 10]])).condition({"a": 1}).factors[0].values.tolist()
        [1.0, 10.0]
        """
        evidence = resolve(given, self.variables)
        if evidence.soft:
            name = self.variables[min(evidence.soft)].name
            raise NotApplicable(f"Soft evidence on {name} needs inference: use query or marginals with given=.")
        kept, blocks = reduced(self._own, evidence)
        hidden = len(self.auxiliaries)
        own = Universe(kept.parts[: len(kept.parts) - hidden]) if hidden else kept
        return MarkovNet._of(self, own, blocks)

    def markov_blanket(self, variable: VariableLike) -> tuple[str, ...]:
        """The names of the neighbors, given which a variable is independent of all others."""
        place = self.variables.id(variable)
        if self.auxiliaries:
            return self.graph.neighbors(self.variables[place].name)
        scopes = (self._own.scope(i) for i in self._touching(place))
        ids = sorted(set(itertools.chain.from_iterable(scopes)) - {place})
        return tuple(self.variables[i].name for i in ids)

    @overload
    def conditional(self, variable: Discrete) -> Table: ...
    @overload
    def conditional(self, variable: Vector) -> LinearGaussian: ...
    @overload
    def conditional(self, variable: VariableLike) -> Table | LinearGaussian: ...
    def conditional(self, variable: VariableLike) -> Table | LinearGaussian:
        r"""$P(x_i \mid \mathbf x_{-i})$: a table over the Markov blanket and then the variable, or a linear Gaussian.

        Rows of a table that have probability zero stay zero. The conditional of a real variable is a linear Gaussian:
        with the information $K$ and $\mathbf h$ of the factors over it, the mean is
        $K_{ii}^{-1} (h_i - K_{i,-i} \mathbf x_{-i})$ and the covariance $K_{ii}^{-1}$, in each state of its discrete
        neighbors.

        Reference: Koller & Friedman, section 12.3.3 (Gibbs sampling).
        Guarantee: exact.
        Tested by: models/test_markovnet.py::test_gibbs_conditional_is_that_of_the_joint
        """
        self._refuse_auxiliaries("conditional")
        place = self.variables.id(variable)
        found = self.variables[place]
        touching = [self._own.factor(i) for i in self._touching(place)]
        if not isinstance(found, Discrete):
            return _regression(found, touching)
        product = functools.reduce(operator.mul, touching, Table.ones(found))
        reals = [v.name for v in product.scope if not v.is_discrete]
        if reals:
            raise NotApplicable(
                f"The distribution of {found.name!r} given its neighbors is not a table, since {listing(reals)} are "
                "continuous. Use condition(given) with their values first."
            )
        table = product if isinstance(product, Table) else product.to_table()
        order = (*(v for v in (self.variables[n] for n in self.markov_blanket(found))), found)
        return table.align(order).normalize([found])

    def _touching(self, place: int) -> list[int]:
        """The numbers of the factors over one variable."""
        offsets = self._own.offsets.tolist()
        found = [
            np.flatnonzero((b.scopes == place).any(axis=1)) + o for b, o in zip(self.blocks, offsets, strict=False)
        ]
        return [int(i) for numbers in found for i in numbers]

    def markov_net(self) -> MarkovNet:
        """The network itself, as other models give theirs."""
        return self

    def factor_graph(self) -> FactorGraph:
        """The factor graph of the network."""
        from sepset.models.factorgraph import FactorGraph

        return FactorGraph(self)

    def to_networkx(self) -> Any:
        """The undirected graph as a networkx `Graph`."""
        return self.graph.to_networkx()

    def _build(self) -> Problem:
        constraints = {
            i: b for i, b in enumerate(self.blocks) if isinstance(b, FactorBlock) and b.potential is not None
        }
        return _with_chains(self._own, constraints) if constraints else self._own

    def as_written(self) -> Problem:
        """The normal form with the factors as they were given; methods take chains in place of wide constraints."""
        return self._own

    @lazy
    def _own(self) -> Problem:
        everything = Universe([*self.variables.parts, *self.auxiliaries]) if self.auxiliaries else self.variables
        return Problem(everything, self.blocks, conditionals=(), num_visible=len(self.variables))

    def _sketch(self) -> Sketch:
        return replace(self.graph._sketch(), name=self.name)

    def _facts(self) -> Iterator[tuple[str, str]]:
        yield "variables", str(len(self))
        yield "factors", str(self.num_factors)
        if self.features:
            yield "features", str(len(self.features))
        yield "largest scope", f"{max((b.scopes.shape[1] for b in self.blocks if len(b)), default=0)} variables"


def _with_chains(problem: Problem, named: Mapping[int, FactorBlock]) -> Problem:
    """The problem with chains of running states in place of those blocks of named potentials that are wide."""
    from sepset.factors.chains import chained, is_chained
    from sepset.graphs.sweeps import lined_up

    wide = {i: block for i, block in named.items() if is_chained(block)}
    if not wide:
        return problem
    others = [block.scopes for number, block in enumerate(problem.blocks) if number not in wide]
    line = lined_up(others, len(problem.variables))
    blocks: list[Block] = []
    hidden: list[Discrete] = []
    functions: dict[int, tuple[int, ...]] = {}
    for number, block in enumerate(problem.blocks):
        if number not in wide:
            blocks.append(block)  # type: ignore[arg-type]
            continue
        owners = [problem.variables[int(v)] for v in wide[number].scopes[:, 0]]
        first = len(problem.variables) + len(hidden)
        chains = chained(wide[number], number, owners, first, line)  # type: ignore[arg-type]
        blocks += chains.blocks
        hidden += chains.auxiliaries
        functions |= chains.functions
    everything = Universe([*problem.variables.parts, *hidden])
    return Problem(everything, tuple(blocks), conditionals=(), num_visible=problem.num_visible, functions=functions)


def _regression(variable: Vector, factors: Sequence[Factor]) -> LinearGaussian:
    """The distribution of a real variable given all others of its factors."""
    from sepset.cpds.lineargaussian import LinearGaussian
    from sepset.factors.gaussian import GaussianConditional
    from sepset.factors.hybrid import HybridConditional

    if not factors:
        raise NotApplicable(f"No factor has {variable.name!r} in its scope, so it has no distribution.")
    made: Any = functools.reduce(operator.mul, factors).eliminate([variable])[0]
    made = made.gaussian if isinstance(made, HybridConditional) else made
    if not isinstance(made, GaussianConditional) or not made.alive.all():
        raise NotApplicable(
            f"The distribution of {variable.name!r} given its neighbors is not a linear Gaussian in all their states. "
            "Use condition(given) with the states of its discrete neighbors first."
        )
    shape, size = [v.num_states for v in made.by], variable.size
    covariance = made.root @ made.root.transpose(0, 2, 1)
    return LinearGaussian(
        variable,
        made.offset.reshape(*shape, size),
        coefficients=made.slope.reshape(*shape, size, -1) if made.given else None,
        covariance=covariance.reshape(*shape, size, size),
        given=made.given,
        by=made.by,
    )


def _universe(
    parts: Sequence[Part], variables: tuple[Discrete | Vector | VariableArray, ...], hidden: tuple[Any, ...]
) -> Universe:
    """The model's variables: those given, then those of the factors that are not elements of a given array."""
    groups: list[Any] = [variables, *(p.parts for p in parts if isinstance(p, FactorArray))]
    arrays = Universe(dict.fromkeys(p for group in groups for p in group if isinstance(p, VariableArray)))
    concealed = {v.name for v in hidden}
    for part in parts:
        if isinstance(part, FactorBlock | Single) and part.scopes.size and not variables:
            raise ScopeError(f"{part!r} has positions as scopes; pass the variables they refer to as variables=.")
        if not isinstance(part, FactorArray | FactorBlock | Single):
            _check_factor(part)
            groups.append([v for v in part.scope if v not in arrays and v.name not in concealed])
    return Universe.union(*groups)


def _check_factor(part: object) -> None:
    if not is_factor(part):
        raise ModelError(
            f"A Markov network is made of factors; found {part!r} of type {type(part).__name__}. "
            "Use Table, or unary, pairwise and block over arrays."
        )


def _bound(part: Part, variables: Universe) -> Block:
    if isinstance(part, FactorArray):
        return part.bind(variables)
    if isinstance(part, FactorBlock | Single):
        if part.scopes.size and int(part.scopes.max()) >= len(variables):
            raise ScopeError(
                f"{part!r} has the position {int(part.scopes.max())}; there are {len(variables)} variables."
            )
        return part
    return Single(part, variables.ids(part.scope))


def _spins(array: VariableArray) -> Floats:
    if sorted(map(repr, array.states)) not in (["-1", "1"], ["-1.0", "1.0"]):
        raise ModelError(f"Ising spins have the states -1 and 1; {array!r} does not. Use potts for other states.")
    return np.array(array.states, np.float64)


def _coupled(edges: Edges, weights: Floats, table: Floats) -> FactorArray:
    """Pairwise factors $e^{w_{ij} T(x_i, x_j)}$."""
    if weights.shape not in ((), (len(edges),)):
        raise ModelError(f"{edges!r} needs one weight or {len(edges)}; found shape {weights.shape}.")
    return over_scopes(edges.pairs, np.multiply.outer(weights, table), array=edges.array, space="log")


def _assignment(factor: Factor, columns: Mapping[Any, AnyArray], row: int) -> dict[Any, Any]:
    return {v: v.states[int(columns[v][row])] if isinstance(v, Discrete) else columns[v][row] for v in factor.scope}


def markov_graph(problem: Problem) -> UndirectedGraph:
    """The undirected graph of a problem's visible variables: neighbors share a factor, or a chain of hidden ones."""
    start, members = problem.scopes
    pairs, names = pairs_within_rows((start, members.astype(np.int32))), problem.variables.names
    graph = UndirectedGraph.from_arrays(names, sources=pairs[:, 0], targets=pairs[:, 1])
    if problem.num_visible == len(names):
        return graph
    return _without_hidden(graph, names[problem.num_visible :])


def _without_hidden(graph: UndirectedGraph, hidden: Sequence[str]) -> UndirectedGraph:
    """The graph with `hidden` eliminated: their neighbors become neighbors of each other."""
    around = {n: set(graph.neighbors(n)) for n in graph.nodes}
    for name in hidden:
        neighbors = around.pop(name)
        for other in neighbors:
            around[other] |= neighbors
            around[other] -= {name, other}
    return UndirectedGraph(around, [(a, b) for a, bs in around.items() for b in sorted(bs)])
