"""Losses, all with one contract: value, slope and curvature at scores.

A `Loss` is a function of targets and scores, sample by sample; :meth:`Loss.at` fixes targets and weights, and
the sum over the samples is a `ScoreLoss`. The losses of a transductive SVM are score losses from the start.
Every solver with a parameter ``loss`` takes the name of a loss of `LOSSES` or a `Loss`; ``fit_rows`` takes a
`ScoreLoss`. A new loss is three functions, and serves them all.
"""

from weakly.losses._labeled import LOSSES, LabeledLoss, Loss, ScoreLoss, resolve_loss

__all__ = ["LOSSES", "LabeledLoss", "Loss", "ScoreLoss", "resolve_loss"]
