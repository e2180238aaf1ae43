from __future__ import annotations

import pytest

from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.table import TableCPD
from sepset.errors import NotApplicable
from sepset.factors.table import Table
from sepset.io.discrete import discrete_network
from sepset.models.bayesnet import BayesNet
from sepset.models.markovnet import MarkovNet
from sepset.variables.variable import Discrete, Real


def test_views_print_states_and_walk_contexts():
    a, b = Discrete("a", (True, False)), Discrete("b", (0.5, 2))
    net = discrete_network(BayesNet(TableCPD(a, [1, 0]), TableCPD(b, [[0.1, 0.9], [1, 0]], given=a)), "BIF")
    assert net.variables[1].states == ("0.5", "2")
    assert list(net.tables[1].contexts()) == [("True",), ("False",)]
    assert net.tables[1].rows.tolist() == [[0.1, 0.9], [1.0, 0.0]]
    assert list(net.tables[0].contexts()) == [()]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (MarkovNet(Table(Discrete("a"), [1, 2])), "found a MarkovNet"),
        (BayesNet(LinearGaussian(Real("x"), covariance=1.0)), "x is continuous"),
        (BayesNet(TableCPD(Discrete("a", (1, "1")), [0.5, 0.5])), "do not all print differently"),
        (BayesNet(TableCPD(Discrete("a", ("", "1")), [0.5, 0.5])), "do not all print differently"),
    ],
)
def test_what_text_formats_cannot_hold(model, message):
    with pytest.raises(NotApplicable, match=message):
        discrete_network(model, "BIF")
