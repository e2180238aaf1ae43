"""Names and arguments of other libraries, for errors that say what they are called here."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from sepset.base.annotations import misfit, misfit_within
from sepset.base.text import brief, listing, nearest
from sepset.errors import ArgumentError, SepsetError, TooLarge

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

OF_PYTHON = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, MemoryError)
"""The errors of Python, NumPy and others that a mistaken argument causes, or one that asks for too much."""

CALLED_HERE = {
    "BayesianNetwork": "BayesNet",
    "BayesianModel": "BayesNet",
    "BN": "BayesNet",
    "DiscreteBayesianNetwork": "BayesNet",
    "LinearGaussianBayesianNetwork": "BayesNet",
    "NaiveBayes": "sklearn.BayesNetClassifier",
    "MarkovNetwork": "MarkovNet",
    "DiscreteMarkovNetwork": "MarkovNet",
    "MarkovModel": "MarkovNet",
    "MarkovRandomField": "MarkovNet",
    "TabularCPD": "TableCPD",
    "LinearGaussianCPD": "LinearGaussian",
    "NoisyORModel": "NoisyOr",
    "DiscreteFactor": "Table",
    "Potential": "Table",
    "RangeVariable": "Discrete",
    "LabelizedVariable": "Discrete",
    "DiscretizedVariable": "discretize",
    "KBinsDiscretizer": "sklearn.Discretizer",
    "JunctionTree": "CliqueTree",
    "LazyPropagation": "CliqueTree",
    "ShaferShenoyInference": "inference.ShaferShenoy",
    "BeliefPropagation": "inference.BeliefUpdate",
    "LoopyBeliefPropagation": "LoopyBP",
    "ApproxInference": "LoopyBP",
    "CausalInference": "BayesNet.do",
    "MaximumLikelihoodEstimator": "MLE",
    "BayesianEstimator": "Bayes",
    "ExpectationMaximization": "EM",
    "HillClimbSearch": "HillClimb",
    "GreedyHillClimbing": "HillClimb",
    "MmhcEstimator": "MMHC",
    "TreeSearch": "structure.ChowLiu",
    "ExhaustiveSearch": "structure.ExactSearch",
    "BicScore": "BIC",
    "BDeuScore": "BDeu",
    "K2Score": "K2",
    "BNLearner": "learn_structure",
    "hc": "HillClimb",
    "tabu": "HillClimb",
    "mmhc": "MMHC",
    "chow_liu": "ChowLiu",
    "boot_strength": "structure_posterior",
    "averaged_network": "structure_posterior",
    "cpquery": "query",
    "cpdist": "sample",
    "rbn": "sample",
    "mb": "graphs.markov_blanket",
    "dsep": "d_separated",
    "shd": "structure.compare",
    "mpe": "map_assignment",
    "map": "map_assignment",
    "map_query": "map_assignment",
    "posterior": "query",
    "infer": "query",
    "getPosterior": "query",
    "simulate": "sample",
    "loadBN": "read",
    "load_model": "read",
    "get_example_model": "datasets.load",
    "showInference": "draw",
    "showBN": "draw",
    "sideBySide": "draw",
    "showPosterior": "query",
    "BIFReader": "read",
    "BIFWriter": "write",
    "XMLBIFReader": "read",
    "XMLBIFWriter": "write",
    "UAIReader": "read",
    "UAIWriter": "write",
    "NETReader": "read",
    "NETWriter": "write",
    "XDSLReader": "read",
    "XDSLWriter": "write",
    "saveBN": "write",
    "save": "write",
    "save_model": "write",
    "read_bif": "read",
    "write_bif": "write",
    "read_net": "read",
    "write_net": "write",
    "import_example": "datasets.load",
    "BayesianModelSampling": "sample",
    "generateSample": "sample",
    "BNDatabaseGenerator": "sample",
    "fastBN": "DAG.parse",
    "model2network": "DAG.parse",
    "make_DAG": "DAG",
    "custom_fit": "BayesNet",
    "randomBN": "BayesNet.random",
    "MRF": "MarkovNet",
    "IntegerVariable": "Discrete",
    "Tensor": "Table",
    "EssentialGraph": "graphs.cpdag",
    "MarkovBlanket": "graphs.markov_blanket",
    "get_markov_blanket": "graphs.markov_blanket",
    "get_independencies": "graphs.independences",
    "is_dconnected": "d_separated",
    "active_trail_nodes": "graphs.reachable",
    "to_junction_tree": "graphs.tree_decomposition",
    "junction_tree": "graphs.tree_decomposition",
    "moral": "graphs.moralize",
    "cextend": "graphs.consistent_extension",
    "vstructs": "graphs.immoralities",
    "structural_em": "StructuralEM",
    "structure_learning": "learn_structure",
    "learnBN": "learn_structure",
    "parameter_learning": "fit",
    "learnParameters": "fit",
    "bn_fit": "fit",
    "bn_cv": "cross_validate",
    "pc_stable": "PC",
    "gs": "structure.GrowShrink",
    "iamb": "structure.IAMB",
    "fast_iamb": "structure.FastIAMB",
    "inter_iamb": "structure.InterIAMB",
    "mmpc": "structure.MMPC",
    "hpc": "structure.HPC",
    "tree_bayes": "classify.tree_augmented",
    "BNClassifier": "sklearn.BayesNetClassifier",
    "ci_test": "structure.independence_test",
    "arc_strength": "structure_posterior",
    "tiers2blacklist": "structure.Constraints",
    "StructureScore": "structure.score",
    "log_likelihood_score": "evaluate",
    "hamming": "structure.compare",
    "ExactBNdistance": "evaluation.divergence",
    "GibbsBNdistance": "evaluation.divergence",
    "CausalModel": "BayesNet.do",
    "causalImpact": "BayesNet.do",
    "mutilated": "BayesNet.do",
    "intervene": "BayesNet.do",
    "do": "BayesNet.do",
    "predict_probability": "predict",
    "graphviz_plot": "draw",
    "plot": "draw",
    "show": "draw",
    "marginal": "marginals",
    "joint": "query",
    "getInformation": "value_of_information",
    "calibrate": "prepare",
    "makeInference": "prepare",
    "setEvidence": "prepare",
    "evidenceProbability": "log_probability",
    "to_markov_model": "BayesNet.markov_net",
    "useEM": "EM",
    "useSmoothingPrior": "Bayes",
    "useBDeuPrior": "Bayes",
    "useGreedyHillClimbing": "HillClimb",
    "useLocalSearchWithTabuList": "HillClimb",
    "addMandatoryArc": "structure.Constraints",
    "addForbiddenArc": "structure.Constraints",
    "setSliceOrder": "structure.Constraints",
    "whitelist": "structure.Constraints",
    "blacklist": "structure.Constraints",
}
"""The names of other libraries, and what is called so here."""

NOT_YET = frozenset(
    (
        "hmm",
        "gaussianhmm",
        "categoricalhmm",
        "gmmhmm",
        "poissonhmm",
        "viterbi",
        "baum_welch",
        "forward_backward",
        "filtering",
        "smoothing",
        "multinomialhmm",
        "dbn",
        "dbninference",
        "ktbn",
        "limid",
        "dynamicbayesiannetwork",
        "dynamicbayesnet",
        "influencediagram",
        "counterfactual",
        "notears",
        "expertinloop",
        "do_calculus",
        "docalculuswithobservation",
        "gibbssampling",
        "gibbs",
        "likelihoodweighting",
        "likelihood_weighting",
        "importancesampling",
        "variational",
        "mcmc",
        "kalmanfilter",
        "particlefilter",
    )
)
"""The names of things, in lower case, that other libraries have and this one does not have yet."""

ARGUMENTS = {
    "evidence": "given",
    "observed": "given",
    "observations": "given",
    "evs": "given",
    "evidences": "given",
    "virtual_evidence": "given",
    "parents": "given",
    "evidence_card": "given",
    "query_variables": "targets",
    "target": "targets",
    "variance": "covariance",
    "var": "covariance",
    "std": "covariance",
    "random_state": "seed",
    "rng": "seed",
    "n": "num_rows",
    "size": "num_rows",
    "n_samples": "num_rows",
    "num_samples": "num_rows",
    "n_jobs": "threads",
    "verbose": "progress",
    "show_progress": "progress",
    "n_init": "restarts",
    "n_bins": "bins",
    "num_bins": "bins",
    "max_iter": "until",
    "max_indegree": "constraints",
    "whitelist": "constraints",
    "blacklist": "constraints",
    "equivalent_sample_size": "sample_size",
    "ess": "sample_size",
    "iss": "sample_size",
    "prior_type": "prior",
    "cardinality": "states",
    "card": "states",
    "ebunch": "edges",
    "variable": "child",
    "values": "table",
    "estimator": "method",
    "algorithm": "method",
    "sample_weight": "weights",
}
"""The names of arguments in other libraries, and here."""

ELSEWHERE = {
    **dict.fromkeys(("max_iter", "n_iter", "tol"), "until= of the verb, such as fit(..., until=Until(steps=50))"),
    **dict.fromkeys(("random_state", "rng", "seed"), "seed= of the verb, such as fit(..., seed=1)"),
    **dict.fromkeys(("n_jobs", "show_progress", "verbose"), "threads= or progress= of the verb"),
    **dict.fromkeys(
        ("max_indegree", "max_parents", "whitelist", "blacklist", "fixed_edges"),
        "constraints= of learn_structure, a structure.Constraints(...)",
    ),
    "do": "a model of its own, model.do({...})",
}
"""The settings that methods have in other libraries, and which argument of a verb they are here."""


MEMBERS = {
    "query": "ask with sepset.query(model, ...)",
    "posterior": "ask with sepset.query(model, ...)",
    "cpt": "the CPD of a variable is model.cpd(name)",
    "get_cpds": "the CPDs are model.cpds, and that of a variable is model.cpd(name)",
    "add_cpds": "models do not change: give all CPDs to BayesNet([...])",
    "add_edge": "models do not change: a new one is made by BayesNet([...])",
    "add_node": "models do not change: a new one is made by BayesNet([...])",
    "addArc": "models do not change: a new one is made by BayesNet([...])",
    "nodes": "the names are model.variables.names",
    "names": "the names are model.variables.names",
    "states": "the states of a variable are model[name].states",
    "get_cardinality": "the number of states of a variable is model[name].num_states",
    "edges": "the edges are model.dag.edges",
    "arcs": "the edges are model.dag.edges",
    "fit": "learn parameters with sepset.fit(model, data, ...)",
    "predict": "predict with sepset.predict(model, data, targets=...)",
    "predict_probability": "predict with sepset.predict(model, data, targets=...)",
    "map_query": "ask with sepset.map_assignment(model, ...)",
    "markov_blanket": "it is sepset.graphs.markov_blanket(model.dag, name)",
    "get_markov_blanket": "it is sepset.graphs.markov_blanket(model.dag, name)",
    "check_model": "models are checked when they are made",
    "simulate": "draw rows with model.sample(num_rows, seed)",
    "save": "write a file with sepset.write(model, path)",
    "plot": "draw with sepset.draw(model)",
    "draw": "draw with sepset.draw(model)",
    "to_daft": "draw with sepset.draw(model)",
    "to_graphviz": "draw with sepset.draw(model).to_dot()",
    "copy": "models do not change, so that none needs a copy",
}
"""The attributes of models in other libraries, and how it is done here."""


class TakesNames:
    """An object whose methods say which argument is mistaken, as functions that are `translated` do.

    The bases of values, models, answers and results are such objects, so that all of these are. Private methods stay as
    they are, and so do those marked with `often` and the classes that are `inner`, which no user meets. What a class
    inherits from others counts as its own.

    >>> class Coin(TakesNames):
    ...     def sample(self, num_rows, *, seed=None):
    ...         return [0] * num_rows
    >>> Coin().sample(3, random_state=1)
    Traceback (most recent call last):
    ...
    sepset.errors.ArgumentError: Coin.sample has no random_state=; here it is seed=. It takes num_rows, seed=.
    """

    __slots__ = ()

    def __init_subclass__(cls, *, inner: bool = False, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        if not inner:
            _translate_methods(cls)


def _translate_methods(cls: type) -> None:
    """Translate the methods of a class, and of those of its bases that are ours and not translated on their own."""
    for base in cls.__mro__:
        if base is cls or (base.__module__.startswith("sepset.") and not issubclass(base, TakesNames)):
            for name, member in list(vars(base).items()):
                if not name.startswith("_") and not getattr(base, "_is_protocol", False):
                    _translate(base, name, member)


def _translate(cls: type, name: str, member: Any) -> None:
    """Translate a method of a class; other members stay as they are."""
    kind = type(member) if isinstance(member, classmethod | staticmethod) else None
    function = member.__func__ if kind else member
    is_method = inspect.isfunction(function) and not hasattr(function, "__wrapped__")
    if is_method and function not in OFTEN and not getattr(function, "__isabstractmethod__", False):
        setattr(cls, name, kind(translated(function)) if kind else translated(function))


OFTEN: set[Callable[..., Any]] = set()
"""The methods that stay as they are."""


def often(function: Callable[P, R]) -> Callable[P, R]:
    """The method as it is: every question or every step of learning calls it, and a look at each call takes time."""
    OFTEN.add(function)
    return function


class Hinting(TakesNames):
    """An object whose error about a missing attribute says how it is done here.

    >>> class Model(Hinting):
    ...     pass
    >>> Model().map_query
    Traceback (most recent call last):
    ...
    AttributeError: 'Model' object has no attribute 'map_query'; ask with sepset.map_assignment(model, ...).
    """

    __slots__ = ()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            advice = f"; {MEMBERS[name]}." if name in MEMBERS else ""
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}{advice}", name=name, obj=self
            )


def hint(name: str) -> str:
    """A clause that says what a name of another library is here, or that there is no such thing yet.

    >>> hint("mpe"), hint("HMM"), hint("color")
    (' It is sepset.map_assignment.', ' There is no such thing yet.', '')
    """
    if name in CALLED_HERE:
        return f" It is sepset.{CALLED_HERE[name]}."
    return " There is no such thing yet." if name.lower() in NOT_YET else ""


FLAGS = {"bool": (bool, np.bool_), "bool | None": (bool, np.bool_, type(None))}
"""The types of what is true or false, by their annotation."""


def translated(function: Callable[P, R]) -> Callable[P, R]:
    """The function, with an error about its arguments that says what they are called here, and which one is not of
    the kind that is annotated, if Python finds a mistake before we do, or if it should be true or false.

    >>> @translated
    ... def ask(model, *, given=None):
    ...     return given
    >>> ask("asia", evidence={"smoke": "yes"})
    Traceback (most recent call last):
    ...
    sepset.errors.ArgumentError: ask has no evidence=; here it is given=. It takes model, given=.
    >>> @translated
    ... def doubled(number: int):
    ...     return 2 + number
    >>> doubled("one")
    Traceback (most recent call last):
    ...
    sepset.errors.ArgumentError: number= is a whole number; found 'one'.
    >>> @translated
    ... def drawn(*, titles: bool = False):
    ...     return titles
    >>> drawn(titles="no")
    Traceback (most recent call last):
    ...
    sepset.errors.ArgumentError: titles= is True or False; found 'no'.
    """

    hints = getattr(function, "__annotations__", {})
    owner = f"{name[:-9]}: " if (name := function.__qualname__).endswith(".__init__") else ""
    flags = {name: FLAGS[hint] for name, hint in hints.items() if isinstance(hint, str) and hint in FLAGS}

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        for flag, kinds in flags.items():
            if not isinstance(kwargs.get(flag, True), kinds):  # 'no' would count as True
                also = ", or None" if type(None) in kinds else ""
                raise ArgumentError(f"{owner}{flag}= is True or False{also}; found {brief(kwargs[flag])}.")
        try:
            return function(*args, **kwargs)
        except OF_PYTHON as error:
            problem = explained(error, function, args, kwargs)
            if problem is None:
                raise
            cause = error if was_called(error) else None
        except SystemError as error:
            check_interrupt(error)
            raise
        raise problem from cause

    return called


def check_interrupt(error: SystemError) -> None:
    """Raise Ctrl-C if that is what it was: as a compiled function is entered, it comes as a `SystemError`.

    >>> check_interrupt(SystemError())
    """
    if isinstance(error.__cause__, KeyboardInterrupt):
        raise KeyboardInterrupt from error


def explained(
    error: Exception, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> SepsetError | None:
    """The reason why a call ended in an error of Python's own: a mistaken argument, or too little memory.

    None if the arguments fit.
    """
    if isinstance(error, SepsetError):
        return None
    if isinstance(error, MemoryError):
        return TooLarge(f"This needs more memory than is available. {error}".strip())
    if not was_called(error):
        return ArgumentError(misnamed(function, args, kwargs))
    looks = (misfit, misfit_within, unsuited)
    reason = next(filter(None, (look(function, args, kwargs) for look in looks)), "")
    return ArgumentError(reason) if reason else None


def unsuited(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The objection of an argument that others must suit, such as columns of which they are positions."""
    given = inspect.signature(function).bind(*args, **kwargs).arguments
    asked = (value._unsuited(given) for value in given.values() if isinstance(value, Suited))
    return next(filter(None, asked), "")


