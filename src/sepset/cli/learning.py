"""Commands that learn: fit parameters to rows, evaluate a model on rows, impute missing cells."""

from __future__ import annotations

import math
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sepset.base.replacing import require_place
from sepset.base.text import listing, nearest
from sepset.cli.application import AsJson, File, MissingText, Seed, Target, app
from sepset.cli.shared import INTERRUPTED, load, require_model_file, require_rows_file, rows_file, show
from sepset.errors import DataError, NotApplicable, ScopeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import RenderableType

    from sepset.data.dataset import Dataset
    from sepset.graphs.graph import DAG
    from sepset.learning.evaluation.losses import EvaluationResult, Loss
    from sepset.learning.evaluation.splits import KFold
    from sepset.learning.evaluation.validation import Validation
    from sepset.learning.fit import FitResult, LearningMethod
    from sepset.models.bayesnet import BayesNet
    from sepset.variables.universe import Universe
    from sepset.variables.variable import Discrete


class Estimator(StrEnum):
    """The methods of parameter learning that the command line offers."""

    mle = "mle"
    bdeu = "bdeu"
    k2 = "k2"
    em = "em"
    hard_em = "hard-em"
    stepwise_em = "stepwise-em"
    gradient = "gradient"

    @property
    def iterates(self) -> bool:
        """Whether it is iterative, and takes rows with missing cells."""
        return self not in (Estimator.mle, Estimator.bdeu, Estimator.k2)


class Acceleration(StrEnum):
    """The acceleration schemes of EM."""

    squarem = "squarem"
    aitken = "aitken"
    conjugate = "conjugate"


class Optimizer(StrEnum):
    """The optimizers of gradient ascent."""

    lbfgs = "lbfgs"
    conjugate = "conjugate"
    steepest = "steepest"
    stochastic = "stochastic"


class Unseen(StrEnum):
    """The treatments of contexts without rows under maximum likelihood."""

    refuse = "raise"
    uniform = "uniform"
    marginal = "marginal"


class Filling(StrEnum):
    """The kinds of values that are imputed into missing cells."""

    mode = "mode"
    mean = "mean"
    map = "map"
    draw = "draw"


PART = 20_000
"""The number of rows imputed between two updates of the progress bar."""

Rows = Annotated[
    Path,
    typer.Argument(
        parser=rows_file,
        metavar="data",
        help="A file of rows: .csv or .tsv (also .gz), .parquet, .feather or .arrow; - reads one.",
    ),
]
Method = Annotated[Estimator, typer.Option("--method", "-m", help="How parameters are learned.")]
SampleSize = Annotated[
    float | None,
    typer.Option(
        "--sample-size", "-a", min=0.0, help="BDeu's equivalent sample size; a prior for methods that iterate."
    ),
]
WhenUnseen = Annotated[
    Unseen | None, typer.Option("--unseen", help="What mle does with contexts that have no rows; raise by default.")
]
Steps = Annotated[
    int | None,
    typer.Option(
        "--steps", min=1, help="The largest number of iterations; of passes over the data, with mini-batches."
    ),
]
Accelerated = Annotated[Acceleration | None, typer.Option("--acceleration", help="How em is accelerated.")]
Optimized = Annotated[
    Optimizer | None, typer.Option("--optimizer", help="The optimizer of gradient; lbfgs by default.")
]
BatchSize = Annotated[
    int | None,
    typer.Option("--batch", min=1, help="Rows per mini-batch, for stepwise-em and --optimizer stochastic."),
]
Bar = Annotated[
    bool | None,
    typer.Option("--progress/--no-progress", help="Show a progress bar; by default in a terminal, for long runs."),
]

Structure = Annotated[
    str,
    typer.Argument(
        help="A model file or built-in network; a graph such as 'a -> b <- c', or a text file with one; "
        "or naive or tan, with --target."
    ),
]
Out = Annotated[Path, typer.Option("--out", "-o", help="The model file to write; its suffix gives the format.")]
Checkpoint = Annotated[
    Path | None,
    typer.Option("--checkpoint", help="A file in which iterations save their state, to resume from it."),
]


