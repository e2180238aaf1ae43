r"""Bayesian networks: the CPDs define the network, and the graph follows from them.

$$P(x_1, \dots, x_n) = \prod_i P(x_i \mid \mathbf{pa}_i)$$
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.checks import generator
from sepset.base.equality import same_value
from sepset.base.frozen import made
from sepset.base.lazy import lazy
from sepset.base.text import brief, listing, nearest
from sepset.cpds.cpd import CPD
from sepset.cpds.discrete import ChainedCPD
from sepset.cpds.table import TableCPD
from sepset.cpds.tree import ContextCPD
from sepset.errors import ArgumentError, ModelError, NotApplicable, ScopeError, SepsetError
from sepset.factors.algebra import Columns, check_sizes
from sepset.factors.chains import BY_NAME, LatePlaces, Line
from sepset.factors.labels import name_of
from sepset.graphs.graph import DAG, UndirectedGraph, ancestors, moralize
from sepset.graphs.pictures.sketch import Box, Sketch
from sepset.models.drawing import BLANK, Drawing
from sepset.models.lines import NARROW, choices_of, line_through
from sepset.models.model import NamedModel, is_cpd
from sepset.models.networkproblem import network_problem
from sepset.problem import Problem
from sepset.variables.evidence import Given, resolve
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, Domain, State, VariableLike, Vector, listed

if TYPE_CHECKING:
    from sepset.data.dataset import Dataset
    from sepset.models.factorgraph import FactorGraph
    from sepset.models.markovnet import MarkovNet

K = TypeVar("K", bound=CPD)


class BayesNet(NamedModel):
    r"""A Bayesian network $P(\mathbf x) = \prod_i P(x_i \mid \mathbf{pa}_i)$ made of its CPDs.

    Args:
        cpds: one per variable, one by one or in a list, in the order the variables will have; parents may follow their
            children. A parent whose states are in another order than in its own CPD is matched by their names.
        name: the name of the network.
        notes: notes about it, such as those of a file reader.
        drawing: titles, positions and the like, as other tools draw it.

    Reference: Koller & Friedman, definition 3.5.
    Guarantee: exact.
    Tested by: models/test_bayesnet.py::test_problem_is_the_joint_and_its_groups_sum_to_one

    >>> rain, wet = Discrete("rain", (False, True)), Discrete("wet", (False, True))
    >>> net = BayesNet(TableCPD(rain, [0.8, 0.2]), TableCPD(wet, [[0.9, 0.1], [0.2, 0.8]], given=rain))
    >>> net, net.dag, round(float(np.exp(net.log_probability({"rain": True, "wet": True})[0])), 3)
    (BayesNet(2 variables, 1 edge, 3 parameters), DAG(rain -> wet), 0.16)
    """

    _CONTENTS = ("cpds",)

    cpds: tuple[CPD, ...]
    dag: DAG
    drawing: Drawing

    def __init__(
        self, *cpds: CPD | Iterable[CPD], name: str = "", notes: Iterable[str] = (), drawing: Drawing = BLANK
    ) -> None:
        if not isinstance(drawing, Drawing):
            raise ArgumentError(f"drawing= is a models.Drawing; found {brief(drawing)}.")
        own = _one_by_one(cpds)
        children = {cpd.child.name: cpd.child for cpd in own}
        own = tuple(_with_states_of(children, cpd) for cpd in own)
        by_name = _by_child(own)
        for cpd in own:
            _check_parents(cpd, by_name)
        dag = DAG(by_name, [(parent.name, cpd.child.name) for cpd in own for parent in cpd.parents])
        variables = Universe(cpd.child for cpd in own)
        self._fill(name, notes, cpds=own, dag=dag, variables=variables, drawing=drawing, _by_name=by_name)

    _by_name: Mapping[str, CPD]

    def __eq__(self, other: object) -> bool:
        """Whether both have the same CPDs, in any order of the variables and of the parents."""
        if not isinstance(other, BayesNet):
            return NotImplemented
        if self is other:
            return True
        if self._by_name.keys() != other._by_name.keys():
            return False
        return all(_is_same(cpd, other._by_name[name]) for name, cpd in self._by_name.items())

    def __hash__(self) -> int:
        return hash((BayesNet, frozenset(self._by_name)))

    @classmethod
    def _over(
        cls, dag: DAG, cpds: Iterable[CPD], *, notes: Iterable[str] = (), variables: Universe | None = None
    ) -> BayesNet:
        """The network of CPDs that were made for the nodes of a graph, in order, and their parents: nothing is checked.

        Args:
            variables: the children in order, where they are at hand.

        >>> BayesNet._over(DAG(["coin"]), [TableCPD(Discrete("coin"), [0.5, 0.5])])
        BayesNet(1 variable, 0 edges, 1 parameter)
        """
        own = tuple(cpds)
        by_name = dict(zip(dag.nodes, own, strict=True))
        if variables is None:
            variables = Universe([cpd.child for cpd in own])
        return made(
            cls, name="", notes=tuple(notes), cpds=own, dag=dag, variables=variables, drawing=BLANK, _by_name=by_name
        )

    @classmethod
    def random(
        cls,
        dag: DAG,
        *,
        states: int | Iterable[State] | Mapping[str, int | Iterable[State]] = 2,
        seed: int | np.random.Generator = 0,
    ) -> BayesNet:
        """The network over `dag` with random tables, every row uniform on its simplex.

        Args:
            dag: the structure.
            states: the states of every variable (or their number), or a mapping by name.
            seed: an integer or a generator.

        >>> BayesNet.random(DAG.parse("a -> b <- c"), states={"a": 2, "b": 3, "c": "xy"}, seed=1).num_parameters
        10
        """
        rng = generator(seed)
        shared: Any = states if isinstance(states, Mapping | int) else tuple(states)
        if isinstance(shared, Mapping) and (absent := [n for n in dag.nodes if n not in shared]):
            raise ScopeError(f"states= has none for {listing(absent)}; give each variable some.")
        if not isinstance(shared, Mapping):
            shared = dict.fromkeys(dag.nodes, Domain.of(shared, "Each variable"))
        known = {n: Discrete(n, shared[n]) for n in dag.nodes}
        families = [(*(known[p] for p in dag.parents(n)), known[n]) for n in dag.nodes]
        check_sizes(families)
        return cls._over(dag, (_random_cpd(scope[-1], scope[:-1], rng) for scope in families))

    @overload
    def cpd(self, variable: VariableLike) -> TableCPD: ...
    @overload
    def cpd(self, variable: VariableLike, *, kind: type[K]) -> K: ...
    def cpd(self, variable: VariableLike, *, kind: type[Any] | None = None) -> Any:
        """The CPD of a variable, given as itself or by name.

        Args:
            kind: the class it must have. Type checkers take it from here, and a table without it.
        """
        found = self._by_name[self[variable].name]
        if kind is not None and not isinstance(found, kind):
            raise ModelError(f"The CPD of {found.child.name!r} is a {type(found).__name__}, not a {kind.__name__}.")
        return found

    def parents(self, variable: VariableLike) -> tuple[str, ...]:
        """The names of a variable's parents, in the order of its CPD."""
        return tuple(p.name for p in self.cpd(variable).parents)

    def children(self, variable: VariableLike) -> tuple[str, ...]:
        """The names of a variable's children, in the network's order."""
        return self.dag.children(self[variable].name)

    @property
    def num_parameters(self) -> int:
        """The number of free parameters; tied CPDs count once."""
        return sum({cpd.block: cpd.num_parameters for cpd in self.cpds}.values())

    @lazy
    def _ancestral(self) -> tuple[CPD, ...]:
        return tuple([self.cpds[i] for i in self.dag.topological_ids.tolist()])

    def log_probability(self, data: object) -> Floats:
        r"""$\log P(\mathbf x)$ of every row of data; zero probability is $-\infty$.

        Args:
            data: complete assignments: a dataset, any data frame, a mapping of columns, or one assignment.

        Cost: one vectorized pass per CPD.

        Reference: Koller & Friedman 3.2.
        Guarantee: exact.
        Tested by: models/test_bayesnet.py::test_log_probability_of_every_row_is_the_joint
        """
        from sepset.models.rows import complete

        columns, num_rows = complete(data, self.variables)
        total = np.zeros(num_rows)
        for cpd in self.cpds:
            total += cpd.log_probability({v: columns[v] for v in cpd.scope})
        return total

    def sample(self, num_rows: int, seed: int | np.random.Generator = 0, *, threads: int | None = None) -> Dataset:
        """Independent complete assignments, drawn forward: parents first.

        Args:
            num_rows: the number of assignments.
            seed: an integer or a generator; the rows do not depend on `threads`.
            threads: the number of threads for tables; by default chosen by the amount of work.

        Reference: Koller & Friedman, algorithm 12.1.
        Guarantee: exact draws, any number of threads.
        Tested by: models/test_ancestral.py::test_frequencies_are_the_joint

        >>> len(BayesNet(TableCPD(Discrete("coin", ("head", "tail")), [0.5, 0.5])).sample(3, seed=0))
        3
        """
        from sepset.data.dataset import Dataset
        from sepset.models.ancestral import forward_sample

        wide = [v.name for v in self.variables if isinstance(v, Vector) and v.size > 1]
        if wide:
            raise NotApplicable(
                f"A dataset has one column per variable, and {listing(wide)} are vectors. Use sample_columns."
            )
        columns = forward_sample(self._ancestral, num_rows, seed, threads)
        return Dataset._drawn(self.variables, {v.name: columns[v] for v in self.variables}, num_rows)

    def sample_columns(self, num_rows: int, seed: int | np.random.Generator = 0) -> Columns:
        """The same draws as columns by variable; vectors are arrays `[rows, size]`."""
        from sepset.models.ancestral import forward_sample

        return forward_sample(self._ancestral, num_rows, seed)

    def condition(self, given: Given) -> MarkovNet:
        r"""The network reduced by evidence: an undirected model whose $Z$ is $P(\mathbf e)$.

        $$\tilde P(\mathbf y) = \prod_i P(x_i \mid \mathbf{pa}_i)[\mathbf e]$$

        Reference: Koller & Friedman, section 4.2.3 and proposition 4.7.
        Guarantee: exact, Z is the evidence's probability.
        Tested by: models/test_bayesnet.py::test_reduction_by_evidence_has_z_equal_to_its_probability
        """
        found = resolve(given, self.variables)
        reals = {self.variables[v]: tuple(value.tolist()) for v, value in found.reals.items()}
        known = reals | {self.variables[v]: code for v, code in found.codes.items()}
        return self._product(known).condition(given)

    def do(self, interventions: Mapping[Any, Any]) -> BayesNet:
        r"""The mutilated network: intervened variables lose their parents and take the given value or distribution.

        $$P(\mathbf y \mid do(\mathbf x)) = \prod_{i : X_i \notin \mathbf X} P(y_i \mid \mathbf{pa}_i)$$

        Args:
            interventions: variables with a state or a number (a point mass), or with a distribution: a sequence with
                one probability per state, a mapping or series from states, or an answer; a stochastic intervention.

        Reference: Koller & Friedman, section 21.2.
        Guarantee: exact.
        Tested by: models/test_bayesnet.py::test_do_is_the_truncated_product
        """
        from sepset.models.intervention import intervened

        places = {self.variables.id(key): value for key, value in interventions.items()}
        new = [intervened(self.variables[place], value) for place, value in places.items()]
        return self.with_cpds(*new)

    def with_cpds(self, *cpds: CPD) -> BayesNet:
        """The network with these CPDs in place of those of the same children."""
        replaced = _by_child(cpds)
        for child in replaced:
            if child not in self._by_name:
                raise ScopeError(f"There is no CPD of {child!r} to replace.{nearest(child, self._by_name)}")
        new = [replaced.get(c.child.name, c) for c in self.cpds]
        if all(type(a) is type(b) and a.scope == b.scope for a, b in zip(new, self.cpds, strict=True)):
            return self.with_parameters(new)
        return BayesNet(*new, name=self.name, notes=self.notes, drawing=self.drawing)

    def with_parameters(self, cpds: Iterable[CPD]) -> BayesNet:
        """The network with other parameters: one CPD per variable, in order, each with the scope of the old one.

        The graph is shared, and only scopes are checked: iterations that estimate again and again need no more.
        """
        new = tuple(cpds)
        if list(map(getattr, new, repeat("scope"), repeat(None))) != list(map(getattr, self.cpds, repeat("scope"))):
            raise _other_scopes(self.cpds, new)
        by_name = dict(zip(self._by_name, new, strict=True))
        return made(
            BayesNet,
            name=self.name,
            notes=self.notes,
            cpds=new,
            dag=self.dag,
            variables=self.variables,
            drawing=self.drawing,
            _by_name=by_name,
        )

    def subnetwork(self, variables: VariableLike | Iterable[VariableLike]) -> BayesNet:
        """The network of `variables` and all their ancestors: their exact joint marginal.

        Reference: Shachter (1986), barren nodes.
        Guarantee: exact marginal.
        Tested by: models/test_bayesnet.py::test_subnetwork_is_the_exact_marginal
        """
        asked = listed(variables)
        kept = set(ancestors(self.dag, [self[v].name for v in asked], inclusive=True))
        own = (c for c in self.cpds if c.child.name in kept)
        return BayesNet(*own, name=self.name, notes=self.notes, drawing=self.drawing)

    def markov_net(self) -> MarkovNet:
        """The same distribution as a product of factors with $Z = 1$.

        Reference: Koller & Friedman, section 4.5.1.
        Guarantee: exact, Z is kept.
        Tested by: models/test_conversions.py::test_any_model_is_a_markov_net
        """
        return self._product({})

    def _product(self, given: Mapping[Any, Any]) -> MarkovNet:
        """The product of all CPDs; those that are too wide for a table become factors for what is given."""
        from sepset.models.markovnet import MarkovNet

        cpds = self.lined_up.cpds
        parts = [cpd.decomposition() or cpd.decomposed(given) for cpd in cpds]  # type: ignore[attr-defined]
        factors = [factor for part in parts for factor in part.filled]
        hidden = [a for part in parts for a in part.auxiliaries]
        own = self.variables.parts
        return MarkovNet(*factors, variables=own, auxiliaries=hidden, name=self.name, notes=self.notes)

    def factor_graph(self) -> FactorGraph:
        """The factor graph of the network."""
        from sepset.models.factorgraph import FactorGraph

        return FactorGraph(self)

    def moral_graph(self) -> UndirectedGraph:
        """The moral graph, with all parents of each variable joined: the minimal I-map among undirected graphs."""
        return moralize(self.dag)

    def to_networkx(self) -> Any:
        """The directed graph as a networkx `DiGraph`."""
        return self.dag.to_networkx()

    def __getstate__(self) -> dict[str, Any]:
        """A copy of all parts: writing a line finds it, with the help of the network."""
        return vars(self).copy()

    @lazy
    def line(self) -> Line:
        """The line along which the chains of wide CPDs run, which depends on the other CPDs; empty without any."""
        if not self._lined:
            return BY_NAME
        kinds, choices = self._chained, choices_of(self.cpds)
        if not kinds or not any(type(cpd) in kinds and len(cpd.parents) > NARROW for cpd in self.cpds):
            return Line(choices=choices) if choices else BY_NAME
        return Line(LatePlaces(self._places_in_line), choices)

    def _places_in_line(self) -> Mapping[str, int]:
        is_sorted = bool((np.diff(self.dag.topological_ids) > 0).all())
        return line_through(self._ancestral, (self.variables, self._parent_places) if is_sorted else None).places

    @lazy
    def _parent_places(self) -> Ints:
        """The positions of all parents, CPD by CPD."""
        return self.variables.found_places([v for cpd in self.cpds for v in cpd.parents])

    def along(self, line: Line) -> BayesNet:
        """The network with its chains along a line, and its choices; those that have one keep it."""
        kinds = self._lined if line else ()
        return self.with_parameters(c.along(line) if type(c) in kinds else c for c in self.cpds) if kinds else self  # type: ignore[attr-defined]

    @lazy
    def _chained(self) -> frozenset[type]:
        """The kinds of its CPDs that can be chains."""
        return frozenset(kind for kind in self._lined if issubclass(kind, ChainedCPD))

    @lazy
    def _lined(self) -> frozenset[type]:
        """The kinds of its CPDs whose factors depend on the other CPDs."""
        return frozenset([kind for kind in set(map(type, self.cpds)) if issubclass(kind, ChainedCPD | ContextCPD)])

    @lazy
    def lined_up(self) -> BayesNet:
        """The network with its chains along its line: the factors of its problem are those of these CPDs."""
        return self.along(self.line) if self._lined else self

    def _build(self) -> Problem:
        if not self._lined:
            return network_problem(self.variables, self.cpds)
        return network_problem(self.variables, self.lined_up.cpds, self._parent_places)

    def _sketch(self) -> Sketch:
        found = replace(self.dag._sketch(), name=self.name)
        if self.drawing == BLANK:
            return found
        groups = tuple(
            group for group in self.drawing.groups if any(self.drawing.look(n).group == group for n in self._by_name)
        )
        number = {group: place for place, group in enumerate(groups)}
        boxes = [_as_drawn(box, self.drawing, number) for box in found.boxes]
        return replace(found.with_boxes(boxes), groups=groups)

    def _facts(self) -> Iterator[tuple[str, str]]:
        yield "variables", str(len(self))
        yield "edges", str(self.dag.num_edges)
        yield "parameters", str(self.num_parameters)
        yield "most parents", str(max((len(cpd.parents) for cpd in self.cpds), default=0)) + " per variable"
        if told := self.drawing.summary():
            yield "drawing", told


