"""Classifiers of bags of instances, whose labels are known for whole bags only."""

from weakly.multi_instance._adapter import InstanceTransformer
from weakly.multi_instance._bags import Bags
from weakly.multi_instance._distances import (
    CitationKNNClassifier,
    DiverseDensityClassifier,
    EMDDClassifier,
)
from weakly.multi_instance._hausdorff import bag_distances
from weakly.multi_instance._machines import BagMarginSVC, InstanceMarginSVC, MultiInstanceKernelSVC
from weakly.multi_instance._metrics import SuccessRates, bag_scores, success_rates
from weakly.multi_instance._well import WellMultiInstanceSVC

__all__ = [
    "BagMarginSVC",
    "Bags",
    "CitationKNNClassifier",
    "DiverseDensityClassifier",
    "EMDDClassifier",
    "InstanceMarginSVC",
    "InstanceTransformer",
    "MultiInstanceKernelSVC",
    "SuccessRates",
    "WellMultiInstanceSVC",
    "bag_distances",
    "bag_scores",
    "success_rates",
]
