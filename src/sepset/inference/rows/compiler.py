"""Compiles row programs, with a cache; they are valid for all values of one structure."""

from __future__ import annotations

from sepset.base.cache import Cache
from sepset.errors import TooLarge
from sepset.inference import costs
from sepset.inference.compiled.planner import Pattern, Planner, Positions
from sepset.inference.compiled.question import Question, compile_question
from sepset.inference.plan import make_plan
from sepset.inference.rows.modes import ModeProgram, mode_program
from sepset.inference.rows.program import RowProgram, row_program


class RowCompiler:
    """Compiled programs for rows of one problem.

    Args:
        planner: the problem and its plans; row programs use all states, whatever the zeros.
    """

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self._programs: Cache[RowProgram | None] = Cache(128)
        self._modes: Cache[ModeProgram | None] = Cache(16)

    def program(
        self, columns: Positions, targets: Positions, *, counted: bool = False, observed: Positions = ()
    ) -> RowProgram | None:
        """The program for rows of codes; None if it is too large.

        Args:
            columns: the position of each column.
            targets: positions whose posterior is read in every row.
            counted: whether factor marginals are summed.
            observed: the positions that every row observes, which are removed from the program unless they are targets;
                by default, findings on the columns are masks.
        """
        key = columns, targets, counted, observed
        return self._programs.get(key, lambda: self._compiled(columns, targets, counted, observed))

    def modes(self, columns: Positions) -> ModeProgram | None:
        """The program that completes rows of codes, findings on the columns as masks; None if it is too large.

        It uses the elimination order of all marginals without findings, which breaks ties.
        """
        return self._modes.get(columns, lambda: self._compiled_modes(columns))

    def _compiled_modes(self, columns: Positions) -> ModeProgram | None:
        planner = self._planner
        try:
            question = compile_question(
                planner.layout(None),
                planner.plan("mode", (), Pattern((), (), None)),
                cards=planner.cards(None),
                observed=(),
                touched=columns,
                maximize=True,
                memory=planner.settings.memory // costs.LANES[-1],
            )
        except TooLarge:
            return None
        return mode_program(row_program(question, columns))

    def _compiled(
        self, columns: Positions, targets: Positions, counted: bool, observed: Positions
    ) -> RowProgram | None:
        seen = tuple(v for v in observed if v not in targets)
        masked = tuple(v for v in observed if v in targets) if observed else columns
        try:
            return row_program(self._question(targets, counted, seen, masked), columns)
        except TooLarge:
            return None

    def _question(self, targets: Positions, counted: bool, observed: Positions, masked: Positions) -> Question:
        problem, (order, memory, _) = self._planner.problem, self._planner.settings
        hidden = set(observed)
        asked = [v for v in range(len(problem.variables)) if v not in hidden] if counted else targets
        kept, limit = targets if len(targets) == 1 else (), memory // costs.LANES[-1]
        relevant = problem.relevant(asked, observed, touched=masked, constants=True)
        return compile_question(
            self._planner.layout(None),
            make_plan(problem, relevant, method=order, targets=targets, observed=observed, last=kept, limit=limit),
            cards=problem.variables.cards,
            observed=observed,
            touched=masked,
            kept=kept,
            marginals=targets if len(targets) > 1 else None,
            factors=counted,
            memory=limit,
        )
