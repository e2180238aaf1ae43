"""The public questions to a model, each answered by a method."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

import numpy as np

from sepset.base.checks import whole
from sepset.data.dataset import Dataset
from sepset.engine.auto import Auto
from sepset.engine.engine import Engine
from sepset.engine.kept import engine_for
from sepset.errors import NotApplicable
from sepset.graphs.ordering import Portfolio
from sepset.inference.cliquetree.method import CliqueTree
from sepset.inference.method import Method
from sepset.inference.plan import Plan
from sepset.inference.result import LogProbability, MapResult, Marginals, QueryResult
from sepset.models.model import Model
from sepset.variables.evidence import Given
from sepset.variables.variable import VariableLike


@runtime_checkable
class Samples(Protocol):
    """A model that can be sampled without inference."""

    def sample(self, num_rows: int, seed: int | np.random.Generator = 0) -> Dataset:
        """Independent draws."""


def prepare(model: Model, *, method: Method | None = None) -> Engine:
    """An engine for the model: plans are made once, for many questions.

    >>> import sepset as ss
    >>> engine = ss.prepare(ss.datasets.load("asia"))
    >>> round(engine.query("lung", given={"xray": "yes"})["yes"], 4)
    0.4887
    """
    return Engine(model, Auto() if method is None else method)


def query(
    model: Model,
    targets: VariableLike | Iterable[VariableLike],
    *,
    given: Given = None,
    method: Method | None = None,
) -> QueryResult:
    r"""The joint distribution $P(\mathbf Y \mid \mathbf e)$ of the targets, with its guarantee.

    Args:
        model: any model.
        targets: a variable or several, by name or value; the answer's axes are in this order.
        given: evidence: states, `{subsets}`, `Not`, `Likelihood`, `Soft`.
        method: the algorithm; chosen automatically by default.

    Reference: Koller & Friedman, chapter 9.

    >>> import sepset as ss
    >>> student = ss.datasets.load("student")
    >>> round(ss.query(student, "intelligence", given={"grade": "C"})["high"], 4)
    0.0789
    """
    return engine_for(model, "query", method).query(targets, given)


def marginals(model: Model, *, given: Given = None, method: Method | None = None) -> Marginals:
    """The marginal of every variable given the evidence, as a lazy mapping; observed ones are point masses.

    >>> import sepset as ss
    >>> ss.marginals(ss.datasets.load("student"), given={"letter": "weak"})["grade"].values.round(4)
    array([0.0727, 0.2318, 0.6955])
    """
    return engine_for(model, "marginals", method).marginals(given)


def log_probability(model: Model, *, given: Given = None, method: Method | None = None) -> LogProbability:
    r"""$\log P(\mathbf e)$, the logarithm of the probability of the evidence; -inf if it is impossible.

    >>> import sepset as ss
    >>> round(ss.log_probability(ss.datasets.load("student"), given={"letter": "weak"}).probability, 4)
    0.4977
    """
    return engine_for(model, "log_partition", method).log_probability(given)


def log_partition(model: Model, *, given: Given = None, method: Method | None = None) -> LogProbability:
    r"""$\log Z(\mathbf e)$, the logarithm of the total weight of the assignments consistent with the evidence.

    >>> import sepset as ss
    >>> round(float(ss.log_partition(ss.datasets.load("misconception"))), 6)  # Z = 7,201,840
    15.789847
    """
    return engine_for(model, "log_partition", method).log_partition(given)


def map_assignment(
    model: Model,
    *,
    given: Given = None,
    over: VariableLike | Iterable[VariableLike] | None = None,
    k: int = 1,
    method: Method | None = None,
) -> MapResult:
    r"""The most probable assignment of `over` given the evidence, with all other variables summed out.

    $$\arg\max_{\mathbf y} \sum_{\mathbf z} P(\mathbf y, \mathbf z, \mathbf e)$$

    Args:
        over: the variables to assign; by default every unobserved one (the most probable explanation).
        k: the number of best assignments.

    Reference: Koller & Friedman, sections 13.2 and 13.2.3.

    >>> import sepset as ss
    >>> ss.map_assignment(ss.datasets.load("student"), given={"letter": "weak"}).assignment["grade"]
    'C'
    """
    return engine_for(model, "map", method).map_assignment(given, over=over, k=k)


def sample(
    model: Model,
    num_rows: int,
    *,
    given: Given = None,
    seed: int | np.random.Generator = 0,
    method: Method | None = None,
) -> Dataset:
    """Independent exact draws from the model given the evidence; the same seed gives the same draws.

    Without evidence no inference is used if the model can be sampled directly (a Bayesian network draws each variable
    after its parents).

    >>> import sepset as ss
    >>> len(ss.sample(ss.datasets.load("student"), 1000, given={"grade": "A"}, seed=1))
    1000
    """
    whole("num_rows", num_rows)
    if not given and method is None and isinstance(model, Samples):
        return model.sample(num_rows, seed)
    return engine_for(model, "sample", method).sample(num_rows, given, seed=seed)


def plan(
    model: Model,
    targets: VariableLike | Iterable[VariableLike] = (),
    *,
    given: Given | Iterable[VariableLike] = None,
    method: Method | None = None,
    seconds: float | None = None,
) -> Plan:
    """The cost of a question, without computing it: elimination order, width, largest table, entries and memory.

    Args:
        targets: the variables of a query; without any, the plan is for all marginals.
        given: evidence, or only the names of the variables that will be observed.
        seconds: the time to search for a better order; hard models benefit from a longer search.

    >>> import sepset as ss
    >>> ss.plan(ss.datasets.load("asia"), given=["xray"]).width
    2
    """
    if seconds is not None:
        if method is not None:
            raise NotApplicable(
                "seconds= is for the default method. Give the method order=Portfolio(seconds=...) instead."
            )
        method = CliqueTree(order=Portfolio(seconds=seconds))
    return engine_for(model, "plan", method).plan(targets, given)
