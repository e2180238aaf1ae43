"""The law suite must pass for lawful factors and fail, by name, for each kind of broken one."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.table import TableCPD
from sepset.errors import NotClosed
from sepset.factors.gaussian import CanonicalGaussian
from sepset.factors.sparse import SparseTable
from sepset.factors.table import Table, TableConditional
from sepset.inference.cliquetree.method import CliqueTree
from sepset.inference.exact.bruteforce import BruteForce
from sepset.inference.exact.elimination import VariableElimination
from sepset.inference.result import Guarantee
from sepset.models.bayesnet import BayesNet
from sepset.models.markovnet import MarkovNet
from sepset.semiring import MAX, SUM
from sepset.testing import LAWS, assert_close, check_factor_laws, check_method
from sepset.variables.variable import Discrete, Real
from support import small_tables as small

A, B = Discrete("A", 2), Discrete("B", ("x", "y", "z"))


def closed(method, cast):
    """The method with tables among its answers cast to the class at hand."""

    def replacement(*arguments):
        found = method(*arguments)
        return cast(found) if isinstance(found, Table) else found

    return replacement


def wrapped(**methods):
    """A class of tables with some operations replaced, closed under the others."""

    class Broken(Table):
        __slots__ = ()

        def __mul__(self, other):
            return cast(Table.__mul__(self, other))

        def __truediv__(self, other):
            return cast(Table.__truediv__(self, other))

        def __pow__(self, power):
            return cast(Table.__pow__(self, power))

        def marginalize(self, out, semiring=SUM):
            return cast(Table.marginalize(self, out, semiring))

        def condition(self, assignment):
            return cast(Table.condition(self, assignment))

        def normalize(self, over=None):
            return cast(Table.normalize(self, over))

    def cast(table: Table) -> Broken:
        return Broken._make(table.scope, table.flat, table.exponent, table.space)

    for name, method in methods.items():
        setattr(
            Broken, name, lambda self, *a, _m=method: cast(found) if isinstance(found := _m(self, *a), Table) else found
        )
    return lambda rng: [cast(table) for table in small.random_triple(rng)]


def test_the_wrapping_itself_is_lawful():
    assert min(check_factor_laws(wrapped(), rounds=10).values()) > 0


def halve(table: Table, out, semiring=SUM) -> Table:
    result = Table.marginalize(table, out, semiring)
    return result if result.scope == table.scope else result * 0.5


def wrong_mode(table: Table, out, semiring=SUM):
    kept, rest = Table.eliminate(table, out, semiring)

    class Lowest(TableConditional):
        def mode(self, rows, num_rows):
            return {v: np.zeros(num_rows, np.int64) for v in self.frontal}

    return Lowest(kept.frontal, kept.parents, table), rest


@pytest.mark.parametrize(
    ("methods", "law"),
    [
        ({"__mul__": lambda f, g: Table.__mul__(f, g) * f if isinstance(g, Table) else f}, "products commute"),
        ({"__mul__": lambda f, g: Table.__mul__(f, g) * 2.0}, "products are pointwise"),
        ({"__truediv__": lambda f, g: f}, "quotients undo products"),
        ({"__pow__": lambda f, r: Table.__pow__(f, 2 * r)}, "powers multiply"),
        ({"marginalize": halve}, "order of elimination is free"),
        ({"condition": lambda f, x: Table.condition(f, x) * (2.0 if x else 1.0)}, "conditioning"),
        ({"normalize": lambda f: f}, "normalized totals are one"),
        ({"eliminate": wrong_mode}, "read back finds the mode"),
    ],
)
def test_broken_factors_are_caught(methods, law):
    with pytest.raises(AssertionError, match=f"The law '{law}.* fails"):
        check_factor_laws(wrapped(**methods), rounds=30)


def test_what_is_not_closed_is_counted_as_untested():
    def refuse(*_):
        raise NotClosed("no powers here")

    counts = check_factor_laws(wrapped(__pow__=refuse), rounds=3)
    assert counts["powers_multiply"] == 0
    assert counts["products_commute"] == 3
    assert counts.keys() == LAWS.keys()


def gaussians(rng: np.random.Generator) -> list[CanonicalGaussian]:
    reals = [Real(name) for name in "xyz"]
    triple = []
    for _ in range(3):
        scope = tuple(reals[i] for i in rng.permutation(3)[: rng.integers(1, 4)])
        root = rng.normal(size=(len(scope), len(scope)))
        triple.append(CanonicalGaussian(scope, root @ root.T + np.eye(len(scope)), h=rng.normal(size=len(scope))))
    return triple


def test_gaussians_run_the_same_laws():
    counts = check_factor_laws(gaussians, rounds=20, semirings=(SUM, MAX), rtol=1e-8)
    assert counts["sums_distribute"] == counts["read_back_finds_the_mode"] == 20


def test_factors_are_close_whatever_their_axes_and_storage():
    table = Table((A, B), np.arange(6))
    turned = table.align((B, A))
    assert_close(table, turned)
    assert_close(SparseTable.from_table(table), turned)
    assert_close(turned, SparseTable.from_table(table))
    assert_close(table * (1 + 1e-12), table)


def test_differences_are_named():
    table = Table((A, B), np.arange(6))
    with pytest.raises(AssertionError, match=r"1 of 6 values differ; log values at \{'A': 1, 'B': 'y'\}"):
        assert_close(table, Table((A, B), [[0, 1, 2], [3, 4.001, 5]]))
    with pytest.raises(AssertionError, match=r"missing \['B'\], unexpected \[\]"):
        assert_close(table.marginalize(B), table)
    with pytest.raises(AssertionError, match="numbers of states"):
        assert_close(Table(A, [1, 2]), Table(Discrete("A", 3), [1, 2, 3]))
    with pytest.raises(AssertionError):
        assert_close(SparseTable(A, [[0]], values=[1]), SparseTable(A, [[1]], values=[1]))
    with pytest.raises(AssertionError):
        assert_close(Table(A, [0, 1]), Table(A, [1e-30, 1]))
    assert_close(Table(A, [0, 1]), Table(A, [1e-30, 1]), atol=1e-20)


def test_closeness_far_outside_float64():
    wide = Table.from_log(A, [0, -1e5])
    assert_close(wide * wide, Table.from_log(A, [0, -2e5]))
    with pytest.raises(AssertionError):
        assert_close(wide, Table.from_log(A, [0, -1e5 - 1e-6]))


def test_other_factors_are_compared_at_points():
    x, y = Real("x"), Real("y")
    f = CanonicalGaussian((x, y), [[2.0, 1.0], [1.0, 2.0]], h=[1.0, 0.0])
    assert_close(f, f.align((y, x)))
    with pytest.raises(AssertionError, match="Log values differ"):
        assert_close(f, f * 2.0)


def test_arrays_numbers_mappings_and_answers():
    assert_close([1.0, 2.0], np.array([1.0, 2.0 + 1e-12]))
    assert_close(3.0, 3.0 + 1e-12)
    with pytest.raises(AssertionError):
        assert_close([1.0], [1.0 + 1e-6])
    with pytest.raises(AssertionError):
        assert_close(math.nan, 1.0)
    answers = {"A": Table(A, [1, 2]), "B": Table(B, [1, 2, 3])}
    assert_close(answers, dict(reversed(answers.items())))
    with pytest.raises(AssertionError, match="missing"):
        assert_close({}, answers)
    first = SimpleNamespace(scope=(A, B), values=np.arange(6.0).reshape(2, 3))
    second = SimpleNamespace(scope=(B, A), values=np.arange(6.0).reshape(2, 3).T)
    assert_close(first, second)
    assert_close(first, Table((B, A), second.values))


def test_hypothesis_is_not_needed():
    code = "import sys, sepset.testing; print('hypothesis' in sys.modules or 'numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "False"


def small_models():
    """A loop, a tree, and a hybrid network."""
    a, b, c = (Discrete(name, 2) for name in "abc")
    rng = np.random.default_rng(0)
    pair = [Table(scope, rng.uniform(0.1, 1.0, (2, 2))) for scope in ((a, b), (b, c), (a, c))]
    mixed = LinearGaussian(Real("x"), [0.0, 2.0], covariance=1.0, by=a)
    return {
        "loop": MarkovNet(*pair),
        "tree": MarkovNet(*pair[:2]),
        "hybrid": BayesNet(TableCPD(a, [0.3, 0.7]), mixed),
    }


@dataclass(frozen=True)
class Altered:
    """Elimination with other promises, or with answers moved by `shift`."""

    promised: tuple[tuple[str, Guarantee], ...]
    shift: float = 0.0

    def promises(self, problem):
        return dict(self.promised)

    def prepare(self, problem):
        prepared = VariableElimination().prepare(problem)
        shift = self.shift

        class Moved(type(prepared)):
            def log_partition(self, evidence):
                return super().log_partition(evidence) + shift

        return Moved(problem, prepared.method)


@pytest.mark.parametrize("method", [VariableElimination(), CliqueTree(), BruteForce()], ids=lambda m: type(m).__name__)
def test_methods_here_keep_their_promises(method):
    counts = check_method(method, small_models().values(), rounds=4)
    assert counts["log_partition"] == counts["moments"] == counts["assignment"] == 12
    assert counts["marginals"] == (8 if isinstance(method, CliqueTree) else 12)


@pytest.mark.parametrize(
    ("guarantee", "shift", "kept"),
    [
        (Guarantee.EXACT, 0.0, True),
        (Guarantee.EXACT, 0.1, False),
        (Guarantee.UPPER_BOUND, 0.1, True),
        (Guarantee.UPPER_BOUND, -0.1, False),
        (Guarantee.LOWER_BOUND, -0.1, True),
        (Guarantee.LOWER_BOUND, 0.1, False),
        (Guarantee.EXACT_ON_TREES, 0.1, False),
        (Guarantee.HEURISTIC, 9.0, True),
    ],
)
def test_broken_promises_are_caught(guarantee, shift, kept):
    parts = dict.fromkeys(("marginals", "moments", "assignment"), Guarantee.HEURISTIC)
    method = Altered((*parts.items(), ("log_partition", guarantee)), shift)
    if kept:
        counts = check_method(method, small_models().values())
        assert counts["log_partition"] == (0 if guarantee is Guarantee.HEURISTIC else 9)
    else:
        with pytest.raises(AssertionError, match=f"promises log_partition {guarantee.value} of .* the truth is"):
            check_method(method, small_models().values())


def test_exact_on_trees_is_asked_of_trees_only():
    parts = dict.fromkeys(("marginals", "moments", "assignment"), Guarantee.HEURISTIC)
    method = Altered((*parts.items(), ("log_partition", Guarantee.EXACT_ON_TREES)), 0.5)
    models = small_models()
    assert check_method(method, [models["loop"]])["log_partition"] == 0
    with pytest.raises(AssertionError):
        check_method(method, [models["tree"]])
