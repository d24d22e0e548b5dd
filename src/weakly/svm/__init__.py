"""Support vector machines that find the labels they are not given, or probabilities of them."""

from weakly.svm._probabilistic import ProbabilisticLabelSVC
from weakly.svm._transductive import OPTIMIZERS, TransductiveLinearSVC, TransductiveSVC
from weakly.svm._well import WellSVC
from weakly.svm._weston_watkins import WestonWatkinsSVC

__all__ = [
    "OPTIMIZERS",
    "ProbabilisticLabelSVC",
    "TransductiveLinearSVC",
    "TransductiveSVC",
    "WellSVC",
    "WestonWatkinsSVC",
]
