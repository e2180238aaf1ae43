"""Probabilistic graphical models: fast, exact where possible, and every answer with its guarantee."""

from __future__ import annotations

import importlib as _importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sepset import datasets as datasets
    from sepset.api.conversions import to_bayes_net as to_bayes_net
    from sepset.api.learning import fit as fit
    from sepset.api.questions import (
        expected_counts as expected_counts,
        log_partition as log_partition,
        log_probability as log_probability,
        map_assignment as map_assignment,
        marginals as marginals,
        plan as plan,
        predict as predict,
        prepare as prepare,
        query as query,
        sample as sample,
        sensitivity as sensitivity,
        value_of_information as value_of_information,
    )
    from sepset.cpds.cpd import CPD as CPD, ContextIndependence as ContextIndependence, ParameterBlock as ParameterBlock
    from sepset.cpds.deterministic import DeterministicCPD as DeterministicCPD, MultiplexerCPD as MultiplexerCPD
    from sepset.cpds.dirichletposterior import log_polya as log_polya
    from sepset.cpds.kerneldensity import KernelCPD as KernelCPD
    from sepset.cpds.lineargaussian import LinearGaussian as LinearGaussian
    from sepset.cpds.logistic import LogisticCPD as LogisticCPD
    from sepset.cpds.noisy import NoisyMax as NoisyMax, NoisyOr as NoisyOr
    from sepset.cpds.partition import PartitionCPD as PartitionCPD
    from sepset.cpds.priors.dirichlet import (
        K2 as K2,
        BDeu as BDeu,
        ContextStrength as ContextStrength,
        Dirichlet as Dirichlet,
        DirichletMixture as DirichletMixture,
    )
    from sepset.cpds.priors.gaussian import GammaPrecision as GammaPrecision, NormalMean as NormalMean
    from sepset.cpds.priors.regression import (
        LinearNormalGamma as LinearNormalGamma,
        LinearNormalInverseWishart as LinearNormalInverseWishart,
        NormalGamma as NormalGamma,
        NormalInverseWishart as NormalInverseWishart,
    )
    from sepset.cpds.priors.weights import Laplace as Laplace, Normal as Normal
    from sepset.cpds.rules import Rule as Rule, RuleCPD as RuleCPD
    from sepset.cpds.table import TableCPD as TableCPD
    from sepset.cpds.tree import Split as Split, TreeCPD as TreeCPD
    from sepset.data.counts import Counts as Counts
    from sepset.data.dataset import Dataset as Dataset
    from sepset.data.empirical import Empirical as Empirical
    from sepset.data.files import read_dataset as read_dataset, write_dataset as write_dataset
    from sepset.data.missingness import (
        MissingPatterns as MissingPatterns,
        complete_cases as complete_cases,
        missing_patterns as missing_patterns,
    )
    from sepset.data.moments import Moments as Moments
    from sepset.engine.classifier import Classification as Classification, Classifier as Classifier
    from sepset.engine.engine import Engine as Engine
    from sepset.engine.information import InformationValues as InformationValues
    from sepset.engine.invariants import Check as Check, CheckReport as CheckReport
    from sepset.engine.prediction import Prediction as Prediction
    from sepset.engine.sensitivity import ParameterSensitivity as ParameterSensitivity, Sensitivity as Sensitivity
    from sepset.engine.view import Observed as Observed
    from sepset.errors import (
        ArgumentError as ArgumentError,
        BrokenInvariant as BrokenInvariant,
        DataError as DataError,
        FileFormatError as FileFormatError,
        ImpossibleEvidence as ImpossibleEvidence,
        MissingExtra as MissingExtra,
        ModelError as ModelError,
        NotApplicable as NotApplicable,
        NotClosed as NotClosed,
        ScopeError as ScopeError,
        SepsetError as SepsetError,
        StateError as StateError,
        TooLarge as TooLarge,
    )
    from sepset.factors.algebra import Conditional as Conditional, Distribution as Distribution, Factor as Factor
    from sepset.factors.block import FactorBlock as FactorBlock, Single as Single
    from sepset.factors.gaussian import CanonicalGaussian as CanonicalGaussian
    from sepset.factors.hybrid import CanonicalTable as CanonicalTable
    from sepset.factors.moments import Gaussian as Gaussian, GaussianMixture as GaussianMixture
    from sepset.factors.potentials import (
        AllDifferent as AllDifferent,
        AtLeastOne as AtLeastOne,
        Ising as Ising,
        Parity as Parity,
        Potential as Potential,
        Potts as Potts,
        TruncatedLinear as TruncatedLinear,
        TruncatedQuadratic as TruncatedQuadratic,
    )
    from sepset.factors.sparse import SparseTable as SparseTable
    from sepset.factors.studentt import StudentT as StudentT
    from sepset.factors.table import Table as Table
    from sepset.graphs.clusters import (
        ClusterGraph as ClusterGraph,
        clique_tree as clique_tree,
        strong_order as strong_order,
        strong_root as strong_root,
    )
    from sepset.graphs.elimination import (
        EliminationOrder as EliminationOrder,
        eliminate_graph as eliminate_graph,
        fill_in as fill_in,
        induced_width as induced_width,
    )
    from sepset.graphs.equivalence import (
        consistent_extension as consistent_extension,
        covered_edges as covered_edges,
        cpdag as cpdag,
        i_equivalent as i_equivalent,
        immoralities as immoralities,
        is_cpdag as is_cpdag,
        markov_to_bayes as markov_to_bayes,
        meek_rules as meek_rules,
    )
    from sepset.graphs.graph import (
        DAG as DAG,
        MixedGraph as MixedGraph,
        UndirectedGraph as UndirectedGraph,
        ancestors as ancestors,
        chain_components as chain_components,
        connected_components as connected_components,
        descendants as descendants,
        moralize as moralize,
        skeleton as skeleton,
    )
    from sepset.graphs.imaps import (
        Independence as Independence,
        independences as independences,
        is_imap as is_imap,
        is_perfect_map as is_perfect_map,
        minimal_imap as minimal_imap,
        minimal_imap_undirected as minimal_imap_undirected,
    )
    from sepset.graphs.ordering import (
        GivenOrder as GivenOrder,
        MaxCardinality as MaxCardinality,
        MinFill as MinFill,
        MinNeighbors as MinNeighbors,
        MinWeight as MinWeight,
        Portfolio as Portfolio,
        WeightedMinFill as WeightedMinFill,
        elimination_order as elimination_order,
    )
    from sepset.graphs.regions import (
        RegionGraph as RegionGraph,
        bethe_graph as bethe_graph,
        join_graph as join_graph,
        region_graph as region_graph,
    )
    from sepset.graphs.separation import (
        Trail as Trail,
        active_trail as active_trail,
        barren_nodes as barren_nodes,
        chain_separated as chain_separated,
        csi_separated as csi_separated,
        d_separated as d_separated,
        markov_blanket as markov_blanket,
        reachable as reachable,
        requisite_nodes as requisite_nodes,
        separated as separated,
    )
    from sepset.graphs.treewidth import treewidth as treewidth, treewidth_bounds as treewidth_bounds
    from sepset.graphs.triangulation import (
        is_chordal as is_chordal,
        maximal_cliques as maximal_cliques,
        perfect_elimination_order as perfect_elimination_order,
        triangulate as triangulate,
    )
    from sepset.inference.cliquetree.cutset import CutsetConditioning as CutsetConditioning, CutsetPlan as CutsetPlan
    from sepset.inference.cliquetree.method import CliqueTree as CliqueTree
    from sepset.inference.exact.beliefupdate import BeliefUpdate as BeliefUpdate
    from sepset.inference.exact.bruteforce import BruteForce as BruteForce
    from sepset.inference.exact.elimination import VariableElimination as VariableElimination
    from sepset.inference.exact.recursive import (
        ConditioningPlan as ConditioningPlan,
        RecursiveConditioning as RecursiveConditioning,
    )
    from sepset.inference.exact.shafershenoy import ShaferShenoy as ShaferShenoy
    from sepset.inference.iterate import Until as Until, iterate as iterate
    from sepset.inference.plan import Plan as Plan
    from sepset.inference.result import (
        Guarantee as Guarantee,
        LogProbability as LogProbability,
        MapResult as MapResult,
        Marginals as Marginals,
        QueryResult as QueryResult,
        Status as Status,
    )
    from sepset.inference.treequery.orders import MergeOrder as MergeOrder
    from sepset.inference.treequery.pairs import Pairs as Pairs
    from sepset.inference.treequery.query import TreeQuery as TreeQuery, tree_query as tree_query
    from sepset.inference.treequery.search import (
        best_first_order as best_first_order,
        choose_order as choose_order,
        optimal_order as optimal_order,
    )
    from sepset.io.files import read as read, write as write
    from sepset.io.results import (
        read_evidence as read_evidence,
        read_result as read_result,
        write_evidence as write_evidence,
        write_result as write_result,
    )
    from sepset.learning.blocks import tie as tie
    from sepset.learning.classify.discriminant import discriminant_analysis as discriminant_analysis
    from sepset.learning.classify.latentclass import latent_class as latent_class, ordered_states as ordered_states
    from sepset.learning.classify.multinomial import (
        MultinomialNaiveBayes as MultinomialNaiveBayes,
        multinomial_naive_bayes as multinomial_naive_bayes,
    )
    from sepset.learning.classify.naivebayes import naive_bayes as naive_bayes, tree_augmented as tree_augmented
    from sepset.learning.coverage import Fragmentation as Fragmentation, fragmentation as fragmentation
    from sepset.learning.estimation.estimators import MAP as MAP, MLE as MLE, Bayes as Bayes
    from sepset.learning.estimation.gaussian import (
        conditional_line as conditional_line,
        fit_gaussian as fit_gaussian,
        fit_line as fit_line,
    )
    from sepset.learning.estimation.metanetwork import (
        irrelevant_parameters as irrelevant_parameters,
        meta_network as meta_network,
    )
    from sepset.learning.estimation.networkpriors import BDe as BDe, ImaginaryData as ImaginaryData
    from sepset.learning.estimation.proportions import (
        interval_coverage as interval_coverage,
        proportion_interval as proportion_interval,
        rows_needed as rows_needed,
    )
    from sepset.learning.evaluation.biasvariance import BiasVariance as BiasVariance, bias_variance as bias_variance
    from sepset.learning.evaluation.calibration import (
        Calibration as Calibration,
        calibration as calibration,
        calibration_curve as calibration_curve,
    )
    from sepset.learning.evaluation.divergence.discrete import (
        cpd_distance as cpd_distance,
        parameter_distance as parameter_distance,
    )
    from sepset.learning.evaluation.divergence.relativeentropy import Divergence as Divergence, divergence as divergence
    from sepset.learning.evaluation.goodnessoffit import (
        GoodnessOfFit as GoodnessOfFit,
        goodness_of_fit as goodness_of_fit,
        log_probability_moments as log_probability_moments,
    )
    from sepset.learning.evaluation.learningcurve import (
        LearningCurve as LearningCurve,
        learning_curve as learning_curve,
    )
    from sepset.learning.evaluation.losses import (
        Brier as Brier,
        ConditionalLogLoss as ConditionalLogLoss,
        Evaluation as Evaluation,
        Hamming as Hamming,
        LogLoss as LogLoss,
        Loss as Loss,
        QuerySuite as QuerySuite,
        Risk as Risk,
        ZeroOne as ZeroOne,
        evaluate as evaluate,
    )
    from sepset.learning.evaluation.resampling import (
        Bootstrap as Bootstrap,
        PairedComparison as PairedComparison,
        PermutationTest as PermutationTest,
        bootstrap as bootstrap,
        bootstrap_mean as bootstrap_mean,
        paired_comparison as paired_comparison,
        permutation_test as permutation_test,
    )
    from sepset.learning.evaluation.splits import Holdout as Holdout, KFold as KFold, LeaveOneOut as LeaveOneOut
    from sepset.learning.evaluation.validation import (
        Learner as Learner,
        NestedValidation as NestedValidation,
        Selection as Selection,
        ValidatedRisk as ValidatedRisk,
        Validation as Validation,
        cross_validate as cross_validate,
        nested_cross_validate as nested_cross_validate,
        select_learner as select_learner,
        train_and_test as train_and_test,
    )
    from sepset.learning.fit import Fit as Fit, LearningMethod as LearningMethod
    from sepset.learning.incomplete.em import EM as EM, HardEM as HardEM, IncrementalEM as IncrementalEM
    from sepset.learning.incomplete.gradient import GradientAscent as GradientAscent
    from sepset.learning.incomplete.standarderrors import (
        StandardErrors as StandardErrors,
        standard_errors as standard_errors,
    )
    from sepset.learning.incomplete.stepwise import StepwiseEM as StepwiseEM
    from sepset.learning.missing.availablecases import AvailableCases as AvailableCases
    from sepset.learning.missing.identifiability import (
        IdentifiabilityReport as IdentifiabilityReport,
        equivalent_neighbor as equivalent_neighbor,
        identifiability as identifiability,
    )
    from sepset.learning.missing.imputation import Imputation as Imputation, impute as impute
    from sepset.learning.missing.mcartest import MCARTest as MCARTest, mcar_test as mcar_test
    from sepset.learning.missing.mechanisms import (
        MAR as MAR,
        MCAR as MCAR,
        MNAR as MNAR,
        Hiding as Hiding,
        indicator as indicator,
        mask as mask,
    )
    from sepset.learning.missing.observability import (
        ObservabilityModel as ObservabilityModel,
        is_mar as is_mar,
        is_mcar as is_mcar,
        shown as shown,
    )
    from sepset.learning.missing.pooling import PooledEstimate as PooledEstimate, pool_estimates as pool_estimates
    from sepset.learning.missing.weighting import (
        CaseWeights as CaseWeights,
        inverse_probability_weights as inverse_probability_weights,
    )
    from sepset.learning.posterior import Posterior as Posterior
    from sepset.learning.structure.comparison import (
        Recovery as Recovery,
        feature_confidence as feature_confidence,
        structure_recovery as structure_recovery,
    )
    from sepset.learning.task import Task as Task
    from sepset.learning.undirected.exponentialfamily import ExponentialFamily as ExponentialFamily
    from sepset.models.bayesnet import BayesNet as BayesNet
    from sepset.models.blocks import block as block, pairwise as pairwise, unary as unary
    from sepset.models.canonical import canonical_form as canonical_form
    from sepset.models.chaincomponent import ChainComponent as ChainComponent
    from sepset.models.chaingraph import ChainGraph as ChainGraph
    from sepset.models.conversions import (
        maximal_form as maximal_form,
        pairwise_form as pairwise_form,
        to_chain_graph as to_chain_graph,
    )
    from sepset.models.decisions.costs import cost_threshold as cost_threshold, decide as decide
    from sepset.models.factorgraph import FactorGraph as FactorGraph
    from sepset.models.features import Feature as Feature
    from sepset.models.jointgaussian import joint_gaussian as joint_gaussian
    from sepset.models.markovnet import MarkovNet as MarkovNet
    from sepset.models.model import Model as Model
    from sepset.problem import Problem as Problem
    from sepset.semiring import (
        BOOLEAN as BOOLEAN,
        MAX as MAX,
        SUM as SUM,
        Semiring as Semiring,
        temperature as temperature,
    )
    from sepset.variables.array import VariableArray as VariableArray
    from sepset.variables.evidence import Evidence as Evidence, Likelihood as Likelihood, Not as Not, Soft as Soft
    from sepset.variables.universe import Variables as Variables
    from sepset.variables.variable import Discrete as Discrete, Real as Real, Vector as Vector

