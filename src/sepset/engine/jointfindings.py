r"""Findings on several variables together: each is made on one more variable, whose states are their joint states.

$$P(\mathbf x, j) = P(\mathbf x)\, \mathbf 1[j = (x_a, x_b, \dots)]$$

The new variable is a function of the others, so that nothing else changes; a likelihood or a soft finding on it is one
on their joint. It is known to the engine only, and no answer contains it.

Reference: Jeffrey's rule for a partition into joint states; Pan, Peng & Ding (2006) for networks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.foreign import OF_PYTHON, check_interrupt, explained
from sepset.base.text import listing
from sepset.errors import ScopeError, StateError, TooLarge
from sepset.factors.block import FactorBlock, Single
from sepset.factors.table import Table
from sepset.problem import Block, ConditionalGroup, Deferred, Problem
from sepset.variables.evidence import Likelihood, Soft
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, VariableLike

if TYPE_CHECKING:
    from sepset.engine.bound import Bound

LARGEST = 4096
"""The largest number of joint states of one finding."""

F = TypeVar("F", bound=Callable[..., Any])


def takes_joints(question: F) -> F:
    """The question, which may have findings on tuples of variables among those of `given`.

    Arguments under other names are an error that says what they are called here.
    """

    @wraps(question)
    def asked(engine: Bound, /, *args: Any, **kwargs: Any) -> Any:
        given = kwargs.get("given")
        if given is None or not has_joints(given):
            try:
                return question(engine, *args, **kwargs)
            except OF_PYTHON as error:
                problem = explained(error, question, (engine, *args), kwargs)
                if problem is None:
                    raise
            except SystemError as error:
                check_interrupt(error)
                raise
            raise problem
        single = JointFindings.of(given, engine.model.variables)
        return question(engine._with_joints(single.groups), *args, **{**kwargs, "given": single.given})

    return asked  # type: ignore[return-value]  # of the same signature


def has_joints(given: object) -> bool:
    """Whether some finding is on a tuple of variables.

    >>> has_joints({"a": 0}), has_joints({("a", "b"): Soft([[0.5, 0.0], [0.0, 0.5]])})
    (False, True)
    """
    return (type(given) is dict or isinstance(given, Mapping)) and tuple in map(type, given)


@dataclass(frozen=True)
class JointFindings:
    """Findings on joints, as findings on single variables.

    Attributes:
        groups: the positions of the variables of each joint, in the order of their finding.
        given: the findings, those on joints on the variables that stand for them.

    >>> a, b = Discrete("a"), Discrete("b")
    >>> found = JointFindings.of({("b", "a"): Soft([[0.1, 0.2], [0.3, 0.4]])}, Universe([a, b]))
    >>> found.groups, found.given[joint_variable([b, a])].probabilities
    (((1, 0),), (0.1, 0.2, 0.3, 0.4))
    """

    groups: tuple[tuple[int, ...], ...]
    given: Mapping[VariableLike, Any]

    @classmethod
    def of(cls, given: Mapping[Any, Any], variables: Universe) -> JointFindings:
        """The findings, after checking those on joints."""
        single: dict[VariableLike, Any] = {}
        groups = []
        for key, finding in given.items():
            if type(key) is not tuple:
                single[key] = finding
            elif finding is not None:
                group = _group(key, variables)
                members = [variables[v] for v in group]
                single[joint_variable(members)] = _flat(members, finding)  # type: ignore[arg-type]
                groups.append(group)
        return cls(tuple(groups), single)


def named_group(key: tuple[VariableLike, ...], variables: Universe) -> tuple[str, ...]:
    """The names of the variables of a joint, after checking them."""
    return tuple(variables[v].name for v in _group(key, variables))


def _group(key: tuple[VariableLike, ...], variables: Universe) -> tuple[int, ...]:
    found = tuple(variables.id(v) for v in key)
    names = listing(variables[v].name for v in found)
    if len(found) < 2 or len(set(found)) < len(found):
        raise ScopeError(f"A joint finding is on two or more different variables; found {names or 'none'}.")
    real = [variables[v].name for v in found if not variables[v].is_discrete]
    if real:
        raise ScopeError(f"A joint finding is on discrete variables; {listing(real)} is continuous.")
    size = math.prod(int(variables.cards[v]) for v in found)
    if size > LARGEST:
        raise TooLarge(
            f"{names} have {size:,} joint states; a joint finding is on at most {LARGEST:,}. Give findings on fewer of "
            "them together."
        )
    return found


def joint_variable(members: Sequence[Any]) -> Discrete:
    """The variable whose states are the joint states of others, the last one fastest.

    >>> joint_variable([Discrete("a"), Discrete("b")])
    Discrete('(a, b)', ('0, 0', '0, 1', '1, 0', '1, 1'))
    """
    states = [""]
    for place, member in enumerate(members):
        states = [f"{text}{', ' if place else ''}{state!r}" for text in states for state in member.states]
    return Discrete(f"({', '.join(member.name for member in members)})", states)


def _flat(members: Sequence[Discrete], finding: object) -> Soft | Likelihood:
    """The finding on the joint states as one row of numbers."""
    if isinstance(finding, Soft):
        return Soft(_numbers(members, finding.probabilities, "Soft"))
    if isinstance(finding, Likelihood):
        return Likelihood(_numbers(members, finding.weights, "Likelihood"))
    names = listing(v.name for v in members)
    raise StateError(
        f"A finding on {names} together is Soft or Likelihood; found {finding!r}. Give each its own finding."
    )


def _numbers(members: Sequence[Discrete], given: Any, kind: str) -> Floats:
    shape, names = tuple(v.num_states for v in members), listing(v.name for v in members)
    if isinstance(given, Mapping):
        table = np.zeros(shape)
        for states, number in given.items():
            table[_place(members, states, kind)] = number
        return table.reshape(-1)
    try:
        found = np.asarray(given, dtype=np.float64)
    except ValueError:
        found = np.zeros(0)
    if found.shape != shape:
        raise StateError(f"{kind} on {names} has the shape {found.shape}; their joint states have {shape}.")
    return found.reshape(-1)


def _place(members: Sequence[Discrete], states: object, kind: str) -> tuple[int, ...]:
    if not isinstance(states, tuple) or len(states) != len(members):
        names = listing(v.name for v in members)
        raise StateError(f"{kind} on {names} has numbers by tuples of their states; found {states!r}.")
    return tuple(v.code(state) for v, state in zip(members, states, strict=True))


def with_joint_variables(problem: Problem, groups: Iterable[tuple[int, ...]]) -> Problem:
    """The problem with one more variable for each group of variables, after those of the model itself.

    >>> from sepset.factors.block import Single
    >>> a, b = Discrete("a"), Discrete("b")
    >>> problem = Problem(Universe([a, b]), (Single(Table((a, b), [1.0, 2, 3, 4]), [0, 1]),))
    >>> with_joint_variables(problem, [(1, 0)]).variables.names
    ('a', 'b', '(b, a)')
    """
    listed, first = tuple(groups), problem.num_visible
    moved = np.arange(len(problem.variables))
    moved[first:] += len(listed)
    variables = problem.variables
    joints = [joint_variable([variables[v] for v in group]) for group in listed]
    known = Universe([*variables[:first], *joints, *variables[first:]])
    ties = [_tie(known, group, first + i) for i, group in enumerate(listed)]
    count = problem.num_factors
    added = [ConditionalGroup(first + i, group, (count + i,)) for i, group in enumerate(listed)]
    return Problem(
        known,
        (*(_moved(block, moved) for block in problem.blocks), *ties),
        conditionals=(
            *(_moved_group(group, moved) for group in problem.conditionals),
            *(added if problem.conditionals else ()),
        ),
        num_visible=first + len(listed),
        functions={int(moved[v]): tuple(int(moved[u]) for u in inputs) for v, inputs in problem.functions.items()},
        forms=problem.forms,
    )


def _tie(variables: Universe, group: tuple[int, ...], place: int) -> Single:
    """The factor that is one where the new variable has the joint state of the others."""
    scope: Any = [*(variables[v] for v in group), variables[place]]
    return Single(Table(scope, np.eye(scope[-1].num_states).reshape(-1)), [*group, place])


def _moved(block: Block, moved: Any) -> Block:
    scopes = moved[np.asarray(block.scopes)]
    if isinstance(block, Deferred):
        return replace(block, scopes=scopes)
    if isinstance(block, FactorBlock):
        values: Any = block.values if block.potential is None else block.potential
        return FactorBlock(scopes, block.cards, values=values, space=block.space)
    assert isinstance(block, Single)  # there are no other blocks
    return Single(block.value, scopes[0])


def _moved_group(group: ConditionalGroup, moved: Any) -> ConditionalGroup:
    def at(places: Iterable[int]) -> tuple[int, ...]:
        return tuple(int(moved[v]) for v in places)

    return ConditionalGroup(int(moved[group.child]), at(group.parents), group.factors, at(group.auxiliaries))
