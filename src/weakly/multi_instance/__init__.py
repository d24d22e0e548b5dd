"""Classifiers of bags of instances, whose labels are known for whole bags only."""

from weakly.multi_instance._well import WellMultiInstanceSVC

__all__ = ["WellMultiInstanceSVC"]