def _as_drawn(box: Box, drawing: Drawing, groups: Mapping[str, int]) -> Box:
    """The box with the title, comment, color, place and group that a drawing gives its variable."""
    look, title = drawing.look(box.name), drawing.titles.get(box.name, box.name)
    longer = "" if title == box.name else title
    told = f"{box.name}: {longer}" if longer else box.name if look.comment else ""
    shown = "\n".join(filter(None, [told, look.comment]))
    return replace(
        box, title=shown, subtitle=longer, color=look.color, position=look.position, group=groups.get(look.group, -1)
    )


def _one_by_one(given: tuple[CPD | Iterable[CPD], ...]) -> tuple[CPD, ...]:
    """The CPDs, given one by one or in one list; anything else is refused."""
    listed_cpds = given
    kinds = str | NamedModel | DAG | np.ndarray
    if len(given) == 1 and isinstance(given[0], Iterable) and not isinstance(given[0], kinds):
        listed_cpds = tuple(given[0])
    for cpd in listed_cpds:
        if not is_cpd(cpd):
            is_graph = isinstance(cpd, DAG | tuple | list)
            way_in = " The graph alone is DAG([...]), and fit(dag, data) learns its CPDs." if is_graph else ""
            raise ModelError(
                f"A Bayesian network is made of CPDs; found {brief(cpd)} of type {type(cpd).__name__}.{way_in}"
            )
    return listed_cpds  # type: ignore[return-value]  # checked


