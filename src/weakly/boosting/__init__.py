"""Boosting of weak classifiers on labeled and unlabeled samples."""

from weakly.boosting._priors import graph_prior, kmeans_prior, smoothed_prior
from weakly.boosting._rivals import AdaBoostMLClassifier, SERBoostClassifier
from weakly.boosting._rms import RMSBoostClassifier

__all__ = [
    "AdaBoostMLClassifier",
    "RMSBoostClassifier",
    "SERBoostClassifier",
    "graph_prior",
    "kmeans_prior",
    "smoothed_prior",
]
