"""Results: a value, the method and status of its computation, and its guarantees."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from enum import Enum
from functools import partial
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.axes import BELOW, MOST_BARS, axes_of, check_bars, entitle, named_rows
from sepset.base.display import Plain, Report, Shown, Tabulated, Worded
from sepset.base.entries import Answers, Entries
from sepset.base.equality import same_value
from sepset.base.extras import FrameKind, frame
from sepset.base.frozen import read_only
from sepset.base.lazy import lazy
from sepset.base.text import listing, nearest
from sepset.errors import NotApplicable, ScopeError
from sepset.factors.algebra import Scope
from sepset.factors.labels import one_line, short, with_numbers
from sepset.inference.comparison import Comparison, compared
from sepset.inference.documents import answer_document, marginals_document
from sepset.variables.array import VariableArray
from sepset.variables.findings import NOTHING_FOUND, Findings
from sepset.variables.variable import Discrete, State, VariableLike, Vector


class Guarantee(Enum):
    """The guarantee of one part of an answer, for one run.

    >>> import sepset as ss
    >>> ss.query(ss.datasets.load("asia"), "lung").guarantees["marginals"]
    EXACT
    """

    EXACT = "exact"
    EXACT_ON_TREES = "exact on trees"
    UPPER_BOUND = "upper bound"
    LOWER_BOUND = "lower bound"
    ESTIMATE = "estimate"
    STATIONARY = "stationary"
    LOCAL_OPTIMUM = "local optimum"
    HEURISTIC = "heuristic"

    def __repr__(self) -> str:
        return self.name

    def __str__(self) -> str:
        return str(self.value)


class Status(Enum):
    """How a run ended.

    >>> import sepset as ss
    >>> ss.query(ss.datasets.load("asia"), "lung").status
    COMPLETED
    """

    COMPLETED = "completed"
    CONVERGED = "converged"
    STEP_LIMIT = "step limit"
    TIME_LIMIT = "time limit"
    INTERRUPTED = "interrupted"
    DIVERGED = "diverged"

    def __repr__(self) -> str:
        return self.name

    def __str__(self) -> str:
        return str(self.value)


FEW_SHOWN = 3
"""The largest number of variables in a line about an answer."""

MOST_SHOWN = 50
"""The largest number of variables that an answer lists when it is printed."""

Guarantees = Mapping[str, Guarantee]
"""From `log_partition`, `marginals`, `moments` or `assignment` to its guarantee."""


EVERYTHING_EXACT: Guarantees = MappingProxyType(
    dict.fromkeys(("log_partition", "marginals", "moments", "assignment"), Guarantee.EXACT)
)
"""The guarantees of exact methods."""


class Told(Mapping[str, object]):
    """Information about a result, one entry of which is computed when it is read.

    >>> told = Told({"steps": 3}, "ties", lambda: 5)
    >>> list(told), told["ties"], told
    (['steps', 'ties'], 5, {'steps': 3, 'ties': 5})
    """

    __slots__ = ("_compute", "_key", "_known")

    def __init__(self, known: Mapping[str, object], key: str, compute: Callable[[], object]) -> None:
        self._known, self._key, self._compute = dict(known), key, compute

    def __getitem__(self, key: str) -> object:
        if key == self._key and key not in self._known:
            self._known[key] = self._compute()
        return self._known[key]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._known, self._key: None})

    def __len__(self) -> int:
        return len(self._known) + (self._key not in self._known)

    def including(self, more: Mapping[str, object]) -> Told:
        """The same, with more entries."""
        return Told({**self._known, **more}, self._key, self._compute)

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[object, ...]:
        return dict, (dict(self),)


@dataclass(frozen=True)
class Result:  # noqa: PLW1641  # dataclasses make the hash
    """The base of all results.

    Attributes:
        method: the settings that produced it.
        guarantees: the guarantee of each part.
        status: how the run ended.
        info: further information: widths, steps, times.
    """

    method: object = field(kw_only=True, repr=False)
    guarantees: Guarantees = field(kw_only=True, repr=False)
    status: Status = field(default=Status.COMPLETED, kw_only=True, repr=False)
    info: Mapping[str, object] = field(default_factory=dict, kw_only=True, repr=False)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "__eq__" not in vars(cls):  # a dataclass would make one by which arrays have no truth value
            cls.__eq__ = Result.__eq__  # type: ignore[method-assign]

    def __eq__(self, other: object) -> bool:
        """Whether two results are of one class and have equal contents, whatever was computed on first access."""
        return NotImplemented if type(self) is not type(other) else same_value(self, other)


@dataclass(frozen=True)
class IterativeResult(Result):
    """The answer of an iterative method.

    Attributes:
        trace: the objective after each step.
        state: where the method stopped, to resume from.
    """

    trace: Floats = field(default_factory=partial(np.zeros, 0), kw_only=True, repr=False)
    state: object = field(default=None, kw_only=True, repr=False)


@runtime_checkable
class InWords(Protocol):
    """A distribution that can be told in one line."""

    def in_words(self) -> str:
        """Its numbers in one line."""


@dataclass(frozen=True)
class QueryResult(Entries, Result, Report):
    """A joint distribution over the targets; indexing, `values` and `scope` are its own.

    Attributes:
        distribution: the normalized answer.
        log_partition: the logarithm of the probability of the evidence (the partition function, if undirected).
        findings: the evidence.

    >>> import sepset as ss
    >>> answer = ss.query(ss.datasets.load("asia"), "lung", given={"xray": "yes"})
    >>> round(answer["yes"], 4), round(answer.log_partition, 4)
    (0.4887, -2.2046)
    >>> print(answer)
    P(lung | xray=yes)
      lung  probability
      yes      0.488711  ██████████
      no       0.511289  ██████████
    """

    distribution: Any
    log_partition: float
    findings: Findings = field(default=NOTHING_FOUND, kw_only=True, repr=False)

    @property
    def title(self) -> str:
        """The question, as in `P(lung | xray=yes)`."""
        names = ", ".join(one_line(v.name) for v in self.scope)
        return f"P({names} | {self.findings})" if self.findings.evidence else f"P({names})"

    @property
    def scope(self) -> Scope:
        """The targets, in the order asked."""
        return tuple(self.distribution.scope)

    @property
    def values(self) -> Floats:
        """The probabilities, one axis per target."""
        for variable in self.scope:
            states_of(variable)
        return np.asarray(self.distribution.values)

    def __getitem__(self, key: State | tuple[State, ...] | Mapping[Any, Any]) -> float:
        """The probability of a state of one target, or of an assignment of all of them, as a mapping or in order."""
        try:
            return float(self.distribution[key])
        except TypeError:
            for variable in self.scope:
                states_of(variable)
            raise

    def _answer(self, question: str) -> Any:
        """A method of the distribution; one of states and numbers together has few."""
        found = getattr(self.distribution, question, None)
        if found is None:
            raise NotApplicable(
                f"{self.title} is about states and numbers together and has no {question}. Ask about some of its "
                "variables, or condition on the states."
            )
        return found

    def mean(self) -> Any:
        """The expectation, if the targets are numbers."""
        return self._answer("mean")()

    def variance(self) -> Any:
        """The variance of a real target."""
        return self._answer("variance")()

    def mode(self) -> Any:
        """The most probable state of one target, or assignment of several."""
        return self._answer("mode")()

    def entropy(self) -> float:
        """The entropy in nats."""
        return float(self._answer("entropy")())

    def interval(self, level: float = 0.95) -> Any:
        """The central interval of this probability."""
        return self._answer("interval")(level)

    def sample(self, num_rows: int, seed: int | np.random.Generator = 0) -> dict[str, Any]:
        """Independent draws of the targets, by name."""
        draws: dict[str, Any] = self._answer("sample")(num_rows, seed)
        return draws

    def condition(self, assignment: Mapping[Any, Any]) -> Any:
        """The distribution at these values of some targets, as it is: a table is not normalized."""
        return self.distribution.condition(assignment)

    def to_frame(self, kind: str = "pandas") -> Any:
        """A data frame with one row per joint state."""
        return self.distribution.to_frame(kind)

    def to_dict(self) -> dict[str, Any]:
        """The answer in plain values, as `to_json` writes it.

        >>> import sepset as ss
        >>> ss.query(ss.datasets.load("student"), "sat").to_dict()["probabilities"]
        [{'sat': 'low', 'probability': 0.725}, {'sat': 'high', 'probability': 0.275}]
        """
        return answer_document(self)

    def plot(self, ax: Any = None) -> Any:
        """The matplotlib axes with the distribution, its probabilities from zero to one, under the question."""
        axes = self.distribution.plot(ax)
        if len(self.scope) == 1 and isinstance(self.scope[0], Discrete):
            side = "y" if axes.get_ylabel() == "value" else "x"
            axes.set(**{f"{side}label": "probability", f"{side}lim": (0.0, 1.0)})
        for image in axes.images:
            if image.colorbar is not None:  # another picture that was there has none
                image.colorbar.set_label("probability")
        entitle(axes, self.title)
        return axes

    def compare(self, other: QueryResult) -> Comparison:
        """This answer and another one to the same question, such as with more evidence: a table and a chart.

        States are matched by name.

        >>> import sepset as ss
        >>> asia = ss.prepare(ss.datasets.load("asia"))
        >>> print(asia.query("lung").compare(asia.query("lung", given={"xray": "yes"})))
        P(lung) → P(lung | xray=yes)
          variable  state    before     after     change
          lung      yes    0.055000  0.488711  +0.433711
          lung      no     0.945000  0.511289  -0.433711
        """
        names = [v.name for v in self.scope]
        if sorted(names) != sorted(v.name for v in other.scope):
            theirs = listing([v.name for v in other.scope])
            raise ScopeError(
                f"The answers are about {listing(names)} and about {theirs}. Compare those to one question."
            )
        keys = [dict(zip(names, key if len(names) > 1 else (key,), strict=True)) for key in self.keys()]
        joint = {key if len(names) > 1 else key[0]: at for key, at in ((tuple(k.values()), k) for k in keys)}
        before, after = ({key: answer[at] for key, at in joint.items()} for answer in (self, other))
        name = ", ".join(names)
        return compared({name: before}, {name: after}, (self.title, other.title))

    def keys(self) -> tuple[Any, ...]:
        """The states of one discrete target, or the joint states of several as tuples: `dict(answer)` has them all."""
        domains = [states_of(v) for v in self.scope]
        return tuple(domains[0]) if len(domains) == 1 else tuple(itertools.product(*domains))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())

    def __len__(self) -> int:
        return math.prod(len(states_of(v)) for v in self.scope)

    def __bool__(self) -> bool:
        return True

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.values, dtype=dtype, copy=True) if copy else np.asarray(self.values, dtype=dtype)

    def _shown(self) -> Shown:
        """The table of the distribution under the question; its moments if it has no table."""
        found = self.distribution
        if isinstance(found, Tabulated):
            table = found._shown()
            if table.head[-1] != "value":
                return table._replace(title=self.title)
            bars = [float(row[-1]) for row in table.rows]
            return table._replace(title=self.title, head=(*table.head[:-1], "probability"), bars=bars)
        told = found.in_words() if isinstance(found, InWords) else repr(found)
        return Shown((), [(", ".join(v.name for v in self.scope), told)], self.title)

    def __repr__(self) -> str:
        parts = ", ".join(f"{part}: {guarantee.value}" for part, guarantee in self.guarantees.items())
        found = self.distribution
        numbers = f"; {found.in_words()}" if isinstance(found, InWords) else ""
        return f"QueryResult({short(found) if numbers else repr(found)}; {parts}{numbers})"


def states_of(variable: Any) -> tuple[State, ...]:
    """The states of a discrete variable; a continuous one raises."""
    if not isinstance(variable, Discrete):
        raise ScopeError(
            f"{variable.name} is continuous and has no states to list. Use mean(), interval() or sample()."
        )
    return variable.states


class MarginalsResult(Answers[str, Any], Report):
    """The marginal of every variable, by name or variable; computed when read.

    By an array of variables, the probabilities of all its elements: an array with one more axis, for the states.

    Attributes:
        log_partition: the logarithm of the probability of the evidence (the partition function, if undirected); None if
            the marginals have different evidence.
        findings: the evidence.

    >>> import sepset as ss
    >>> answers = ss.marginals(ss.datasets.load("asia"), given={"xray": "yes"})
    >>> round(answers["lung"]["yes"], 4), len(answers)
    (0.4887, 8)
    >>> spin = ss.Discrete.array("spin", (2, 3))
    >>> ss.marginals(ss.MarkovNet.potts(spin, 0.3))[spin].shape
    (2, 3, 2)
    """

    def __init__(
        self,
        place: Mapping[str, int],
        read: Callable[[int], Any],
        *,
        log_partition: float | None = None,
        findings: Findings = NOTHING_FOUND,
        rows: Callable[[Ints], Floats] | None = None,
        **about: Any,
    ) -> None:
        self.log_partition = log_partition
        self.findings = findings
        self._place = place
        self._read = read
        self._rows = rows
        self._known: dict[object, Any] = {}
        self._about = about

    @lazy
    def about(self) -> Result:
        """The method, guarantees and status of the answers."""
        return Result(**self._about)

    @property
    def guarantees(self) -> Guarantees:
        """The guarantee of each part."""
        return self.about.guarantees

    @property
    def status(self) -> Status:
        """How the run ended."""
        return self.about.status

    @property
    def info(self) -> Mapping[str, object]:
        """Further information: the tier of kernels, residuals."""
        return self.about.info

    def __getitem__(self, key: VariableLike | VariableArray) -> Any:
        try:
            found = self._known.get(key)
        except TypeError:  # no variable is a list
            raise self._no(key) from None
        if found is None:
            position = self._place.get(key)  # type: ignore[arg-type]  # a variable is not found, and tried below
            if position is None:
                return self._array(key) if isinstance(key, VariableArray) else self[self._name(key)]
            found = self._known[key] = self._read(position)
        return found

    def _array(self, array: VariableArray) -> Floats:
        """The probabilities of the states of all elements of an array."""
        if not len(array):
            return np.zeros((*array.shape, array.num_states))
        first = self._place.get(array.element(0).name)
        last = self._place.get(array.element(len(array) - 1).name)
        if first is None or last != first + len(array) - 1 or self._read(first).scope != (array.element(0),):
            raise ScopeError(f"There are no marginals of {array!r}. There are those of {listing(self._place)}.")
        positions = first + np.arange(len(array))
        rows = self._rows or (lambda places: np.stack([np.asarray(self._read(v).values) for v in places.tolist()]))
        found = self._known[array] = read_only(rows(positions).reshape(*array.shape, array.num_states))
        return found

    def _name(self, key: VariableLike) -> str:
        name = key.name if isinstance(key, Discrete | Vector) else key
        if not isinstance(name, str) or name not in self._place:
            raise self._no(name)
        return name

    def _no(self, key: object) -> ScopeError:
        others = f"There are those of {listing(self._place)}." if self._place else "There are none."
        return ScopeError(f"There is no marginal of {key!r}.{nearest(key, self._place)} {others}")

    def __contains__(self, key: object) -> bool:
        return (key.name if isinstance(key, Discrete | Vector) else key) in self._place

    def __iter__(self) -> Iterator[str]:
        return iter(self._place)

    def __len__(self) -> int:
        return len(self._place)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled with all marginals, which are computed first."""
        known = tuple(self[name] for name in self._place)
        return _restored, (tuple(self._place), known, self.log_partition, self.findings, self._about)

    def __repr__(self) -> str:
        shown = "; ".join(f"{name}: {self[name].in_words()}" for name in itertools.islice(self, FEW_SHOWN))
        more = "; ..." if len(self) > FEW_SHOWN else ""
        return with_numbers(f"MarginalsResult({len(self)} variables)", shown + more)

    def _shown(self) -> Shown:
        rows = [(name, self[name].in_words()) for name in itertools.islice(self, MOST_SHOWN)]
        more = f"first {MOST_SHOWN} of {len(self)} variables" if len(self) > MOST_SHOWN else ""
        title = f"given {self.findings}" if self.findings.evidence else ""
        return Shown(("variable", "distribution"), rows, title, caption=more, words=2)

    def to_dict(self) -> dict[str, Any]:
        """The answers in plain values, as `to_json` writes them.

        >>> import sepset as ss
        >>> ss.marginals(ss.datasets.load("student")).to_dict()["marginals"]["sat"][0]
        {'sat': 'low', 'probability': 0.725}
        """
        return marginals_document(self)

    def to_frame(self, kind: FrameKind = "pandas") -> Any:
        """A data frame with one row per variable and state: its probability; of a real variable, mean and deviation.

        >>> import sepset as ss
        >>> ss.marginals(ss.datasets.load("student")).to_frame().query("variable == 'sat'").value.round(3).tolist()
        [0.725, 0.275]
        """
        rows = [(name, *row) for name in self for row in _rows_of(self[name])]
        columns = zip(*rows, strict=True) if rows else ((), (), ())
        return frame({name: list(c) for name, c in zip(("variable", "state", "value"), columns, strict=True)}, kind)

    def compare(self, other: MarginalsResult) -> Comparison:
        """These marginals and others, such as with more evidence: a table and a chart, the largest changes first.

        Variables and states are matched by name; those that are continuous or observed in either are left out.

        >>> import sepset as ss
        >>> asia = ss.prepare(ss.datasets.load("asia"))
        >>> asia.marginals().compare(asia.marginals(given={"xray": "yes"}))
        Comparison(7 variables; largest either: 0.5112)
        """
        out = self._observed() | other._observed()
        before, after = (
            {name: dict(found) for name in one if name not in out and (found := _probabilities_of(one[name]))}
            for one in (self, other)
        )
        titles = (f"given {one.findings}" if one.findings.evidence else "no evidence" for one in (self, other))
        return compared(before, after, (next(titles), next(titles)))

    def _observed(self) -> set[str]:
        return {self.findings.variables[v].name for v in self.findings.evidence.codes}

    def plot(self, ax: Any = None) -> Any:
        """The matplotlib axes with a horizontal bar for the probability of every state of the discrete variables."""
        each = ((f"{name} = {state}", p) for name in self for state, p in _probabilities_of(self[name]))
        rows = list(itertools.islice(each, MOST_BARS + 1))
        check_bars(len(rows))
        axes = axes_of(ax)
        axes.barh(range(len(rows)), [p for _, p in rows], color=BELOW)
        named_rows(axes, [label for label, _ in rows], grow=ax is None)
        axes.set(xlim=(0.0, 1.0), xlabel="probability")
        entitle(axes, f"given {self.findings}" if self.findings.evidence else "")
        return axes


