"""What every CPD owes.

`check_contract` compares a discrete CPD with a table that the caller writes by plain enumeration. `PARTS` are the parts
of the contract that hold for any CPD, without a table: each works, or is refused by name.
"""

from __future__ import annotations

import itertools
import json
import math
import pickle
from contextlib import contextmanager

import numpy as np
import pytest
from rich.console import Console
from scipy import stats

import oracle
from sepset.api.learning import fit
from sepset.base.equality import same_value
from sepset.cpds.cpd import CPD
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.priors.dirichlet import Dirichlet
from sepset.cpds.priors.regression import NormalGamma, NormalInverseWishart
from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.errors import ModelError, NotApplicable
from sepset.factors.labels import name_of
from sepset.factors.table import Table
from sepset.inference.iterate import Until
from sepset.io.cursor import JsonSource
from sepset.io.jsoncpds import cpd_document, read_cpd
from sepset.io.record import Misses
from sepset.learning.estimation.estimators import MLE, Bayes
from sepset.learning.incomplete.em import EM
from sepset.learning.incomplete.gradient import GradientAscent
from sepset.learning.missing.identifiability import FreeParameters, identifiability
from sepset.models.bayesnet import BayesNet
from sepset.variables.universe import Universe
from support.every_form import network
from support.tolerances import EXACT, STANDARD_ERRORS


def joint_states(variables):
    return itertools.product(*(range(v.num_states) for v in variables))


def dense(factor):
    """A factor as the oracle takes it: names and an array."""
    table = factor if isinstance(factor, Table) else factor.to_table()
    return tuple(v.name for v in table.scope), np.array(table.values)


def product_of_factors(cpd):
    """The factors multiplied out and summed over the auxiliaries, by the oracle's plain loops."""
    variables = (*cpd.scope, *cpd.auxiliaries)
    cards = {v.name: v.num_states for v in variables}
    array = oracle.joint([dense(f) for f in cpd.factors()], cards)
    return array.sum(axis=tuple(range(len(cpd.scope), len(variables))))


def all_rows(cpd):
    """Every joint state as columns of codes, in C order."""
    cells = np.array(list(joint_states(cpd.scope))).reshape(-1, len(cpd.scope))
    return {v: cells[:, axis] for axis, v in enumerate(cpd.scope)}


def droppable(table, scope, fixed, tolerance):
    """The parents outside `fixed` (codes by axis) across which all rows of the table agree, by plain loops."""
    parents = range(len(scope) - 1)
    found = []
    for axis in parents:
        if axis in fixed:
            continue
        same = True
        for cell in joint_states(scope):
            if all(cell[a] == code for a, code in fixed.items()):
                first = (*cell[:axis], 0, *cell[axis + 1 :])
                same = same and abs(table[cell] - table[first]) <= tolerance
        if same:
            found.append(scope[axis])
    return tuple(found)


def check_factors(cpd, table):
    np.testing.assert_allclose(product_of_factors(cpd), table, rtol=0, atol=EXACT)
    size = sum(f.size for f in cpd.factors())
    if len(cpd.factors()) > 1:
        assert size < math.prod(v.num_states for v in cpd.scope)
    assert len({v.name for v in (*cpd.scope, *cpd.auxiliaries)}) == len(cpd.scope) + len(cpd.auxiliaries)


def check_numbers(cpd, table):
    np.testing.assert_allclose(cpd.to_table().values, table, rtol=0, atol=EXACT)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(cpd.log_probability(all_rows(cpd)), np.log(table).reshape(-1), rtol=0, atol=1e-9)


def check_irrelevance(cpd, table, tolerance):
    parents = cpd.parents
    for chosen in itertools.chain.from_iterable(itertools.combinations(range(len(parents)), r) for r in range(3)):
        for codes in joint_states([parents[axis] for axis in chosen]):
            fixed = dict(zip(chosen, codes, strict=True))
            context = {parents[axis].name: parents[axis].states[code] for axis, code in fixed.items()}
            assert cpd.irrelevant(context) == droppable(table, cpd.scope, fixed, tolerance), context
    for independence in cpd.contexts():
        assert independence.irrelevant
        assert set(independence.irrelevant) <= set(cpd.irrelevant(independence.context))


