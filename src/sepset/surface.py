"""The table of public names: which are flat, which namespace each belongs to, and which module defines it.

The package and its namespaces are lazy modules made from this table (`base.namespaces`), and so are their
stub files: a name is listed here once, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping

FLAT = (
    "Discrete Real Vector "
    "BayesNet MarkovNet FactorGraph ChainGraph ChainComponent "
    "TableCPD TreeCPD RuleCPD PartitionCPD DeterministicCPD MultiplexerCPD NoisyOr NoisyMax LogisticCPD LinearGaussian "
    "KernelCPD "
    "Not Likelihood Soft "
    "DAG UndirectedGraph MixedGraph d_separated "
    "Table Gaussian GaussianMixture "
    "Dataset "
    "query marginals max_marginals log_probability log_partition map_assignment sample predict plan prepare fit impute "
    "discretize evaluate cross_validate read write draw sensitivity value_of_information "
    "CliqueTree VariableElimination ICM MinCut QPBO AlphaExpansion AlphaBetaSwap TRWS MPLP BranchAndBound "
    "LargeNeighborhood LoopyBP TreeReweighted LinearProgram "
    "MLE Bayes PosteriorMode EM HardEM StepwiseEM GradientAscent maximum_likelihood "
    "learn_structure structure_posterior GES HillClimb ExactSearch ChowLiu OrderMCMC PartitionMCMC StructureMCMC "
    "PC FCI MMHC GraphicalLasso StructuralEM "
    "BDeu K2 BIC "
    "Until Guarantee Status "
    "SepsetError TooLarge ImpossibleEvidence "
)
"""The names used every day; each is also in its namespace, unless it is a verb."""

VERBS = {
    "api.questions": "log_partition log_probability map_assignment marginals max_marginals plan predict prepare query "
    "sample sensitivity value_of_information",
    "api.learning": "fit",
    "api.pictures": "draw",
    "api.structure": "learn_structure structure_posterior",
}
"""The flat names that belong to no namespace."""

NAMESPACES: Mapping[str, Mapping[str, str]] = {
    "variables": {
        "variables.array": "VariableArray",
        "variables.evidence": "Evidence Likelihood Not Soft",
        "variables.universe": "Universe",
        "variables.variable": "Discrete Real Vector",
    },
    "factors": {
        "factors.algebra": "Conditional Distribution Factor",
        "factors.block": "FactorBlock Single",
        "factors.gaussian": "CanonicalGaussian",
        "factors.hybrid": "CanonicalTable",
        "factors.moments": "Gaussian GaussianMixture",
        "factors.sparse": "SparseTable",
        "factors.studentt": "StudentT",
        "factors.table": "Table",
        "semiring": "BOOLEAN MAX SUM Semiring temperature",
    },
    "potentials": {
        "factors.interactions": "is_metric is_semimetric is_submodular",
        "factors.potentials": "AllDifferent AtLeastOne Cardinality Ising Parity Potential Potts RobustPotts "
        "TruncatedLinear TruncatedQuadratic",
        "models.blocks": "over_scopes pairwise unary",
    },
    "graphs": {
        "graphs.clusters": "ClusterGraph tree_decomposition strong_order strong_root",
        "graphs.elimination": "GraphElimination eliminate_graph fill_in induced_width",
        "graphs.equivalence": (
            "consistent_extension covered_edges cpdag i_equivalent immoralities is_cpdag directed_imap meek_rules"
        ),
        "graphs.graph": (
            "DAG MixedGraph UndirectedGraph ancestors chain_components connected_components descendants moralize "
            "skeleton"
        ),
        "graphs.imaps": "Independence independences is_imap is_perfect_map minimal_imap minimal_imap_undirected",
        "graphs.ordering": (
            "GivenOrder MaxCardinality MinFill MinNeighbors MinWeight Portfolio WeightedMinFill elimination_order"
        ),
        "graphs.pag": "PAG",
        "graphs.pictures.picture": "Picture",
        "graphs.regions": "RegionGraph bethe_graph join_graph cluster_variation_graph",
        "graphs.separation": (
            "Trail active_trail barren_nodes chain_separated csi_separated d_separated markov_blanket reachable "
            "requisite_nodes separated"
        ),
        "graphs.triangulation": "is_chordal maximal_cliques perfect_elimination_order triangulate",
        "graphs.width": "treewidth treewidth_bounds",
    },
    "data": {
        "data.counts": "Counts",
        "data.dataset": "Dataset",
        "data.empirical": "Empirical",
        "data.files": "read_dataset write_dataset",
        "data.moments": "Moments",
    },
    "cpds": {
        "cpds.cpd": "CPD ContextIndependence ParameterBlock",
        "cpds.deterministic": "DeterministicCPD MultiplexerCPD",
        "cpds.kerneldensity": "KernelCPD",
        "cpds.lineargaussian": "LinearGaussian",
        "cpds.logistic": "LogisticCPD",
        "cpds.noisy": "NoisyMax NoisyOr",
        "cpds.partition": "PartitionCPD",
        "cpds.rules": "Rule RuleCPD",
        "cpds.table": "TableCPD",
        "cpds.tree": "Split TreeCPD",
        "models.jointgaussian": "joint_gaussian",
    },
    "priors": {
        "cpds.priors.dirichlet": "K2 BDeu ContextStrength Dirichlet DirichletMixture",
        "cpds.priors.gaussian": "GammaPrecision NormalMean",
        "cpds.priors.regression": "LinearNormalGamma LinearNormalInverseWishart NormalGamma NormalInverseWishart",
        "cpds.priors.weights": "LaplaceWeights NormalWeights",
        "learning.estimation.networkpriors": "BDe ImaginaryData",
    },
    "models": {
        "api.conversions": "to_bayes_net",
        "learning.structure.dependency.network": "DependencyNet",
        "models.bayesnet": "BayesNet",
        "models.canonical": "canonical_form",
        "models.chaincomponent": "ChainComponent",
        "models.chaingraph": "ChainGraph",
        "models.conversions": "maximal_form pairwise_form to_chain_graph",
        "models.drawing": "Drawing Look",
        "models.factorgraph": "FactorGraph",
        "models.features": "Feature",
        "models.markovnet": "MarkovNet",
        "models.model": "Model",
    },
    "inference": {
        "engine.engine": "Engine",
        "engine.information": "InformationValues",
        "engine.invariants": "Check CheckReport",
        "engine.prediction": "Prediction",
        "engine.effects.parametereffects": "ParameterSensitivity SensitivityResult",
        "engine.view": "View",
        "inference.assignment": "AssignmentTask Assigns Certificate Found",
        "inference.cliquetree.cutset": "CutsetConditioning CutsetPlan",
        "inference.cliquetree.maxmarginals": "MaxMarginalsResult",
        "inference.cliquetree.method": "CliqueTree",
        "inference.exact.beliefupdate": "BeliefUpdate",
        "inference.exact.bruteforce": "BruteForce",
        "inference.exact.elimination": "VariableElimination",
        "inference.exact.recursive": "ConditioningPlan RecursiveConditioning",
        "inference.exact.shafershenoy": "ShaferShenoy",
        "inference.iterate": "Until run",
        "inference.map.annealing": "Annealing",
        "inference.map.choice.automatic": "AutomaticSearch",
        "inference.map.beam": "BeamSearch",
        "inference.map.consistency.bestfirst": "HybridBestFirst",
        "inference.map.consistency.persistency": "Persistency",
        "inference.map.branching": "BranchAndBound",
        "inference.map.coordinates": "ICM",
        "inference.map.marginal.marginalmap": "MarginalMAP",
        "inference.map.maxflow": "Cut FlowGraph",
        "inference.map.mincut": "MinCut",
        "inference.map.moves": "AlphaBetaSwap AlphaExpansion",
        "inference.map.mplp": "MPLP",
        "inference.map.qpbo": "QPBO",
        "inference.map.relaxation.decomposition": "DualDecomposition",
        "inference.map.relaxation.linearprogram": "LinearProgram",
        "inference.map.relaxation.pursuit": "ClusterPursuit",
        "inference.map.search.andor": "AndOrSearch",
        "inference.map.search.localsearch": "LocalSearch",
        "inference.map.search.neighborhoods": "LargeNeighborhood",
        "inference.map.trws": "TRWS",
        "inference.plan": "EliminationPlan",
        "inference.propagation.clusterbp": "ClusterBP",
        "inference.propagation.convexbp": "ConvexBP",
        "inference.propagation.loopybp": "LoopyBP",
        "inference.propagation.neighborhoods": "StrongLocalMaximum",
        "inference.propagation.treereweighted": "TreeReweighted",
        "inference.mapresult": "Assignment MapResult",
        "inference.result": "Guarantee LogProbabilityResult MarginalsResult QueryResult Status",
        "inference.treequery.orders": "MergeOrder",
        "inference.treequery.pairs": "Pairs",
        "inference.treequery.query": "CliqueSubtree tree_query",
        "inference.treequery.search": "best_first_merge_order choose_merge_order optimal_merge_order",
        "problem": "Problem",
    },
    "learning": {
        "api.questions": "expected_counts",
        "cpds.dirichletposterior": "log_polya",
        "learning.blocks": "tie",
        "learning.coverage": "CoverageResult context_coverage",
        "learning.discretization": "Discretization discretize",
        "learning.estimation.anydensity": "MaximumLikelihoodResult maximum_likelihood",
        "learning.estimation.estimators": "PosteriorMode MLE Bayes",
        "learning.estimation.gaussian": "conditional_regression fit_gaussian fit_regression",
        "learning.estimation.metanetwork": "irrelevant_parameters meta_network",
        "learning.estimation.proportions": "interval_coverage proportion_interval rows_needed",
        "learning.estimation.samplesizes": "DivergenceBound",
        "learning.fit": "FitResult LearningMethod PosteriorFitResult",
        "learning.incomplete.em": "EM HardEM IncrementalEM",
        "learning.incomplete.gradient": "GradientAscent",
        "learning.incomplete.standarderrors": "StandardErrorsResult standard_errors",
        "learning.incomplete.stepwise": "StepwiseEM",
        "learning.posterior": "Posterior",
        "learning.task": "Task",
        "learning.undirected.exponentialfamily": "ExponentialFamily",
        "learning.undirected.markovfit": "MarkovFitResult",
    },
    "missing": {
        "data.missingness": "MissingPatternsResult complete_cases missing_patterns",
        "learning.missing.availablecases": "AvailableCases",
        "learning.missing.identifiability": "IdentifiabilityReport equivalent_neighbor identifiability",
        "learning.missing.imputation": "Imputation impute",
        "learning.missing.mcartest": "MCARTestResult mcar_test",
        "learning.missing.mechanisms": "MAR MCAR MNAR Hiding observability_indicator hide_cells",
        "learning.missing.observability": "ObservabilityModel is_mar is_mcar observed_version",
        "learning.missing.pooling": "PooledEstimate pool_estimates",
        "learning.missing.weighting": "CaseWeights inverse_probability_weights",
    },
    "classify": {
        "engine.classifier": "Classification Classifier",
        "learning.classify.discriminant": "discriminant_analysis",
        "learning.classify.latentclass": "latent_class ordered_states",
        "learning.classify.multinomial": "MultinomialNaiveBayes",
        "learning.classify.naivebayes": "naive_bayes tree_augmented",
        "models.decisions.costs": "cost_threshold least_cost_action",
    },
    "structure": {
        "learning.structure.classes.ges": "GES",
        "learning.structure.classes.gies": "GIES",
        "learning.structure.classes.kes": "KES",
        "api.structure": "parent_set_scores score",
        "learning.structure.adtree": "ADTree",
        "learning.structure.averaging.alongorder": "AlongOrder",
        "learning.structure.averaging.bootstrap": "BootstrapStructures",
        "learning.structure.averaging.consensus": "consensus_graph data_driven_threshold",
        "learning.structure.averaging.exactsums": "KoivistoSood TianHe",
        "learning.structure.averaging.exhaustive": "BestStructures Exhaustive",
        "learning.structure.averaging.mcmc": "OrderMCMC PartitionMCMC StructureMCMC",
        "learning.structure.averaging.posterior": "StructureAveraging StructurePosteriorResult WeightedGraph",
        "learning.structure.averaging.trees": "TreePosterior",
        "learning.structure.comparison": "Recovery feature_confidence compare",
        "learning.structure.constraints": "Constraints",
        "learning.structure.countplan": "CountPlan PlannedCounts",
        "learning.structure.edgerecovery": "EdgeRecoveryResult edge_recovery",
        "learning.structure.dependency.conversion": "Conversion",
        "learning.structure.dependency.gibbs": "PseudoGibbs",
        "learning.structure.dependency.learners": (
            "ConditionalLearner LearnedConditional LogisticLearner TableLearner TreeLearner"
        ),
        "learning.structure.dependency.learning": "LearnedDependencyNet learn_dependency_net",
        "learning.structure.dependency.stationary": "Consistency",
        "learning.structure.evidences.cheesemanstutz": "CheesemanStutz",
        "learning.structure.evidences.completions": "CompletionSum",
        "learning.structure.evidences.laplace": "Laplace",
        "learning.structure.evidences.logevidence": "EvidenceMethod LogEvidenceResult log_evidence",
        "learning.structure.evidences.observedbic": "ObservedBIC",
        "learning.structure.exact.candidategraph": "CandidateGraph",
        "learning.structure.exact.certificate": "SearchCertificate certify",
        "learning.structure.exact.enumeration": "all_dags num_dags",
        "learning.structure.exact.kbest": "RankedDAG k_best",
        "learning.structure.exact.knownorder": "KnownOrder",
        "learning.structure.exact.optimum": "Optimum",
        "learning.structure.exact.scoretable": "ScoreTable",
        "learning.structure.exact.search": "ExactSearch",
        "learning.structure.exact.trees": "Branching ChowLiu",
        "learning.structure.familyscores": "FamilyScore FamilyScores",
        "learning.structure.hidden.cardinality": "CardinalityResult ScoredCardinality hidden_cardinality",
        "learning.structure.hidden.clustering": "SelectiveClustering",
        "learning.structure.hidden.findhidden": "FindHidden",
        "learning.structure.hidden.latenttree": "LatentTree",
        "learning.structure.hidden.learnedbayesnet": "LearnedBayesNet",
        "learning.structure.hidden.learnedhidden": "LearnedHidden TriedHidden",
        "learning.structure.hidden.learnedmixture": "LearnedMixture",
        "learning.structure.hidden.mixtures": "MixtureOfNetworks MixtureOfTrees",
        "learning.structure.hidden.structuralem": "StructuralEM",
        "learning.structure.independence.corrections": "BenjaminiHochberg Bonferroni Holm Sidak",
        "learning.structure.independence.discrete": "G Pearson ShrunkenInformation",
        "learning.structure.independence.exacttest": "ExactTest",
        "learning.structure.independence.gaussian": "FisherZ",
        "learning.structure.independence.independencetest": "IndependenceTestResult independence_test",
        "learning.structure.independence.mixedtest": "ConditionalGaussianTest",
        "learning.structure.independence.moredata": "MoreData",
        "learning.structure.independence.oracles": "Callback DSeparation FaultyOracle",
        "learning.structure.independence.permutation": "Permutation",
        "learning.structure.interventiondistance": "InterventionDistanceResult intervention_distance",
        "learning.structure.learned": "Learned",
        "learning.structure.local.decisiongraphs": "DecisionGraphScore",
        "learning.structure.local.localfit": "LocalFit",
        "learning.structure.local.treelearner": "LearnedTree learn_tree",
        "learning.structure.local.treescore": "TreeScore",
        "learning.structure.local.treesearch": "TreeSearch",
        "learning.structure.modules.search": "LearnedModules Module ModuleSearch",
        "learning.structure.scores.evidence": "BDs LeaveOneOut",
        "learning.structure.scores.gaussian": "BGe",
        "learning.structure.scores.heldout": "CrossValidated Holdout",
        "learning.structure.scores.likelihood": "AIC BIC LogLikelihood",
        "learning.structure.scores.normalized": "FNML QNML",
        "learning.structure.search.boss": "BOSS",
        "learning.structure.search.escapes": "BasinFlooding OptimalReinsertion PlateauWalk SparseCandidate",
        "learning.structure.search.hillclimb": "HillClimb",
        "learning.structure.search.permutations": "GRaSP OBS",
        "learning.structure.search.stochastic": "Annealing DataPerturbation FirstAscent",
        "learning.structure.skeletons.blankets": "FastIAMB GrowShrink IAMB InterIAMB",
        "learning.structure.skeletons.candidates": "HPC MMHC MMPC",
        "learning.structure.skeletons.latent": "FCI RFCI",
        "learning.structure.skeletons.method": "Discovered",
        "learning.structure.skeletons.orientation": "Conflict",
        "learning.structure.skeletons.pc": "PC",
        "learning.structure.skeletons.phases": "Cheng IC SGS",
        "learning.structure.structureprior": (
            "EdgePenalty EdgeProbabilities PriorNetwork UniformSizes UniformStructures"
        ),
        "learning.structure.undirected.forest": "Forest",
        "learning.structure.undirected.graphicallasso": "GraphicalLasso LearnedConcentration",
        "learning.structure.undirected.learnednetwork": "LearnedNetwork",
        "learning.structure.undirected.neighborhoods": "NeighborhoodSelection",
        "learning.structure.undirected.penaltychoice": "ExtendedBIC PathPoint StARS",
    },
    "evaluation": {
        "learning.evaluation.biasvariance": "BiasVarianceResult bias_variance",
        "learning.evaluation.calibration": "CalibrationResult reliability_curve calibration_curve",
        "learning.evaluation.divergence.discrete": "cpd_distance parameter_distance",
        "learning.evaluation.divergence.relativeentropy": "DivergenceResult divergence",
        "learning.evaluation.goodnessoffit": "GoodnessOfFitResult goodness_of_fit",
        "learning.evaluation.logmoments": "log_probability_moments",
        "learning.evaluation.learningcurve": "LearningCurveResult learning_curve",
        "learning.evaluation.losses": (
            "Brier ConditionalLogLoss EvaluationResult Hamming LogLoss Loss QuerySuite Risk ZeroOne evaluate"
        ),
        "learning.evaluation.resampling": (
            "BootstrapResult PairedComparisonResult PermutationTestResult bootstrap bootstrap_mean "
            "paired_comparison permutation_test"
        ),
        "learning.evaluation.splits": "Holdout KFold LeaveOneOut",
        "learning.evaluation.validation": (
            "Learner NestedValidation Selection ValidatedRisk Validation cross_validate nested_cross_validate "
            "select_learner train_and_test"
        ),
    },
    "recommend": {
        "learning.recommendation.baselines": "Popularity Similarity",
        "learning.recommendation.baskets": "Baskets",
        "learning.recommendation.evaluation": "RankingScores evaluate_ranking",
        "learning.recommendation.itemnetworks": "BayesRecommender DependencyRecommender",
        "learning.recommendation.protocols": "AllButOne GivenK",
        "learning.recommendation.rankings": "half_life_utility mean_rank ndcg_at precision_at recall_at roc_area",
        "learning.recommendation.recommender": "Recommendations Recommender",
    },
    "io": {
        "io.files": "read write",
        "io.results": "read_evidence read_result read_virtual_evidence write_evidence write_result",
    },
    "errors": {
        "errors": (
            "ArgumentError BrokenInvariant DataError FileFormatError ImpossibleEvidence MissingExtra ModelError "
            "NotApplicable NotClosed ScopeError SepsetError StateError TooLarge"
        ),
    },
}
"""The names of each namespace, by the module that defines them."""

MODULES = ("datasets", "plotting", "sklearn", "testing")
"""The namespaces that are ordinary modules, with an `__all__` of their own."""


def homes(table: Mapping[str, str]) -> dict[str, str]:
    """The module of each name in a table.

    >>> homes({"semiring": "MAX SUM"})
    {'MAX': 'semiring', 'SUM': 'semiring'}
    """
    return {name: module for module, names in table.items() for name in names.split()}


def homes_in(module: str) -> dict[str, str]:
    """The module of each public name of the package or of a namespace; of a namespace in the package, itself.

    >>> homes_in("sepset")["DAG"], homes_in("sepset")["graphs"], homes_in("sepset.graphs")["DAG"]
    ('graphs.graph', 'graphs', 'graphs.graph')
    """
    if module != "sepset":
        return homes(NAMESPACES[module.removeprefix("sepset.")])
    known = homes(VERBS)
    for table in NAMESPACES.values():
        known |= homes(table)
    return {name: known[name] for name in FLAT.split()} | {name: name for name in (*NAMESPACES, *MODULES)}


def elsewhere(name: str) -> str:
    """A hint at the namespace that has this name; empty if none has it.

    >>> elsewhere("cpdag"), elsewhere("nothing")
    (' It is sepset.graphs.cpdag.', '')
    """
    found = next((space for space, table in NAMESPACES.items() if name in homes(table)), None)
    return f" It is sepset.{found}.{name}." if found else ""
