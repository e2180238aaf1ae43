"""The command that learns a structure from rows, and writes it as a network with parameters."""

from __future__ import annotations

import math
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sepset.base.text import listing
from sepset.cli.application import AsJson, MissingText, Seed, app
from sepset.cli.learning import (
    Bar,
    Checkpoint,
    Estimator,
    Out,
    Rows,
    estimator_of,
    hidden_variable,
    read_rows,
    with_regressions,
)
from sepset.cli.shared import INTERRUPTED, require_model_file, show
from sepset.errors import DataError, ScopeError

if TYPE_CHECKING:
    from sepset.data.dataset import Dataset
    from sepset.learning.structure.constraints import Constraints
    from sepset.learning.structure.familyscores import FamilyScore
    from sepset.learning.structure.learned import Learned, StructureMethod
    from sepset.models.bayesnet import BayesNet


class Search(StrEnum):
    """The methods of structure learning that the command line offers."""

    default = "default"
    hill_climb = "hill-climb"
    ges = "ges"
    pc = "pc"
    mmhc = "mmhc"
    exact = "exact"
    chow_liu = "chow-liu"
    graphical_lasso = "graphical-lasso"
    neighborhoods = "neighborhoods"
    structural_em = "structural-em"
    find_hidden = "find-hidden"
    latent_tree = "latent-tree"


class Score(StrEnum):
    """The scores of structures that the command line offers."""

    bic = "bic"
    aic = "aic"
    bdeu = "bdeu"
    k2 = "k2"
    qnml = "qnml"
    fnml = "fnml"
    bge = "bge"


AnyScore = Annotated[
    Score | None, typer.Option("--score", help="The score of structures; bic by default where one is used.")
]
Level = Annotated[float | None, typer.Option("--level", help="The level of the tests of pc and mmhc; 0.05 by default.")]


@app.command()
def learn(
    data: Rows,
    out: Out,
    method: Annotated[Search, typer.Option("--method", "-m", help="How the structure is learned.")] = Search.default,
    score: AnyScore = None,
    sample_size: Annotated[
        float | None,
        typer.Option("--sample-size", "-a", min=0.0, help="BDeu's equivalent sample size; 10 by default."),
    ] = None,
    level: Level = None,
    penalty: Annotated[
        float | None,
        typer.Option("--penalty", help="Of graphical-lasso and neighborhoods; chosen by extended BIC by default."),
    ] = None,
    max_parents: Annotated[int | None, typer.Option("--max-parents", min=0, help="The most parents.")] = None,
    require: Annotated[list[str] | None, typer.Option("--require", help="An edge A->B. Repeatable.")] = None,
    forbid: Annotated[list[str] | None, typer.Option("--forbid", help="An edge A->B. Repeatable.")] = None,
    tiers: Annotated[
        str | None, typer.Option("--tiers", help="Names from early to late, as in 'age,sex; smoking; cancer'.")
    ] = None,
    hidden: Annotated[
        list[str] | None,
        typer.Option("--hidden", help="A variable without a column, as kind=3. Repeatable."),
    ] = None,
    weights: Annotated[str | None, typer.Option("--weights", help="The column with the weight of each row.")] = None,
    drop_uninformative: Annotated[
        bool,
        typer.Option("--drop-uninformative", help="Leave out constants, identifiers and copies of other columns."),
    ] = False,
    missing: MissingText = None,
    steps: Annotated[int | None, typer.Option("--steps", min=1, help="The largest number of steps.")] = None,
    seed: Seed = 0,
    checkpoint: Checkpoint = None,
    progress: Bar = None,
    as_json: AsJson = False,
) -> None:
    """Learn the structure of a network from the rows of a file, fit its parameters, and write the network.

    Parameters are posterior means under BDeu. The methods structural-em, find-hidden and latent-tree take rows with
    missing cells; the last two add hidden variables. The methods graphical-lasso and neighborhoods learn a Markov
    network, with parameters of largest likelihood or pseudo-likelihood. Ctrl-C stops a search: the best network so far
    is written, and the exit code is 130.
    """
    from sepset.api.structure import learn_structure
    from sepset.inference.iterate import Until
    from sepset.inference.result import Status
    from sepset.io.files import write

    require_model_file(out)
    rows, dropped = _informative(read_rows(data, None, weights, missing), is_dropping=drop_uninformative)
    chosen = _method(method, level, penalty, rows)
    options: dict[str, Any] = {} if chosen is None else {"method": chosen}
    found = learn_structure(
        rows,
        score=None if score is None else _score(score, sample_size),
        constraints=_constraints(require, [*(forbid or ()), *_without_cpds(method, rows)], tiers, max_parents),
        variables=[hidden_variable(text) for text in hidden] if hidden else None,
        seed=seed,
        until=None if steps is None else Until(steps=steps, tolerance=None),
        progress=progress,
        checkpoint=checkpoint,
        **options,
    )
    write(found.fit().model if method in UNDIRECTED else _fitted(found, rows, sample_size), out)
    show(_facts(found, out, dropped), as_json, lambda: found)
    if found.status is Status.INTERRUPTED:
        raise typer.Exit(INTERRUPTED)