def check_sampling(cpd, table, seed):
    """Frequencies within five standard errors, and never a state of probability zero."""
    rng = np.random.default_rng(seed)
    each = 4_000
    flat = table.reshape(-1, cpd.child.num_states)
    cells = np.repeat(np.array(list(joint_states(cpd.parents))).reshape(len(flat), -1), each, axis=0)
    rows = {v: cells[:, axis] for axis, v in enumerate(cpd.parents)}
    drawn = cpd.sample(rows, len(flat) * each, rng).reshape(len(flat), each)
    for row, codes in zip(flat, drawn, strict=True):
        frequency = np.bincount(codes, minlength=cpd.child.num_states) / each
        error = np.sqrt(np.maximum(row * (1 - row), 0.0) / each)  # rounding may put a row a little above one
        assert (np.abs(frequency - row) <= STANDARD_ERRORS * error + 1e-12).all()


def random_rows(cpd, num_rows, seed):
    rng = np.random.default_rng(seed)
    rows = {v: rng.integers(v.num_states, size=num_rows) for v in cpd.parents}
    return {**rows, cpd.child: cpd.sample(rows, num_rows, rng)}


def assert_same_statistics(first, second):
    if isinstance(first, np.ndarray):
        np.testing.assert_allclose(first, second, rtol=0, atol=1e-9)
    else:
        assert first.codes.tolist() == second.codes.tolist()
        np.testing.assert_allclose(first.counts, second.counts, rtol=0, atol=1e-9)


def check_statistics(cpd, seed):
    rows = random_rows(cpd, 101, seed)
    weights = np.random.default_rng(seed).random(101)
    for w in (None, weights):
        parts = [
            cpd.statistics({v: c[part] for v, c in rows.items()}, None if w is None else w[part])
            for part in (slice(0, 40), slice(40, None))
        ]
        assert_same_statistics(parts[0] + parts[1], cpd.statistics(rows, w))
    learned = cpd.from_statistics(cpd.statistics(rows))
    assert type(learned) is type(cpd)
    assert (learned.scope, learned.block) == (cpd.scope, cpd.block)
    # No CPD of this form fits better than the estimate.
    assert learned.log_probability(rows).sum() >= cpd.log_probability(rows).sum() - 1e-6


def check_manners(cpd, table):
    assert isinstance(cpd, CPD)
    assert cpd.scope == (*cpd.parents, cpd.child)
    assert repr(cpd).startswith(f"{type(cpd).__name__}({cpd.child.name}[{cpd.child.num_states}]")
    with pytest.raises(AttributeError, match="immutable"):
        cpd.child = cpd.child
    again = pickle.loads(pickle.dumps(cpd))
    np.testing.assert_array_equal(again.to_table().values, cpd.to_table().values)
    assert again.block == cpd.block
    console = Console(width=200)
    with console.capture() as captured:
        console.print(cpd)
    assert cpd.child.name in captured.get()
    assert cpd._repr_html_().startswith("<table>")
    frame = cpd.to_frame()
    numbers = frame.iloc[:, len(cpd.parents) :].to_numpy()
    np.testing.assert_allclose(numbers, table.reshape(-1, cpd.child.num_states), rtol=0, atol=EXACT)


def check_contract(cpd, table, *, seed=0, tolerance=0.0):
    """All of it."""
    table = np.asarray(table, dtype=float)
    check_factors(cpd, table)
    check_numbers(cpd, table)
    check_irrelevance(cpd, table, tolerance)
    check_sampling(cpd, table, seed)
    check_statistics(cpd, seed)
    check_manners(cpd, table)


class Refused(Exception):
    """An operation was refused by name, as the contract allows."""


@contextmanager
def works_or_is_refused(cpd):
    """Let an operation be refused where the error says which CPD it is about, and what to use instead."""
    try:
        yield
    except NotApplicable as error:
        words = str(error)
        assert name_of(cpd) in words, words
        assert len(words.rstrip(".").split(". ")) > 1, f"says no remedy: {words}"
        raise Refused(words) from error


def columns_of(cpd, num_rows, seed=0):
    """Random rows: parents uniform or standard normal, the child drawn from the CPD."""
    rng = np.random.default_rng(seed)
    rows = {p: random_column(p, num_rows, rng) for p in cpd.parents}
    return {**rows, cpd.child: cpd.sample(rows, num_rows, rng)}


def random_column(variable, num_rows, rng):
    if variable.is_discrete:
        return rng.integers(variable.num_states, size=num_rows)
    return rng.normal(size=num_rows if variable.size == 1 else (num_rows, variable.size))


