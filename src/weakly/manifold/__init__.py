"""Methods that smooth over a graph of the rows."""

from weakly.manifold._laplacian_rls import LaplacianRLSClassifier, LaplacianRLSRegressor
from weakly.manifold._laplacian_svc import LaplacianSVC

__all__ = ["LaplacianRLSClassifier", "LaplacianRLSRegressor", "LaplacianSVC"]
