"""Probabilistic graphical models: fast, exact where possible, and every answer with its guarantee."""

from __future__ import annotations

import importlib as _importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sepset import datasets as datasets
    from sepset.api.analysis import sensitivity as sensitivity
    from sepset.api.analysis import value_of_information as value_of_information
    from sepset.api.auto import Auto as Auto
    from sepset.api.compare import kl_divergence as kl_divergence
    from sepset.api.compare import to_bayes_net as to_bayes_net
    from sepset.api.engine import Engine as Engine
    from sepset.api.information import InformationValues as InformationValues
    from sepset.api.invariants import Check as Check
    from sepset.api.invariants import CheckReport as CheckReport
    from sepset.api.observed import Observed as Observed
    from sepset.api.pairs import Pairs as Pairs
    from sepset.api.predict import predict as predict
    from sepset.api.prediction import Prediction as Prediction
    from sepset.api.sensitivity import ParameterSensitivity as ParameterSensitivity
    from sepset.api.sensitivity import Sensitivity as Sensitivity
    from sepset.api.verbs import (
        log_partition as log_partition,
    )
    from sepset.api.verbs import (
        log_probability as log_probability,
    )
    from sepset.api.verbs import (
        map_assignment as map_assignment,
    )
    from sepset.api.verbs import (
        marginals as marginals,
    )
    from sepset.api.verbs import (
        plan as plan,
    )
    from sepset.api.verbs import (
        prepare as prepare,
    )
    from sepset.api.verbs import (
        query as query,
    )
    from sepset.api.verbs import (
        sample as sample,
    )
    from sepset.arrays import VariableArray as VariableArray
    from sepset.cpds.causal import NoisyMax as NoisyMax
    from sepset.cpds.causal import NoisyOr as NoisyOr
    from sepset.cpds.cpd import CPD as CPD
    from sepset.cpds.cpd import ContextIndependence as ContextIndependence
    from sepset.cpds.cpd import ParameterBlock as ParameterBlock
    from sepset.cpds.linear import LinearGaussian as LinearGaussian
    from sepset.cpds.linear import joint_gaussian as joint_gaussian
    from sepset.cpds.logistic import LogisticCPD as LogisticCPD
    from sepset.cpds.priors import Dirichlet as Dirichlet
    from sepset.cpds.priors import Normal as Normal
    from sepset.cpds.rules import Rule as Rule
    from sepset.cpds.rules import RuleCPD as RuleCPD
    from sepset.cpds.structured import DeterministicCPD as DeterministicCPD
    from sepset.cpds.structured import MultiplexerCPD as MultiplexerCPD
    from sepset.cpds.table import TableCPD as TableCPD
    from sepset.cpds.tree import Split as Split
    from sepset.cpds.tree import TreeCPD as TreeCPD
    from sepset.data.dataset import Dataset as Dataset
    from sepset.data.files import read_dataset as read_dataset
    from sepset.data.files import write_dataset as write_dataset
    from sepset.errors import (
        BrokenInvariant as BrokenInvariant,
    )
    from sepset.errors import (
        DataError as DataError,
    )
    from sepset.errors import (
        FileFormatError as FileFormatError,
    )
    from sepset.errors import (
        ImpossibleEvidence as ImpossibleEvidence,
    )
    from sepset.errors import (
        MissingExtra as MissingExtra,
    )
    from sepset.errors import (
        ModelError as ModelError,
    )
    from sepset.errors import (
        NotApplicable as NotApplicable,
    )
    from sepset.errors import (
        NotClosed as NotClosed,
    )
    from sepset.errors import (
        ScopeError as ScopeError,
    )
    from sepset.errors import (
        SepsetError as SepsetError,
    )
    from sepset.errors import (
        StateError as StateError,
    )
    from sepset.errors import (
        TooLarge as TooLarge,
    )
    from sepset.evidence import Evidence as Evidence
    from sepset.evidence import Likelihood as Likelihood
    from sepset.evidence import Not as Not
    from sepset.evidence import Soft as Soft
    from sepset.factors.algebra import Conditional as Conditional
    from sepset.factors.algebra import Distribution as Distribution
    from sepset.factors.algebra import Factor as Factor
    from sepset.factors.block import FactorBlock as FactorBlock
    from sepset.factors.block import Single as Single
    from sepset.factors.gaussian import CanonicalGaussian as CanonicalGaussian
    from sepset.factors.hybrid import CanonicalTable as CanonicalTable
    from sepset.factors.moments import Gaussian as Gaussian
    from sepset.factors.moments import GaussianMixture as GaussianMixture
    from sepset.factors.potentials import (
        AllDifferent as AllDifferent,
    )
    from sepset.factors.potentials import (
        AtLeastOne as AtLeastOne,
    )
    from sepset.factors.potentials import (
        Ising as Ising,
    )
    from sepset.factors.potentials import (
        Parity as Parity,
    )
    from sepset.factors.potentials import (
        Potential as Potential,
    )
    from sepset.factors.potentials import (
        Potts as Potts,
    )
    from sepset.factors.potentials import (
        TruncatedLinear as TruncatedLinear,
    )
    from sepset.factors.potentials import (
        TruncatedQuadratic as TruncatedQuadratic,
    )
    from sepset.factors.sparse import SparseTable as SparseTable
    from sepset.factors.table import Table as Table
    from sepset.graphs.clusters import (
        ClusterGraph as ClusterGraph,
    )
    from sepset.graphs.clusters import (
        clique_tree as clique_tree,
    )
    from sepset.graphs.clusters import (
        strong_order as strong_order,
    )
    from sepset.graphs.clusters import (
        strong_root as strong_root,
    )
    from sepset.graphs.elimination import (
        EliminationOrder as EliminationOrder,
    )
    from sepset.graphs.elimination import (
        eliminate_graph as eliminate_graph,
    )
    from sepset.graphs.elimination import (
        fill_in as fill_in,
    )
    from sepset.graphs.elimination import (
        induced_width as induced_width,
    )
    from sepset.graphs.equivalence import (
        bayes_to_markov as bayes_to_markov,
    )
    from sepset.graphs.equivalence import (
        consistent_extension as consistent_extension,
    )
    from sepset.graphs.equivalence import (
        covered_edges as covered_edges,
    )
    from sepset.graphs.equivalence import (
        cpdag as cpdag,
    )
    from sepset.graphs.equivalence import (
        i_equivalent as i_equivalent,
    )
    from sepset.graphs.equivalence import (
        immoralities as immoralities,
    )
    from sepset.graphs.equivalence import (
        is_cpdag as is_cpdag,
    )
    from sepset.graphs.equivalence import (
        markov_to_bayes as markov_to_bayes,
    )
    from sepset.graphs.equivalence import (
        meek_rules as meek_rules,
    )
    from sepset.graphs.equivalence import (
        pdag_to_dag as pdag_to_dag,
    )
    from sepset.graphs.graph import (
        DAG as DAG,
    )
    from sepset.graphs.graph import (
        MixedGraph as MixedGraph,
    )
    from sepset.graphs.graph import (
        UndirectedGraph as UndirectedGraph,
    )
    from sepset.graphs.graph import (
        ancestors as ancestors,
    )
    from sepset.graphs.graph import (
        chain_components as chain_components,
    )
    from sepset.graphs.graph import (
        connected_components as connected_components,
    )
    from sepset.graphs.graph import (
        descendants as descendants,
    )
    from sepset.graphs.graph import (
        moralize as moralize,
    )
    from sepset.graphs.graph import (
        skeleton as skeleton,
    )
    from sepset.graphs.imaps import (
        Independence as Independence,
    )
    from sepset.graphs.imaps import (
        independences as independences,
    )
    from sepset.graphs.imaps import (
        is_imap as is_imap,
    )
    from sepset.graphs.imaps import (
        is_perfect_map as is_perfect_map,
    )
    from sepset.graphs.imaps import (
        minimal_imap as minimal_imap,
    )
    from sepset.graphs.imaps import (
        minimal_imap_undirected as minimal_imap_undirected,
    )
    from sepset.graphs.ordering import (
        GivenOrder as GivenOrder,
    )
    from sepset.graphs.ordering import (
        MaxCardinality as MaxCardinality,
    )
    from sepset.graphs.ordering import (
        MinFill as MinFill,
    )
    from sepset.graphs.ordering import (
        MinNeighbors as MinNeighbors,
    )
    from sepset.graphs.ordering import (
        MinWeight as MinWeight,
    )
    from sepset.graphs.ordering import (
        Portfolio as Portfolio,
    )
    from sepset.graphs.ordering import (
        WeightedMinFill as WeightedMinFill,
    )
    from sepset.graphs.ordering import (
        elimination_order as elimination_order,
    )
    from sepset.graphs.regions import (
        RegionGraph as RegionGraph,
    )
    from sepset.graphs.regions import (
        bethe_graph as bethe_graph,
    )
    from sepset.graphs.regions import (
        join_graph as join_graph,
    )
    from sepset.graphs.regions import (
        region_graph as region_graph,
    )
    from sepset.graphs.separation import (
        Trail as Trail,
    )
    from sepset.graphs.separation import (
        active_trail as active_trail,
    )
    from sepset.graphs.separation import (
        barren_nodes as barren_nodes,
    )
    from sepset.graphs.separation import (
        chain_separated as chain_separated,
    )
    from sepset.graphs.separation import (
        csi_separated as csi_separated,
    )
    from sepset.graphs.separation import (
        d_separated as d_separated,
    )
    from sepset.graphs.separation import (
        markov_blanket as markov_blanket,
    )
    from sepset.graphs.separation import (
        reachable as reachable,
    )
    from sepset.graphs.separation import (
        requisite_nodes as requisite_nodes,
    )
    from sepset.graphs.separation import (
        separated as separated,
    )
    from sepset.graphs.treewidth import treewidth as treewidth
    from sepset.graphs.treewidth import treewidth_bounds as treewidth_bounds
    from sepset.graphs.triangulation import (
        is_chordal as is_chordal,
    )
    from sepset.graphs.triangulation import (
        maximal_cliques as maximal_cliques,
    )
    from sepset.graphs.triangulation import (
        perfect_elimination_order as perfect_elimination_order,
    )
    from sepset.graphs.triangulation import (
        triangulate as triangulate,
    )
    from sepset.inference.beliefupdate import BeliefUpdate as BeliefUpdate
    from sepset.inference.bruteforce import BruteForce as BruteForce
    from sepset.inference.cliquetree import CliqueTree as CliqueTree
    from sepset.inference.conditioning import (
        ConditioningPlan as ConditioningPlan,
    )
    from sepset.inference.conditioning import (
        RecursiveConditioning as RecursiveConditioning,
    )
    from sepset.inference.cutset import CutsetConditioning as CutsetConditioning
    from sepset.inference.cutset import CutsetPlan as CutsetPlan
    from sepset.inference.elimination import VariableElimination as VariableElimination
    from sepset.inference.mergeorders import MergeOrder as MergeOrder
    from sepset.inference.mergesearch import (
        best_first_order as best_first_order,
    )
    from sepset.inference.mergesearch import (
        choose_order as choose_order,
    )
    from sepset.inference.mergesearch import (
        optimal_order as optimal_order,
    )
    from sepset.inference.plan import Plan as Plan
    from sepset.inference.result import (
        Guarantee as Guarantee,
    )
    from sepset.inference.result import (
        LogProbability as LogProbability,
    )
    from sepset.inference.result import (
        MapResult as MapResult,
    )
    from sepset.inference.result import (
        Marginals as Marginals,
    )
    from sepset.inference.result import (
        QueryResult as QueryResult,
    )
    from sepset.inference.result import (
        Status as Status,
    )
    from sepset.inference.shafershenoy import ShaferShenoy as ShaferShenoy
    from sepset.inference.treequery import TreeQuery as TreeQuery
    from sepset.inference.treequery import tree_query as tree_query
    from sepset.io.files import read as read
    from sepset.io.files import write as write
    from sepset.io.results import (
        read_evidence as read_evidence,
    )
    from sepset.io.results import (
        read_result as read_result,
    )
    from sepset.io.results import (
        write_evidence as write_evidence,
    )
    from sepset.io.results import (
        write_result as write_result,
    )
    from sepset.models.bayesnet import BayesNet as BayesNet
    from sepset.models.blocks import block as block
    from sepset.models.blocks import pairwise as pairwise
    from sepset.models.blocks import unary as unary
    from sepset.models.chaincomponent import ChainComponent as ChainComponent
    from sepset.models.chaingraph import ChainGraph as ChainGraph
    from sepset.models.conversions import (
        bayes_structure as bayes_structure,
    )
    from sepset.models.conversions import (
        maximal_form as maximal_form,
    )
    from sepset.models.conversions import (
        pairwise_form as pairwise_form,
    )
    from sepset.models.conversions import (
        to_chain_graph as to_chain_graph,
    )
    from sepset.models.conversions import (
        to_markov_net as to_markov_net,
    )
    from sepset.models.factorgraph import FactorGraph as FactorGraph
    from sepset.models.features import Feature as Feature
    from sepset.models.markovnet import MarkovNet as MarkovNet
    from sepset.models.model import Model as Model
    from sepset.problem import Problem as Problem
    from sepset.semiring import (
        BOOLEAN as BOOLEAN,
    )
    from sepset.semiring import (
        MAX as MAX,
    )
    from sepset.semiring import (
        SUM as SUM,
    )
    from sepset.semiring import (
        Semiring as Semiring,
    )
    from sepset.semiring import (
        temperature as temperature,
    )
    from sepset.universe import Variables as Variables
    from sepset.variables import Discrete as Discrete
    from sepset.variables import Real as Real
    from sepset.variables import Vector as Vector

