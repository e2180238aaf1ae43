"""Clusters of rows, and the columns that they are about."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace

import numpy as np

from sepset.base.checks import whole
from sepset.data.dataset import Dataset
from sepset.errors import NotApplicable
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.constraints import Constraints
from sepset.learning.structure.hidden.learnedbayesnet import LearnedBayesNet
from sepset.learning.structure.hidden.structuralem import StructuralEM
from sepset.learning.structure.learned import StructureTask
from sepset.variables.variable import Discrete


@dataclass(frozen=True, slots=True)
class SelectiveClustering:
    r"""Clusters that explain some columns, and leave out those that are about something else.

    $$P(\mathbf x) = \sum_c P(c) \prod_{i \in R} P(x_i \mid c) \prod_{i \notin R} P(x_i)$$

    Structural EM among the networks in which the hidden cluster is the only parent: the children of the cluster are
    the relevant columns $R$. Columns may be of states and of numbers, which have a normal distribution in each cluster;
    rows may have missing cells.

    Args:
        clusters: their number.
        name: of the hidden variable.
        em_steps: steps of EM for the parameters in a round.

    Reference: Peña, Lozano & Larrañaga (2002); Koller & Friedman, section 19.4.3.
    Guarantee: score of observed cells never decreases; a local optimum.
    Tested by: learning/structure/hidden/test_clustering.py::test_relevant_columns_are_found

    >>> SelectiveClustering(3).name
    'cluster'
    """

    clusters: int
    _: KW_ONLY
    name: str = "cluster"
    em_steps: int = 5

    def __post_init__(self) -> None:
        whole("SelectiveClustering(clusters=)", self.clusters, least=1)
        whole("SelectiveClustering(em_steps=)", self.em_steps, least=1)

    takes_missing = True
    """It does."""

    def learn(self, task: StructureTask) -> LearnedBayesNet:
        """The network of clusters and columns; the cluster's children are the relevant columns."""
        columns = task.columns
        if task.constraints != Constraints() or task.start is not None:
            raise NotApplicable("SelectiveClustering has its own constraints and start. Use StructuralEM() for others.")
        if self.name in columns.names:
            raise NotApplicable(f"{self.name!r} is a column; give the hidden variable another name=.")
        if columns.intervened is not None:
            raise NotApplicable("SelectiveClustering takes no interventions=. Leave those rows out.")
        named = {v.name: column for v, column in zip(columns.variables, columns.dataset.columns, strict=True)}
        named[self.name] = np.full(columns.num_rows, -1, np.int8)
        variables = [*columns.variables, Discrete(self.name, self.clusters)]
        rows = Dataset.from_codes(variables, named, weights=np.asarray(columns.weights, np.float64))
        known = Constraints(candidates={**dict.fromkeys(columns.names, (self.name,)), self.name: ()})
        own = replace(task, columns=Columns(rows, missing="available"), constraints=known)
        found = StructuralEM(em_steps=self.em_steps).learn(own)
        relevant = found.dag.children(self.name)
        return replace(found, method=self, info={**found.info, "relevant": ", ".join(relevant) or "none"})