def _with_states_of(children: Mapping[str, Any], cpd: CPD) -> CPD:
    """The CPD with the states of its parents in the order of their own CPDs, where they are the same states."""
    if all(children.get(parent.name, parent) == parent for parent in cpd.parents):
        return cpd
    wanted = tuple(_in_its_order(parent, children.get(parent.name)) for parent in cpd.parents)
    if wanted == cpd.parents:
        return cpd
    found: CPD = cpd.parameters.over((*wanted, cpd.child))
    return found


def _is_same(first: CPD, second: CPD) -> bool:
    """Whether two CPDs of one variable have equal parameters, with the parents in any order."""
    if type(first) is not type(second) or set(first.scope) != set(second.scope):
        return False
    if first.scope == second.scope:
        return same_value(first, second)
    try:
        return same_value(first.parameters.over(second.scope), second)
    except NotApplicable:
        return False


def _in_its_order(parent: Any, source: Any) -> Any:
    """The source, if it is the parent with its states in another order; else the parent."""
    if not (isinstance(parent, Discrete) and isinstance(source, Discrete) and parent.num_states == source.num_states):
        return parent
    return source if all(source.domain.find(state) is not None for state in parent.states) else parent


def _by_child(cpds: Iterable[CPD]) -> dict[str, CPD]:
    found: dict[str, CPD] = {}
    for cpd in cpds:
        known = found.setdefault(cpd.child.name, cpd)
        if known is not cpd:
            raise ModelError(
                f"{cpd.child.name!r} has two CPDs, {name_of(known)} and {name_of(cpd)}. Each variable has one."
            )
    return found


