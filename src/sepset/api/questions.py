"""The public questions to a model, each answered by a method."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from sepset.base.checks import whole
from sepset.base.foreign import translated
from sepset.engine.engine import Engine
from sepset.engine.kept import engine_for
from sepset.errors import NotApplicable
from sepset.kernels.kernel import load
from sepset.variables.evidence import Given
from sepset.variables.variable import State, VariableLike

if TYPE_CHECKING:
    from sepset.data.counts import Counts
    from sepset.data.dataset import Dataset
    from sepset.data.families import Family
    from sepset.data.sources import Weights
    from sepset.engine.blanket import OnImpossible
    from sepset.engine.effects.parametereffects import SensitivityResult
    from sepset.engine.information import InformationValues
    from sepset.engine.prediction import Prediction
    from sepset.engine.rowquestions import Targets
    from sepset.inference.assignment import Assigns
    from sepset.inference.cliquetree.maxmarginals import MaxMarginalsResult
    from sepset.inference.iterate import Until
    from sepset.inference.mapresult import MapResult
    from sepset.inference.method import Method
    from sepset.inference.plan import EliminationPlan
    from sepset.inference.result import LogProbabilityResult, MarginalsResult, QueryResult
    from sepset.models.model import Model


@runtime_checkable
class Samples(Protocol):
    """A model that can be sampled without inference."""

    def sample(self, num_rows: int, seed: int | np.random.Generator = 0) -> Dataset:
        """Independent draws."""


@translated
def prepare(model: Model, *, method: Method | None = None) -> Engine:
    """An engine for the model: plans are made once, for many questions, which compiled kernels answer.

    Reference: Koller & Friedman 10.3.3.
    Guarantee: as the method.
    Tested by: inference/exact/test_elimination.py::test_plans_are_kept_and_evidence_values_do_not_make_new_ones

    >>> import sepset as ss
    >>> engine = ss.prepare(ss.datasets.load("asia"))
    >>> round(engine.query("lung", given={"xray": "yes"})["yes"], 4)
    0.4887
    """
    load()
    return Engine(model, method)


@translated
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
    Guarantee: exact.
    Tested by: inference/test_method.py::test_every_answer_is_what_was_promised

    >>> import sepset as ss
    >>> student = ss.datasets.load("student")
    >>> round(ss.query(student, "intelligence", given={"grade": "C"})["high"], 4)
    0.0789
    """
    if method is None:
        from sepset.engine.once import answer_once

        first = answer_once(model, targets, given)
        if first is not None:
            return first
    return engine_for(model, method).query(targets, given=given)


@translated
def marginals(model: Model, *, given: Given = None, method: Method | None = None) -> MarginalsResult:
    """The marginal of every variable given the evidence, as a lazy mapping; observed ones are point masses.

    Reference: Koller & Friedman 10.3.
    Guarantee: exact; first two moments of mixtures.
    Tested by: inference/test_method.py::test_every_answer_is_what_was_promised

    >>> import sepset as ss
    >>> ss.marginals(ss.datasets.load("student"), given={"letter": "weak"})["grade"].values.round(4)
    array([0.0727, 0.2318, 0.6955])
    """
    return engine_for(model, method).marginals(given=given)


@translated
def log_probability(model: Model, *, given: Given = None, method: Method | None = None) -> LogProbabilityResult:
    r"""$\log P(\mathbf e)$, the logarithm of the probability of the evidence; -inf if it is impossible.

    Reference: Koller & Friedman 9.3.2.
    Guarantee: exact.
    Tested by: api/test_questions.py::test_log_probability_divides_by_the_partition_function

    >>> import sepset as ss
    >>> round(ss.log_probability(ss.datasets.load("student"), given={"letter": "weak"}).probability, 4)
    0.4977
    """
    return engine_for(model, method).log_probability(given=given)


@translated
def log_partition(model: Model, *, given: Given = None, method: Method | None = None) -> LogProbabilityResult:
    r"""$\log Z(\mathbf e)$, the logarithm of the total weight of the assignments consistent with the evidence.

    Reference: Koller & Friedman 4.2.2.
    Guarantee: exact.
    Tested by: inference/test_method.py::test_every_answer_is_what_was_promised

    >>> import sepset as ss
    >>> round(float(ss.log_partition(ss.datasets.load("misconception"))), 6)  # Z = 7,201,840
    15.789847
    """
    return engine_for(model, method).log_partition(given=given)


