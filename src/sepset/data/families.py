"""Families: the scopes `(*parents, child)` whose joint states are counted, however they were given."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias, TypeGuard

from sepset.errors import ScopeError
from sepset.variables.variable import Discrete, VariableLike, Vector

Family: TypeAlias = object
"""A child with its parents `(child, parents)`, a scope `(*parents, child)`, one variable, or anything with a scope."""

Scope: TypeAlias = tuple[Discrete, ...]


def members(family: Family) -> tuple[VariableLike, ...]:
    """The variables of a family, the child last; names stay names.

    >>> members(("grade", ("difficulty", "intelligence"))), members(("difficulty", "grade")), members("grade")
    (('difficulty', 'intelligence', 'grade'), ('difficulty', 'grade'), ('grade',))
    """
    scope = getattr(family, "scope", family)
    if isinstance(scope, str | Discrete | Vector):
        return (scope,)
    if not isinstance(scope, Iterable):
        raise ScopeError(f"A family is (child, parents) or a scope (*parents, child); found {family!r}.")
    listed = tuple(scope)
    if len(listed) == 2 and _is_variable(listed[0]) and _are_several(listed[1]):
        return (*members(listed[1]), listed[0]) if tuple(listed[1]) else (listed[0],)
    strange = [one for one in listed if not _is_variable(one)]
    if strange or not listed:
        raise ScopeError(f"A family is (child, parents) or a scope (*parents, child); found {family!r}.")
    return listed


def _is_variable(one: object) -> bool:
    return isinstance(one, str | Discrete | Vector)


def _are_several(parents: object) -> TypeGuard[Iterable[object]]:
    return isinstance(parents, Iterable) and not _is_variable(parents)


def discrete_scope(family: Iterable[VariableLike], find: Callable[[VariableLike], Discrete | Vector]) -> Scope:
    """The family's variables, each found, discrete and listed once."""
    scope = tuple(find(variable) for variable in family)
    for variable in scope:
        if not isinstance(variable, Discrete):
            raise ScopeError(f"{variable!r} has no states to count. Use Moments for real variables.")
    if len(set(scope)) < len(scope):
        raise ScopeError(f"A family lists each variable once; found {', '.join(v.name for v in scope)}.")
    return scope  # type: ignore[return-value]  # discrete, as checked
