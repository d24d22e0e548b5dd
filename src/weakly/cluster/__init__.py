"""Clusters with a wide margin between them."""

from weakly.cluster._well import WellClustering

__all__ = ["WellClustering"]
