"""The answers of the commands about a model, printed as tables for people or JSON for programs."""

from __future__ import annotations

import importlib
import math
import shutil
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sepset.base.replacing import require_place
from sepset.base.text import listing
from sepset.cli.shared import (
    load,
    require_model_file,
    require_picture,
    require_rows_file,
    show,
    write_rows,
)
from sepset.errors import NotApplicable, NotClosed, ScopeError, StateError, TooLarge

if TYPE_CHECKING:
    from rich.console import RenderableType

    from sepset.inference.mapresult import MapResult
    from sepset.inference.method import Method
    from sepset.models.model import Model
    from sepset.variables.evidence import Finding
    from sepset.variables.universe import Universe
    from sepset.variables.variable import Discrete, State

Texts = Sequence[str] | None
"""The values of an option that can be repeated."""

MOST_SHOWN = 50
"""The most variables or rows that are listed on the terminal."""


class MethodName(StrEnum):
    """The algorithms that the command line offers."""

    auto = "auto"
    elimination = "elimination"
    clique_tree = "clique-tree"
    brute_force = "brute-force"
    belief_update = "belief-update"
    shafer_shenoy = "shafer-shenoy"
    recursive_conditioning = "recursive-conditioning"
    cutset_conditioning = "cutset-conditioning"


METHODS = {
    MethodName.elimination: "exact.elimination.VariableElimination",
    MethodName.clique_tree: "cliquetree.method.CliqueTree",
    MethodName.brute_force: "exact.bruteforce.BruteForce",
    MethodName.belief_update: "exact.beliefupdate.BeliefUpdate",
    MethodName.shafer_shenoy: "exact.shafershenoy.ShaferShenoy",
    MethodName.recursive_conditioning: "exact.recursive.RecursiveConditioning",
    MethodName.cutset_conditioning: "cliquetree.cutset.CutsetConditioning",
}
"""The algorithm of each name, loaded when it is chosen."""


class AssignmentMethod(StrEnum):
    """The algorithms for the most probable assignment: those for any question, and those that search."""

    auto = "auto"
    elimination = "elimination"
    clique_tree = "clique-tree"
    brute_force = "brute-force"
    belief_update = "belief-update"
    shafer_shenoy = "shafer-shenoy"
    recursive_conditioning = "recursive-conditioning"
    cutset_conditioning = "cutset-conditioning"
    search = "search"
    icm = "icm"
    annealing = "annealing"
    beam_search = "beam-search"
    local_search = "local-search"
    large_neighborhood = "large-neighborhood"
    min_cut = "min-cut"
    qpbo = "qpbo"
    persistency = "persistency"
    alpha_expansion = "alpha-expansion"
    alpha_beta_swap = "alpha-beta-swap"
    trws = "trws"
    mplp = "mplp"
    loopy_bp = "loopy-bp"
    tree_reweighted = "tree-reweighted"
    linear_program = "linear-program"
    branch_and_bound = "branch-and-bound"
    and_or_search = "and-or-search"
    hybrid_best_first = "hybrid-best-first"


SEARCHES = {
    AssignmentMethod.search: "map.choice.automatic.AutomaticSearch",
    AssignmentMethod.icm: "map.coordinates.ICM",
    AssignmentMethod.annealing: "map.annealing.Annealing",
    AssignmentMethod.beam_search: "map.beam.BeamSearch",
    AssignmentMethod.local_search: "map.search.localsearch.LocalSearch",
    AssignmentMethod.large_neighborhood: "map.search.neighborhoods.LargeNeighborhood",
    AssignmentMethod.min_cut: "map.mincut.MinCut",
    AssignmentMethod.qpbo: "map.qpbo.QPBO",
    AssignmentMethod.persistency: "map.consistency.persistency.Persistency",
    AssignmentMethod.alpha_expansion: "map.moves.AlphaExpansion",
    AssignmentMethod.alpha_beta_swap: "map.moves.AlphaBetaSwap",
    AssignmentMethod.trws: "map.trws.TRWS",
    AssignmentMethod.mplp: "map.mplp.MPLP",
    AssignmentMethod.loopy_bp: "propagation.loopybp.LoopyBP",
    AssignmentMethod.tree_reweighted: "propagation.treereweighted.TreeReweighted",
    AssignmentMethod.linear_program: "map.relaxation.linearprogram.LinearProgram",
    AssignmentMethod.branch_and_bound: "map.branching.BranchAndBound",
    AssignmentMethod.and_or_search: "map.search.andor.AndOrSearch",
    AssignmentMethod.hybrid_best_first: "map.consistency.bestfirst.HybridBestFirst",
}
"""The search of each name, loaded when it is chosen."""


class PicturePlaces(StrEnum):
    """Where nodes are drawn."""

    layers = "layers"
    file = "file"


