"""The parameters of every form: arrays and back, free parameters with their gradients, and errors that name the CPD."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.cpds.counts import expected_log
from sepset.cpds.kerneldensity import KernelCPD
from sepset.cpds.parameters import ImaginaryRows, PriorTerm, complete_rows, weighted
from sepset.cpds.table import TableCPD
from sepset.errors import ModelError, NotApplicable
from sepset.variables.variable import Discrete, Real
from support.every_form import A, B, X, all_forms, discrete_forms

NAMES = sorted(all_forms(np.random.default_rng(0)))
FORMS = sorted(discrete_forms(np.random.default_rng(0)))


def cells(cpd, rng):
    """Log probabilities of random rows."""
    columns = {v: rng.integers(v.num_states, size=20) if v.is_discrete else rng.normal(size=20) for v in cpd.scope}
    return cpd.log_probability(columns)


def copies(cpd):
    return {name: array.copy() for name, array in cpd.parameters.arrays.items()}


@pytest.mark.parametrize("name", NAMES)
def test_arrays_move_from_one_cpd_to_another(name):
    one, other = (all_forms(np.random.default_rng(seed))[name] for seed in (1, 2))
    made = other.parameters.with_arrays(copies(one))
    assert type(made) is type(one)
    assert made.block == other.block
    assert [a.tobytes() for a in copies(made).values()] == [a.tobytes() for a in copies(one).values()]
    left, right = (cells(cpd, np.random.default_rng(3)) for cpd in (made, one))
    assert left.tobytes() == right.tobytes()
    if copies(one):
        assert cells(other, np.random.default_rng(3)).tobytes() != right.tobytes()


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("function", "multiplexer")])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_arrays_that_are_not_finite_are_refused(name, bad):
    cpd = all_forms(np.random.default_rng(1))[name]
    arrays = copies(cpd)
    arrays[list(arrays)[-1]].reshape(-1)[0] = bad
    with pytest.raises(ModelError, match="finite"):
        cpd.parameters.with_arrays(arrays)


@pytest.mark.parametrize("name", ["table", "tree", "rules", "partition", "noisy-or", "noisy-max"])
def test_rows_that_do_not_sum_to_one_are_refused(name):
    cpd = all_forms(np.random.default_rng(1))[name]
    for shift in (0.25, -2.0):
        arrays = copies(cpd)
        next(iter(arrays.values())).reshape(-1)[0] += shift
        with pytest.raises(ModelError, match=r"sums? to one"):
            cpd.parameters.with_arrays(arrays)


def test_arrays_of_other_shapes_are_refused():
    own = TableCPD(X, np.full((2, 2, 2), 0.5), given=(A, B)).parameters
    rows = np.full((4, 2), 0.5)
    for arrays in (
        {},
        {"rows": rows[:2]},
        {"rows": rows.reshape(2, 2, 2)},
        {"rows": rows, "more": rows},
        {"row": rows},
    ):
        with pytest.raises(ModelError, match="shapes"):
            own.with_arrays(arrays)


def test_kernels_take_any_number_of_rows():
    x, u = Real("x"), Real("u")
    cpd = KernelCPD(x, {"u": [0.0, 1.0, 2.0], "x": [0.0, 2.0, 1.0]}, width=0.7, given=u)
    bare = KernelCPD(x, given=u)
    made = bare.parameters.with_arrays(cpd.parameters.arrays)
    rows = {u: np.array([0.5]), x: np.array([1.0])}
    assert made.log_probability(rows).tobytes() == cpd.log_probability(rows).tobytes()
    assert bare.parameters.with_arrays(bare.parameters.arrays).width is None
    for change in (
        {"width": np.zeros(2)},
        {"width": np.zeros(0)},
        {"weights": np.ones(2)},
        {"weights": np.array([1.0, 0.0, 1.0])},
        {"rows": np.array([2.0])},
        {"points": np.ones((3, 1))},
        {"points": np.full((3, 2), np.nan)},
    ):
        with pytest.raises(ModelError, match="takes"):
            bare.parameters.with_arrays({**cpd.parameters.arrays, **change})


def test_operations_that_a_cpd_does_not_define_raise_with_its_name():
    """Every operation of the base class, on the CPD that defines the fewest."""
    cpd = KernelCPD(Real("r"), {"r": [0.0, 1.0]}, width=1.0)
    own = cpd.parameters
    questions = {
        "random start": lambda: own.random(np.random.default_rng(0)),
        "takes no prior": lambda: own.prior_term(ss.priors.Dirichlet(1), [cpd]),
        "no conjugate prior": lambda: own.posterior(ss.priors.Dirichlet(1), [cpd], None),
        "say nothing about": lambda: own.from_counts(np.ones(2)),
        "real variables say nothing": lambda: own.from_moments(None),
        "incomplete rows": lambda: own.for_rows({}),
        "no expected statistics": lambda: own.zero,
        "not learned from incomplete": lambda: own.engine_form,
        "learned from incomplete rows": lambda: own.engine_values,
        "since it has no expected": lambda: own.expected([]),
        "incomplete rows, since": lambda: own.tally({}, np.ones(0)),
        "is not learned": lambda: own.score(np.ones(1)),
        "expected statistics": lambda: own.estimate(np.ones(1)),
        "no unconstrained parameters": lambda: own.coordinates,
        "from coordinates": lambda: own.at(np.ones(1)),
        "gradient of its likelihood": lambda: own.score_slope(np.ones(1)),
        "no curvature of its likelihood": lambda: own.information(np.ones(1)),
        "free parameters": lambda: own.names,
        "no free parameters": lambda: own.values,
        "defines no free parameters": lambda: own.moved(np.ones(1)),
        "defines no free": lambda: own.table_slope(np.ones(1)),
        "are permuted": lambda: own.relabeled(Discrete("d"), np.array([1, 0])),
        "has no contexts": lambda: own.describe_context(0),
        "not made of multinomials": lambda: own.sizes,
    }
    for words, ask in questions.items():
        with pytest.raises(NotApplicable, match=words) as refused:
            ask()
        assert "KernelCPD(r; 2 rows)" in str(refused.value)
    assert not own.is_default
    assert not own.relabels(Discrete("d"))
    assert own.contexts(None) is None


def flat(cpd):
    return cpd.to_table().values.reshape(-1)


def overlapping(p=0.2, q=0.3):
    """Rules in several sum-to-one constraints: x=0 is shared by two contexts of a whose other states differ."""
    x = ss.Discrete("x", 3)
    first = [({x: 0}, p), ({A: 0, x: 1}, q), ({A: 0, x: 2}, 1 - p - q)]
    return ss.RuleCPD(x, [*first, ({A: 1, x: 1}, 0.5 * (1 - p)), ({A: 1, x: 2}, 0.5 * (1 - p))])


@pytest.mark.parametrize("form", [*FORMS, "overlapping"])
@pytest.mark.parametrize("seed", range(3))
def test_slopes_are_differences_of_tables(form, seed):
    rng = np.random.default_rng(seed)
    cpd = overlapping() if form == "overlapping" else discrete_forms(rng)[form]
    own = cpd.parameters
    weights = rng.normal(size=flat(cpd).size)
    slope = own.table_slope(weights)
    assert len(slope) == cpd.num_parameters == len(own.values) == len(set(own.names))
    for i in range(len(slope)):
        step = 1e-6 * np.eye(len(slope))[i]
        ends = [weights @ flat(own.moved(sign * step)) for sign in (1, -1)]
        assert slope[i] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-8)


@pytest.mark.parametrize("form", [*FORMS, "overlapping"])
def test_random_parameters_stay_within_the_form(form):
    rng = np.random.default_rng(1)
    cpd = overlapping() if form == "overlapping" else discrete_forms(rng)[form]
    own = cpd.parameters
    made = own.random(rng, interior=True)
    assert type(made) is type(cpd)
    assert made.num_parameters == cpd.num_parameters
    assert not np.allclose(flat(made), flat(cpd))
    assert flat(made).reshape(-1, cpd.child.num_states).sum(axis=1) == pytest.approx(1.0)
    assert flat(made).min() > 0
    same = own.moved(np.zeros(len(own.values)))
    assert flat(same) == pytest.approx(flat(cpd), abs=1e-15)


def test_zeros_that_mean_something_are_no_parameters():
    a, x = ss.Discrete("a", 3), ss.Discrete("x", ("none", "some", "much"))
    own = ss.NoisyMax(x, {a: [[1, 0, 0], [0.5, 0.25, 0.25], [0.2, 0.3, 0.5]]}).parameters
    assert list(own.names) == [f"P(x={s!r} by a={u})" for u in (1, 2) for s in ("some", "much")]
    assert own.values.tolist() == [0.25, 0.25, 0.3, 0.5]
    assert own.random(np.random.default_rng(0), interior=True).effects[a][0].tolist() == [1, 0, 0]


def test_weights_are_told_apart_from_first_states():
    x = ss.Discrete("x", 3)
    rng = np.random.default_rng(0)
    weights = {A: rng.normal(size=(2, 3)), B: rng.normal(size=(2, 3))}
    cpd = ss.LogisticCPD(x, weights, bias=rng.normal(size=3))
    own = cpd.parameters
    assert own.names[:3] == ("bias for x=1", "bias for x=2", "weight of a=1 for x=1")
    table = cpd.to_table().values
    odds = np.log(table / table[..., :1])
    expected = [*odds[0, 0, 1:], *(odds[1, 0] - odds[0, 0])[1:], *(odds[0, 1] - odds[0, 0])[1:]]
    assert own.values == pytest.approx(expected, abs=1e-12)


def test_names_of_cells_and_rules():
    tree = discrete_forms(np.random.default_rng(0))["tree"].parameters
    assert tree.names == ("P(x=0 | a=0)", "P(x=0 | a=1, b=0)", "P(x=0 | a=1, b=1)")
    shared = overlapping().parameters
    assert len(shared.values) == 3
    assert all(name.startswith("P(x by the rule ") for name in shared.names)
    assert shared.moved(np.full(3, 5.0)) is None


def test_functions_have_no_parameters_and_lines_say_none():
    forms = all_forms(np.random.default_rng(0))
    for name in ("function", "multiplexer"):
        assert forms[name].parameters.names == ()
        assert forms[name].parameters.arrays == {}
    with pytest.raises(ss.errors.NotApplicable, match="free parameters"):
        _ = forms["line"].parameters.names


def test_tied_cpds_have_the_parameters_of_the_first():
    first = ss.NoisyOr(X, {A: 0.3, B: 0.6}, leak=0.1, block="noise")
    second = ss.NoisyOr(ss.Discrete("y"), {A: 0.1, B: 0.2}, leak=0.3, block="noise")
    moved = first.parameters.moved(np.array([0.1, 0.2, -0.1]))
    tied = second.parameters.like(moved)
    assert [c.child.name for c in (moved, tied)] == ["x", "y"]
    assert flat(moved).tolist() == flat(tied).tolist()
    assert tied.leak == pytest.approx(0.2)


@pytest.mark.parametrize("name", ["table", "logistic", "line", "noisy-max"])
def test_states_change_places(name):
    """Relabeled parents: the same probabilities at the relabeled rows."""
    cpd = all_forms(np.random.default_rng(1))[name]
    assert cpd.parameters.relabels(A)
    made = cpd.parameters.relabeled(A, np.array([1, 0]))
    rng = np.random.default_rng(2)
    rows = {v: rng.integers(v.num_states, size=20) if v.is_discrete else rng.normal(size=20) for v in cpd.scope}
    swapped = {**rows, A: 1 - rows[A]}
    np.testing.assert_allclose(made.log_probability(swapped), cpd.log_probability(rows), rtol=1e-12)


def test_imaginary_rows_join_the_data_at_any_parameters():
    coin = TableCPD(Discrete("coin"), [0.5, 0.5])
    rows = PriorTerm(rows=ImaginaryRows({coin.child: np.array([0, 0, 1])}, np.ones(3)))
    assert coin.parameters.joined(np.array([1.0, 0.0]), rows).tolist() == [3.0, 1.0]
    assert coin.parameters.log_prior(rows) == pytest.approx(3 * np.log(0.5))
    assert coin.parameters.log_prior(PriorTerm(counts=np.array([2.0, 0.0]))) == pytest.approx(2 * np.log(0.5))
    assert coin.parameters.log_prior(None) == 0.0


def test_rows_of_weight_zero_may_be_impossible():
    coin = TableCPD(Discrete("coin"), [0.0, 1.0])
    assert weighted(coin, {coin.child: np.array([0, 1])}, np.array([0.0, 2.0])) == 0.0
    assert weighted(coin, {coin.child: np.array([0, 1])}, None) == -np.inf
    assert expected_log(np.array([0.0, 0.5]), np.array([0.0, 2.0])) == pytest.approx(2 * np.log(0.5))


def test_complete_rows_are_those_with_the_whole_family():
    a, x = Discrete("a"), Real("x")
    columns = {a: np.array([0, 1, -1, 1]), x: np.array([1.0, np.nan, 2.0, 3.0])}
    rows, weights = complete_rows(columns, np.array([1.0, 2.0, 3.0, 4.0]), (a, x))
    assert (rows[a].tolist(), rows[x].tolist(), weights.tolist()) == ([0, 1], [1.0, 3.0], [1.0, 4.0])