@app.command()
def fit(
    structure: Structure,
    data: Rows,
    out: Out,
    method: Method = Estimator.mle,
    sample_size: SampleSize = None,
    unseen: WhenUnseen = None,
    target: Annotated[str | None, typer.Option("--target", "-t", help="The class variable, for naive and tan.")] = None,
    hidden: Annotated[
        list[str] | None,
        typer.Option("--hidden", "--states", help="NAME=STATES of a variable, with or without a column. Repeatable."),
    ] = None,
    weights: Annotated[str | None, typer.Option("--weights", help="The column with the weight of each row.")] = None,
    missing: MissingText = None,
    steps: Steps = None,
    acceleration: Accelerated = None,
    optimizer: Optimized = None,
    batch: BatchSize = None,
    seed: Seed = 0,
    checkpoint: Checkpoint = None,
    progress: Bar = None,
    as_json: AsJson = False,
) -> None:
    """Fit the parameters of a network to the rows of a file, and write the network.

    Rows with empty cells need em, hard-em, stepwise-em or gradient. Ctrl-C stops these: the network with the best
    parameters so far is written, and the exit code is 130.
    """
    from sepset.api.learning import fit as fitted
    from sepset.graphs.graph import DAG
    from sepset.inference.iterate import Until
    from sepset.inference.result import Status
    from sepset.io.files import write
    from sepset.models.defaults import template_of

    require_model_file(out)
    _require_settings(method, {"--steps": steps, "--checkpoint": checkpoint}, unseen)
    settings = _settings(method, acceleration, optimizer, batch)
    texts = _texts(missing)
    graph = _structure(structure, data, target, texts)
    known = [hidden_variable(text) for text in hidden or ()]
    if known and not isinstance(graph, DAG):
        raise ScopeError("A network already has its states; --hidden and --states go with a graph.")
    rows: Any = data if weights is None and missing is None else loaded_rows(data, graph, weights, texts)
    template = template_of(graph, rows, known or None)
    found = fitted(
        template,
        rows,
        estimator_of(method, sample_size, unseen, template, rows, settings),
        seed=seed,
        until=None if steps is None else Until(steps=steps),
        progress=progress,
        checkpoint=checkpoint,
    )
    write(found.model, out)
    show(_fit_facts(found, out), as_json, lambda: found)
    if found.status is Status.INTERRUPTED:
        raise typer.Exit(INTERRUPTED)


def _require_settings(method: Estimator, iterative: dict[str, object], unseen: Unseen | None) -> None:
    """Raise if a setting was given that the method would ignore."""
    idle = [name for name, value in iterative.items() if value is not None]
    if idle and not method.iterates:
        others = ", ".join(e.value for e in Estimator if e.iterates)
        raise ScopeError(f"{method.value} does not iterate; {', '.join(idle)} goes with {others}.")
    if unseen is not None and method is not Estimator.mle:
        raise ScopeError(f"--unseen goes with mle; {method.value} has an estimate for contexts without rows.")


def _settings(
    method: Estimator, acceleration: Acceleration | None, optimizer: Optimizer | None, batch: int | None
) -> dict[str, Any]:
    """The settings of one method that were given; raises for those it would ignore."""
    if acceleration is not None and method is not Estimator.em:
        raise ScopeError(f"--acceleration goes with em; found {method.value}.")
    if optimizer is not None and method is not Estimator.gradient:
        raise ScopeError(f"--optimizer goes with gradient; found {method.value}.")
    if batch is not None and method is not Estimator.stepwise_em and optimizer is not Optimizer.stochastic:
        raise ScopeError("--batch goes with stepwise-em, and with gradient --optimizer stochastic.")
    named = {"acceleration": acceleration and acceleration.value, "optimizer": optimizer and optimizer.value}
    return {name: value for name, value in {**named, "batch": batch}.items() if value is not None}


def _texts(missing: list[str] | None) -> tuple[str, ...]:
    """The texts that mean an empty cell: the empty text, and those given."""
    return ("", *(missing or ()))


def _structure(text: str, data: Path, target: str | None, missing: tuple[str, ...]) -> DAG | BayesNet:
    """A network from a file or by name, a graph in text notation or from a file, or a classifier's graph."""
    from sepset.graphs.graph import DAG
    from sepset.models.bayesnet import BayesNet

    if text in ("naive", "tan"):
        return _classifier_graph(text, data, target, missing)
    if target is not None:
        raise ScopeError(f"--target names the class of naive and tan; {text!r} is a structure of its own.")
    path = Path(text)
    if "->" in text or "<-" in text or ";" in text:
        return DAG.parse(text)
    if path.is_file() and path.suffix in (".txt", ".dag"):
        return DAG.parse(path.read_text(encoding="utf-8"))
    model = load(text)
    if not isinstance(model, BayesNet):
        raise NotApplicable(f"{text} is a {type(model).__name__}; parameters are fitted for Bayesian networks.")
    return model