@translated
def map_assignment(
    model: Model,
    *,
    given: Given = None,
    over: VariableLike | Iterable[VariableLike] | None = None,
    k: int = 1,
    method: Method | Assigns | None = None,
    start: Mapping[Any, Any] | MapResult | None = None,
    until: Until | int | None = None,
    seed: int | np.random.Generator = 0,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> MapResult:
    r"""The most probable assignment of `over` given the evidence, with all other variables summed out.

    $$\arg\max_{\mathbf y} \sum_{\mathbf z} P(\mathbf y, \mathbf z, \mathbf e)$$

    Args:
        over: the variables to assign; by default every unobserved one (the most probable explanation).
        k: the number of best assignments.
        method: an exact one, or one that searches, such as `MinCut()`; by default clique trees or, where they do not
            fit, the strongest search that the factors allow. In models of 500 variables and more, where clique trees
            would take longer than about 10 seconds, or half of those of `until`, a search comes first, and they follow
            if it proves nothing and `until` sets no limit.
        start: where a search begins: states by name, codes by array of variables, or an earlier result.
        until: when a search stops, as `Until(seconds=10)`.
        seed: all randomness of a search.
        progress: True shows a progress bar, False does not; None shows it in a terminal when the work is long.
        checkpoint: the file in which a search stores its state, to be resumed.

    Reference: Koller & Friedman, sections 13.2 and 13.2.3.
    Guarantee: exact; for a search what it proves.
    Tested by: inference/test_method.py::test_every_answer_is_what_was_promised

    >>> import sepset as ss
    >>> ss.map_assignment(ss.datasets.load("student"), given={"letter": "weak"}).assignment["grade"]
    'C'
    """
    from sepset.engine.assignments import SearchOptions, best_assignment

    options = SearchOptions(start, until, seed, progress, checkpoint)
    return best_assignment(model, method, given=given, over=over, k=k, options=options)


@translated
def max_marginals(model: Model, *, given: Given = None, method: Method | None = None) -> MaxMarginalsResult:
    r"""The largest log value of the joint for each state of each variable, with ties, margins and checks of answers.

    $$\mathrm{MaxMarg}(x_i) = \max_{\mathbf x' : x'_i = x_i} \tilde P(\mathbf x', \mathbf e)$$

    A best assignment has a largest max-marginal in every clique, and the converse holds too: `is_best` verifies an
    assignment that any method found, `conflicts` names the cliques that speak against it. `margins` tells by how much
    the log value falls without the best state of a variable, `ties` which variables have several best states.

    Args:
        model: a model whose unobserved variables are discrete.
        given: evidence, as for `query`.
        method: a method with a clique tree, `CliqueTree()` by default; or `LoopyBP()`, `TreeReweighted()` or
            `inference.ConvexBP()`, whose max-product beliefs are exact on forests and estimates around loops
            (`guarantees["marginals"]`), with the factors in place of cliques.

    Cost: two passes over the clique tree, or as many of messages as they take to converge.
    Reference: Koller & Friedman, sections 13.3 and 13.4.
    Guarantee: exact by clique trees and on forests; estimates by messages around loops.
    Tested by: inference/cliquetree/test_maxmarginals.py::test_maxima_are_those_of_all_assignments

    >>> import sepset as ss
    >>> found = max_marginals(ss.datasets.load("asia"), given={"dysp": "yes"})
    >>> found.best_states["bronc"], round(found.margins["bronc"], 4), found.is_unique
    (('yes',), 1.83, True)
    """
    return engine_for(model, method).max_marginals(given=given)


@translated
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
    after its parents). Where no clique tree of the whole fits, only the findings of a Bayesian network, and what they
    depend on, need one.

    Reference: Koller & Friedman 9.3, 12.1.
    Guarantee: exact draws, deterministic.
    Tested by: inference/test_method.py::test_draws_have_the_posterior_frequencies

    >>> import sepset as ss
    >>> len(ss.sample(ss.datasets.load("student"), 1000, given={"grade": "A"}, seed=1))
    1000
    """
    whole("num_rows", num_rows)
    is_free = given is None or (isinstance(given, Mapping) and not given)
    if is_free and method is None and isinstance(model, Samples):
        return model.sample(num_rows, seed)
    return engine_for(model, method).sample(num_rows, given=given, seed=seed)


@translated
def plan(
    model: Model,
    targets: VariableLike | Iterable[VariableLike] = (),
    *,
    given: Given | Iterable[VariableLike] = None,
    over: VariableLike | Iterable[VariableLike] | None = None,
    method: Method | None = None,
    seconds: float | None = None,
) -> EliminationPlan:
    """The cost of a question, without computing it: elimination order, width, largest table, entries and memory.

    Args:
        targets: the variables of a query; without any, the plan is for all marginals.
        given: evidence, or only the names of the variables that will be observed.
        over: the variables of `map_assignment`, all others summed out first; then there are no targets.
        seconds: the time to search for a better order; hard models benefit from a longer search.

    Reference: Koller & Friedman 9.4.
    Guarantee: exact sizes.
    Tested by: inference/test_plan.py::test_barren_and_separated_parts_do_not_enter

    >>> import sepset as ss
    >>> ss.plan(ss.datasets.load("asia"), given=["xray"]).width
    2
    """
    from sepset.graphs.ordering import Portfolio
    from sepset.inference.cliquetree.method import CliqueTree

    if seconds is not None:
        if method is not None:
            raise NotApplicable(
                "seconds= is for the default method. Give the method order=Portfolio(seconds=...) instead."
            )
        method = CliqueTree(order=Portfolio(seconds=seconds))
    return engine_for(model, method).plan(targets, given=given, over=over)


@translated
def predict(
    model: Model,
    data: object,
    *,
    targets: Targets | None = None,
    given: Given = None,
    on_impossible: OnImpossible = "raise",
    threads: int | None = None,
    progress: bool | None = None,
    method: Method | None = None,
) -> Prediction:
    r"""The posterior $P(Y \mid \mathbf e[m])$ of each target given every row of data; see `Engine.predict`.

    Args:
        targets: variables, or tuples of discrete ones for their joint; by default those that have no column and no
            finding in `given`.
        given: findings that hold in every row; cells may be uncertain findings too.

    Guarantee: exact, any number of threads.
    Tested by: api/test_questions.py::test_predictions_are_those_of_the_engine

    >>> import sepset as ss
    >>> predict(ss.datasets.load("student"), {"grade": ["A", None]}, targets="sat").states["sat"].tolist()
    ['high', 'low']
    """
    engine = engine_for(model, method)
    return engine.predict(
        data, targets=targets, given=given, on_impossible=on_impossible, threads=threads, progress=progress
    )


@translated
def sensitivity(
    model: Model, target: VariableLike, *, state: State, given: Given = None, method: Method | None = None
) -> SensitivityResult:
    r"""The dependence of $P(\text{target} = \text{state} \mid \mathbf e)$ on every parameter, steepest first.

    Each parameter is listed once, and not at all if the posterior does not depend on it.

    Args:
        model: a directed model over discrete variables.
        target, state: the posterior in question.
        given: evidence; `Soft` findings are fitted again at each value of a parameter.
        method: supplies the elimination order and the memory limit.

    Reference: Castillo, Gutierrez & Hadi (1997), Sensitivity analysis in discrete Bayesian networks.
    Guarantee: exact functions.
    Tested by: engine/test_sensitivity.py::test_functions_pass_through_recomputed_posteriors

    >>> import sepset as ss
    >>> found = sensitivity(ss.datasets.load("asia"), "lung", state="yes", given={"xray": "yes"})
    >>> round(found.probability, 4), found[0].name
    (0.4887, "P(xray='yes' | either='no')")
    """
    return engine_for(model, method).sensitivity(target, state=state, given=given)


@translated
def value_of_information(
    model: Model,
    targets: VariableLike | Iterable[VariableLike],
    *,
    candidates: VariableLike | Iterable[VariableLike] | None = None,
    given: Given = None,
    costs: Mapping[Any, float] | None = None,
    method: Method | None = None,
) -> InformationValues:
    r"""The expected reduction $I(T; C \mid \mathbf e)$ of the targets' entropy by each candidate, best first.

    Args:
        targets: the variables of interest.
        candidates: the variables that could be observed next; by default the unobserved discrete variables that the
            model's drawing marks as observations (diagnostic types of GeNIe), or all if it marks none.
        costs: the cost of observing each variable, of those not named one; then candidates come in the order of the
            reduction per cost, those without cost first.

    Reference: Heckerman, Horvitz & Middleton (1993), An approximate nonmyopic computation for value of information.
    Guarantee: exact.
    Tested by: engine/test_information.py::test_value_of_information_is_expected_entropy_reduction

    >>> import sepset as ss
    >>> value_of_information(ss.datasets.load("student"), "intelligence", given={"grade": "C"}).best
    'sat'
    """
    return engine_for(model, method).value_of_information(targets, candidates=candidates, given=given, costs=costs)


@translated
def expected_counts(
    model: Model,
    data: object,
    *,
    families: Iterable[Family] | None = None,
    weights: Weights = None,
    method: Method | None = None,
    threads: int | None = None,
) -> Counts:
    r"""The expected counts of families, the missing cells of each row distributed as the model says.

    $$\bar M[\mathbf u, x] = \sum_m w_m P(\mathbf u, x \mid \mathbf o[m])$$

    Of complete rows these are the counts. They add up and can be kept like any `Counts`.

    Args:
        model: a model of discrete variables.
        data: rows, as `fit` takes them; cells and whole columns may be missing.
        families: as in `Counts.of`, any variables of the model together; by default the families of a network's CPDs.
        weights: one per row, or the name of a column.
        method: clique trees by default.
        threads: their number; counts do not depend on it.

    Reference: Koller & Friedman, section 19.2.2.
    Guarantee: exact.
    Tested by: engine/test_expectedcounts.py::test_any_family_by_enumeration

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.models.bayesnet import BayesNet
    >>> from sepset.variables.variable import Discrete
    >>> coin, toss = Discrete("coin"), Discrete("toss")
    >>> net = BayesNet(TableCPD(coin, [0.5, 0.5]), TableCPD(toss, [[0.9, 0.1], [0.4, 0.6]], given=coin))
    >>> expected_counts(net, {"coin": [0, None], "toss": [0, 0]})["toss"].round(4).tolist()
    [[1.6923, 0.0], [0.3077, 0.0]]
    """
    return engine_for(model, method).expected_counts(data, families=families, weights=weights, threads=threads)
