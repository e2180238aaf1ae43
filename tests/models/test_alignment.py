"""Networks in other orders: every form of CPD keeps its distribution, whatever the order of parents and states."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sepset.cpds.noisy import NoisyMax
from sepset.cpds.table import TableCPD
from sepset.errors import ModelError, ScopeError
from sepset.models.alignment import like, over, with_parameters_of
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete
from support.every_form import every_cpd
from support.tolerances import EXACT

FORMS = every_cpd()


def shuffled(variable, rng):
    """A discrete variable with its states in another order; a real one as it is."""
    if not isinstance(variable, Discrete):
        return variable
    return Discrete(variable.name, [variable.states[i] for i in rng.permutation(variable.num_states)])


def reordered_scope(cpd, rng):
    """Parents and states in another order; levels of a child stay where they mean one."""
    keeps = isinstance(cpd, NoisyMax) or "Multiplexer" in type(cpd).__name__
    parents = [p if keeps and p.num_states == cpd.child.num_states else shuffled(p, rng) for p in cpd.parents]
    order = rng.permutation(len(parents))
    return (*(parents[i] for i in order), cpd.child if keeps else shuffled(cpd.child, rng))


def columns_in(scope, rows):
    """Columns of states and numbers, coded for the variables of one scope."""
    found = {}
    for variable in scope:
        cells = rows[variable.name]
        found[variable] = (
            np.array([variable.code(state) for state in cells]) if isinstance(variable, Discrete) else cells
        )
    return found


def random_rows(scope, rng, count=40):
    return {
        v.name: [v.states[i] for i in rng.integers(v.num_states, size=count)]
        if isinstance(v, Discrete)
        else rng.normal(size=(count, v.size) if v.size > 1 else count)
        for v in scope
    }


@pytest.mark.parametrize("cpd", FORMS.values(), ids=FORMS)
@given(seed=st.integers(0, 10_000))
def test_every_form_keeps_its_distribution(cpd, seed):
    rng = np.random.default_rng(seed)
    scope = reordered_scope(cpd, rng)
    made = cpd.parameters.over(scope)
    assert type(made) is type(cpd)
    assert {v.name for v in made.parents} == {v.name for v in scope[:-1]}
    assert made.child == scope[-1]
    assert made.block == cpd.block
    rows = random_rows(cpd.scope, rng)
    if getattr(cpd, "num_rows", 1):
        found = made.log_probability(columns_in(made.scope, rows))
        np.testing.assert_allclose(found, cpd.log_probability(columns_in(cpd.scope, rows)), rtol=0, atol=EXACT)
    back = made.parameters.over(cpd.scope)
    assert like(cpd, back, "copy") is back
    for name, array in cpd.parameters.arrays.items():
        np.testing.assert_array_equal(back.parameters.arrays[name], array)


@pytest.mark.parametrize("cpd", FORMS.values(), ids=FORMS)
def test_its_own_scope_changes_nothing(cpd):
    assert cpd.parameters.over(cpd.scope) is cpd


def test_the_levels_of_a_noisy_max_stay_in_order():
    cpd = FORMS["noisy-max, two parents"]
    with pytest.raises(ScopeError, match="levels"):
        cpd.parameters.over((*cpd.parents, Discrete("g", (2, 0, 1))))


A, B = Discrete("a", ("x", "y")), Discrete("b", ("x", "y"))
NET = BayesNet(TableCPD(A, [0.3, 0.7]), TableCPD(B, [[0.1, 0.9], [0.4, 0.6]], given=A))


def test_a_network_over_equal_variables_is_itself():
    assert over(NET, (B, A)) is NET
    assert with_parameters_of(NET, NET, "start") is NET


def test_a_network_over_other_orders_is_the_same_distribution():
    made = over(NET, (Discrete("b", ("y", "x")), Discrete("a", ("y", "x"))))
    rows = {"a": ["x", "x", "y", "y"], "b": ["x", "y", "x", "y"]}
    np.testing.assert_allclose(made.log_probability(rows), NET.log_probability(rows), rtol=0, atol=EXACT)
    assert made.cpd("a").values.tolist() == [0.7, 0.3]


@pytest.mark.parametrize(
    ("net", "named"),
    [
        (BayesNet(TableCPD(A, [0.3, 0.7])), "'b'"),
        (BayesNet(*NET.cpds, TableCPD(Discrete("c"), [0.5, 0.5])), "'c'"),
        (BayesNet(TableCPD(B, [0.5, 0.5]), TableCPD(A, [[0.1, 0.9], [0.4, 0.6]], given=B)), "parents of 'a'"),
    ],
)
def test_other_families_are_refused_by_name(net, named):
    with pytest.raises((ModelError, ScopeError), match=named):
        with_parameters_of(NET, net, "start")


def test_other_forms_are_refused():
    first, second = (
        FORMS["partition, two parents"],
        FORMS["partition, two parents"].parameters.over(
            (*FORMS["partition, two parents"].parents[::-1], FORMS["partition, two parents"].child)
        ),
    )
    assert like(first, second, "start").parts.tolist() == first.parts.tolist()
    with pytest.raises(ModelError, match="another form"):
        like(FORMS["rules, two parents"], _other_rules(), "start")


def _other_rules():
    from sepset.cpds.rules import RuleCPD

    a, b, x = (Discrete(name) for name in "abx")
    return RuleCPD(x, [({x: 0}, 0.5), ({x: 1}, 0.5)], given=(a, b))
