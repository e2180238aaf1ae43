"""Questions answered by beliefs: marginals, joints within one factor, and the log partition."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Protocol, TypeVar, cast, runtime_checkable

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.cache import Cache
from sepset.base.logarithms import log_sum
from sepset.base.text import listing
from sepset.errors import NotApplicable
from sepset.factors.table import Table
from sepset.inference.method import Answer, Best, RunReport, can
from sepset.inference.plan import EliminationPlan
from sepset.inference.result import Guarantee, Guarantees, Status
from sepset.inference.wiring import Wiring
from sepset.problem import Problem
from sepset.variables.evidence import Evidence
from sepset.variables.variable import Discrete

if TYPE_CHECKING:
    from sepset.inference.method import Method
    from sepset.inference.propagation.passing import Beliefs


class Believed(Protocol):
    """Beliefs where passes ended."""

    @property
    def wiring(self) -> Wiring:
        """The model."""

    @property
    def log_totals(self) -> float:
        """-inf if the evidence is impossible."""

    @property
    def status(self) -> Status:
        """How the passes ended."""

    @property
    def num_passes(self) -> int:
        """The number of passes."""

    @property
    def residual(self) -> float:
        """The largest change of a log message in the last pass."""

    @property
    def is_forest(self) -> bool:
        """Whether the messages go through a forest."""

    def variable_logs(self, i: int) -> Floats:
        """The logarithm of the belief of one variable."""

    def rows(self, places: Ints) -> Floats:
        """The beliefs of variables with the same number of states, one row each."""

    def factor_logs(self, f: int) -> Floats:
        """The logarithm of the belief of one factor up to a constant, an axis per variable."""


B = TypeVar("B", bound=Believed)


class PassesMessages(Protocol[B]):
    """A method that finds beliefs on wired models, in which constraints are as they were written."""

    def propagate(self, wiring: Wiring) -> B:
        """The beliefs where the passes end."""

    def log_partition(self, beliefs: B) -> float:
        """The log partition that the beliefs give."""

    def guarantees(self, beliefs: B) -> Guarantees:
        """The guarantees of the answers that the beliefs give."""

    def prepare(self, problem: Problem) -> PreparedPropagation[B]:
        """The method bound to a problem."""

    def promises(self, problem: Problem) -> Guarantees:
        """The guarantees of converged answers about this problem."""


@runtime_checkable
class PassesMaxima(Protocol):
    """A method that also finds beliefs by maxima."""

    def propagate_maxima(self, wiring: Wiring) -> Beliefs:
        """The beliefs where passes of maxima end."""


class PreparedPropagation(Generic[B]):
    """A method of message passing bound to a problem; the beliefs of the last questions are kept.

    Guarantee: as the method.
    Tested by: inference/propagation/test_questions.py::test_joints_within_a_factor_are_read_from_its_belief
    """

    def __init__(self, problem: Problem, method: PassesMessages[B]) -> None:
        self.problem = problem
        self._passes = method
        self._kept: Cache[B] = Cache(4)

    @property
    def method(self) -> Method:
        """The method with its settings."""
        return self._passes

    def beliefs(self, evidence: Evidence) -> B:
        """The beliefs at some evidence."""
        return self._kept.get(
            _key(evidence), lambda: self._passes.propagate(Wiring.of(self.problem, evidence))
        )  # fmt: skip

    def log_partition(self, evidence: Evidence) -> float:
        """The log partition that the beliefs give; -inf if the evidence is found to be impossible."""
        found = self.beliefs(evidence)
        return -np.inf if found.log_totals == -np.inf else self._passes.log_partition(found)

    def marginals(self, evidence: Evidence) -> tuple[Callable[[int], Any], float]:
        """A reader of single beliefs, and the log partition."""
        found = self.beliefs(evidence)
        place = {int(v): i for i, v in enumerate(found.wiring.free)}
        return lambda v: _table(self._scope([v]), found.variable_logs(place[v])), self.log_partition(evidence)

    def marginal_rows(self, evidence: Evidence, positions: Ints) -> Floats:
        """The beliefs of variables with the same states, one row each, observed ones as point masses."""
        found, codes = self.beliefs(evidence), evidence.codes
        free = np.isin(positions, found.wiring.free)
        made = np.zeros((len(positions), self._scope(positions[:1].tolist())[0].num_states))
        if free.any():
            made[free] = found.rows(np.searchsorted(found.wiring.free, positions[free]))
        for row in np.flatnonzero(~free).tolist():
            made[row, codes[int(positions[row])]] = 1.0
        return made

    def _scope(self, targets: Sequence[int]) -> list[Discrete]:
        """The targets, which are discrete wherever a model is wired."""
        return [cast(Discrete, self.problem.variables[v]) for v in targets]

    def query(self, targets: Sequence[int], evidence: Evidence) -> Answer:
        """The belief of a target, or of several that one factor covers."""
        found, scope = self.beliefs(evidence), self._scope(targets)
        total = self.log_partition(evidence)
        if total == -np.inf:
            return Answer(Table(scope, np.zeros([v.num_states for v in scope])), total)
        guarantee = self._passes.guarantees(found)["marginals"]
        return Answer(_table(scope, self._logs(found, targets)), total, guarantee)

    def _logs(self, found: B, targets: Sequence[int]) -> Floats:
        places = np.searchsorted(found.wiring.free, list(targets))
        if len(places) == 0:
            return np.zeros(())
        return found.variable_logs(int(places[0])) if len(places) == 1 else self._joint(found, places.tolist(), targets)

    def _joint(self, found: B, places: list[int], targets: Sequence[int]) -> Floats:
        """The logarithm of the marginal of a factor's belief over some of its variables, in their order."""
        wiring = found.wiring
        f = wiring.home(places)
        if f is None:
            names = listing([self.problem.variables[v].name for v in targets])
            raise NotApplicable(
                f"{type(self._passes).__name__} has joint beliefs within one factor, and no factor covers {names}. "
                "Use CliqueTree(), or ask for each of them alone."
            )
        scope = wiring.scope(f).tolist()
        logs = found.factor_logs(f)
        belief = log_sum(logs, tuple(a for a, i in enumerate(scope) if i not in places))
        kept = [i for i in scope if i in places]
        return np.asarray(belief.transpose([kept.index(i) for i in places]) - log_sum(logs, tuple(range(logs.ndim))))

    def report(self, evidence: Evidence) -> RunReport:
        """How the passes at some evidence ended, and what that guarantees."""
        found = self.beliefs(evidence)
        info = {"passes": found.num_passes, "residual": found.residual, "is_forest": found.is_forest}
        return RunReport(self._passes.guarantees(found), found.status, info)

    def max_beliefs(self, evidence: Evidence) -> Beliefs:
        """The beliefs of max-product messages at some evidence."""
        if not can(self._passes, PassesMaxima):
            self._refuse("sends no maxima between single factors")
        return self._passes.propagate_maxima(Wiring.of(self.problem, evidence))

    def best(self, evidence: Evidence, over: Sequence[int]) -> Best:
        """Refused: assignments are found by `map_assignment(..., method=)`."""
        self._refuse("finds best values only by map_assignment(model, method=...)")

    def sample(self, num_rows: int, evidence: Evidence, rng: np.random.Generator) -> dict[int, Any]:
        """Refused: beliefs of single factors have no joint to draw from."""
        self._refuse("has no joint distribution to draw from")

    def plan(self, targets: Sequence[int], observed: Sequence[int]) -> EliminationPlan:
        """Refused: nothing is eliminated."""
        self._refuse("eliminates no variables, and has no plan")

    def best_plan(self, over: Sequence[int], observed: Sequence[int]) -> EliminationPlan:
        """Refused: nothing is eliminated."""
        self._refuse("eliminates no variables, and has no plan")

    def _refuse(self, what: str) -> NoReturn:
        raise NotApplicable(f"{type(self._passes).__name__} {what}. Use CliqueTree().")