def same_bits(cpd, other, rows):
    """Whether two CPDs have the same form, the same arrays and the same log probabilities, to the bit."""
    ours, theirs = cpd.parameters, other.parameters
    assert type(other) is type(cpd)
    assert (other.scope, other.block, other.num_parameters) == (cpd.scope, cpd.block, cpd.num_parameters)
    assert ours.form == theirs.form
    assert {n: a.tobytes() for n, a in ours.arrays.items()} == {n: a.tobytes() for n, a in theirs.arrays.items()}
    return other.log_probability(rows).tobytes() == cpd.log_probability(rows).tobytes()


def check_values(cpd, path):
    """Arrays and back, to the bit; copies; what is not finite or not of the form is refused."""
    assert isinstance(cpd, CPD)
    rows, own = columns_of(cpd, 50), cpd.parameters
    assert same_bits(cpd, own.with_arrays(own.arrays), rows)
    assert same_bits(cpd, own.from_arrays({name: array.copy() for name, array in own.arrays.items()}), rows)
    assert same_bits(cpd, own.like(cpd), rows)
    assert same_bits(cpd, pickle.loads(pickle.dumps(cpd)), rows)
    assert same_value(cpd, pickle.loads(pickle.dumps(cpd)))
    for name, array in own.arrays.items():
        assert not array.flags.writeable or array.base is not None or array is not own.arrays[name]
        if array.size:
            bad = array.copy()
            bad.reshape(-1)[0] = np.nan
            with pytest.raises(ModelError, match="finite"):
                own.with_arrays({**own.arrays, name: bad})
    with pytest.raises(ModelError):
        own.with_arrays({**own.arrays, "no such array": np.zeros(1)})


def check_json(cpd, path):
    """A file holds the CPD to the bit, by a tag of its own."""
    document = json.loads(json.dumps(cpd_document(cpd), allow_nan=False))
    root = JsonSource(json.dumps(document), "f.json").root()
    again = read_cpd(root, Universe(cpd.scope), Misses())
    assert same_bits(cpd, again, columns_of(cpd, 50))
    assert same_value(cpd, again)
    assert cpd_document(again) == cpd_document(cpd)
    more = JsonSource(json.dumps({**document, "no such key": 1}), "f.json").root()
    with pytest.raises(Exception, match="no such key"):
        read_cpd(more, Universe(cpd.scope), Misses())


def check_draws(cpd, path):
    """Samples have the frequencies, or the distribution function, that the log probabilities say."""
    rows = columns_of(cpd, 4_000, seed=3)
    assert np.isfinite(cpd.log_probability(rows)).all()
    once = {v: column[:1].repeat(4_000, axis=0) for v, column in rows.items()}
    drawn = cpd.sample({p: once[p] for p in cpd.parents}, 4_000, np.random.default_rng(5))
    if cpd.child.is_discrete:
        states = {
            **{p: once[p][: cpd.child.num_states] for p in cpd.parents},
            cpd.child: np.arange(cpd.child.num_states),
        }
        expected = np.exp(cpd.log_probability(states))
        counts = np.bincount(drawn, minlength=cpd.child.num_states)
        assert expected.sum() == pytest.approx(1.0)
        expected = expected.clip(0.0, 1.0)
        assert (stats.binom.cdf(counts, 4_000, expected) > 1e-7).all()
        assert (stats.binom.sf(counts - 1, 4_000, expected) > 1e-7).all()
    elif cpd.child.size == 1:
        grid = np.linspace(drawn.min() - 5.0, drawn.max() + 5.0, 4_001)
        fixed = {p: once[p][:1].repeat(len(grid), axis=0) for p in cpd.parents}
        density = np.exp(cpd.log_probability({**fixed, cpd.child: grid}))
        cumulated = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) * np.diff(grid) / 2.0)])
        assert cumulated[-1] == pytest.approx(1.0, abs=1e-4)
        empirical = (drawn[:, None] <= grid[::100]).mean(axis=0)
        assert np.abs(empirical - cumulated[::100]).max() < STANDARD_ERRORS * 0.5 / math.sqrt(4_000)


