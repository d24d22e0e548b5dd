"""Classifiers and regressors whose scores vary slowly along a graph."""

from weakly.manifold._cheeger import CheegerRLSClassifier, CheegerSVC
from weakly.manifold._exclusive import ExclusiveLaplacianSVC
from weakly.manifold._laplacian_regressor import LaplacianRLSRegressor
from weakly.manifold._laplacian_rls import LaplacianRLSClassifier
from weakly.manifold._laplacian_svc import LaplacianSVC
from weakly.manifold._total_variation import TotalVariationRLSClassifier, TotalVariationSVC

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
