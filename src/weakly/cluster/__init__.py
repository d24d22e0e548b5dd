"""Clusters with a wide margin between them."""

from weakly.cluster._cutting_plane import CuttingPlaneMaxMarginClustering
from weakly.cluster._generalized import GeneralizedMaxMarginClustering
from weakly.cluster._iterative_svr import IterativeSVRClustering
from weakly.cluster._kernel_means import KernelKMeans
from weakly.cluster._well import WellClustering

__all__ = [
    "CuttingPlaneMaxMarginClustering",
    "GeneralizedMaxMarginClustering",
    "IterativeSVRClustering",
    "KernelKMeans",
    "WellClustering",
]