def _check_parents(cpd: CPD, by_name: Mapping[str, CPD]) -> None:
    """Raise if a parent has no CPD, has another domain there, or is continuous with a discrete child."""
    for parent in cpd.parents:
        source = by_name.get(parent.name)
        if source is None:
            raise ModelError(
                f"{name_of(cpd)} has the parent {parent.name!r}, which has no CPD.{nearest(parent.name, by_name)} "
                f"The network has CPDs of {listing(by_name)}."
            )
        if source.child != parent:
            raise ModelError(
                f"{name_of(cpd)} has the parent {parent!r}, but {name_of(source)} is about {source.child!r}. "
                "Give both the same states, or rename one."
            )
        if isinstance(cpd.child, Discrete) and not isinstance(parent, Discrete):
            raise ModelError(
                f"{name_of(cpd)} has a discrete child with the continuous parent {parent.name!r}; its posterior has no "
                "closed form. Discretize the parent, or reverse the dependence."
            )


def _other_scopes(own: Sequence[CPD], found: Sequence[object]) -> SepsetError:
    """The reason why these are not CPDs with the scopes of the old ones, in order."""
    if len(found) != len(own):
        return ModelError(f"with_parameters needs one CPD per variable, {len(own)} in all; found {len(found)}.")
    pairs = zip(own, found, strict=True)
    old, new = next((a, b) for a, b in pairs if getattr(b, "scope", None) != a.scope)
    return ScopeError(
        f"with_parameters needs CPDs in the order of the variables, each with the scope of the old one; in the place "
        f"of {old!r} there is {brief(new)}. Use with_cpds for CPDs in any order, or of other parents."
    )


def _random_cpd(child: Discrete, parents: tuple[Discrete, ...], rng: np.random.Generator) -> TableCPD:
    weights = rng.exponential(size=(*(p.num_states for p in parents), child.num_states))
    return TableCPD(child, weights / weights.sum(axis=-1, keepdims=True), given=parents)