def _classifier_graph(kind: str, data: Path, target: str | None, missing: tuple[str, ...]) -> DAG:
    from sepset.data.files import read_dataset
    from sepset.learning.classify.naivebayes import naive_bayes, tree_augmented

    if target is None:
        raise ScopeError(f"{kind} needs the class variable: --target COLUMN.")
    rows = read_dataset(data, missing=missing)
    if target not in rows.variables:
        raise ScopeError(f"There is no column {target!r} in {data}.{nearest(target, rows.variables.names)}")
    if kind == "tan":
        return tree_augmented(rows, target)
    return naive_bayes(target, [name for name in rows.variables.names if name != target])


def loaded_rows(data: Path, graph: Any, column: str | None, missing: tuple[str, ...]) -> Dataset:
    """The rows in memory, with one column as their weights if it is named."""
    from sepset.data.dataset import Dataset
    from sepset.data.files import read_dataset

    rows = read_dataset(data, missing=missing)
    if column is None:
        return rows
    if column not in rows.variables:
        raise ScopeError(f"There is no column {column!r} in {data}.{nearest(column, rows.variables.names)}")
    variable = rows.variables[column]
    numbers = rows.states(column) if variable.is_discrete else rows.values(column)
    try:
        weights = [float(number) for number in numbers]
    except (TypeError, ValueError):
        raise DataError(f"Weights are numbers; the column {column!r} of {data} has other values.") from None
    others = rows.select([name for name in rows.variables.names if name != column])
    known = (
        None if graph is None or hasattr(graph, "nodes") else [v for v in graph.variables if v.name in others.variables]
    )
    return Dataset(others, known, weights=weights)


def read_rows(data: Path, graph: Any, weights: str | None, missing: list[str] | None) -> Dataset:
    """The rows of a file in memory, with one column as their weights if it is named."""
    return loaded_rows(data, graph, weights, _texts(missing))


def hidden_variable(text: str) -> Discrete:
    """The variable that a text like kind=3 or kind=low,high describes."""
    from sepset.variables.variable import Discrete

    name, _, states = text.partition("=")
    if not name or not states:
        raise ScopeError(f"A hidden variable is written NAME=STATES, as in kind=3 or kind=low,high; found {text!r}.")
    return Discrete(name, int(states) if states.isdigit() else tuple(states.split(",")))


def estimator_of(
    name: Estimator,
    sample_size: float | None,
    unseen: Unseen | None,
    template: BayesNet,
    rows: Path | Dataset,
    settings: dict[str, Any] | None = None,
) -> LearningMethod:
    """The learning method; a prior of tables is combined with weak priors of linear Gaussians, from the columns."""
    from sepset.cpds.priors.dirichlet import K2, BDeu
    from sepset.learning.estimation.estimators import MLE, Bayes

    if name is Estimator.mle:
        if sample_size is not None:
            raise ScopeError("mle has no prior; --sample-size goes with bdeu and methods that iterate.")
        return MLE(unseen=(unseen or Unseen.refuse).value)
    if name is Estimator.k2:
        return Bayes(with_regressions(K2(), template.variables, rows))
    if name is Estimator.bdeu:
        return Bayes(with_regressions(BDeu(10.0 if sample_size is None else sample_size), template.variables, rows))
    prior = None if sample_size is None else with_regressions(BDeu(sample_size), template.variables, rows)
    return _iterative(name)(prior=prior, **(settings or {}))


def _iterative(name: Estimator) -> Callable[..., LearningMethod]:
    """The class of an iterative method."""
    from sepset.learning.incomplete.em import EM, HardEM
    from sepset.learning.incomplete.gradient import GradientAscent
    from sepset.learning.incomplete.stepwise import StepwiseEM

    known: dict[Estimator, Callable[..., LearningMethod]]
    known = {Estimator.em: EM, Estimator.hard_em: HardEM, Estimator.stepwise_em: StepwiseEM}
    return known.get(name, GradientAscent)


def with_regressions(prior: Any, variables: Universe, rows: Path | Dataset) -> Any:
    """The prior; for networks with real variables, together with a prior of each linear Gaussian."""
    from sepset.data.dataset import Dataset
    from sepset.data.files import read_dataset
    from sepset.learning.estimation.weakpriors import weak_line_priors

    reals = [v for v in variables if not v.is_discrete]
    if not reals:
        return prior
    columns = rows.select(reals) if isinstance(rows, Dataset) else read_dataset(rows, reals)
    return {**weak_line_priors(columns), ...: prior}


