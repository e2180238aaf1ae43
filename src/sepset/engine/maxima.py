"""Max-marginals of a model, by the clique tree or by the messages of a method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sepset.inference.cliquetree.maxmarginals import MaxMarginalsResult, maximizing, tree_max_marginals
from sepset.inference.conflict import impossible
from sepset.inference.method import SendsMaxima, can
from sepset.inference.propagation.maxmarginals import message_max_marginals
from sepset.kernels.kernel import answered
from sepset.variables.evidence import Evidence

if TYPE_CHECKING:
    from sepset.engine.engine import Engine


def max_marginals(engine: Engine, evidence: Evidence) -> MaxMarginalsResult:
    """The largest log value of the joint for every state of every discrete variable, given the evidence.

    Guarantee: as `max_marginals`.
    Tested by: engine/test_maxima.py::test_messages_and_trees_answer_for_the_same_models
    """
    prepared, variables = maximizing(engine.prepared, evidence), engine.model.variables
    if can(prepared, SendsMaxima):
        beliefs = prepared.max_beliefs(evidence)
        if beliefs.log_totals == -np.inf:
            raise impossible(engine.prepared, evidence)
        return message_max_marginals(beliefs, evidence, variables, method=engine.method)
    promised = {"assignment": engine.promises["assignment"]}
    return tree_max_marginals(
        prepared, evidence, variables, method=engine.method, guarantees=promised, info=answered()
    )  # fmt: skip
