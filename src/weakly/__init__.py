"""Learn classifiers from few or weak labels.

A method here is a space of functions, a loss on the labelled rows, regularisers on the scores of all
rows, and a solver; the modules are laid out as that sentence. Public names load on first use, so that
``import weakly`` stays light.
"""

from importlib import import_module

_HOME = {
    "AdaBoostMLClassifier": "boosting",
    "BagMarginSVC": "multi_instance",
    "Bags": "multi_instance",
    "CheegerRLSClassifier": "manifold",
    "CheegerSVC": "manifold",
    "CitationKNNClassifier": "multi_instance",
    "CuttingPlaneMaxMarginClustering": "cluster",
    "DiverseDensityClassifier": "multi_instance",
    "EMDDClassifier": "multi_instance",
    "ExclusiveLaplacianSVC": "manifold",
    "FewLabelClassifier": "auto",
    "GeneralizedMaxMarginClustering": "cluster",
    "InstanceMarginSVC": "multi_instance",
    "InstanceTransformer": "multi_instance",
    "IterativeSVRClustering": "cluster",
    "KernelKMeans": "cluster",
    "LaplacianRLSClassifier": "manifold",
    "LaplacianRLSRegressor": "manifold",
    "LaplacianSVC": "manifold",
    "MultiInstanceKernelSVC": "multi_instance",
    "ProbabilisticLabelSVC": "svm",
    "RMSBoostClassifier": "boosting",
    "SERBoostClassifier": "boosting",
    "TotalVariationRLSClassifier": "manifold",
    "TotalVariationSVC": "manifold",
    "TransductiveLinearSVC": "svm",
    "TransductiveSVC": "svm",
    "WellClustering": "cluster",
    "WellMultiInstanceSVC": "multi_instance",
    "WellSVC": "svm",
    "WestonWatkinsSVC": "svm",
    "LabelView": "rows._labels",
    "encode_labels": "rows._labels",
}
_MODULES = (
    "auto",
    "boosting",
    "cluster",
    "datasets",
    "distributed",
    "exceptions",
    "graphs",
    "io",
    "kernels",
    "losses",
    "manifold",
    "model_selection",
    "multi_instance",
    "plotting",
    "regularizers",
    "solvers",
    "spaces",
    "svm",
)

__all__ = [*_HOME, *_MODULES]


def __getattr__(name):
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name == "__version__":
        return _version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *__all__, "__version__"])


def _version():
    """Version that is installed; its import takes longer than that of the package."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(__name__)
    except PackageNotFoundError:  # copied, not installed
        return "unknown"
