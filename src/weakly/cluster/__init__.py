"""Clusters with a wide margin between them."""

from weakly.cluster._kernel_means import KernelKMeans
from weakly.cluster._margins import (
    CuttingPlaneMaxMarginClustering,
    GeneralizedMaxMarginClustering,
    IterativeSVRClustering,
)
from weakly.cluster._well import WellClustering

__all__ = [
    "CuttingPlaneMaxMarginClustering",
    "GeneralizedMaxMarginClustering",
    "IterativeSVRClustering",
    "KernelKMeans",
    "WellClustering",
]