class PictureFormat(StrEnum):
    """The formats in which a picture is printed."""

    text = "text"
    svg = "svg"
    dot = "dot"
    mermaid = "mermaid"


def info(file: str, as_json: bool = False) -> None:
    """A summary of a model: variables, states, factors, and the cost of inference."""
    model = load(file)
    from sepset.api.questions import plan

    cost = plan(model)
    facts = {
        "name": model.name or Path(file).name,
        "kind": type(model).__name__,
        "variables": len(model.variables),
        "factors": model.problem().num_factors,
        "largest domain": int(model.variables.cards.max(initial=0)),
        "width": cost.width,
        "table entries": cost.total_size,
        "notes": list(model.notes),
    }
    states = {v.name: list(getattr(v, "states", ())) for v in model.variables}
    show({**facts, "states": states}, as_json, lambda: _facts_and_states(facts, states))


def convert(source: str, target: Path) -> None:
    """Read a model in one format and write it in another."""
    from sepset.io.files import write

    require_model_file(target)
    write(load(source), target)


def query(
    file: str,
    target: Texts = None,
    given: Texts = None,
    likelihood: Texts = None,
    soft: Texts = None,
    method: MethodName = MethodName.auto,
    as_json: bool = False,
) -> None:
    """The joint distribution of the targets given the evidence; without a target, every marginal."""
    from sepset.api import questions as verbs

    model = load(file)
    evidence = evidence_of(model, given, likelihood, soft)
    if not target:
        answers = verbs.marginals(model, given=evidence, method=_method(method))
        tables = [answers[name] for name in answers]
        payload: dict[str, Any] = {"marginals": [_answer_json(t) for t in tables]}
        title = f"given {answers.findings}" if answers.findings.evidence else ""
        show(payload, as_json, lambda: _marginals_table(tables, title))
        return
    answer = verbs.query(model, target, given=evidence, method=_method(method))
    guarantees = {part: guarantee.value for part, guarantee in answer.guarantees.items()}
    payload = {**_answer_json(answer.distribution), "log_partition": answer.log_partition, "guarantees": guarantees}
    show(payload, as_json, lambda: _answer_view(answer))


def draw(
    file: str,
    given: Texts = None,
    likelihood: Texts = None,
    soft: Texts = None,
    beliefs: bool = False,
    strengths: bool = False,
    out: Path | None = None,
    form: PictureFormat | None = None,
    compare: Texts = None,
    prior: bool = False,
    titles: bool = False,
    layout: PicturePlaces | None = None,
    group: Texts = None,
) -> None:
    """Print a picture of a model, or write it to a file in the format of its suffix."""
    from sepset.api.pictures import draw as picture_of

    if out is not None and form is not None:
        raise NotApplicable("A file has the format of its suffix. Leave out --format, or leave out --out.")
    if out is not None:
        require_place(out)
        require_picture(out)
    model = load(file)
    evidence = evidence_of(model, given, likelihood, soft) or None
    other = {} if prior else evidence_of(model, compare) or None
    if prior and compare:
        raise NotApplicable("--prior compares with no evidence, --compare with other evidence. Leave out one of them.")
    found = picture_of(
        model,
        given=evidence,
        compare=other,
        beliefs=beliefs or None,
        strengths=strengths,
        titles=titles,
        layout=None if layout is None else layout.value,
        groups=_groups(group),
    )
    if out is not None:
        found.save(out)
        return
    columns = max(40, shutil.get_terminal_size((100, 24)).columns)
    texts = {PictureFormat.svg: found.to_svg, PictureFormat.dot: found.to_dot, PictureFormat.mermaid: found.to_mermaid}
    print(texts[form]() if form in texts else found.to_text(columns))


def _groups(texts: Texts) -> dict[str, list[str]] | None:
    """`NAME=VARIABLE,VARIABLE` as the variables of each group."""
    found: dict[str, list[str]] = {}
    for text in texts or ():
        name, equals, members = text.partition("=")
        if not (name and equals and members):
            raise NotApplicable(f"A group is written NAME=VARIABLE,VARIABLE; found {text!r}.")
        found.setdefault(name, []).extend(members.split(","))
    return found or None


def best(
    file: str,
    given: Texts = None,
    likelihood: Texts = None,
    soft: Texts = None,
    over: Texts = None,
    k: int = 1,
    method: AssignmentMethod = AssignmentMethod.auto,
    seconds: float | None = None,
    as_json: bool = False,
) -> None:
    """The most probable assignment given the evidence."""
    from sepset.api import questions as verbs
    from sepset.inference.iterate import Until

    model = load(file)
    evidence = evidence_of(model, given, likelihood, soft)
    until = None if seconds is None else Until(steps=None, tolerance=1e-7, seconds=seconds)
    chosen = _made(SEARCHES[method]) if method in SEARCHES else _method(MethodName(method.value))
    best = verbs.map_assignment(model, given=evidence, over=over or None, k=k, method=chosen, until=until)
    payload = {
        "assignments": [dict(one) for one in best.assignments],
        "log_values": list(best.log_values),
        "bound": best.bound if math.isfinite(best.bound) else None,
        "probability": _probability(best),
        "guarantees": {part: guarantee.value for part, guarantee in best.guarantees.items()},
    }
    show(payload, as_json, lambda: best)


