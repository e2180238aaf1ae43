r"""Problems in which functions of many variables have become factors for one question.

$$\phi(\mathbf x) = \sum_{\mathbf a} \prod_i f_i(\mathbf x, \mathbf a)$$

The model's own variables keep their positions; auxiliaries of functions that are replaced are replaced by the new ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from sepset.factors.algebra import AnyVariable
from sepset.factors.decomposition import Decomposition, Unfilled
from sepset.problem import ConditionalGroup, Problem
from sepset.semiring import MAX
from sepset.variables.universe import Universe


def functional(problem: Problem) -> Problem:
    """The problem with factors in which every auxiliary is a function of other variables, whatever the question.

    Then exactly one product of factors belongs to each joint state, so that their logarithms add up to its own.
    """
    parts = {i: form.source.decomposed({}, MAX) for i, form in enumerate(problem.forms)}
    return rewritten(problem, range(problem.num_factors), parts)[0] if parts else problem


def rewritten(
    problem: Problem, numbers: Collection[int], parts: Mapping[int, Decomposition]
) -> tuple[Problem, Mapping[AnyVariable, int], Mapping[int, tuple[int, ...]]]:
    """A problem with some of its factors, in which forms have become their parts.

    The model's own variables keep their positions. Those whose conditionals are left out remain without factors.

    Returns:
        The problem, the position of every variable, and the numbers of the factors of each part.
    """
    replaced = {n for i in parts for n in problem.forms[i].factors}
    kept = [n for n in sorted(numbers) if n not in replaced]
    old = sorted({v for n in kept for v in problem.scope(n) if v >= problem.num_visible})
    own = [problem.variables[v] for v in range(problem.num_visible)]
    new = [a for part in parts.values() for a in part.auxiliaries]
    variables = Universe([*own, *(problem.variables[v] for v in old), *new])
    place = {v: v for v in range(problem.num_visible)} | {v: problem.num_visible + i for i, v in enumerate(old)}
    ids: dict[AnyVariable, int] = {v: problem.num_visible + len(old) + i for i, v in enumerate(new)}
    ids |= {problem.variables[v]: at for v, at in place.items()}
    factors: list[Any] = [problem.factor(n) for n in kept]
    scopes = [[place[v] for v in problem.scope(n)] for n in kept]
    homes: dict[int, tuple[int, ...]] = {}
    for i, part in parts.items():
        homes[i] = tuple(range(len(factors), len(factors) + len(part.factors)))
        factors += part.factors
        scopes += [[ids[v] for v in factor.scope] for factor in part.factors]
    functions = {place[a]: tuple(place[v] for v in inputs) for a, inputs in problem.functions.items() if a in place}
    functions |= {ids[a]: tuple(ids[v] for v in f) for part in parts.values() for a, f in part.functions.items()}
    groups = tuple(_groups(problem, dict(zip(kept, range(len(kept)), strict=True)), place, parts, homes, ids))
    made = Problem.of_factors(variables, factors, scopes=scopes, conditionals=groups, num_visible=problem.num_visible)
    late = {n: factor.filled for n, factor in enumerate(factors) if isinstance(factor, Unfilled)}
    return made.with_forms(functions, ()).with_deferred(late) if late else made.with_forms(functions, ()), ids, homes


def _groups(
    problem: Problem,
    number: Mapping[int, int],
    place: Mapping[int, int],
    parts: Mapping[int, Decomposition],
    homes: Mapping[int, tuple[int, ...]],
    ids: Mapping[AnyVariable, int],
) -> Iterator[ConditionalGroup]:
    """The conditionals that remain; those left out have no factors."""
    made = {problem.forms[i].group: i for i in parts}
    for at, group in enumerate(problem.conditionals):
        if at in made:
            new = tuple(ids[a] for a in parts[made[at]].auxiliaries)
            yield ConditionalGroup(group.child, group.parents, homes[made[at]], new)
            continue
        factors = tuple(number[n] for n in group.factors if n in number)
        hidden = tuple(place[v] for v in group.auxiliaries) if factors else ()
        yield ConditionalGroup(group.child, group.parents, factors, hidden)
