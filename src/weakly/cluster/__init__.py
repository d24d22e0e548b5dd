"""Clusters with a wide margin between them."""

from weakly.cluster._alternating import (
    CuttingPlaneMaxMarginClustering,
    IterativeSVRClustering,
    KernelKMeans,
)
from weakly.cluster._relaxations import GeneralizedMaxMarginClustering, WellClustering

__all__ = [
    "CuttingPlaneMaxMarginClustering",
    "GeneralizedMaxMarginClustering",
    "IterativeSVRClustering",
    "KernelKMeans",
    "WellClustering",
]