def check_mle(cpd, path):
    """Statistics add up, and no random parameters of the form fit better than the estimate."""
    rows, own = columns_of(cpd, 600, seed=1), cpd.parameters
    with works_or_is_refused(cpd):
        parts = [{v: c[part] for v, c in rows.items()} for part in (slice(0, 250), slice(250, None))]
        made = own.maximized(own.statistics(rows), unseen="raise")
        joined = own.maximized(own.statistics(parts[0]) + own.statistics(parts[1]), unseen="raise")
    assert made.log_probability(rows) == pytest.approx(joined.log_probability(rows), abs=1e-6)
    assert (type(made), made.scope, made.block) == (type(cpd), cpd.scope, cpd.block)
    best = made.log_probability(rows).sum()
    is_parametric = made.num_parameters == cpd.num_parameters  # those of a kernel density grow with the rows
    assert best >= cpd.log_probability(rows).sum() - 1e-6 or not is_parametric
    known = own.of(made).log_likelihood(own.statistics(rows))
    assert known is None or known == pytest.approx(best, rel=1e-9, abs=1e-6)
    with works_or_is_refused(cpd):
        for seed in range(5):
            other = own.random(np.random.default_rng(seed))
            assert best >= other.log_probability(rows).sum() - 1e-6
    with works_or_is_refused(cpd):
        if has_columns(cpd):
            found = fit(*family(cpd), MLE())
            assert type(found.model.cpd(cpd.child)) is type(cpd)


def has_columns(cpd):
    """Whether data hold all its variables: vectors have no column."""
    return all(v.is_discrete or v.size == 1 for v in cpd.scope)


def family(cpd):
    """The CPD below roots that are uniform or standard normal, and rows of it."""
    columns = columns_of(cpd, 600, seed=1)
    uniform = [TableCPD(p, np.full(p.num_states, 1.0 / p.num_states)) for p in cpd.parents if p.is_discrete]
    normal = [LinearGaussian(p, covariance=np.eye(p.size)) for p in cpd.parents if not p.is_discrete]
    net = BayesNet(*uniform, *normal, cpd)
    return net, Dataset.from_codes(net.variables, {v.name: columns[v] for v in net.variables})


def weak_prior(size):
    """A conjugate prior for the regressions of a child with so many numbers."""
    if size == 1:
        return NormalGamma(0.0, 1.0, shape=2.0, rate=1.0)
    return NormalInverseWishart(np.zeros(size), 1.0, degrees=size + 2.0, scale=np.eye(size))


def check_bayes(cpd, path):
    """With many rows, the posterior mean predicts as the estimate of largest likelihood does."""
    rows, own = columns_of(cpd, 400, seed=1), cpd.parameters
    prior = Dirichlet(1.0) if cpd.child.is_discrete else weak_prior(cpd.child.size)
    with works_or_is_refused(cpd):
        stats = own.statistics(rows, np.full(400, 1e6))
        post = own.posterior(prior, [cpd], stats)
        (mean,) = post.mean_cpds()
        best = own.maximized(stats, unseen="raise")
    np.testing.assert_allclose(mean.log_probability(rows), best.log_probability(rows), atol=1e-3)
    assert type(post.sampled_cpds(np.random.default_rng(0))[0]) is type(cpd)
    if has_columns(cpd):
        found = fit(*family(cpd), Bayes([Dirichlet(1.0), NormalGamma(0.0, 1.0, shape=2.0, rate=1.0)]))
        assert np.isfinite(found.posterior.log_marginal_likelihood)


def incomplete(cpd, num_rows=60, seed=3):
    """A network around the CPD, and rows of it with a third of the discrete cells missing."""
    net = network(cpd, np.random.default_rng(2))
    rows, rng = net.sample(num_rows, seed=seed), np.random.default_rng(seed)
    columns = {}
    for v in net.variables:
        column = np.array(rows.column(v))
        lost = rng.random(num_rows) < 0.3
        if v.is_discrete:
            column = np.where(lost, -1, column)
        elif v.size == 1:
            column = np.where(lost, np.nan, column)
        columns[v.name] = column
    return net, type(rows).from_codes(net.variables, columns)


def check_em(cpd, path):
    """EM never goes down, and on complete rows it is the estimate of largest likelihood."""
    with works_or_is_refused(cpd):
        cpd.parameters.for_rows(columns_of(cpd, 10))
        net, rows = incomplete(cpd)
        found = fit(net, rows, EM(start="model"), until=Until(steps=6, tolerance=None), seed=1)
    assert (np.diff(found.trace) >= -1e-7 * np.abs(found.trace[0])).all()
    assert type(found.model.cpd(cpd.child)) is type(cpd)
    columns, own = columns_of(cpd, 300, seed=1), cpd.parameters
    ready = own.for_rows(columns)
    stats = ready.tally(columns, np.ones(300))
    # Equal, but for the entropy of what is hidden even in complete rows: which cause it was in a noisy-or.
    assert ready.score(stats) <= cpd.log_probability(columns).sum() + 1e-6
    made = cpd
    for _ in range(1 if own.is_exact else 300):
        ready = ready.of(made)
        made = ready.estimate(ready.tally(columns, np.ones(300)))
    best = own.maximized(own.statistics(columns), unseen="raise")
    assert made.log_probability(columns).sum() == pytest.approx(best.log_probability(columns).sum(), rel=1e-4)
    if cpd.child.is_discrete:
        check_expected(cpd, columns)