# Where each public name lives.
_MODULES = {
    "api.conversions": ("to_bayes_net "),
    "engine.classifier": ("Classification Classifier "),
    "engine.engine": ("Engine "),
    "engine.information": ("InformationValues "),
    "engine.invariants": ("Check CheckReport "),
    "engine.view": ("Observed "),
    "engine.prediction": ("Prediction "),
    "engine.sensitivity": ("ParameterSensitivity Sensitivity "),
    "api.questions": (
        "expected_counts log_partition log_probability map_assignment marginals plan predict prepare query sample "
        "sensitivity value_of_information "
    ),
    "variables.array": ("VariableArray "),
    "cpds.noisy": ("NoisyMax NoisyOr "),
    "cpds.cpd": ("CPD ContextIndependence ParameterBlock "),
    "cpds.priors.gaussian": ("GammaPrecision NormalMean "),
    "cpds.priors.regression": ("LinearNormalGamma LinearNormalInverseWishart NormalGamma NormalInverseWishart "),
    "cpds.kerneldensity": ("KernelCPD "),
    "cpds.lineargaussian": ("LinearGaussian "),
    "models.jointgaussian": ("joint_gaussian "),
    "cpds.logistic": ("LogisticCPD "),
    "cpds.partition": ("PartitionCPD "),
    "cpds.priors.dirichlet": ("BDeu ContextStrength Dirichlet DirichletMixture K2 "),
    "cpds.priors.weights": ("Laplace Normal "),
    "cpds.rules": ("Rule RuleCPD "),
    "cpds.deterministic": ("DeterministicCPD MultiplexerCPD "),
    "factors.studentt": ("StudentT "),
    "cpds.table": ("TableCPD "),
    "cpds.tree": ("Split TreeCPD "),
    "data.counts": ("Counts "),
    "data.dataset": ("Dataset "),
    "data.files": ("read_dataset write_dataset "),
    "data.moments": ("Moments "),
    "errors": (
        "ArgumentError BrokenInvariant DataError FileFormatError ImpossibleEvidence MissingExtra ModelError "
        "NotApplicable NotClosed ScopeError SepsetError StateError TooLarge "
    ),
    "variables.evidence": ("Evidence Likelihood Not Soft "),
    "factors.algebra": ("Conditional Distribution Factor "),
    "factors.block": ("FactorBlock Single "),
    "factors.gaussian": ("CanonicalGaussian "),
    "factors.hybrid": ("CanonicalTable "),
    "factors.moments": ("Gaussian GaussianMixture "),
    "factors.potentials": ("AllDifferent AtLeastOne Ising Parity Potential Potts TruncatedLinear TruncatedQuadratic "),
    "factors.sparse": ("SparseTable "),
    "factors.table": ("Table "),
    "graphs.clusters": ("ClusterGraph clique_tree strong_order strong_root "),
    "graphs.elimination": ("EliminationOrder eliminate_graph fill_in induced_width "),
    "graphs.equivalence": (
        "consistent_extension covered_edges cpdag i_equivalent immoralities is_cpdag markov_to_bayes meek_rules "
    ),
    "graphs.graph": (
        "DAG MixedGraph UndirectedGraph ancestors chain_components connected_components descendants moralize skeleton "
    ),
    "graphs.imaps": ("Independence independences is_imap is_perfect_map minimal_imap minimal_imap_undirected "),
    "graphs.ordering": (
        "GivenOrder MaxCardinality MinFill MinNeighbors MinWeight Portfolio WeightedMinFill elimination_order "
    ),
    "graphs.regions": ("RegionGraph bethe_graph join_graph region_graph "),
    "graphs.separation": (
        "Trail active_trail barren_nodes chain_separated csi_separated d_separated markov_blanket "
        "reachable requisite_nodes separated "
    ),
    "graphs.treewidth": ("treewidth treewidth_bounds "),
    "graphs.triangulation": ("is_chordal maximal_cliques perfect_elimination_order triangulate "),
    "inference.exact.beliefupdate": ("BeliefUpdate "),
    "inference.exact.bruteforce": ("BruteForce "),
    "inference.cliquetree.method": ("CliqueTree "),
    "inference.exact.recursive": ("ConditioningPlan RecursiveConditioning "),
    "inference.cliquetree.cutset": ("CutsetConditioning CutsetPlan "),
    "inference.exact.elimination": ("VariableElimination "),
    "inference.iterate": ("Until iterate "),
    "inference.treequery.orders": ("MergeOrder "),
    "inference.treequery.search": ("best_first_order choose_order optimal_order "),
    "inference.plan": ("Plan "),
    "inference.result": ("Guarantee LogProbability MapResult Marginals QueryResult Status "),
    "inference.exact.shafershenoy": ("ShaferShenoy "),
    "inference.treequery.pairs": ("Pairs "),
    "inference.treequery.query": ("TreeQuery tree_query "),
    "io.files": ("read write "),
    "io.results": ("read_evidence read_result write_evidence write_result "),
    "learning.missing.availablecases": ("AvailableCases "),
    "learning.evaluation.biasvariance": ("BiasVariance bias_variance "),
    "learning.evaluation.calibration": ("Calibration calibration calibration_curve "),
    "learning.evaluation.learningcurve": ("LearningCurve learning_curve "),
    "models.decisions.costs": ("cost_threshold decide "),
    "learning.classify.discriminant": ("discriminant_analysis "),
    "learning.evaluation.divergence.relativeentropy": ("Divergence divergence "),
    "learning.evaluation.divergence.discrete": ("cpd_distance parameter_distance "),
    "learning.incomplete.em": ("EM HardEM IncrementalEM "),
    "data.empirical": ("Empirical "),
    "learning.fit": ("Fit LearningMethod "),
    "api.learning": ("fit "),
    "learning.coverage": ("Fragmentation fragmentation "),
    "learning.estimation.gaussian": ("conditional_line fit_gaussian fit_line "),
    "learning.evaluation.goodnessoffit": ("GoodnessOfFit goodness_of_fit log_probability_moments "),
    "learning.incomplete.gradient": ("GradientAscent "),
    "learning.classify.latentclass": ("latent_class ordered_states "),
    "learning.missing.identifiability": ("IdentifiabilityReport equivalent_neighbor identifiability "),
    "learning.estimation.networkpriors": ("BDe ImaginaryData "),
    "learning.missing.imputation": ("Imputation impute "),
    "learning.incomplete.standarderrors": ("StandardErrors standard_errors "),
    "learning.estimation.proportions": ("interval_coverage proportion_interval rows_needed "),
    "learning.missing.mcartest": ("MCARTest mcar_test "),
    "learning.evaluation.losses": (
        "Brier ConditionalLogLoss Evaluation Hamming LogLoss Loss QuerySuite Risk ZeroOne evaluate "
    ),
    "learning.missing.observability": ("ObservabilityModel is_mar is_mcar shown "),
    "learning.missing.mechanisms": ("Hiding MAR MCAR MNAR indicator mask "),
    "learning.estimation.metanetwork": ("irrelevant_parameters meta_network "),
    "data.missingness": ("MissingPatterns complete_cases missing_patterns "),
    "learning.undirected.exponentialfamily": ("ExponentialFamily "),
    "learning.classify.multinomial": ("MultinomialNaiveBayes multinomial_naive_bayes "),
    "learning.classify.naivebayes": ("naive_bayes tree_augmented "),
    "learning.estimation.estimators": ("Bayes MAP MLE "),
    "learning.missing.pooling": ("PooledEstimate pool_estimates "),
    "learning.posterior": ("Posterior "),
    "cpds.dirichletposterior": ("log_polya "),
    "learning.structure.comparison": ("Recovery feature_confidence structure_recovery "),
    "learning.evaluation.resampling": (
        "Bootstrap PairedComparison PermutationTest bootstrap bootstrap_mean paired_comparison permutation_test "
    ),
    "learning.blocks": ("tie "),
    "learning.evaluation.splits": ("Holdout KFold LeaveOneOut "),
    "learning.incomplete.stepwise": ("StepwiseEM "),
    "learning.task": ("Task "),
    "learning.evaluation.validation": (
        "Learner NestedValidation Selection ValidatedRisk Validation cross_validate "
        "nested_cross_validate select_learner train_and_test "
    ),
    "learning.missing.weighting": ("CaseWeights inverse_probability_weights "),
    "models.bayesnet": ("BayesNet "),
    "models.blocks": ("block pairwise unary "),
    "models.canonical": ("canonical_form "),
    "models.chaincomponent": ("ChainComponent "),
    "models.chaingraph": ("ChainGraph "),
    "models.conversions": ("maximal_form pairwise_form to_chain_graph "),
    "models.factorgraph": ("FactorGraph "),
    "models.features": ("Feature "),
    "models.markovnet": ("MarkovNet "),
    "models.model": ("Model "),
    "problem": ("Problem "),
    "semiring": ("BOOLEAN MAX SUM Semiring temperature "),
    "variables.universe": ("Variables "),
    "variables.variable": ("Discrete Real Vector "),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted([*_HOMES, "datasets"])  # noqa: PLE0605  # one list of names, not two


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that `import sepset` stays light."""
    if name in _HOMES:
        value = getattr(_importlib.import_module(f"sepset.{_HOMES[name]}"), name)
    elif name == "datasets":
        value = _importlib.import_module("sepset.datasets")
    else:
        from sepset.base.text import nearest

        raise AttributeError(f"module 'sepset' has no attribute {name!r}.{nearest(name, __all__)}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
