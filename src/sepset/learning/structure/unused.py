"""Arguments that a method has no use for: each is refused before any work, with what to do instead."""

from __future__ import annotations

from typing import ClassVar, Protocol, runtime_checkable

from sepset.base.text import described
from sepset.errors import ArgumentError, NotApplicable
from sepset.learning.structure.learned import StructureTask

SEARCH_KEEPERS = "HillClimb(), GES(), BOSS() and StructuralEM() keep one"
CHAIN_KEEPERS = "OrderMCMC(), PartitionMCMC(), StructureMCMC() and BootstrapStructures() keep one"


@runtime_checkable
class IgnoresStart(Protocol):
    """A method that finds the same from every graph to begin with.

    Attributes:
        ignores_start: whether it does.
    """

    ignores_start: ClassVar[bool]


@runtime_checkable
class UsesScore(Protocol):
    """A method that says whether it compares structures by a score.

    Attributes:
        uses_score: whether it does; methods that do not say so do.
    """

    @property
    def uses_score(self) -> bool:
        """Whether it does."""


def uses_score(method: object) -> bool:
    """Whether a method compares structures by a score.

    >>> from sepset.learning.structure.skeletons.pc import PC
    >>> uses_score(PC())
    False
    """
    return not isinstance(method, UsesScore) or method.uses_score


def check_start(task: StructureTask, method: object) -> None:
    """Raise where a graph to begin with is of other columns, breaks the constraints, or would not be used."""
    if task.start is None:
        return
    if isinstance(method, IgnoresStart) and method.ignores_start:
        raise NotApplicable(f"{type(method).__name__}() finds the same from any start. Leave start= out.")
    task.start_parents()


KINDS = {
    "learn": ("learn_structure", "HillClimb(), GES() or PC()"),
    "average": ("structure_posterior", "OrderMCMC(), TianHe() or BestStructures(10)"),
}
"""The function that takes methods which learn, or average, and some of them."""


def check_kind(method: object, does: str) -> None:
    """Raise unless a method of learning structures does what is asked, and name the function that takes it.

    Args:
        method: as it was given; None for the default of "learn".
        does: "learn" a structure, or "average" over structures.
    """
    if (method is None and does == "learn") or (hasattr(method, does) and not isinstance(method, type)):
        return
    own = next((function for other, (function, _) in KINDS.items() if hasattr(method, other)), None)
    made = " It is a class: call it." if isinstance(method, type) else ""
    advice = f" It is a method of {own}." if own is not None and not made else made
    raise ArgumentError(f"{KINDS[does][0]} takes a method such as {KINDS[does][1]}; found {described(method)}.{advice}")


def check_score(method: object, *, score: object, structure_prior: object) -> None:
    """Raise where a score or a structure prior would not be used.

    Args:
        method: of the search.
        score: as it was given, or None.
        structure_prior: as it was given, or None.
    """
    named = {"score=": score, "structure_prior=": structure_prior}
    given = [f"{name}{value!r}" for name, value in named.items() if value is not None]
    if given and not uses_score(method):
        raise NotApplicable(
            f"{type(method).__name__}() uses no score; found {' and '.join(given)}. Leave that out, or use a method "
            "that does, such as HillClimb(), GES() or MMHC()."
        )