def check_expected(cpd, columns):
    """The marginals of the engine's factors in complete rows have the statistics of those rows."""
    own = cpd.parameters.for_rows(columns)
    assert np.array_equal(own.tally(columns, np.zeros(len(columns[cpd.child]))), own.zero)
    if len(own.engine_values) == 1:
        counts = np.zeros([v.num_states for v in cpd.scope])
        np.add.at(counts, tuple(columns[v] for v in cpd.scope), 1.0)
        expected = own.expected([counts])
        np.testing.assert_allclose(expected, own.tally(columns, np.ones(len(columns[cpd.child]))), atol=1e-9)


def check_gradient(cpd, path):
    """Coordinates and back; slopes are differences of scores and of likelihoods; ascent never goes down."""
    columns, own = columns_of(cpd, 200, seed=1), cpd.parameters
    with works_or_is_refused(cpd):
        inside = own.random(np.random.default_rng(0), interior=True)
        ready = own.of(inside).for_rows(columns)
        here = ready.coordinates
    stats = ready.tally(columns, np.ones(200))
    again = ready.at(here)
    np.testing.assert_allclose(again.log_probability(columns), inside.log_probability(columns), atol=1e-9)
    slope = ready.score_slope(stats)
    assert len(slope) == len(here) == len(ready.information(stats)) == len(ready.penalized)
    for i in range(len(here)):
        step = 1e-5 * np.eye(len(here))[i]
        near = [ready.at(here + sign * step) for sign in (1, -1)]
        for ends in ([ready.of(c).score(stats) for c in near], [c.log_probability(columns).sum() for c in near]):
            assert slope[i] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-4, abs=1e-3)
    net, rows = incomplete(cpd)
    with works_or_is_refused(cpd):
        found = fit(net, rows, GradientAscent(), until=Until(steps=4, tolerance=None), seed=1)
    assert (np.diff(found.trace) >= -1e-9 * np.abs(found.trace[0])).all()


def check_identifiability(cpd, path):
    """Free parameters have names of their own, and their slopes are differences of tables."""
    own = cpd.parameters
    with works_or_is_refused(cpd):
        names, values = own.names, own.values
    assert len(set(names)) == len(values) == cpd.num_parameters
    inside = own.random(np.random.default_rng(0), interior=True) if len(values) else cpd
    near, size = own.of(inside), len(values)
    weights = np.random.default_rng(1).normal(size=inside.to_table().values.size)
    slope = near.table_slope(weights)
    for i in range(size):
        step = 1e-6 * np.eye(size)[i]
        ends = [weights @ near.moved(sign * step).to_table().values.reshape(-1) for sign in (1, -1)]
        assert slope[i] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-7)
    net = network(cpd, np.random.default_rng(2))
    report = identifiability(net, list(net.variables))
    assert report.num_parameters == len(FreeParameters(net))
    assert set(names) <= set(report.parameters)


def check_checkpoint(cpd, path):
    """A fit in pieces ends where an uninterrupted one does, to the bit."""

    def run(steps, **more):
        return fit(net, rows, EM(), until=Until(steps=steps, tolerance=None), seed=4, **more)

    with works_or_is_refused(cpd):
        cpd.parameters.for_rows(columns_of(cpd, 10))
        net, rows = incomplete(cpd)
        whole = run(3)
    for steps in (0, 1, 3):
        found = run(steps, checkpoint=path)
    columns = columns_of(cpd, 20)
    assert same_bits(whole.model.cpd(cpd.child), found.model.cpd(cpd.child), columns)
    assert found.trace.tobytes() == whole.trace.tobytes()


PARTS = {
    "values": check_values,
    "JSON": check_json,
    "sampling": check_draws,
    "MLE": check_mle,
    "Bayes": check_bayes,
    "EM": check_em,
    "gradient": check_gradient,
    "identifiability": check_identifiability,
    "checkpoint": check_checkpoint,
}


def check_part(part, cpd, path):
    """Whether one part of the contract works; False where it is refused by name.

    Args:
        path: a file that does not exist yet.
    """
    try:
        PARTS[part](cpd, path)
    except Refused:
        return False
    return True
