"""Splitters and scorers for partially labeled targets, and meta-estimators of scikit-learn on them."""

from weakly.model_selection._draws import LabelDraw, LabelDraws
from weakly.model_selection._kfold import PartiallyLabeledKFold
from weakly.model_selection._partially_labeled import PartiallyLabeled
from weakly.model_selection._scoring import labeled_scorer

__all__ = ["LabelDraw", "LabelDraws", "PartiallyLabeled", "PartiallyLabeledKFold", "labeled_scorer"]
