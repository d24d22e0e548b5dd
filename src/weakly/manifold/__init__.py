"""Classifiers and regressors whose scores vary slowly along a graph."""

from weakly.manifold._cuts import (
    CheegerRLSClassifier,
    CheegerSVC,
    TotalVariationRLSClassifier,
    TotalVariationSVC,
)
from weakly.manifold._laplacian_rls import LaplacianRLSClassifier, LaplacianRLSRegressor
from weakly.manifold._laplacian_svc import ExclusiveLaplacianSVC, LaplacianSVC

__all__ = [
    "CheegerRLSClassifier",
    "CheegerSVC",
    "ExclusiveLaplacianSVC",
    "LaplacianRLSClassifier",
    "LaplacianRLSRegressor",
    "LaplacianSVC",
    "TotalVariationRLSClassifier",
    "TotalVariationSVC",
]
