r"""Multinomial naive Bayes: a class, and words that are drawn from one distribution per class at every position.

$$P(c \mid \mathbf n) \propto P(c) \prod_w \theta_{w \mid c}^{n_w}$$

It is a network whose positions share one CPD. Counts of words are its sufficient statistics, so that a document of any
length is a row of counts.

Reference: Koller & Friedman, box 17.E; McCallum & Nigam (1998).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import AnyArray, Floats, Ints
from sepset.base.checks import number, whole
from sepset.base.frozen import fill
from sepset.base.memory import check_fits
from sepset.base.text import brief, listing
from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.engine.blanket import OnImpossible, log_posteriors
from sepset.engine.classifier import Classification
from sepset.errors import DataError
from sepset.inference.result import Guarantee
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete

NODE_BYTES = 1000
"""The memory of a variable of a network, at least."""

CountMatrix: TypeAlias = Any
"""Counts, one row per document and one column per word: an array, or a sparse matrix of scipy."""


@dataclass(frozen=True, slots=True, eq=False, init=False)
class MultinomialNaiveBayes:
    r"""A classifier of rows of counts.

    Args:
        target: the class.
        word: the variable of one position; its states are the words, in the order of the columns.
        class_probabilities: $P(c)$.
        word_probabilities: $\theta_{w \mid c}$, one row per class and one column per word.

    Reference: Koller & Friedman, box 17.E.
    Guarantee: exact.
    Tested by: learning/classify/test_multinomial.py::test_counts_are_exact_inference_on_the_tied_network

    >>> topic, word = Discrete("topic", ("sports", "economy")), Discrete("word", ("ball", "bank"))
    >>> words = [[0.75, 0.25], [0.25, 0.75]]
    >>> model = MultinomialNaiveBayes(topic, word, class_probabilities=[0.5, 0.5], word_probabilities=words)
    >>> found = model.predict([[2, 0], [1, 1]])
    >>> found.probabilities.round(9).tolist(), found.states.tolist()
    ([[0.9, 0.1], [0.5, 0.5]], ['sports', 'sports'])
    """

    target: Discrete
    word: Discrete
    class_probabilities: Floats
    word_probabilities: Floats

    def __init__(
        self, target: Discrete, word: Discrete, *, class_probabilities: ArrayLike, word_probabilities: ArrayLike
    ) -> None:
        prior = TableCPD(target, class_probabilities).values
        words = TableCPD(word, word_probabilities, given=target).values
        fill(self, target=target, word=word, class_probabilities=prior, word_probabilities=words)

    @classmethod
    def fit(
        cls,
        counts: CountMatrix,
        classes: Sequence[Any] | AnyArray | Dataset,
        *,
        words: Iterable[Any] | None = None,
        target: Discrete | str = "class",
        pseudo_count: float = 1.0,
        class_pseudo_count: float = 0.0,
    ) -> MultinomialNaiveBayes:
        r"""The classifier of documents by their counts of words, learned from labeled ones.

        $$\theta_{w \mid c} = \frac{M[c, w] + \alpha}{\sum_v (M[c, v] + \alpha)}, \qquad
        M[c, w] = \sum_{m : c[m] = c} n_w[m]$$

        Args:
            counts: one row per document and one column per word: an array, or a sparse matrix of scipy.
            classes: the class of each document.
            words: what the columns count; by default their numbers.
            target: the class variable, or its name; its states are then those found, in order.
            pseudo_count: $\alpha$ of each word in each class; zero is maximum likelihood, and gives words that a class
                never used the probability zero.
            class_pseudo_count: the same for the classes.

        Reference: Koller & Friedman, box 17.E.
        Guarantee: exact posterior mean, or MLE.
        Tested by: learning/classify/test_multinomial.py::test_sparse_dense_and_scikit_learn_agree

        >>> sports, economy = [[2, 0, 1], [1, 0, 0]], [[0, 1, 1], [0, 2, 1]]
        >>> labels = ["sports", "sports", "economy", "economy"]
        >>> model = MultinomialNaiveBayes.fit(sports + economy, labels, words=["ball", "bank", "dollar"])
        >>> model.target.states, model.predict([[1, 0, 2]]).probabilities.round(6).tolist()
        (('economy', 'sports'), [[0.273694, 0.726306]])
        """
        number("pseudo_count", pseudo_count, least=0)
        number("class_pseudo_count", class_pseudo_count, least=0)
        root, codes = _labels(classes, target)
        matrix = _counts(counts, None)
        if matrix.shape[0] != len(codes):
            raise DataError(f"There are {matrix.shape[0]} rows of counts and {len(codes)} classes. Give one each.")
        word = Discrete("word", matrix.shape[1] if words is None else tuple(words))
        if word.num_states != matrix.shape[1]:
            raise DataError(f"There are {matrix.shape[1]} columns of counts and {word.num_states} words. Name each.")
        member = (codes[:, None] == np.arange(root.num_states)).astype(np.float64)
        totals = np.asarray((matrix.T @ member).T) + pseudo_count
        silent = np.flatnonzero(totals.sum(axis=1) == 0)
        if silent.size:
            raise DataError(f"{root.name}={root.states[silent[0]]!r} has no words. Give a pseudo_count > 0.")
        prior = TableCPD.normalized(root, member.sum(axis=0) + class_pseudo_count)
        return cls(
            root, word, class_probabilities=prior.values, word_probabilities=totals / totals.sum(axis=1, keepdims=True)
        )

    def predict(self, counts: CountMatrix, *, on_impossible: OnImpossible = "raise") -> Classification:
        """The posterior of the class of every document.

        Args:
            counts: one row per document and one column per word.
            on_impossible: "raise" names the documents that no class can write; "null" leaves them NaN.

        Cost: one matrix product.
        """
        matrix = _counts(counts, self.word.num_states)
        zero = self.word_probabilities == 0
        logs = np.log(np.where(zero, 1.0, self.word_probabilities))
        with np.errstate(divide="ignore"):
            scores = np.asarray(matrix @ logs.T) + np.log(self.class_probabilities)
        if zero.any():
            scores[np.asarray(matrix @ zero.T.astype(np.float64)) > 0] = -np.inf
        found = log_posteriors(scores, on_impossible, self.target)
        return Classification(self.target, found, method=self, guarantees={"marginals": Guarantee.EXACT})

    def network(self, num_positions: int) -> BayesNet:
        """The same model of documents with so many words, position by position, all with one tied CPD.

        >>> topic, word = Discrete("topic"), Discrete("word", 3)
        >>> third = np.full((2, 3), 1 / 3)
        >>> model = MultinomialNaiveBayes(topic, word, class_probabilities=[0.5, 0.5], word_probabilities=third)
        >>> net = model.network(4)
        >>> net.num_parameters, net.variables.names
        (5, ('topic', 'word[0]', 'word[1]', 'word[2]', 'word[3]'))
        """
        whole("num_positions", num_positions)
        check_fits(NODE_BYTES * num_positions, f"A network of {num_positions} positions")
        positions = (Discrete(self.word.base, self.word.domain, index=(p,)) for p in range(num_positions))
        words = (TableCPD(p, self.word_probabilities, given=self.target, block=self.word.base) for p in positions)
        return BayesNet(TableCPD(self.target, self.class_probabilities), *words)

    def __repr__(self) -> str:
        return f"MultinomialNaiveBayes({self.target.name}[{self.target.num_states}], {self.word.num_states} words)"


def _labels(classes: object, target: Discrete | str) -> tuple[Discrete, Ints]:
    name = target.name if isinstance(target, Discrete) else target
    rows = (
        classes
        if isinstance(classes, Dataset)
        else Dataset({name: classes}, None if isinstance(target, str) else [target])
    )
    found = rows.variables.named(name)
    if not isinstance(found, Discrete):
        raise DataError(f"Classes are states, not numbers; found {found!r}.")
    codes = rows.codes(name).astype(np.int64)
    if (codes < 0).any():
        raise DataError(f"The class is missing in row {int(np.argmax(codes < 0))}. Drop the row.")
    return found, codes


def _counts(counts: CountMatrix, num_words: int | None) -> CountMatrix:
    """The matrix as floats, dense or sparse, with its numbers checked."""
    sparse = hasattr(counts, "tocsr")
    try:
        matrix = counts.tocsr().astype(np.float64) if sparse else np.asarray(counts, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"Counts are a matrix of numbers, one row per document; found {brief(counts)}.") from None
    if len(matrix.shape) != 2 or (num_words is not None and matrix.shape[1] != num_words):
        columns = "columns, one per word" if num_words is None else f"{num_words} columns"
        raise DataError(f"Counts have one row per document and {columns}; found the shape {listing(matrix.shape)}.")
    values = np.asarray(matrix.data if sparse else matrix)
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise DataError("Counts are finite and >= 0.")
    return matrix
