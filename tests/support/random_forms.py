"""Random Gaussian and hybrid factors over a few fixed variables, and plain ways to look at them."""

from __future__ import annotations

import itertools

import numpy as np

from sepset.factors.gaussian import CanonicalGaussian
from sepset.factors.hybrid import CanonicalTable
from sepset.variables.variable import Discrete, Real, Vector

X, P, Y, Z = Real("x"), Vector("p", 2), Real("y"), Real("z")
REALS = (X, P, Y, Z)
A, B, C, ONE = Discrete("a", "uv"), Discrete("b", 3), Discrete("c", 2), Discrete("one", 1)
STATES = (A, B, C, ONE)


def some(rng, variables, least=0):
    """A random ordered subset."""
    count = int(rng.integers(least, len(variables) + 1))
    return tuple(variables[i] for i in rng.permutation(len(variables))[:count])


def width(scope):
    return sum(v.size for v in scope)


def information(rng, size, proper=True):
    """A well-conditioned K (or an indefinite one), and h."""
    root = rng.normal(size=(size, size))
    K = root @ root.T + 0.5 * np.eye(size) if proper else root + root.T
    return K, rng.normal(size=size)


def gaussian(rng, scope=None, proper=True, least=0):
    scope = some(rng, REALS, least) if scope is None else scope
    K, h = information(rng, width(scope), proper)
    return CanonicalGaussian(scope, K, h=h, g=float(rng.normal()))


def table_of_gaussians(rng, discrete=None, reals=None, zeros=0.3, proper=True):
    """A CanonicalTable with a few zero entries, never all of them."""
    discrete = some(rng, STATES[:3], 1) if discrete is None else discrete
    reals = some(rng, REALS[:3], 1) if reals is None else reals
    count, size = int(np.prod([v.num_states for v in discrete])), width(reals)
    forms = [information(rng, size, proper) for _ in range(count)]
    g = np.where(rng.random(count) < zeros, -np.inf, rng.normal(size=count))
    g[int(rng.integers(count))] = 0.25
    return CanonicalTable((*discrete, *reals), [K for K, _ in forms], h=[h for _, h in forms], g=g)


def points(rng, scope, count=3):
    """Random assignments of the reals, with every joint state of the discrete variables."""
    discrete = [v for v in scope if isinstance(v, Discrete)]
    for states in itertools.product(*(v.states for v in discrete)):
        for _ in range(count):
            values = {v: rng.normal(size=v.size) for v in scope if isinstance(v, Vector)}
            yield {**dict(zip(discrete, states, strict=True)), **values}


def assert_same(f, g, rng, tolerance=1e-9):
    """Two factors have one set of variables and agree at random points."""
    assert {v.name for v in f.scope} == {v.name for v in g.scope}
    for point in points(rng, f.scope):
        left, right = f.log_value(point), g.log_value(point)
        assert left == right or abs(left - right) <= tolerance * (1.0 + abs(left)), (point, left, right)


def eliminate(factors, order, method="marginalize"):
    """Variable elimination over nothing but the factor protocol."""
    factors = list(factors)
    for variable in order:
        touching = [f for f in factors if variable in f.scope]
        factors = [f for f in factors if variable not in f.scope]
        if touching:
            factors.append(getattr(multiply(touching), method)([variable]))
    return multiply(factors)


def multiply(factors):
    result = factors[0]
    for factor in factors[1:]:
        result = result * factor
    return result
