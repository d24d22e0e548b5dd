"""Support vector machines that choose the labels they are not given."""

from weakly.svm._well import WellSVC

__all__ = ["WellSVC"]
