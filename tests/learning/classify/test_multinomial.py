from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import sparse

import sepset as ss
from sepset.data.dataset import Dataset
from sepset.errors import ArgumentError, DataError, ImpossibleEvidence, ModelError
from sepset.learning.classify.multinomial import MultinomialNaiveBayes
from sepset.variables.variable import Discrete
from support.tolerances import CLOSE, EXACT, printed

WORDS = ["ball", "bank", "dollar"]
CORPUS = np.array([[2, 0, 1], [1, 0, 0], [0, 1, 1], [0, 2, 1]])
TOPICS = ["sports", "sports", "economy", "economy"]


def test_published_corpus():
    model = MultinomialNaiveBayes.fit(CORPUS, TOPICS, words=WORDS, target=Discrete("topic", ("sports", "economy")))
    asked = [[1, 0, 2]]
    assert model.predict(asked).probabilities[0, 0] == pytest.approx(0.726306, abs=printed(6))
    bare = MultinomialNaiveBayes.fit(CORPUS, TOPICS, words=WORDS, pseudo_count=0.0)
    assert bare.predict(asked).probabilities[0].tolist() == [0.0, 1.0]
    assert bare.predict(asked).states.tolist() == ["sports"]


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(0, 4), st.integers(0, 2**32 - 1))
def test_counts_are_exact_inference_on_the_tied_network(num_classes, num_words, length, seed):
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.ones(num_words), size=num_classes)
    model = MultinomialNaiveBayes(
        Discrete("c", num_classes),
        Discrete("w", num_words),
        class_probabilities=rng.dirichlet(np.ones(num_classes)),
        word_probabilities=theta,
    )
    codes = rng.integers(num_words, size=length)
    counts = np.bincount(codes, minlength=num_words)[None]
    net = model.network(length)
    given_words = {f"w[{p}]": int(code) for p, code in enumerate(codes)}
    expected = ss.query(net, "c", given=given_words).values
    np.testing.assert_allclose(model.predict(counts).probabilities[0], expected, atol=EXACT)
    assert len({cpd.block for cpd in net.cpds[1:]}) <= 1


@pytest.mark.parametrize("alpha", [1.0, 0.3])
def test_sparse_dense_and_scikit_learn_agree(alpha):
    sklearn = pytest.importorskip("sklearn.naive_bayes")
    rng = np.random.default_rng(0)
    counts, classes = rng.poisson(0.7, size=(50, 12)), rng.integers(3, size=50)
    theirs = sklearn.MultinomialNB(alpha=alpha).fit(counts, classes)
    model = MultinomialNaiveBayes.fit(counts, classes, pseudo_count=alpha)
    thin = MultinomialNaiveBayes.fit(sparse.csr_matrix(counts), classes, pseudo_count=alpha)
    np.testing.assert_allclose(model.predict(counts).probabilities, theirs.predict_proba(counts), atol=CLOSE)
    np.testing.assert_allclose(
        thin.predict(sparse.coo_array(counts)).probabilities, theirs.predict_proba(counts), atol=CLOSE
    )
    assert model.predict(counts).states.tolist() == theirs.predict(counts).tolist()


def test_zero_words_are_no_trouble_until_used():
    model = MultinomialNaiveBayes(
        Discrete("c"),
        Discrete("w", 3),
        class_probabilities=[1.0, 0.0],
        word_probabilities=[[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]],
    )
    assert model.predict([[0, 0, 0], [3, 1, 0]]).probabilities.tolist() == [[1.0, 0.0], [1.0, 0.0]]
    with pytest.raises(ImpossibleEvidence, match="first: row 1"):
        model.predict(sparse.csr_array([[1, 0, 0], [1, 0, 1]]))
    assert np.isnan(model.predict([[1, 0, 1]], on_impossible="null").probabilities).all()
    assert repr(model) == "MultinomialNaiveBayes(c[2], 3 words)"


def test_long_documents_do_not_underflow():
    model = MultinomialNaiveBayes(
        Discrete("c"), Discrete("w", 2), class_probabilities=[0.5, 0.5], word_probabilities=[[0.6, 0.4], [0.4, 0.6]]
    )
    found = model.predict([[10_000, 9_000]]).log_probabilities[0]
    assert found[0] - found[1] == pytest.approx(1_000 * np.log(1.5), rel=1e-9)


def test_classes_come_as_states_or_as_a_dataset():
    target = Discrete("topic", ("a", "b", "c"))
    with pytest.raises(DataError, match="no words"):
        MultinomialNaiveBayes.fit(CORPUS, ["a", "a", "b", "b"], target=target, pseudo_count=0.0)
    model = MultinomialNaiveBayes.fit(CORPUS, ["a", "a", "b", "b"], target=target, class_pseudo_count=1.0)
    np.testing.assert_allclose(model.class_probabilities, [3 / 7, 3 / 7, 1 / 7])
    np.testing.assert_allclose(model.word_probabilities[2], np.full(3, 1 / 3))
    rows = Dataset({"topic": ["a", "a", "b", "b"]})
    assert MultinomialNaiveBayes.fit(CORPUS, rows, target="topic").target.states == ("a", "b")
    one = MultinomialNaiveBayes.fit(CORPUS[:1], ["only"])
    assert one.predict(CORPUS).probabilities.tolist() == [[1.0]] * 4


def test_what_is_refused():
    with pytest.raises(DataError, match="4 rows of counts and 3 classes"):
        MultinomialNaiveBayes.fit(CORPUS, TOPICS[:3])
    with pytest.raises(DataError, match="3 columns of counts and 2 words"):
        MultinomialNaiveBayes.fit(CORPUS, TOPICS, words=["x", "y"])
    with pytest.raises(DataError, match="finite and >= 0"):
        MultinomialNaiveBayes.fit(-CORPUS, TOPICS)
    with pytest.raises(ArgumentError, match="pseudo_count"):
        MultinomialNaiveBayes.fit(CORPUS, TOPICS, pseudo_count=-1.0)
    with pytest.raises(DataError, match="missing in row 1"):
        MultinomialNaiveBayes.fit(CORPUS, ["a", None, "b", "b"])
    with pytest.raises(DataError, match="not numbers"):
        MultinomialNaiveBayes.fit(CORPUS, [0.5, 1.5, 2.5, 3.5])
    with pytest.raises(DataError, match="3 columns"):
        MultinomialNaiveBayes.fit(CORPUS, TOPICS).predict([[1, 2]])
    with pytest.raises(DataError, match="one row per document"):
        MultinomialNaiveBayes.fit(CORPUS, TOPICS).predict([1, 2, 3])
    with pytest.raises(ModelError):
        MultinomialNaiveBayes(
            Discrete("c"), Discrete("w"), class_probabilities=[0.5, 0.6], word_probabilities=np.full((2, 2), 0.5)
        )
