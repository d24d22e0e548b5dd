"""Every public estimator, in settings that take different ways through the code."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClusterMixin, is_classifier, is_regressor
from sklearn.utils import get_tags

import weakly
from weakly import Bags
from weakly.multi_instance._base import BagClassifier

_ANCHORS = {"graph": "anchor", "n_neighbors": 3, "n_components": 30}
_FEW_ROUNDS = {"n_estimators": 15}

# name: class and parameters. The first of a class is the one that the reduced grid takes.
_SETTINGS = {
    "few-label": ("FewLabelClassifier", {}),
    "few-label safe": ("FewLabelClassifier", {"mode": "safe"}),
    "few-label full": ("FewLabelClassifier", {"effort": "full"}),
    "few-label anchor": ("FewLabelClassifier", {"graph": "anchor"}),
    "laplacian rls": ("LaplacianRLSClassifier", {}),
    "laplacian rls simplex": ("LaplacianRLSClassifier", {"simplex": True}),
    "laplacian rls anchor": ("LaplacianRLSClassifier", _ANCHORS),
    "laplacian rls cg": ("LaplacianRLSClassifier", {"solver": "cg"}),
    "laplacian rls linear": ("LaplacianRLSClassifier", {"kernel": "linear"}),
    "laplacian rls nystroem": ("LaplacianRLSClassifier", {"approximation": "nystroem", "n_components": 40}),
    "laplacian rls fourier": ("LaplacianRLSClassifier", {"approximation": "fourier", "n_components": 60}),
    "laplacian svc": ("LaplacianSVC", {}),
    "laplacian svc hinge": ("LaplacianSVC", {"loss": "hinge"}),
    "laplacian svc simplex": ("LaplacianSVC", {"simplex": True}),
    "laplacian svc anchor": ("LaplacianSVC", _ANCHORS),
    "laplacian svc cg": ("LaplacianSVC", {"solver": "cg"}),
    "laplacian regressor": ("LaplacianRLSRegressor", {}),
    "laplacian regressor linear": ("LaplacianRLSRegressor", {"kernel": "linear"}),
    "laplacian regressor anchor": ("LaplacianRLSRegressor", _ANCHORS),
    "exclusive": ("ExclusiveLaplacianSVC", {}),
    "exclusive sum": ("ExclusiveLaplacianSVC", {"exclusive": "sum"}),
    "exclusive anchor": ("ExclusiveLaplacianSVC", _ANCHORS),
    "total variation rls": ("TotalVariationRLSClassifier", {}),
    "total variation svc": ("TotalVariationSVC", {}),
    "cheeger rls": ("CheegerRLSClassifier", {}),
    "cheeger svc": ("CheegerSVC", {}),
    "probabilistic": ("ProbabilisticLabelSVC", {}),
    "probabilistic novelty": ("ProbabilisticLabelSVC", {"alpha_labeled": 0.5, "novelty_threshold": 0.8}),
    "probabilistic linear": ("ProbabilisticLabelSVC", {"kernel": "linear"}),
    "probabilistic anchor": ("ProbabilisticLabelSVC", _ANCHORS),
    "weston-watkins": ("WestonWatkinsSVC", {}),
    "weston-watkins linear": ("WestonWatkinsSVC", {"kernel": "linear"}),
    "well": ("WellSVC", {}),
    "well hinge": ("WellSVC", {"loss": "hinge"}),
    "well linear": ("WellSVC", {"kernel": "linear"}),
    "well offset": ("WellSVC", {"offset": 1.0, "refine": 3, "oracle": "restarts"}),
    "well free": ("WellSVC", {"class_prior": None, "oracle": "step"}),
    "transductive": ("TransductiveSVC", {}),
    **{
        f"transductive {name}": ("TransductiveSVC", {"optimizer": name})
        for name in ("switching", "multi_switch", "cccp", "gradient", "continuation", "newton")
    },
    "transductive branch": ("TransductiveSVC", {"optimizer": "branch_and_bound", "max_seconds": 0.5}),
    "transductive kernel linear": ("TransductiveSVC", {"kernel": "linear"}),
    "transductive linear": ("TransductiveLinearSVC", {}),
    "transductive linear multi_switch": ("TransductiveLinearSVC", {"optimizer": "multi_switch"}),
    "rms boost": ("RMSBoostClassifier", _FEW_ROUNDS),
    "rms boost k-means": ("RMSBoostClassifier", _FEW_ROUNDS | {"prior": "kmeans", "response": "hard"}),
    "rms boost graph": ("RMSBoostClassifier", _FEW_ROUNDS | {"prior": "graph", "n_iter_no_change": 3}),
    "ser boost": ("SERBoostClassifier", _FEW_ROUNDS),
    "ada boost": ("AdaBoostMLClassifier", _FEW_ROUNDS),
    "kernel k-means": ("KernelKMeans", {"n_clusters": 3}),
    "kernel k-means linear": ("KernelKMeans", {"n_clusters": 3, "kernel": "linear"}),
    "kernel k-means bounded": ("KernelKMeans", {"n_clusters": 3, "balance": 0.3}),
    "iterative svr": ("IterativeSVRClustering", {}),
    "iterative svr of 3": ("IterativeSVRClustering", {"n_clusters": 3}),
    "iterative svr linear": ("IterativeSVRClustering", {"kernel": "linear"}),
    "cutting plane": ("CuttingPlaneMaxMarginClustering", {}),
    "cutting plane linear": ("CuttingPlaneMaxMarginClustering", {"kernel": "linear"}),
    "generalized": ("GeneralizedMaxMarginClustering", {}),
    "well clustering": ("WellClustering", {}),
    "well clustering of 3": ("WellClustering", {"n_clusters": 3}),
    "well clustering linear": ("WellClustering", {"kernel": "linear"}),
    "bag margin": ("BagMarginSVC", {}),
    "bag margin linear": ("BagMarginSVC", {"kernel": "linear"}),
    "instance margin": ("InstanceMarginSVC", {}),
    "set kernel": ("MultiInstanceKernelSVC", {}),
    "citation": ("CitationKNNClassifier", {}),
    "diverse density": ("DiverseDensityClassifier", {}),
    "em-dd": ("EMDDClassifier", {}),
    "well bags": ("WellMultiInstanceSVC", {}),
    "well bags hinge": ("WellMultiInstanceSVC", {"loss": "hinge", "kernel": "linear"}),
}


@dataclass(frozen=True)
class Subject:
    """An estimator under attack."""

    name: str
    estimator: str
    settings: dict = field(hash=False)

    def make(self, **changes):
        model = getattr(weakly, self.estimator)(**self.settings)
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        return model.set_params(**changes)

    @cached_property
    def params(self):
        return self.make().get_params()

    @cached_property
    def kind(self):
        """What a fit takes: bags, clusters (no labels), numbers, labels of all samples, or of some."""
        model = self.make()
        if isinstance(model, BagClassifier):
            return "bags"
        if isinstance(model, ClusterMixin):
            return "clusters"
        if is_regressor(model):
            return "numbers"
        assert is_classifier(model)
        return "some" if "unlabeled" in self.params else "all"

    @property
    def takes_weights(self):
        return "sample_weight" in inspect.signature(getattr(weakly, self.estimator).fit).parameters

    @property
    def takes_sparse(self):
        return get_tags(self.make()).input_tags.sparse

    @property
    def is_free(self):
        """Whether the kernel may be exchanged: it has a part in the fit, and the settings leave it open."""
        fixed = self.settings.keys() & {"kernel", "approximation"}
        return not fixed and self.settings.get("graph") != "anchor"

    @property
    def kernel(self):
        is_linear = self.name.startswith("transductive linear")  # and has no such parameter
        return "linear" if is_linear else self.params.get("kernel", "none")

    def arguments(self, X, truth, labeled):
        """Arguments of ``fit``: the samples, and as much of the truth as the estimator is to be told."""
        truth = np.asarray(truth)
        if self.kind == "clusters":
            return (X,)
        if self.kind == "bags":
            return bags_of(X, truth)
        if self.kind == "all":
            return X, truth
        y = np.full(len(truth), np.nan if self.kind == "numbers" else -1)
        y[labeled] = truth[labeled]
        return X, y


def bags_of(X, truth):
    """Bags of three samples, positive where one of them is of the last class."""
    n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
    size = 3 if n_samples >= 12 else 1
    order = np.argsort(truth, kind="stable")
    offsets = np.append(np.arange(0, n_samples, size), n_samples)
    is_last = np.asarray(truth)[order] == np.max(truth)
    rows = X[order] if hasattr(X, "shape") else [X[place] for place in order]
    return Bags(rows, offsets), np.logical_or.reduceat(is_last, offsets[:-1]).astype(int)


def rows_like(subject, X, truth):
    """Samples as the estimator predicts them."""
    return bags_of(X, truth)[0] if subject.kind == "bags" else X


SUBJECTS = {name: Subject(name, *setting) for name, setting in _SETTINGS.items()}
FIRST = {subject.estimator: subject for subject in reversed(SUBJECTS.values())}  # one of each class


def blobs(n_samples=60, n_features=4, n_classes=3, spread=0.7, seed=0):
    """Clusters that any method tells apart."""
    rng = np.random.default_rng(seed)
    centers = np.zeros((n_classes, n_features))
    for c in range(n_classes):
        centers[c, c % n_features] = 5.0 * (1 + c // n_features)
    truth = np.arange(n_samples) % n_classes
    return centers[truth] + spread * rng.standard_normal((n_samples, n_features)), truth


def some_of_each(truth, n_per_class=4):
    return np.concatenate([np.flatnonzero(truth == c)[:n_per_class] for c in np.unique(truth)])


def is_sparse(X):
    return sp.issparse(getattr(X, "rows", X))
