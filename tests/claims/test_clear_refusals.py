"""What cannot be done is refused in words that help, and advice leads to an answer.

No internal error where a neighboring kind of object was given, no message about something else, and no recommendation
of what was tried already or cannot work.
"""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import sepset as ss
from support.tolerances import CLOSE

COLUMNS = {"a": [0, 1, 1, 1], "b": ["x", "x", "y", "x"]}


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(ss.Dataset(COLUMNS), id="a dataset"),
        pytest.param(pd.DataFrame(COLUMNS), id="a frame"),
        pytest.param(COLUMNS, id="a mapping of columns"),
    ],
)
def test_the_empirical_distribution_takes_data_of_any_kind(data):
    found = ss.data.Empirical(data)
    assert found.probability({"a": 1}) == 0.75
    assert found.probability({"a": 1, "b": "x"}) == 0.5


def joint_of(model):
    """The normalized product of a model's factors, by enumeration."""
    names = model.variables.names
    letters = {name: chr(97 + place) for place, name in enumerate(names)}
    factors = [model.problem().factor(i) for i in range(model.problem().num_factors)]
    axes = ["".join(letters[v.name] for v in factor.scope) for factor in factors]
    table = np.einsum(",".join(axes) + "->" + "".join(letters.values()), *(factor.values for factor in factors))
    return table / table.sum()


@pytest.mark.parametrize("name", ["misconception", "student"])
def test_the_canonical_form_of_a_model_is_found_or_refused_with_a_reason(name):
    """A positive model has one; where a table is wanted, that is said."""
    model = ss.datasets.load(name)
    try:
        found = ss.models.canonical_form(model)
    except ss.SepsetError as refusal:
        assert "Table" in str(refusal)  # noqa: PT017
        return
    np.testing.assert_allclose(joint_of(found), joint_of(model), rtol=0, atol=CLOSE)


V, X = ss.Vector("v", 2), ss.Real("x")
VECTOR = ss.BayesNet(
    ss.LinearGaussian(V, [0.0, 1.0], covariance=np.eye(2)),
    ss.LinearGaussian(X, 0.0, coefficients={V: [1.0, 2.0]}, covariance=1.0, given=V),
)


@pytest.mark.parametrize("given", [{}, {"x": 1.0}], ids=["prior", "posterior"])
def test_draws_of_vectors_are_given_or_the_way_to_them_is_named(given):
    try:
        rows = ss.sample(VECTOR, 3, given=given)
    except ss.errors.NotApplicable as refusal:
        assert "sample_columns" in str(refusal)  # noqa: PT017
        return
    assert len(rows) == 3


@pytest.mark.parametrize("given", [{}, {"x": 1.0}], ids=["prior", "posterior"])
def test_the_way_to_draws_of_vectors(given):
    found = ss.prepare(VECTOR).sample_columns(5, given=given)
    assert found["v"].shape == (5, 2)


@pytest.mark.parametrize("alpha", [1.0, 1])
def test_a_prior_that_says_nothing_is_not_recommended_to_who_gave_it(alpha):
    """Dirichlet(1) is flat in the probabilities: a context without rows has no single best row."""
    p, c = ss.Discrete("p"), ss.Discrete("c")
    net = ss.BayesNet(ss.TableCPD(p, [0.5, 0.5]), ss.TableCPD(c, np.full((2, 2), 0.5), given=p))
    with pytest.raises(ss.errors.DataError) as refused:
        ss.fit(net, {"p": [0, 0], "c": [0, 1]}, ss.PosteriorMode(ss.priors.Dirichlet(alpha), "theta"))
    assert "Dirichlet(1)" not in str(refused.value)


def complete_graph(number):
    """Every pair of variables shares a factor: no order helps."""
    xs = [ss.Discrete(f"x{i}") for i in range(number)]
    rng = np.random.default_rng(0)
    return ss.MarkovNet(*(ss.Table(pair, rng.uniform(0.5, 2.0, (2, 2))) for pair in itertools.combinations(xs, 2)))


def asked(model, question, method):
    if question == "query":
        return ss.query(model, "x0", method=method)
    return ss.map_assignment(model, method=method)


@pytest.mark.parametrize("question", ["query", "map"])
def test_a_recommended_method_answers(question):
    model = complete_graph(46)
    with pytest.raises(ss.TooLarge) as refused:
        asked(model, question, ss.CliqueTree())
    if "RecursiveConditioning" in str(refused.value):
        asked(model, question, ss.inference.RecursiveConditioning())
