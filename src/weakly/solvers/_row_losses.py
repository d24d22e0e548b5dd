"""Old home of the losses in :mod:`weakly.losses`, for modules that still import them from here."""

from weakly.losses import ScoreLoss
from weakly.losses._transductive import Annealed, Blurred, Bump, TwoSided, balancing_level, squared_hinge

RowLoss = ScoreLoss
CurvedLoss = ScoreLoss

__all__ = [
    "Annealed",
    "Blurred",
    "Bump",
    "CurvedLoss",
    "RowLoss",
    "TwoSided",
    "balancing_level",
    "squared_hinge",
]