class Suited:
    """An object that says which arguments of a failed call do not suit it."""

    __slots__ = ()

    def _unsuited(self, given: Mapping[str, Any]) -> str:
        """The reason why other arguments do not suit it; empty if they do."""
        raise NotImplementedError


def takes_names(cls: type[T]) -> type[T]:
    """The class, whose error about the arguments of a new object or of its methods says what they are called here.

    Every public class becomes one where its name becomes public, in a namespace; errors, protocols and named tuples
    stay as they are.

    >>> class Counter:
    ...     def __init__(self, start=0):
    ...         self.start = start
    >>> takes_names(Counter)(begin=3)
    Traceback (most recent call last):
    ...
    sepset.errors.ArgumentError: Counter has no begin=. It takes start.
    """
    if getattr(cls, "_is_protocol", False):
        return cls
    made = cls.__init__
    if inspect.isfunction(made) and not hasattr(made, "__wrapped__"):
        cls.__init__ = translated(made)  # type: ignore[method-assign]  # of this class alone
    if not issubclass(cls, TakesNames):
        _translate_methods(cls)
    return cls


def was_called(error: Exception) -> bool:
    """Whether an error was raised inside the function, which was called with arguments that it has."""
    way = error.__traceback__
    return not isinstance(error, TypeError) or way is None or way.tb_next is not None


