r"""Dependency networks: a conditional distribution of each variable given some of the others.

$$P_i(x_i \mid \mathbf x_{-i}) = P_i(x_i \mid \mathbf{pa}_i), \qquad i = 1, \dots, n$$

Edges may form cycles, and the conditionals need not be those of one joint distribution.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.display import Shown, Tabulated
from sepset.base.equality import same_value
from sepset.base.frozen import Frozen, fill
from sepset.base.lazy import lazy
from sepset.base.text import brief, counted, joined, listing
from sepset.cpds.cpd import CPD
from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.errors import ArgumentError, ModelError, NotApplicable, ScopeError
from sepset.factors.table import Table
from sepset.inference.result import MarginalsResult, QueryResult
from sepset.learning.structure.dependency.conversion import Conversion, converted
from sepset.learning.structure.dependency.gibbs import Chains, PseudoGibbs, Question, exact_row
from sepset.learning.structure.dependency.stationary import Consistency, consistency, stationary
from sepset.models.bayesnet import BayesNet
from sepset.models.markovnet import MarkovNet
from sepset.models.model import is_cpd
from sepset.models.rows import complete
from sepset.variables.evidence import Given, resolve
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, VariableLike, listed


class DependencyNet(Frozen, Tabulated):
    r"""A dependency network: one CPD $P_i(x_i \mid \mathbf{pa}_i)$ per variable, whose parents may be any others.

    Questions with all parents of the target observed are answered by its CPD. All others are about the distribution
    that ordered pseudo-Gibbs sampling converges to: each variable is drawn from its CPD in turn. If the CPDs are the
    conditionals of one joint distribution, that is the joint.

    Args:
        cpds: one per variable, discrete.
        name: the name of the network.

    Reference: Heckerman, Chickering, Meek, Rounthwaite & Kadie (2000); Koller & Friedman, box 20.A.
    Guarantee: exact where all parents are observed; an estimate otherwise.
    Tested by: learning/structure/dependency/test_network.py::test_conditionals_of_a_joint_give_it_back

    >>> rain, wet = Discrete("rain"), Discrete("wet")
    >>> net = DependencyNet(
    ...     TableCPD(rain, [[0.9, 0.1], [0.3, 0.7]], given=wet), TableCPD(wet, [[0.8, 0.2], [0.2, 0.8]], given=rain)
    ... )
    >>> net, net.query("rain", given={"wet": 1})[1]
    (DependencyNet(2 variables, 2 edges), 0.7)
    """

    cpds: tuple[Any, ...]
    variables: Universe
    name: str

    def __init__(self, *cpds: CPD, name: str = "") -> None:
        for cpd in cpds:
            if not is_cpd(cpd):
                raise ModelError(f"A dependency network is made of CPDs; found {brief(cpd)}.")
        if not cpds:
            raise ModelError("A dependency network needs at least one CPD.")
        reals = sorted({v.name for cpd in cpds for v in cpd.scope if not isinstance(v, Discrete)})
        if reals:
            raise NotApplicable(f"A dependency network has discrete variables; {listing(reals)} are real.")
        variables = Universe(cpd.child for cpd in cpds)
        absent = sorted({p.name for cpd in cpds for p in cpd.parents if p.name not in variables})
        if absent:
            raise ScopeError(f"Parents need a CPD of their own; {listing(absent)} have none.")
        fill(self, cpds=cpds, variables=variables, name=name)

    @classmethod
    def of(cls, model: BayesNet | MarkovNet) -> DependencyNet:
        r"""The conditionals $P(x_i \mid \mathbf x_{-i})$ of a model, each over the variable's Markov blanket.

        They are uniform in contexts of probability zero.

        >>> rain, wet = Discrete("rain"), Discrete("wet")
        >>> net = BayesNet(TableCPD(rain, [0.8, 0.2]), TableCPD(wet, [[0.9, 0.1], [0.2, 0.8]], given=rain))
        >>> round(DependencyNet.of(net).query("rain", given={"wet": 1})[1], 3)
        0.667
        """
        flat = model.markov_net() if isinstance(model, BayesNet) else model
        return cls(*(_conditional_cpd(flat, v) for v in model.variables))

    def cpd(self, variable: VariableLike) -> Any:
        """The CPD of a variable."""
        return self.cpds[self.variables.id(variable)]

    def parents(self, variable: VariableLike) -> tuple[str, ...]:
        """The names of the parents of a variable, in the order of its CPD."""
        return tuple(p.name for p in self.cpd(variable).parents)

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """The pairs of a parent and its child; both directions may be there."""
        return tuple((p.name, cpd.child.name) for cpd in self.cpds for p in cpd.parents)

    def query(
        self,
        targets: VariableLike | Iterable[VariableLike],
        *,
        given: Given = None,
        method: PseudoGibbs | None = None,
        seed: int | np.random.Generator = 0,
        until: object = None,
        progress: bool | None = None,
    ) -> QueryResult:
        """The joint distribution of some variables given states of others.

        One target whose parents are all observed has the distribution of its CPD, exactly; otherwise chains are run,
        and `info` has standard errors and R-hat.

        Args:
            targets: one variable or several.
            given: states by variable.
            method: how to sample.
            seed: a number or a generator.
            until: when to stop sampling.
            progress: True shows a bar, False never, None in a terminal when the work is long.
        """
        asked = [self.variables.id(v) for v in listed(targets)]
        if not asked:
            raise ArgumentError("targets= is one variable or several; found none.")
        known = self._codes(given)
        row = exact_row(self, asked, known)
        if row is not None:
            return row
        question = Question.about(self, asked, known)
        return self._run(question, method, seed, until, progress).joint()

    def marginals(
        self,
        given: Given = None,
        *,
        method: PseudoGibbs | None = None,
        seed: int | np.random.Generator = 0,
        until: object = None,
        progress: bool | None = None,
    ) -> MarginalsResult:
        """The marginal of every variable; arguments as in `query`."""
        question = Question.about(self, [], self._codes(given))
        return self._run(question, method, seed, until, progress).marginals()

    def sample(
        self,
        num_rows: int,
        *,
        given: Given = None,
        method: PseudoGibbs | None = None,
        seed: int | np.random.Generator = 0,
    ) -> Dataset:
        """Rows of the chains, one per sweep; neighboring rows of a chain depend on each other.

        Args:
            num_rows: their number.
            given: states by variable.
            method: its `burn_in` and `num_chains` are used.
            seed: a number or a generator.
        """
        question = Question.about(self, [], self._codes(given))
        codes = (PseudoGibbs() if method is None else method).rows(question, num_rows, seed=seed)
        return Dataset.from_codes(self.variables, codes)

    def log_pseudo_likelihood(self, data: object) -> Floats:
        r"""$\sum_i \log P_i(x_i \mid \mathbf{pa}_i)$ of every row.

        Args:
            data: complete rows.
        """
        columns, num_rows = complete(data, self.variables)
        total = np.zeros(num_rows)
        for cpd in self.cpds:
            total += cpd.log_probability({v: columns[v] for v in cpd.scope})
        return total

    def stationary(self) -> Table:
        """The distribution after many whole sweeps in order, exactly; for few variables.

        Raises `TooLarge` beyond a million joint states.
        """
        return stationary(self)

    def consistency(self) -> Consistency:
        """How far the CPDs are from the conditionals of one joint distribution; for few variables."""
        return consistency(self)

    def markov_net(
        self, *, num_rows: int = 2_000, rows: object = None, seed: int | np.random.Generator = 0
    ) -> Conversion:
        """A Markov network with a factor per edge whose conditionals are as near as possible to the CPDs.

        Args:
            num_rows: how many pseudo-Gibbs rows to compare conditionals on; all joint states are used where they are
                no more than that.
            rows: complete rows to use instead.
            seed: of the sampler.
        """
        return converted(self, num_rows=num_rows, rows=rows, seed=seed)

    def _run(
        self, question: Question, method: PseudoGibbs | None, seed: Any, until: object, progress: bool | None
    ) -> Chains:
        return (PseudoGibbs() if method is None else method).run(question, seed, until=until, progress=progress)

    def _codes(self, given: Given) -> dict[int, int]:
        found = resolve(given, self.variables)
        if found.weights or found.soft:
            raise NotApplicable("A dependency network takes one state per observed variable, not likelihoods or sets.")
        return dict(found.codes)

    @lazy
    def graph(self) -> Any:
        """The edges as a networkx `DiGraph`."""
        import networkx

        graph = networkx.DiGraph()
        graph.add_nodes_from(self.variables.names)
        graph.add_edges_from(self.edges)
        return graph

    def __len__(self) -> int:
        return len(self.variables)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DependencyNet):
            return NotImplemented
        return self.variables == other.variables and same_value(self.cpds, other.cpds)

    def __hash__(self) -> int:
        return hash((DependencyNet, self.variables))

    def __repr__(self) -> str:
        title = f"{self.name!r}: " if self.name else ""
        return f"DependencyNet({title}{counted(len(self), 'variable')}, {counted(len(self.edges), 'edge')})"

    def _facts(self) -> Iterator[tuple[str, str]]:
        yield "kind", "DependencyNet"
        yield "variables", str(len(self))
        yield "edges", str(len(self.edges))
        yield "parameters", str(sum(cpd.num_parameters for cpd in self.cpds))

    def _shown(self) -> Shown:
        return Shown((), [*self._facts(), ("names", joined(v.name for v in self.variables))], self.name)


def _conditional_cpd(model: MarkovNet, variable: Any) -> TableCPD:
    if not isinstance(variable, Discrete):
        raise NotApplicable(f"A dependency network has discrete variables; {variable.name} is real.")
    table = model.conditional(variable)
    assert isinstance(table, Table)
    values = np.array(table.values)
    values[values.sum(-1) == 0] = 1.0 / variable.num_states  # contexts of probability zero
    return TableCPD(variable, values, given=tuple(v for v in table.scope if v.name != variable.name))