def _probability(best: MapResult) -> float | None:
    """The probability of the best assignment; None where the sum over all of them is out of reach."""
    try:
        return best.probability
    except (NotApplicable, NotClosed, TooLarge):
        return None


def sample(
    file: str,
    rows: int = 10,
    given: Texts = None,
    likelihood: Texts = None,
    soft: Texts = None,
    seed: int = 0,
    out: Path | None = None,
    as_json: bool = False,
) -> None:
    """Independent draws from the model given the evidence."""
    from sepset.api import questions as verbs

    if out is not None:
        require_rows_file(out)
    model = load(file)
    drawn = verbs.sample(model, rows, given=evidence_of(model, given, likelihood, soft), seed=seed)
    if out is not None:
        write_rows(drawn, out)
        return
    show(
        {"rows": list(drawn.rows())} if as_json else {},
        as_json,
        lambda: rows_table(list(drawn.rows()), model.variables.names),
    )


def plan(file: str, target: Texts = None, given: Texts = None, as_json: bool = False) -> None:
    """The cost of a question, without computing it."""
    from sepset.api import questions as verbs

    model = load(file)
    observed = [_split_finding(model.variables, g)[0] if "=" in g else g for g in given or ()]
    found = verbs.plan(model, target or (), given=observed)
    payload = {
        "width": found.width,
        "largest": found.largest,
        "total_size": found.total_size,
        "memory_bytes": found.memory,
        "cost": found.cost,
        "order": list(found.order),
    }
    show(payload, as_json, lambda: str(found))


def _method(name: MethodName) -> Method | None:
    return _made(METHODS[name]) if name in METHODS else None


def _made(place: str) -> Any:
    """The method at a place in `inference`, with its default settings."""
    module, _, maker = place.rpartition(".")
    return getattr(importlib.import_module(f"sepset.inference.{module}"), maker)()


def evidence_of(
    model: Model,
    given: Sequence[str] | None,
    likelihoods: Sequence[str] | None = None,
    soft: Sequence[str] | None = None,
) -> dict[str, Finding]:
    """Texts as evidence: `NAME=STATE`, and weights or posterior probabilities `NAME=NUMBER,NUMBER`."""
    from sepset.variables.evidence import Likelihood, Soft

    found = _findings(model, given)
    for texts, kind in ((likelihoods, Likelihood), (soft, Soft)):
        for text in texts or ():
            name, numbers = _numbers_per_state(model, text)
            _refuse_twice(name, found)
            found[name] = kind(numbers)
    return found


def _numbers_per_state(model: Model, text: str) -> tuple[str, dict[State, float]]:
    """A variable with a number for each of its states, in their order or by state: `NAME=0.2,0.8`, `NAME=yes:0.8`."""
    name, excluded, value = _split_finding(model.variables, text)
    variable: Any = model.variables[name]
    if excluded or not variable.is_discrete:
        raise StateError(f"Numbers per state are written NAME=NUMBER,NUMBER for a discrete variable; found {text!r}.")
    parts = [part.rpartition(":") for part in value.split(",")]
    if all(colon for _, colon, _ in parts):
        return name, {state_named(variable, state): _number(number, name) for state, _, number in parts}
    numbers = [_number(part, name) for part in value.split(",")]
    if len(numbers) != variable.num_states:
        raise StateError(f"{name} has {variable.num_states} states; found {len(numbers)} numbers in {text!r}.")
    return name, dict(zip(variable.states, numbers, strict=True))


def _refuse_twice(name: str, found: Mapping[str, Finding]) -> None:
    if name in found:
        raise ScopeError(f"{name} appears twice in the evidence. Give one finding for it, as in {name}=STATE|STATE.")


def _findings(model: Model, given: Sequence[str] | None) -> dict[str, Finding]:
    """`NAME=STATE` texts as evidence; states are matched by their printed form."""
    from sepset.variables.evidence import Not

    found: dict[str, Finding] = {}
    for text in given or ():
        name, excluded, value = _split_finding(model.variables, text)
        _refuse_twice(name, found)
        variable: Any = model.variables[name]
        if not variable.is_discrete:
            if excluded:
                raise StateError(f"{name} is continuous and cannot be {text!r}. Give a number, as in {name}=1.5.")
            found[name] = _number(value, f"{name} is continuous and")
            continue
        whole = {str(s): s for s in variable.states}
        states = [whole[value]] if value in whole else [state_named(variable, part) for part in value.split("|")]
        found[name] = Not(*states) if excluded else (states[0] if len(states) == 1 else frozenset(states))
    return found