# Where each public name lives.
_MODULES = {
    "api.analysis": ("sensitivity value_of_information "),
    "api.auto": ("Auto "),
    "api.compare": ("kl_divergence to_bayes_net "),
    "api.engine": ("Engine "),
    "api.information": ("InformationValues "),
    "api.invariants": ("Check CheckReport "),
    "api.observed": ("Observed "),
    "api.pairs": ("Pairs "),
    "api.predict": ("predict "),
    "api.prediction": ("Prediction "),
    "api.sensitivity": ("ParameterSensitivity Sensitivity "),
    "api.verbs": ("log_partition log_probability map_assignment marginals plan prepare query sample "),
    "arrays": ("VariableArray "),
    "cpds.causal": ("NoisyMax NoisyOr "),
    "cpds.cpd": ("CPD ContextIndependence ParameterBlock "),
    "cpds.linear": ("LinearGaussian joint_gaussian "),
    "cpds.logistic": ("LogisticCPD "),
    "cpds.priors": ("Dirichlet Normal "),
    "cpds.rules": ("Rule RuleCPD "),
    "cpds.structured": ("DeterministicCPD MultiplexerCPD "),
    "cpds.table": ("TableCPD "),
    "cpds.tree": ("Split TreeCPD "),
    "data.dataset": ("Dataset "),
    "data.files": ("read_dataset write_dataset "),
    "errors": (
        "BrokenInvariant DataError FileFormatError ImpossibleEvidence MissingExtra ModelError "
        "NotApplicable NotClosed ScopeError SepsetError StateError TooLarge "
    ),
    "evidence": ("Evidence Likelihood Not Soft "),
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
        "bayes_to_markov consistent_extension covered_edges cpdag i_equivalent immoralities "
        "is_cpdag markov_to_bayes meek_rules pdag_to_dag "
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
    "inference.beliefupdate": ("BeliefUpdate "),
    "inference.bruteforce": ("BruteForce "),
    "inference.cliquetree": ("CliqueTree "),
    "inference.conditioning": ("ConditioningPlan RecursiveConditioning "),
    "inference.cutset": ("CutsetConditioning CutsetPlan "),
    "inference.elimination": ("VariableElimination "),
    "inference.mergeorders": ("MergeOrder "),
    "inference.mergesearch": ("best_first_order choose_order optimal_order "),
    "inference.plan": ("Plan "),
    "inference.result": ("Guarantee LogProbability MapResult Marginals QueryResult Status "),
    "inference.shafershenoy": ("ShaferShenoy "),
    "inference.treequery": ("TreeQuery tree_query "),
    "io.files": ("read write "),
    "io.results": ("read_evidence read_result write_evidence write_result "),
    "models.bayesnet": ("BayesNet "),
    "models.blocks": ("block pairwise unary "),
    "models.chaincomponent": ("ChainComponent "),
    "models.chaingraph": ("ChainGraph "),
    "models.conversions": ("bayes_structure maximal_form pairwise_form to_chain_graph to_markov_net "),
    "models.factorgraph": ("FactorGraph "),
    "models.features": ("Feature "),
    "models.markovnet": ("MarkovNet "),
    "models.model": ("Model "),
    "problem": ("Problem "),
    "semiring": ("BOOLEAN MAX SUM Semiring temperature "),
    "universe": ("Variables "),
    "variables": ("Discrete Real Vector "),
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
        from sepset.errors import nearest

        raise AttributeError(f"module 'sepset' has no attribute {name!r}.{nearest(name, __all__)}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