def _fit_facts(found: FitResult, out: Path) -> dict[str, Any]:
    return {
        "model": str(out),
        "method": repr(found.method),
        "status": found.status.value,
        "rows": found.num_rows,
        "log_likelihood": found.log_likelihood,
        "parameters": found.model.num_parameters,
        "iterations": found.num_iterations,
        "trace": found.trace.tolist(),
    }


@app.command()
def evaluate(
    file: File,
    data: Rows,
    target: Target = None,
    folds: Annotated[
        int | None,
        typer.Option(
            "--folds", "-k", min=2, help="Cross-validate: fit the model's structure again in each of k folds."
        ),
    ] = None,
    method: Method = Estimator.bdeu,
    sample_size: SampleSize = None,
    unseen: WhenUnseen = None,
    truth: Annotated[
        str | None, typer.Option("--truth", help="The true network, to report the divergence from it.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="The file for a calibration plot of the first target (.png .svg .pdf)."),
    ] = None,
    missing: MissingText = None,
    seed: Seed = 0,
    progress: Bar = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate a model on the rows of a file: log-loss, and the accuracy of predicting each target from the others."""
    from sepset.learning.evaluation.splits import KFold

    if plot is not None and (not target or folds is not None):
        raise ScopeError("--plot draws the calibration of a target: name it with --target, and leave out --folds.")
    if plot is not None:
        require_place(plot)
    if folds is not None:
        _require_settings(method, {}, unseen)
    elif unseen is not None or sample_size is not None:
        raise ScopeError("--unseen and --sample-size go with --folds: without it the model is evaluated as it is.")
    model = load(file)
    rows = rows_about(model, data, missing)
    if not rows.num_rows:
        raise DataError(f"{data} has no rows to evaluate a model on.")
    losses = _losses(target)
    facts: dict[str, Any] = {"rows": rows.num_rows}
    views: list[RenderableType] = []
    if folds is None:
        found = _evaluated(model, rows, losses, progress)
        facts["losses"] = {loss.name: _risk_json(risk) for loss, risk in found.items()}
        views.append(found)
    else:
        chosen = estimator_of(method, sample_size, unseen, _bayesian(model), rows)
        tried = _validated(model, rows, losses, KFold(folds), chosen, seed, progress)
        facts["folds"] = folds
        facts["losses"] = {loss.name: _validated_json(risk) for loss, risk in tried.items()}
        views.append(tried)
    if target and folds is None:
        facts["calibration"] = _calibrated(model, rows, target, plot)
        views += [f"expected calibration error of {name}: {value:.4f}" for name, value in facts["calibration"].items()]
    if truth is not None:
        facts["divergence"] = _divergence(truth, model)
        views.append(f"divergence from {truth}: {facts['divergence']:.6g} nats")
    show(_finite(facts), as_json, lambda: _stacked(views))


def rows_about(model: Any, data: Path, missing: list[str] | None) -> Dataset:
    """The rows over the model's variables; raises if the file has none of them."""
    from sepset.data.binding import delimiter_hint
    from sepset.data.files import read_dataset
    from sepset.data.sources import names_of

    rows = read_dataset(data, model.variables, missing=_texts(missing), missing_columns="allow")
    if rows.num_rows and all(empty == rows.num_rows for empty in rows.num_missing.values()):
        hint = delimiter_hint(names_of(data))
        raise DataError(f"{data} has no value of any variable of the model: {listing(model.variables.names)}.{hint}")
    return rows


def _losses(targets: list[str] | None) -> list[Loss]:
    from sepset.learning.evaluation.losses import Brier, ConditionalLogLoss, LogLoss, ZeroOne

    asked: list[Loss] = [LogLoss()]
    for target in targets or ():
        asked += [ZeroOne(target), ConditionalLogLoss(target), Brier(target)]
    return asked


def _evaluated(model: Any, rows: Dataset, losses: list[Loss], progress: bool | None) -> EvaluationResult:
    from sepset.learning.evaluation.losses import evaluate as evaluated

    return evaluated(model, rows, *losses, progress=progress)


def _bayesian(model: Any) -> BayesNet:
    from sepset.models.bayesnet import BayesNet

    if not isinstance(model, BayesNet):
        raise NotApplicable(f"Cross-validation fits Bayesian networks; this is a {type(model).__name__}.")
    return model


def _validated(
    model: Any,
    rows: Dataset,
    losses: list[Loss],
    split: KFold,
    method: LearningMethod,
    seed: int,
    progress: bool | None,
) -> Validation:
    from sepset.learning.evaluation.validation import Learner, cross_validate

    return cross_validate(Learner(model, method), rows, *losses, split=split, seed=seed, progress=progress)


def _risk_json(risk: Any) -> dict[str, float]:
    return {"mean": risk.mean, "standard_error": risk.standard_error}


def _validated_json(risk: Any) -> dict[str, float]:
    return {"pooled_mean": risk.pooled_mean, "mean_of_folds": risk.mean_of_folds, "spread": risk.spread}


def _calibrated(model: Any, rows: Dataset, targets: list[str], plot: Path | None) -> dict[str, float]:
    """The expected calibration error of every target; the curve of the first is drawn to `plot` if given."""
    from sepset.learning.evaluation.calibration import calibration_curve

    curves = {name: calibration_curve(model, rows, target=name) for name in targets}
    if plot is not None:
        from sepset.plotting import save

        save(curves[targets[0]].plot, plot)
    return {name: curve.expected_error for name, curve in curves.items()}


def _divergence(truth: str, model: Any) -> float:
    from sepset.learning.evaluation.divergence.relativeentropy import divergence

    return divergence(load(truth), model).total  # type: ignore[arg-type]  # it raises for other models


def _finite(value: Any) -> Any:
    """The value with infinite numbers as text, because JSON has no infinity."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _stacked(views: list[RenderableType]) -> RenderableType:
    from rich.console import Group

    return Group(*views)


@app.command()
def impute(
    file: File,
    data: Rows,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write: .csv, .tsv, .parquet or .feather.")],
    kind: Annotated[
        Filling | None, typer.Option("--kind", help="The values for empty cells; mode by default, draw with --copies.")
    ] = None,
    copies: Annotated[
        int | None, typer.Option("--copies", "-n", min=1, help="Write this many files of posterior draws, numbered.")
    ] = None,
    hidden: Annotated[bool, typer.Option("--hidden", help="Also impute variables that have no column.")] = False,
    missing: MissingText = None,
    seed: Seed = 0,
    progress: Bar = None,
    as_json: AsJson = False,
) -> None:
    """Impute the empty cells of a file of rows from the model's posterior, and write the rows."""
    from sepset.data.files import write_dataset

    chosen = kind or (Filling.mode if copies is None else Filling.draw)
    if copies is not None and chosen is not Filling.draw:
        raise NotApplicable(f"Copies of a {chosen.value} are all the same. Use --kind draw, or leave out --copies.")
    require_rows_file(out)
    model = load(file)
    rows = rows_about(model, data, missing)
    present = [v.name for v in model.variables if hidden or rows.num_missing[v.name] < max(rows.num_rows, 1)]
    files = [out] if copies is None else [_numbered(out, place + 1) for place in range(copies)]
    for path, full in zip(files, _imputed(model, rows, present, chosen, len(files), seed, progress), strict=True):
        write_dataset(full, path)
    filled = sum(rows.num_missing[name] for name in present)
    written = [str(path) for path in files]
    facts = {"rows": rows.num_rows, "filled": filled, "files": written}
    show(facts, as_json, lambda: f"{filled} cells of {rows.num_rows} rows filled: {listing(written)}")


def _imputed(
    model: Any, rows: Dataset, variables: list[str], kind: Filling, copies: int, seed: int, progress: bool | None
) -> list[Dataset]:
    """The completed copies, computed in parts so that a progress bar can be updated."""
    import numpy as np

    from sepset.base.progress import Bar as ProgressBar
    from sepset.learning.missing.imputation import impute as imputed

    rng = np.random.default_rng(seed)
    parts: list[tuple[Dataset, ...]] = []
    with ProgressBar(progress) as bar:
        for start in range(0, max(rows.num_rows, 1), PART):
            part = rows[start : start + PART]
            number = copies if kind is Filling.draw else None
            found = imputed(model, part, kind=kind.value, copies=number, variables=variables, seed=rng)
            parts.append(found.datasets)
            bar.report(start + part.num_rows, rows.num_rows)
    return [first.concat(*others) for first, *others in zip(*parts, strict=True)]


def _numbered(path: Path, number: int) -> Path:
    """The path with a number, `rows-1.csv` for `rows.csv`; all suffixes are kept."""
    stem, dot, suffixes = path.name.partition(".")
    return path.with_name(f"{stem}-{number}{dot}{suffixes}")
