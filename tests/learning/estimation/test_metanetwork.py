"""What the meta-network says about parameters and rows."""

from __future__ import annotations

import pytest

from sepset.cpds.table import TableCPD
from sepset.errors import ArgumentError
from sepset.graphs.separation import csi_separated, d_separated
from sepset.learning.estimation.metanetwork import irrelevant_parameters, meta_network
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete

X, Y, Z = Discrete("x"), Discrete("y"), Discrete("z")
PAIR = BayesNet(TableCPD(X, [0.5, 0.5]), TableCPD(Y, [[0.5, 0.5]] * 2, given=X))


def test_tosses_are_independent_given_the_parameter_only():
    dag = meta_network(BayesNet(TableCPD(X, [0.5, 0.5])), 3)
    assert d_separated(dag, "x[0]", "x[2]", given="theta[x]")
    assert not d_separated(dag, "x[0]", "x[2]")


def test_complete_rows_separate_the_parameters_of_families():
    """Proposition 17.5; a missing cell joins them again."""
    dag = meta_network(PAIR, 2)
    rows = ["x[0]", "y[0]", "x[1]", "y[1]"]
    assert d_separated(dag, "theta[x]", "theta[y]", given=rows)
    assert not d_separated(dag, "theta[x]", "theta[y]", given=["y[0]", "x[1]", "y[1]"])


def test_contexts_are_separated_only_by_the_context():
    """Proposition 17.6: plain d-separation says dependent, context-specific separation says independent."""
    dag = meta_network(PAIR, 2, parameters="contexts")
    rows = {"x[0]": 0, "y[0]": 1, "x[1]": 1, "y[1]": 0}
    pair = "theta[y|0]", "theta[y|1]"
    assert not d_separated(dag, *pair, given=list(rows))
    assert csi_separated(dag, *pair, context=rows, irrelevant=irrelevant_parameters(PAIR))
    only = {"y[0]": 1, "y[1]": 0}
    assert not csi_separated(dag, *pair, context=only, irrelevant=irrelevant_parameters(PAIR))


def test_a_shared_parameter_joins_the_variables_of_one_row():
    """Figure 17.10."""
    net = BayesNet(
        TableCPD(X, [0.5, 0.5]),
        TableCPD(Y, [[0.5, 0.5]] * 2, given=X, block="g"),
        TableCPD(Z, [[0.5, 0.5]] * 2, given=X, block="g"),
    )
    assert not d_separated(meta_network(net, 1), "y[0]", "z[0]", given="x[0]")
    assert d_separated(meta_network(net, 1), "y[0]", "z[0]", given=["x[0]", "theta[g]"])
    shared = meta_network(net, 1, parameters="contexts")
    assert set(shared.parents("z[0]")) == {"theta[g|0]", "theta[g|1]", "x[0]"}


def test_rows_are_needed():
    with pytest.raises(ArgumentError, match="num_rows= is a whole number of at least 1"):
        meta_network(PAIR, 0)
