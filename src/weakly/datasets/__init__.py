"""Benchmark data from a local directory, and generators whose answer is known."""

from weakly.datasets._generators import (
    make_bags,
    make_clustered_classes,
    make_misleading_gaussians,
    make_two_moons,
)
from weakly.datasets._load import list_datasets, load
from weakly.datasets._pictures import make_pictures, region_features
from weakly.datasets._scenes import CATEGORIES
from weakly.datasets._text import make_sparse_text

__all__ = [
    "CATEGORIES",
    "list_datasets",
    "load",
    "make_bags",
    "make_clustered_classes",
    "make_misleading_gaussians",
    "make_pictures",
    "make_sparse_text",
    "make_two_moons",
    "region_features",
]
