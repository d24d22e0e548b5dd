"""Sparse text of any shape, with a known best classifier."""

from __future__ import annotations

import numpy as np
from sklearn.utils import Bunch, check_random_state

from weakly.datasets._common import build_csr, check_integer, check_number, draw_partial_labels
from weakly.estimators._docstrings import fill_doc


@fill_doc
def make_sparse_text(
    n_samples=1000,
    n_features=5000,
    *,
    words_per_row=50,
    n_classes=2,
    topic_strength=0.1,
    topic_size=None,
    zipf_exponent=1.0,
    n_per_class=1,
    random_state=None,
):
    r"""Word counts of documents whose classes have topics.

    The words of a document are drawn independently: with probability ``topic_strength`` from the topic of
    its class, otherwise from the language all classes share. Word frequencies follow Zipf's law in both,
    :math:`p(\text{rank}) \propto \text{rank}^{-a}`. In the language a word's rank is its column; a topic is
    a random list of words, and no word is in two of them. Time and memory grow with the number of words.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of documents, the same for each class up to one.
    n_features : int, default=5000
        Size of the vocabulary.
    words_per_row : float, default=50
        Mean length of a document, at least 1; lengths are Poisson, and no document is empty. A word may
        repeat, so a row has fewer non-zero entries.
    n_classes : int, default=2
        Number of classes.
    topic_strength : float, default=0.1
        Share of topic words in a document, in [0, 1); the larger, the easier.
    topic_size : int or None, default=None
        Words in a topic; ``None`` shares a tenth of the vocabulary among the topics.
    zipf_exponent : float, default=1.0
        The exponent :math:`a`; 0 makes all words equally frequent.
    n_per_class : int, default=1
        Labeled documents of each class.
    %(bunch)s

        - ``X`` : CSR array of shape (n_samples, n_features), counts as float64, with sorted indices;
        - ``y``, the class of each document; ``labeled``, the labeled rows; ``y_partial``, which is ``y``
          with -1 on the others;
        - ``topics`` : ndarray of shape (n_classes, topic_size), the words of each topic, most frequent first;
        - ``coef`` : CSR array of shape (n_classes, n_features), the best classifier: no rule errs less on
          average than the class with the largest entry in ``X @ coef.T``.

    Notes
    -----
    With the language :math:`p`, the topics :math:`t_c` and the strength :math:`s`, a word of class :math:`c`
    has the distribution :math:`(1 - s) p + s t_c`. Its logarithm, less that of :math:`(1 - s) p`, is
    ``coef``: it is zero off the topic, and sums to the log-likelihood of a document up to a constant.

    Examples
    --------
    >>> from weakly.datasets import make_sparse_text
    >>> text = make_sparse_text(500, 2000, words_per_row=40, n_classes=3, random_state=0)
    >>> text.X.shape, text.topics.shape
    ((500, 2000), (3, 66))
    >>> best = (text.X @ text.coef.T).toarray().argmax(axis=1)
    >>> print(f"{(best == text.y).mean():.2f}")
    0.97
    """
    check_integer("n_classes", n_classes, at_least=2)
    check_integer("n_samples", n_samples, at_least=n_classes)
    check_integer("n_features", n_features, at_least=1)
    check_number("words_per_row", words_per_row, at_least=1, below=np.inf)
    check_number("topic_strength", topic_strength, at_least=0, below=1)
    check_number("zipf_exponent", zipf_exponent, at_least=0, below=np.inf)
    topic_size = _topic_size(topic_size, n_features, n_classes)
    rng = check_random_state(random_state)

    language, topic = _zipf(n_features, zipf_exponent), _zipf(topic_size, zipf_exponent)
    topics = rng.permutation(n_features)[: n_classes * topic_size].reshape(n_classes, topic_size)
    y = rng.permutation(np.arange(n_samples) % n_classes)
    lengths = 1 + rng.poisson(words_per_row - 1, size=n_samples)

    words = _draw(language, lengths.sum(), rng)
    on_topic = np.flatnonzero(rng.random_sample(len(words)) < topic_strength)
    words[on_topic] = topics[np.repeat(y, lengths)[on_topic], _draw(topic, len(on_topic), rng)]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    X = build_csr(np.ones(len(words)), words, starts, (n_samples, n_features))
    X.sum_duplicates()

    odds = np.log1p(topic_strength * topic / ((1 - topic_strength) * language[topics]))
    topic_starts = np.arange(n_classes + 1) * topic_size
    coef = build_csr(odds.ravel(), topics.ravel(), topic_starts, (n_classes, n_features)).sorted_indices()
    return Bunch(X=X, y=y, **draw_partial_labels(y, n_per_class, rng), topics=topics, coef=coef)


def _topic_size(topic_size, n_features, n_classes):
    if topic_size is None:
        topic_size = max(1, n_features // (10 * n_classes))
    check_integer("topic_size", topic_size, at_least=1)
    if n_classes * topic_size > n_features:
        raise ValueError(
            f"n_features={n_features} is too small for {n_classes} topics of {topic_size} words each: raise "
            "n_features, or lower topic_size or n_classes."
        )
    return topic_size


def _zipf(n_words, exponent):
    """Probability of each word, most frequent first."""
    frequencies = np.arange(1.0, n_words + 1) ** -exponent
    return frequencies / frequencies.sum()


def _draw(probabilities, size, rng):
    """Draw words by inverting the distribution function."""
    cumulative = np.cumsum(probabilities)
    words = np.searchsorted(cumulative / cumulative[-1], rng.random_sample(size), side="right")
    return words.astype(np.int32)