def misnamed(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The mistake in the arguments of a call, and the arguments that the function takes."""
    known = inspect.signature(function).parameters
    is_method = "self" in known or "cls" in known
    parameters = [p for p in known.values() if p.name not in ("self", "cls")]
    name = f"{type(args[0]).__name__}.{function.__name__}" if "self" in known else function.__qualname__
    name = name.removesuffix(".__init__")
    named = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    placed = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    many = [f"*{p.name}" for p in parameters if p.kind is p.VAR_POSITIONAL]
    takes = f"It takes {', '.join([*placed, *many, *(f'{n}=' for n in named)]) or 'no arguments'}."
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return f"{name} cannot be called like this. {takes}"
    for word in kwargs:
        if word not in placed and word not in named:
            return f"{name} has no {word}={_here(word, [*placed, *named])} {takes}"
    given = args[1:] if is_method else args
    if not parameters:
        return f"{name} takes no arguments; found {', '.join(map(brief, given))}."
    if len(given) > len(placed) and not many:
        rest = ", and the rest by name" if named else f" and nothing else; found {brief(given[len(placed)])} too"
        first = f"{listing(placed)} by position{rest}" if placed else "its arguments by name"
        return f"{name} takes {first}.{_extra(given, placed, named)} {takes}"
    twice = next((n for n in placed[: len(given)] if n in kwargs), None)
    if twice is not None:
        return f"{name} is given {twice} twice, by position and by name. {takes}"
    required = [p for p in parameters if p.kind is not p.VAR_POSITIONAL]
    missing = [p.name for p in required if p.default is p.empty and p.name not in kwargs]
    return f"{name} needs {listing(missing[len(given) :] or missing)}. {takes}"


def _here(word: str, known: list[str]) -> str:
    here = ARGUMENTS.get(word)
    if here in known:
        return f"; here it is {here}=."
    return f"; here it is {ELSEWHERE[word]}." if word in ELSEWHERE else f".{nearest(word, known)}"


def _extra(given: tuple[Any, ...], placed: list[str], named: list[str]) -> str:
    """The advice about arguments beyond those taken by position."""
    extra = given[len(placed) :]
    if placed[-1:] == ["targets"] and all(isinstance(one, str) for one in given[len(placed) - 1 :]):
        return f" Several targets are one list: {[*given[len(placed) - 1 :]]}."
    return " Findings are given=." if isinstance(extra[0], dict) and "given" in named else ""
