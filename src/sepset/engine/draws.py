"""Draws given evidence: of everything at once or, in networks too large for that, first of what findings depend on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sepset.base.arraytypes import AnyArray
from sepset.base.lazy import lazy
from sepset.errors import TooLarge
from sepset.factors.algebra import Columns
from sepset.inference.method import Prepared
from sepset.inference.rewriting import repeated
from sepset.models.ancestral import forward_sample
from sepset.models.bayesnet import BayesNet
from sepset.variables.evidence import Evidence

if TYPE_CHECKING:
    from sepset.engine.engine import Engine


class Draws:
    r"""Draws of all variables that are not observed.

    If no tree of the whole fits, the findings and all that they depend on are a network of their own, with the same
    posterior, since the other CPDs sum to one. The other variables are drawn after their parents:

    $$P(\mathbf x, \mathbf y \mid \mathbf e) = P(\mathbf x \mid \mathbf e) \prod_i P(y_i \mid \mathbf{pa}_i)$$

    Args:
        engine: of the model.
        evidence: the findings, which are possible.

    Reference: Koller & Friedman, section 12.1 and proposition 9.1.
    Guarantee: exact draws.
    Tested by: engine/test_draws.py::test_draws_after_those_of_ancestors_have_the_posterior
    """

    def __init__(self, engine: Engine, evidence: Evidence) -> None:
        self._engine, self._evidence, self._fits = engine, evidence, True

    def __call__(self, num_rows: int, rng: np.random.Generator) -> Mapping[int, AnyArray]:
        """So many draws, by position."""
        if self._fits:
            try:
                return self._engine.prepared.sample(num_rows, self._evidence, rng)
            except TooLarge:
                model = self._engine.model
                if not isinstance(model, BayesNet) or len(self._above) == len(model.variables):
                    raise
                self._fits = False
        return self._after_ancestors(num_rows, rng)

    @lazy
    def _above(self) -> list[int]:
        """The positions of the findings and of all that they depend on."""
        problem = self._engine.prepared.problem
        is_needed, _ = problem.ancestral(self._evidence.touched)
        return np.flatnonzero(is_needed[: problem.num_visible]).tolist()

    @lazy
    def _parts(self) -> tuple[Prepared, Evidence, list[Any]]:
        """The method for the network of these, the findings there, and the CPDs of all others, parents first."""
        model: Any = self._engine.model
        first = self._engine._ancestral.get(tuple(self._above), self._ancestors)
        place = {v: i for i, v in enumerate(self._above)}
        told = Evidence(
            {place[v]: code for v, code in self._evidence.codes.items()},
            {place[v]: row for v, row in self._evidence.weights.items()},
            reals={place[v]: value for v, value in self._evidence.reals.items()},
        )
        later = [model.cpds[i] for i in model.dag.topological_ids.tolist() if i not in place]
        return first.prepared, told, later

    def _ancestors(self) -> Engine:
        """The engine of the findings and all that they depend on."""
        model: Any = self._engine.model
        return type(self._engine)(BayesNet([model.cpds[v] for v in self._above]), self._engine.method)

    def _after_ancestors(self, num_rows: int, rng: np.random.Generator) -> Mapping[int, AnyArray]:
        (prepared, told, later), variables = self._parts, self._engine.model.variables
        found = prepared.sample(num_rows, told, rng)
        found |= {v: np.full(num_rows, code) for v, code in told.codes.items()}
        found |= {v: repeated(value, num_rows) for v, value in told.reals.items()}
        parents = {p for cpd in later for p in cpd.parents}
        first: Columns = {variables[v]: found[i] for i, v in enumerate(self._above) if variables[v] in parents}
        drawn = forward_sample(later, num_rows, rng, first=first)
        after = {variables.id(cpd.child): drawn[cpd.child] for cpd in later}
        return {**{v: found[i] for i, v in enumerate(self._above)}, **after}
