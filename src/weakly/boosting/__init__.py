"""Boosting of weak classifiers on labeled and unlabeled samples."""

from weakly.boosting._adaboost import AdaBoostMLClassifier
from weakly.boosting._priors import graph_prior, kmeans_prior, smoothed_prior
from weakly.boosting._rms import RMSBoostClassifier
from weakly.boosting._ser import SERBoostClassifier

__all__ = [
    "AdaBoostMLClassifier",
    "RMSBoostClassifier",
    "SERBoostClassifier",
    "graph_prior",
    "kmeans_prior",
    "smoothed_prior",
]
