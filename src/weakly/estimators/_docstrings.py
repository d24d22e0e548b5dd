"""Texts that the docstrings of several estimators share, each written once.

A line of a docstring that is ``%(name)s`` and nothing else stands for the text of that name, as in
``scipy.ndimage`` and MNE. A text is a parameter, an attribute or a section, or several that go together;
where defaults differ from class to class, it is the description alone, below a line with name, type and
default.
"""

import re
from textwrap import indent

from weakly.estimators._method_texts import METHOD_TEXTS

_LINE = re.compile(r"^( *)%\((\w+)\)s$", re.MULTILINE)


def fill_doc(thing):
    """Fill the docstrings of a class and of its own methods, or of a function; a decorator.

    Everything else in them stays as it is. A name that has no text is a KeyError.
    """
    for documented in (thing, *vars(thing).values()):
        text = getattr(documented, "__doc__", None)
        if isinstance(text, str) and _LINE.search(text):  # there is none under ``python -OO``
            documented.__doc__ = _filled(text)
    return thing


def _filled(text):
    """A text with what its names stand for; these texts may have names in turn."""
    return _LINE.sub(lambda line: indent(_filled(TEXTS[line[2]]), line[1]), text)


TEXTS = METHOD_TEXTS | {
    # Samples and labels
    "X": """\
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    Samples, or their Gram matrix with ``kernel="precomputed"``.""",
    "X_or_collection": """\
X : {array-like, sparse matrix, Dask array or dataframe} of shape (n_samples, n_features)
    Samples, or their Gram matrix with ``kernel="precomputed"``.""",
    "X_new": """\
X : {array-like, sparse matrix, Dask collection} of shape (n_samples, n_features)
    Samples, or their kernel with the training samples; bags as in ``fit``, for a classifier of bags.""",
    "bags": """\
X : Bags, list of matrices, pair (matrix, ids) or matrix
    Bags.""",
    "samples": """\
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    Samples.""",
    "y": """\
y : array-like of shape (n_samples,)
    Labels, with the marker of ``unlabeled`` where unknown.""",
    "y_or_collection": """\
y : array-like or Dask collection of shape (n_samples,)
    Labels, with the marker of ``unlabeled`` where unknown; a collection has the chunks of ``X``.""",
    "sample_weight": """\
sample_weight : array-like or Dask collection of shape (n_samples,), default=None
    Weight of the loss of each labeled sample; 0 makes a sample unlabeled. All samples stay in the graph.""",
    "unlabeled": """\
unlabeled : "auto", None or a label, default="auto"
    Marker of unlabeled samples. "auto" is -1 for integers, ``None`` for strings and objects, ``NaN`` for
    floats, a missing entry in a pandas column; ``None`` leaves only missing entries: -1 is then a class.""",
    "fitted": """\
Returns
-------
self
    The fitted estimator.""",
    "classes_": """\
classes_ : ndarray of shape (n_classes,)
    Class labels, sorted.""",
    "transduction_": """\
transduction_ : ndarray of shape (n_samples,)
    Predicted labels of all training samples.""",
    "transductive_": """\
%(transduction_)s
label_distributions_ : ndarray of shape (n_samples, n_classes)
    Class probabilities of all training samples.""",
    "lazy_transduction_": """\
transduction_ : ndarray or dask array of shape (n_samples,)
    Predicted labels of all training samples; after a fit on a Dask collection a lazy array in its chunks.
label_distributions_ : ndarray or dask array of shape (n_samples, n_classes)
    Class probabilities of all training samples; lazy as well.""",
    "temperature_": """\
temperature_ : float
    Factor between decisions and the logits of the probabilities.""",
    "features_in_": """\
n_features_in_ : int
    Number of features.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the features, when ``X`` has them.""",
    # Functions
    "accuracy": """\
sample_weight : array-like of shape (n_samples,), default=None
    Weights.

Returns
-------
float
    Proportion of the labeled samples that are predicted right.""",
    "bunch": """\
random_state : int, RandomState instance or None, default=None
    Seed.

Returns
-------
sklearn.utils.Bunch
    With the fields""",
    "axes": """\
ax : matplotlib Axes, default=None
    Where to draw; by default a new figure.

Returns
-------
matplotlib Axes
    The picture.""",
    "of_samples": """\
Parameters
----------
%(samples)s

Returns
-------""",
    "of_new_samples": """\
Parameters
----------
%(X_new)s

Returns
-------""",
    "of_each_sample": """\
%(X_new)s

Returns
-------
ndarray or dask array of shape (n_samples,)""",
    # Kernels
    "kernel": """\
kernel : {"rbf", "linear", "poly", "chi2", "cosine", "precomputed"} or callable, default="rbf"
    Kernel between samples. A callable takes two matrices and returns the Gram matrix of their rows.""",
    "kernel_of_instances": """\
kernel : {"rbf", "linear", "poly", "chi2", "cosine", "precomputed"} or callable, default="rbf"
    Kernel between instances. A callable takes two matrices and returns the Gram matrix of their rows;
    with "precomputed" the instances are rows of the Gram matrix with the training instances, which
    searches of scikit-learn cannot split.""",
    "gamma": """\
Parameter of "rbf", "poly" and "chi2". For ``exp(-d^2 / (2 sigma^2))``, "median" sets sigma to half the
median distance between samples, "mean-distance" to the root of the mean squared distance; "scale" is
``1 / (n_features * X.var())``.""",
    "gamma_by_distance": """\
gamma : float or {"median", "scale", "mean-distance"}, default="mean-distance"
    %(gamma)s
%(polynomial)s""",
    "gamma_by_median": """\
gamma : float or {"median", "scale", "mean-distance"}, default="median"
    %(gamma)s
%(polynomial)s""",
    "kernel_by_median": """\
%(kernel)s
%(gamma_by_median)s""",
    "polynomial": """\
degree : float, default=3
    Degree of "poly".
coef0 : float, default=1.0
    Constant of "poly".""",
    "approximation": """\
approximation : {"auto", "nystroem", "fourier"} or None, default="auto"
    ``None`` is the exact kernel, "auto" too while its matrices fit the memory limit, then "nystroem".
n_components : int, default=1000
    Number of features of an approximation.""",
    "approximation_or_anchors": """\
approximation : {"auto", "nystroem", "fourier"} or None, default="auto"
    ``None`` is the exact kernel, "auto" too while its matrices fit the memory limit, then "nystroem".
    With ``graph="anchor"`` "auto" takes the functions of the anchors' values, in which the kernel has no
    part.""",
    "n_components_or_anchors": """\
n_components : int, default=1000
    Number of features of an approximation, and of anchors.""",
    "kernel_": """\
kernel_ : Kernel
    Kernel with its parameters as numbers.""",
    # Graphs
    "graph": """\
graph : {"knn", "anchor"}, graph or affinity matrix, default="knn"
    Neighbors of each sample; or anchors that samples share, where they are too many to be compared with
    each other, see :func:`weakly.graphs.anchor_graph`; or a graph over exactly the samples of ``X``, in
    their order.
n_neighbors : int, default=5
    Neighbors of each sample in the "knn" graph, or nearest anchors.
graph_weights : {"self-tuning", "binary", "rbf", "cosine", "reconstruction"}, default="self-tuning"
    Weights of the graph, see :func:`weakly.graphs.neighbor_graph` and :func:`weakly.graphs.anchor_graph`,
    which alone has the last.""",
    "device": """\
device : str, torch.device or None, default=None
    Where dense algebra and graphs are computed, through PyTorch (extra ``gpu``): "cuda", "cuda:1", "cpu".
    ``None`` is NumPy, or the device of ``X`` where that is a tensor. Tensors in give tensors out;
    attributes are NumPy arrays.""",
    "warm_start": """\
warm_start : bool, default=False
    Keep the graph and the space with its factorization, and use them again when ``fit`` is called on the
    same samples with other labels; a RandomState instance as ``random_state`` counts as a change.""",
    "graph_": """\
graph_ : Graph, AnchorGraph or None
    Graph over the training samples.""",
    # What a fit draws, shows and reports
    "verbose": """\
verbose : int, default=0
    1 shows the stages of a fit and their progress.""",
    "random_state": """\
random_state : int, RandomState instance or None, default=None
    Seed of the landmarks or frequencies of an approximation.""",
    "random_state_of_graph": """\
random_state : int, RandomState instance or None, default=None
    Seed of landmarks, frequencies, anchors and the approximate neighbor search.""",
    "random_state_of_clusters": """\
random_state : int, RandomState instance or None, default=None
    Seed of the first clusters, and of the landmarks or frequencies of an approximation.""",
    "result_": """\
result_ : SolverResult
    Report of the solver: objective, certificate, status.
n_iter_ : int
    Number of iterations of the solver.""",
    # References
    "belkin2006": """\
.. [belkin2006] M. Belkin, P. Niyogi, V. Sindhwani, "Manifold regularization: a geometric framework for
   learning from labeled and unlabeled examples", JMLR 7, 2006.""",
    "tvsvm": """\
.. [tvsvm] X. Bresson, R. Zhang, "TV-SVM: total variation support vector machine for semi-supervised data
   classification", arXiv:1210.0699, 2012.""",
    "calder2020": """\
.. [calder2020] J. Calder, B. Cook, M. Thorpe, D. Slepcev, "Poisson learning: graph based semi-supervised
   learning at very low label rates", ICML 2020.""",
    "wellsvm": """\
.. [wellsvm] Y.-F. Li, I. W. Tsang, J. T. Kwok, Z.-H. Zhou, "Convex and scalable weakly labeled SVMs",
   Journal of Machine Learning Research 14, 2013.""",
    "andrews2003": """\
.. [andrews2003] S. Andrews, I. Tsochantaridis, T. Hofmann, "Support vector machines for multiple-instance
   learning", Advances in Neural Information Processing Systems 15, 2003.""",
}
