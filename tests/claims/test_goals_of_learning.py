"""Figures about what learning is for: sizes of models, hidden variables, and generative against discriminative fits."""

from __future__ import annotations

import itertools

import numpy as np

import sepset as ss
from sepset.api.learning import fit
from sepset.cpds.logistic import LogisticCPD
from sepset.cpds.priors import dirichlet as priors
from sepset.cpds.priors.weights import NormalWeights
from sepset.data.dataset import Dataset
from sepset.graphs.graph import DAG
from sepset.graphs.separation import d_separated
from sepset.learning.classify.naivebayes import naive_bayes
from sepset.learning.estimation.estimators import Bayes, PosteriorMode
from sepset.learning.evaluation.losses import ZeroOne, evaluate
from sepset.models.bayesnet import BayesNet


def test_parameters_of_letter_recognition():
    """26 letters and 256 binary pixels: a table of 6656 pixel probabilities, 6681 with the prior of the letters."""
    letter = ss.Discrete("letter", 26)
    pixels = [ss.Discrete(f"pixel{k}") for k in range(256)]
    tables = [ss.TableCPD(p, np.full((26, 2), 0.5), given=letter) for p in pixels]
    assert sum(cpd.num_parameters for cpd in tables) == 6656
    assert BayesNet(ss.TableCPD(letter, np.full(26, 1 / 26)), *tables).num_parameters == 6681
    softmax = LogisticCPD(letter, dict.fromkeys(pixels, np.zeros((2, 26))))
    assert softmax.num_parameters == 6425  # 25 x (256 + 1): a weight a pixel and a bias, one class fixed


def test_the_cost_of_ignoring_a_hidden_variable():
    """Three causes, a hidden state and three effects need 17 parameters; without the state the effects need 59."""
    causes, effects = ["x1", "x2", "x3"], ["y1", "y2", "y3"]
    hidden = DAG([*causes, "h", *effects], [*((x, "h") for x in causes), *(("h", y) for y in effects)])
    assert BayesNet.random(hidden).num_parameters == 17
    edges = [*itertools.product(causes, effects), ("y1", "y2"), ("y1", "y3"), ("y2", "y3")]
    assert BayesNet.random(DAG([*causes, *effects], edges)).num_parameters == 59


def test_features_of_a_hidden_class_have_no_independences():
    dag = naive_bayes("c", ["x1", "x2", "x3", "x4"])
    for x, y in itertools.combinations(["x1", "x2", "x3", "x4"], 2):
        others = [n for n in ("x1", "x2", "x3", "x4") if n not in (x, y)]
        for size in range(3):
            assert not any(d_separated(dag, x, y, given=z) for z in itertools.combinations(others, size))
        assert d_separated(dag, x, y, given="c")


NUM = 8


def drawn(num: int, seed: int) -> Dataset:
    """A label that depends on eight correlated binary features through a logistic function."""
    rng = np.random.default_rng(seed)
    common = rng.integers(0, 2, num)
    features = np.where(rng.random((num, NUM)) < 0.6, common[:, None], rng.integers(0, 2, (num, NUM)))
    weights = np.array([2.5, -2.0, 1.5, 1.0, -1.0, 0.5, 0.5, -0.5])
    y = rng.random(num) < 1 / (1 + np.exp(-(features @ weights - weights.sum() / 2)))
    variables = [ss.Discrete("y"), *(ss.Discrete(f"x{k}") for k in range(NUM))]
    return Dataset.from_codes(variables, np.column_stack([y.astype(int), features]))


def naive(data: Dataset) -> BayesNet:
    return fit(naive_bayes("y", [f"x{k}" for k in range(NUM)]), data, Bayes(priors.Dirichlet(1.0))).model


def logistic(data: Dataset) -> BayesNet:
    features = [data.variables[f"x{k}"] for k in range(NUM)]
    template = BayesNet(
        *(ss.TableCPD(x, [0.5, 0.5]) for x in features),
        LogisticCPD(data.variables["y"], dict.fromkeys(features, 0.0)),
    )
    return fit(template, data, PosteriorMode({"y": NormalWeights(3.0), ...: priors.Dirichlet(1.0)})).model


def test_generative_fits_win_with_little_data_and_discriminative_ones_with_much():
    """The curves of naive Bayes and of logistic regression cross, as features are correlated."""
    test = drawn(4000, seed=999)

    def error(learn, num, repeats):
        found = [evaluate(learn(drawn(num, seed=s)), test, ZeroOne("y"))[ZeroOne("y")].mean for s in range(repeats)]
        return float(np.mean(found))

    assert error(naive, 10, 25) < error(logistic, 10, 25)
    for num, repeats in ((160, 5), (2000, 1)):
        assert error(logistic, num, repeats) < error(naive, num, repeats) - 0.03
