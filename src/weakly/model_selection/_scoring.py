"""Scores that look at labeled samples only."""

from __future__ import annotations

from functools import partial

from sklearn.base import is_regressor
from sklearn.metrics import get_scorer

from weakly.estimators._docstrings import fill_doc
from weakly.rows._selection import take_labeled


@fill_doc
def labeled_scorer(scoring, *, unlabeled="auto"):
    """Restrict a scorer to the labeled samples of ``y``.

    Parameters
    ----------
    scoring : str or callable
        Name of a scikit-learn scorer, or a scorer ``scoring(estimator, X, y)``.
    %(unlabeled)s

    Returns
    -------
    callable
        ``scorer(estimator, X, y, sample_weight=None)`` with the value of ``scoring`` on the labeled samples.
        It raises a ValueError if there are none.

    See Also
    --------
    PartiallyLabeledKFold : Its test parts hold labeled samples only, so any scorer does.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from weakly.model_selection import labeled_scorer
    >>> zeros = DummyClassifier(strategy="constant", constant=0).fit([[0], [0]], [0, 1])
    >>> labeled_scorer("accuracy")(zeros, [[0], [0], [0], [0]], [0, 1, -1, -1])
    0.5
    """
    if not callable(scoring) and not isinstance(scoring, str):
        raise ValueError(f"scoring must be the name of a scorer or a scorer, got {scoring!r}.")
    # A partial of a module-level function can be pickled, so n_jobs works.
    return partial(_score_labeled_rows, scorer=get_scorer(scoring), unlabeled=unlabeled)


def _score_labeled_rows(estimator, X, y, sample_weight=None, *, scorer, unlabeled):
    continuous = is_regressor(estimator)
    X, y, sample_weight = take_labeled(X, y, sample_weight, unlabeled=unlabeled, continuous=continuous)
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    return scorer(estimator, X, y, **weights)