COMPLETING = (Search.structural_em, Search.find_hidden, Search.latent_tree)
"""The methods that take rows with missing cells."""

MISSING_REMEDY = "Say --method structural-em, which sums over what is missing, or leave those rows out."


UNDIRECTED = (Search.graphical_lasso, Search.neighborhoods)
"""The methods whose result is a Markov network."""


TESTED = (Search.pc, Search.mmhc)
"""The methods that test independences."""


def _method(search: Search, level: float | None, penalty: float | None, rows: Dataset) -> StructureMethod[Any] | None:
    """The method by its name; raises where rows miss cells that it needs."""
    from sepset.learning.structure.classes.ges import GES
    from sepset.learning.structure.exact.search import ExactSearch
    from sepset.learning.structure.exact.trees import ChowLiu
    from sepset.learning.structure.hidden.findhidden import FindHidden
    from sepset.learning.structure.hidden.latenttree import LatentTree
    from sepset.learning.structure.hidden.structuralem import StructuralEM
    from sepset.learning.structure.search.hillclimb import HillClimb
    from sepset.learning.structure.skeletons.candidates import MMHC, MMPC
    from sepset.learning.structure.skeletons.pc import PC
    from sepset.learning.structure.undirected.graphicallasso import GraphicalLasso
    from sepset.learning.structure.undirected.neighborhoods import NeighborhoodSelection
    from sepset.learning.structure.undirected.penaltychoice import EXTENDED_BIC

    if penalty is not None and search not in UNDIRECTED:
        raise ScopeError(f"--penalty goes with {' and '.join(UNDIRECTED)}; the method is {search.value}.")
    if level is not None and search not in TESTED:
        raise ScopeError(f"--level goes with {' and '.join(TESTED)}; the method is {search.value}.")
    if search not in COMPLETING:
        rows.require_complete(f"The method {search.value}", remedy=MISSING_REMEDY)
    charge = EXTENDED_BIC if penalty is None else penalty
    tested: dict[str, Any] = {"test": _test(rows), "level": 0.05 if level is None else level}
    known: dict[Search, Any] = {
        Search.default: lambda: None,
        Search.hill_climb: lambda: HillClimb(tabu=20, restarts=5),
        Search.ges: GES,
        Search.pc: lambda: PC(**tested),
        Search.mmhc: lambda: MMHC(candidates=MMPC(**tested)),
        Search.exact: ExactSearch,
        Search.chow_liu: ChowLiu,
        Search.graphical_lasso: lambda: GraphicalLasso(charge),
        Search.neighborhoods: lambda: NeighborhoodSelection(charge),
        Search.find_hidden: FindHidden,
        Search.latent_tree: LatentTree,
        Search.structural_em: lambda: StructuralEM(HillClimb(tabu=20)),
    }
    made: StructureMethod[Any] | None = known[search]()
    return made


def _test(rows: Dataset) -> Any:
    """The test that the kinds of columns ask for."""
    from sepset.learning.structure.independence.discrete import G
    from sepset.learning.structure.independence.gaussian import FisherZ
    from sepset.learning.structure.independence.mixedtest import ConditionalGaussianTest
    from sepset.variables.variable import Discrete

    have_states = [isinstance(v, Discrete) for v in rows.variables]
    if all(have_states):
        return G()
    return ConditionalGaussianTest() if any(have_states) else FisherZ()


