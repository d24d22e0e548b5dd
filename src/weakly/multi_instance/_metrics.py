"""How well bags are told apart, and how well their key instances are located."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.utils.validation import check_consistent_length

from weakly.estimators._docstrings import fill_doc
from weakly.multi_instance._forms import read_bags


class SuccessRates(NamedTuple):
    """Shares of bags whose key instance was located.

    Parameters
    ----------
    of_relevant : float
        Of the positive bags, those that were found to be positive and whose key instance was located.
    of_predicted : float
        Of the bags found to be positive, those whose key instance was located.
    harmonic : float
        The harmonic mean of the two.
    """

    of_relevant: float
    of_predicted: float
    harmonic: float


@fill_doc
def success_rates(y_true: Any, y_pred: Any, located: Any, is_key: Any, *, positive_class: Any = 1) -> Any:
    """Rate how well key instances were located.

    Parameters
    ----------
    y_true : array-like of shape (n_bags,)
        Labels of the bags.
    y_pred : array-like of shape (n_bags,)
        Predicted labels.
    located : array-like of int of shape (n_bags,)
        Place of the instance that was located in each bag, as ``key_instances`` of a classifier gives it for
        ``Bags`` and lists; -1 for none.
    is_key : list of array-like of bool
        For each bag, which of its instances are key instances.
    positive_class : label, default=1
        The class of bags that have key instances.

    Returns
    -------
    SuccessRates
        The shares of relevant bags and of predicted ones, and their harmonic mean. Where nothing is relevant,
        or nothing predicted, a share is 0.

    See Also
    --------
    bag_scores : The same for a fitted classifier, beside accuracy and AUC.

    Notes
    -----
    [wellsvm]_ Eqs. (33) and (34).

    References
    ----------
    %(wellsvm)s

    Examples
    --------
    >>> from weakly.multi_instance import success_rates
    >>> is_key = [[True, False], [False, True], [False, False]]
    >>> success_rates([1, 1, 0], [1, 0, 1], [0, 1, 0], is_key)
    SuccessRates(of_relevant=0.5, of_predicted=0.5, harmonic=0.5)
    """
    check_consistent_length(y_true, y_pred, located, is_key)
    relevant = np.asarray(y_true) == positive_class
    predicted = np.asarray(y_pred) == positive_class
    hits = np.zeros(len(relevant), dtype=bool)
    for bag, (place, keys) in enumerate(zip(np.asarray(located), is_key, strict=True)):
        if not -1 <= place < len(keys):
            raise ValueError(
                f"Bag {bag} has {len(keys)} instances: there is none at place {place}. Places are within "
                "bags, as key_instances gives them for Bags and lists."
            )
        hits[bag] = place >= 0 and bool(keys[place])
    n_hits = int(np.count_nonzero(hits & predicted & relevant))  # other bags have no key instances
    n_relevant, n_predicted = int(np.count_nonzero(relevant)), int(np.count_nonzero(predicted))
    return SuccessRates(
        n_hits / max(n_relevant, 1),  # [wellsvm] Eq. (33)
        n_hits / max(n_predicted, 1),  # [wellsvm] Eq. (34)
        2 * n_hits / max(n_relevant + n_predicted, 1),
    )


@fill_doc
def bag_scores(estimator: Any, X: Any, y: Any, is_key: Any = None) -> dict[str, float]:
    """Score a fitted classifier of bags.

    Parameters
    ----------
    estimator : classifier of bags
        Fitted.
    %(bags)s
    y : array-like of shape (n_bags,)
        Their labels.
    is_key : list of array-like of bool or None, default=None
        For each bag, which of its instances are key instances, if that is known; of two classes.

    Returns
    -------
    dict
        "accuracy" and "roc_auc" (of more than two classes the mean of one against the rest); with ``is_key``
        also the entries of :class:`SuccessRates`.

    See Also
    --------
    success_rates : The last of them from predictions.

    Examples
    --------
    >>> from weakly import BagMarginSVC, Bags
    >>> from weakly.datasets import make_bags
    >>> from weakly.multi_instance import bag_scores
    >>> data = make_bags(60, random_state=0)
    >>> bags = Bags.from_ids(data.X, data.bags)
    >>> model = BagMarginSVC(kernel="linear").fit(bags, data.bag_y)
    >>> scores = bag_scores(model, bags, data.bag_y, bags.split(data.y == 1))
    >>> list(scores), scores["harmonic"] > 0.9
    (['accuracy', 'roc_auc', 'of_relevant', 'of_predicted', 'harmonic'], True)
    """
    X = read_bags(X).bags  # so that key instances are places in bags
    predicted = estimator.predict(X)
    scores = {"accuracy": float(accuracy_score(y, predicted))}
    if len(estimator.classes_) == 2:
        is_second = np.asarray(y) == estimator.classes_[1]
        scores["roc_auc"] = float(roc_auc_score(is_second, estimator.decision_function(X)))
    else:
        probabilities = estimator.predict_proba(X)
        scores["roc_auc"] = float(
            roc_auc_score(y, probabilities, multi_class="ovr", labels=estimator.classes_)
        )
    if is_key is None:
        return scores
    if estimator.positive_class_ is None:
        raise ValueError("is_key needs two classes: with more, rate each class with success_rates.")
    rates = success_rates(
        y, predicted, estimator.key_instances(X), is_key, positive_class=estimator.positive_class_
    )
    return scores | rates._asdict()
