"""Splitters and scorers for partially labelled targets."""

from weakly.model_selection._draws import LabelDraw, LabelDraws
from weakly.model_selection._kfold import PartiallyLabeledKFold
from weakly.model_selection._scoring import labeled_scorer

__all__ = ["LabelDraw", "LabelDraws", "PartiallyLabeledKFold", "labeled_scorer"]