def _table(scope: Sequence[Discrete], logs: Floats) -> Table:
    """The table with these logarithms, as numbers unless one of them is too small for that."""
    values = np.exp(logs)
    return Table.from_log(scope, logs) if ((values == 0.0) & (logs > -np.inf)).any() else Table(scope, values)


def _key(evidence: Evidence) -> Hashable:
    """Evidence as a key."""
    arrays = (evidence.weights, evidence.reals)
    told = (tuple((v, np.asarray(x).tobytes()) for v, x in sorted(part.items())) for part in arrays)
    return tuple(sorted(evidence.codes.items())), *told


def is_forest(problem: Problem) -> bool:
    """Whether the graph of the variables and factors of a problem has no cycle.

    >>> from sepset.factors.table import Table
    >>> from sepset.variables.universe import Universe
    >>> from sepset.variables.variable import Discrete
    >>> a, b = Discrete("a"), Discrete("b")
    >>> pair = Table([a, b], np.ones((2, 2)))
    >>> [is_forest(Problem.of_factors(Universe([a, b]), [pair] * n, scopes=[[0, 1]] * n)) for n in (1, 2)]
    [True, False]
    """
    from scipy import sparse

    if sum(block.scopes.size for block in problem.blocks) > len(problem.variables) + problem.num_factors:
        return False
    links = problem.incidence.tocoo()
    num, n = links.shape
    graph = sparse.coo_array((np.ones(links.nnz), (links.row, num + links.col)), shape=(num + n, num + n))
    components = sparse.csgraph.connected_components(graph, directed=False, return_labels=False) if num + n else 0
    return bool(num + n - links.nnz == components)


def promised(problem: Problem, otherwise: Guarantee, *, is_exact: bool = True) -> Guarantees:
    """The guarantees of converged messages: exact on forests, and otherwise as said for the log partition."""
    exact = is_exact and not problem.forms and is_forest(problem)
    rest = Guarantee.EXACT if exact else Guarantee.ESTIMATE
    log_partition = Guarantee.EXACT if exact else otherwise
    return {"log_partition": log_partition, "marginals": rest, "moments": rest, "assignment": Guarantee.HEURISTIC}