def _without_cpds(search: Search, rows: Dataset) -> list[tuple[str, str]]:
    """Edges from numbers to states, which tests may direct so, and for which networks have no CPD."""
    from sepset.variables.variable import Discrete

    if search is not Search.pc:
        return []
    states = [v.name for v in rows.variables if isinstance(v, Discrete)]
    return [(v.name, name) for v in rows.variables if not isinstance(v, Discrete) for name in states]


def _informative(rows: Dataset, *, is_dropping: bool) -> tuple[Dataset, tuple[str, ...]]:
    """The rows without the columns that tell nothing about a structure, and the names of these, which are printed.

    Raises where there are such columns and they are not to be dropped.
    """
    import numpy as np

    from sepset.learning.structure.columns import Columns
    from sepset.learning.structure.uninformative import Uninformative

    columns = Columns(rows, missing="available")
    found = Uninformative.of(columns, np.ones(len(columns), np.bool_))
    if not found.names:
        return rows, ()
    if not is_dropping:
        raise DataError(f"{found.fact(columns)} Leave out columns of this kind: --drop-uninformative.")
    typer.echo(f"Left out: {listing(found.names, limit=len(found.names))}.", err=True)
    return rows.select([name for name in rows.variables.names if name not in found.names]), found.names


def _fitted(found: Learned[Any], rows: Dataset, sample_size: float | None) -> BayesNet:
    """The network with posterior means under BDeu; by EM where cells are missing or variables hidden."""
    from sepset.cpds.priors.dirichlet import BDeu
    from sepset.learning.incomplete.em import EM
    from sepset.models.defaults import template_of

    if found.columns.has_missing or len(found.dag) > len(found.columns):
        prior = with_regressions(BDeu(10.0 if sample_size is None else sample_size), rows.variables, rows)
        return found.fit(EM(prior)).model
    return found.fit(estimator_of(Estimator.bdeu, sample_size, None, template_of(found.dag, rows), rows)).model


def _score(name: Score, sample_size: float | None) -> FamilyScore:
    from sepset.cpds.priors.dirichlet import K2, BDeu
    from sepset.learning.structure.scores.gaussian import BGe
    from sepset.learning.structure.scores.likelihood import AIC, BIC
    from sepset.learning.structure.scores.normalized import FNML, QNML

    known: dict[Score, Any] = {
        Score.bic: BIC,
        Score.aic: AIC,
        Score.bdeu: lambda: BDeu(10.0 if sample_size is None else sample_size),
        Score.k2: K2,
        Score.qnml: QNML,
        Score.fnml: FNML,
        Score.bge: BGe,
    }
    made: FamilyScore = known[name]()
    return made


def _constraints(
    require: list[str] | None, forbid: list[Any], tiers: str | None, max_parents: int | None
) -> Constraints:
    from sepset.learning.structure.constraints import Constraints

    groups = [[name.strip() for name in tier.split(",") if name.strip()] for tier in (tiers or "").split(";")]
    if tiers is not None and not all(groups):
        raise ScopeError(f"--tiers is written as 'a,b; c; d'; found {tiers!r}.")
    return Constraints(
        required=require or (),
        forbidden=forbid,
        tiers=[group for group in groups if group],
        max_parents=max_parents,
    )


def _facts(found: Learned[Any], out: Path, dropped: tuple[str, ...]) -> dict[str, Any]:
    """The learned structure as plain values."""
    from sepset.graphs.graph import UndirectedGraph

    is_directed = not isinstance(found.graph, UndirectedGraph)
    return {
        "file": str(out),
        "method": repr(found.method),
        "status": found.status.value,
        "guarantee": found.guarantees["structure"].value,
        "rows": found.columns.total,
        "dropped": list(dropped),
        "edges": [list(edge) for edge in (found.dag.edges if is_directed else found.graph.edges)],
        "compelled": [list(edge) for edge in found.cpdag.directed] if is_directed else [],
        "score": None if math.isnan(found.score) else found.score,
        "gap": found.gap if math.isfinite(found.gap) else None,
        "families scored": found.num_scores,
        "independence tests": found.num_tests,
    }
