"""Trees by enumeration, and boosting as it is printed."""

from itertools import product

import numpy as np


def least_error(X, labels, weights, n_classes):
    """Least weight of wrongly named rows over all trees of one split, their leaves named in all ways."""
    best = min(weights[labels != c].sum() for c in range(n_classes))
    for feature in range(X.shape[1]):
        for cut in np.unique(X[:, feature])[:-1]:
            left = X[:, feature] <= cut
            for one, other in product(range(n_classes), repeat=2):
                named = np.where(left, one, other)
                best = min(best, weights[named != labels].sum())
    return best


def best_names(leaves, vectors):
    """Largest sum of ``vectors[i, class of the leaf of i]`` over all ways to name the leaves."""
    n_leaves, n_classes = leaves.max() + 1, vectors.shape[1]
    rows = np.arange(len(leaves))
    return max(
        vectors[rows, np.array(names)[leaves]].sum() for names in product(range(n_classes), repeat=n_leaves)
    )


def boost_as_printed(fit, X, codes, prior, *, alpha, beta, margin, warm_up, nu, n_rounds):
    """[rmsboost] section 2.4 row by row: scores of the training rows after all rounds.

    ``fit(X, labels, weights)`` returns the predicted class of each row.
    """
    n_rows, n_classes = prior.shape
    f = np.zeros((n_rows, n_classes))
    for t in range(n_rounds):
        labels, weights = np.empty(n_rows, dtype=int), np.empty(n_rows)
        for i in range(n_rows):
            if codes[i] >= 0:
                labels[i], weights[i] = codes[i], np.exp(-f[i, codes[i]])
                continue
            model = np.exp(f[i]) / np.exp(f[i]).sum()
            pull = alpha * (prior[i] - model)
            top = int(np.argmax(f[i]))
            if t >= warm_up and f[i, top] < margin:
                pull[top] += beta
            labels[i] = int(np.argmax(pull))
            weights[i] = pull[labels[i]]
        named = fit(X, labels, weights)
        f[np.arange(n_rows), named] += nu  # in this order, so that equal scores are equal to the last digit
        f -= nu / n_classes
    return f