def _probabilities_of(marginal: Any) -> list[tuple[Any, float]]:
    """The states of a discrete variable with their probabilities; none of a continuous one."""
    states = getattr(marginal.scope[0], "states", ())
    return list(zip(states, np.asarray(marginal.values).tolist(), strict=True)) if states else []


def _rows_of(marginal: Any) -> list[tuple[Any, Any]]:
    """The states of a discrete variable with their probabilities; of a continuous one its mean and deviation."""
    return _probabilities_of(marginal) or [("mean", marginal.mean()), ("deviation", np.sqrt(marginal.variance()))]


def _restored(
    names: tuple[str, ...],
    known: tuple[Any, ...],
    log_partition: float | None,
    findings: Findings,
    about: dict[str, Any],
) -> MarginalsResult:
    place = {name: position for position, name in enumerate(names)}
    return MarginalsResult(place, known.__getitem__, log_partition=log_partition, findings=findings, **about)


def exponential(value: float) -> float:
    """The exponential; infinite beyond the range of float64."""
    return math.exp(value) if value < 709.0 else math.inf


@dataclass(frozen=True)
class LogProbabilityResult(Result, Worded, Plain):
    """A logarithm of a probability (or partition function) with bounds; `float()` gives the value.

    >>> import sepset as ss
    >>> found = ss.log_probability(ss.datasets.load("asia"), given={"xray": "yes"})
    >>> round(found.probability, 4), found.gap
    (0.1103, 0.0)
    """

    value: float
    lower: float = -math.inf
    _: KW_ONLY
    upper: float = math.inf

    @property
    def gap(self) -> float:
        """The distance between the bounds; zero for an exact answer."""
        return 0.0 if self.lower == self.upper else self.upper - self.lower

    @property
    def probability(self) -> float:
        """The exponential of the value; infinite beyond the range of float64."""
        return exponential(self.value)

    def __float__(self) -> float:
        return self.value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.value, dtype=dtype)

    def __repr__(self) -> str:
        return f"LogProbabilityResult({self.value:.10g}; {self.guarantees['log_partition'].value})"