def _split_finding(variables: Universe, text: str) -> tuple[str, bool, str]:
    """A finding as (name, excluded, value): the first `=` after which the left side is a known name."""
    for place, char in enumerate(text):
        name = text[:place].removesuffix("!")
        if char == "=" and (name in variables or text[:place] in variables):
            known = text[:place] in variables
            return (text[:place] if known else name), not known, text[place + 1 :]
    name = text.partition("=")[0].removesuffix("!")
    if "=" in text:
        variables.id(name)
    raise ScopeError(f"Evidence is written NAME=STATE; found {text!r}.")


def state_named(variable: Discrete, text: str) -> State:
    """The state that is printed so."""
    for state in variable.states:
        if str(state) == text:
            return state
    variable.code(text)
    raise StateError(f"Unknown state {text!r} for {variable.name}.")


def _number(text: str, what: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise StateError(f"{what} was given {text!r}. Give a number.") from None


def _answer_json(answer: Any) -> dict[str, Any]:
    """A distribution as JSON data: a table of probabilities, or the moments of a Gaussian or of each component."""
    names = [v.name for v in answer.scope]
    if hasattr(answer, "weights"):
        parts = {"weights": answer.weights, "means": answer.means, "covariances": answer.covariances}
    elif hasattr(answer, "to_mixture"):
        mixture = answer.to_mixture()
        states = [list(getattr(v, "states", ())) for v in answer.scope]
        parts = {"weights": mixture.weights, "means": mixture.means, "covariances": mixture.covariances}
        return {"variables": names, "states": states, **{part: numbers.tolist() for part, numbers in parts.items()}}
    elif hasattr(answer, "covariance"):
        parts = {"mean": answer.mu, "covariance": answer.covariance}
    elif hasattr(answer, "values"):
        return {"variables": names, "states": [list(v.states) for v in answer.scope], "values": answer.values.tolist()}
    else:
        raise NotApplicable(f"The joint of {listing(names)} has no JSON form. Query its variables one at a time.")
    return {"variables": names, **{part: numbers.tolist() for part, numbers in parts.items()}}


def _facts_and_states(facts: dict[str, Any], states: dict[str, list[Any]]) -> RenderableType:
    from rich.console import Group

    from sepset.base.display import Shown, rich_table, text_table

    told = [(key, str(value)) for key, value in facts.items() if value not in ("", [])]
    rows = []
    for name, values in list(states.items())[:MOST_SHOWN]:
        more = f", ... ({len(values)})" if len(values) > 8 else ""
        rows.append((name, ", ".join(map(str, values[:8])) + more or "real"))
    caption = f"first {MOST_SHOWN} of {len(states)} variables" if len(states) > MOST_SHOWN else ""
    return Group(text_table(Shown((), told)), rich_table(Shown(("variable", "states"), rows, caption=caption, words=2)))


def _answer_view(answer: Any) -> RenderableType:
    """The table of a discrete answer, or the moments of a continuous one."""
    if all(v.is_discrete for v in answer.scope):
        view: RenderableType = answer
        return view
    if len(answer.scope) == 1:
        return _marginals_table([answer.distribution], answer.title)
    return "\n".join(f"{part:<12} {numbers}" for part, numbers in _answer_json(answer.distribution).items())


def _marginals_table(tables: Sequence[Any], title: str) -> RenderableType:
    from sepset.base.display import Shown, rich_table

    rows: list[tuple[str, str, str]] = []
    bars: list[float] = []
    for table in tables:
        variable = table.scope[0]
        if variable.is_discrete:
            states = zip(variable.states, table.values.tolist(), strict=True)
            rows += [(variable.name, str(state), f"{value:.6g}") for state, value in states]
            bars += table.values.tolist()
            continue
        for name, part, value in ((variable.name, "mean", table.mean()), ("", "variance", table.variance())):
            rows.append((name, part, f"{value:.6g}" if variable.size == 1 else str(value)))
            bars.append(0.0)
    return rich_table(Shown(("variable", "state", "probability"), rows, title, words=2, bars=bars))


def rows_table(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> RenderableType:
    """The first rows as a table, with a count of all."""
    from sepset.base.display import Page, Shown

    caption = f"first {MOST_SHOWN} of {len(rows)} rows; use --out for all" if len(rows) > MOST_SHOWN else ""
    cells = [[_cell(row[name]) for name in names] for row in rows[:MOST_SHOWN]]
    return Page(Shown(names, cells, caption=caption, words=len(names)))


def _cell(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
