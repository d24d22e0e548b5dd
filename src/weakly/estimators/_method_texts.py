"""Texts of docstrings that methods of one topic share; see :mod:`weakly.estimators._docstrings`."""

METHOD_TEXTS = {
    # Laplacian methods
    "ambient_penalty": """\
ambient_penalty : float, default=1e-3
    Weight ``a`` of the norm of the function.""",
    "graph_penalty": """\
graph_penalty : float, default=0.1
    Weight ``g`` of the graph. With 0 there is none, and unlabeled samples only set ``gamma`` and the
    level of the scores.""",
    "class_prior_of_scores": """\
class_prior : "labeled", array-like of shape (n_classes,), mapping, float or None, default="labeled"
    Class proportions, in sorted order, by which scores are normalized: those of each class are shifted
    and scaled to the mean and variance over all samples that its proportion implies. A number is the
    proportion of the second of two. "labeled" takes those of the labels, ``None`` leaves scores as they
    are.""",
    "cholesky_or_cg": """\
solver : {"auto", "cholesky", "cg"}, default="auto"
    Factorize, or iterate without a factorization. "auto" is the former unless its matrices would pass the
    memory limit.""",
    "early_stopping": """\
early_stopping : bool, default=True
    "cg" ends once the decisions have settled for 10 iterations, but for one sample in 10,000; functions
    of anchors are solved for to the end. Where it is stopped early, scores on a device differ from
    NumPy's by more than rounding.""",
    "fit_settings": """\
%(unlabeled)s
%(warm_start)s
%(verbose)s
%(random_state_of_graph)s""",
    "laplacian": """\
%(kernel_by_median)s
%(graph)s
laplacian : {"symmetric", "unnormalized"}, default="symmetric"
    Laplacian ``L`` of the graph. With "symmetric" the weight ``g`` means the same on every graph; for
    anchors both are one.""",
    "laplacian_": """\
%(classes_)s
class_prior_ : ndarray of shape (n_classes,)
    Class proportions that scores are normalized by: those given, or those of the labels, each counted
    once whatever its weight.
%(transductive_)s
%(temperature_)s
%(features_in_)s
%(graph_)s
%(kernel_)s
%(result_)s""",
    # Cuts of graphs
    "total_variation": """\
ambient_penalty : float, default=0.01
    Weight ``a`` of the norm of the function.
graph_penalty : float, default=0.04
    Weight ``g`` of the total variation.
coupling : float, default=0.1
    Weight that holds the function and the scores on the graph together. Where they settle depends on it.
class_prior : array-like of shape (n_classes,), mapping or None, default=None
    Class proportions, in sorted order; ``None`` takes those of the labels. They set level and spread of
    the scores in every step, but how many samples a class gets is left to the cut.
%(cut_geometry)s
tol : float, default=1e-3
    Relative change in a step at which the iteration ends; so does it when fewer than one sample in 10,000
    changed its class in each of 20 steps.
%(cut_run)s

Attributes
----------
%(cut_)s""",
    "cheeger": """\
ambient_penalty : float, default=0.01
    Weight of the norm of the function.
coupling : float, default=0.1
    Weight of the distance between the function and the scores it follows.
step : float or "auto", default="auto"
    How far a step moves scores away from their median: 1 for two classes, 0.1 for more, where longer
    steps swing back and forth.
class_prior : array-like of shape (n_classes,), mapping or None, default=None
    Class proportions, in sorted order. Two classes are then separated at that quantile of the scores;
    with ``None`` where the ratio is lowest, whatever the proportions. With more classes they set the norm
    of each one's scores, and ``None`` takes those of the labels.
%(cut_geometry)s
tol : float, default=1e-3
    The iteration ends when 20 steps have not lowered the ratio by this part of it.
%(cut_run)s

Attributes
----------
%(cut_)s""",
    "cut_geometry": """\
resplit : bool, default=True
    Try a second start: where the graph has a better place to cut the union of two classes, and the labels
    allow it, they are split there. The better end of the two is kept. With one label per class a start
    may lie in a wrong cut, which no step leaves.
%(kernel_by_median)s
graph : "knn", Graph or affinity matrix, default="knn"
    Neighbors of each sample, or a graph over exactly the samples of ``X``, in their order.
n_neighbors : int, default=5
    Neighbors of each sample in the "knn" graph.
graph_weights : {"self-tuning", "binary", "rbf", "cosine"}, default="self-tuning"
    Weights of the "knn" graph, see :func:`weakly.graphs.neighbor_graph`.
approximation : {"auto", "nystroem", "fourier"} or None, default="auto"
    ``None`` is the exact kernel, "auto" too while its matrices fit the memory limit, then "nystroem".
    Approximations, and kernels of low rank, give each training sample a value of its own beside its
    features, so that the function can follow the graph; new samples are scored by the features alone.
n_components : int, default=1000
    Number of features of an approximation.
%(device)s""",
    "cut_run": """\
max_iter : int, default=200
    Maximum number of steps.
%(fit_settings)s""",
    "cut_": """\
%(classes_)s
class_prior_ : ndarray of shape (n_classes,)
    Class proportions: those given, or those of the labels.
transduction_ : ndarray of shape (n_samples,)
    Predicted labels of all training samples, by the graph.
function_transduction_ : ndarray of shape (n_samples,)
    The same by the function, which serves new samples; samples where the two differ deserve a look.
label_distributions_ : ndarray of shape (n_samples, n_classes)
    Class probabilities of all training samples, by the graph.
%(temperature_)s
%(features_in_)s
graph_ : Graph
    Graph over the training samples.
%(kernel_)s
result_ : SolverResult
    Report of the solver. ``detail.graph_side`` holds the scores on the graph, ``detail.start_energies``
    the sum of the Cheeger ratios of the classes reached from each start.
n_iter_ : int
    Number of steps of the solver.""",
    # Support vector machines
    "weighted_labels": """\
%(y_or_collection)s
sample_weight : array-like or Dask collection of shape (n_samples,), default=None
    Factor of the cost of each labeled sample; 0 makes a sample unlabeled.

%(fitted)s""",
    "C_unlabeled": """\
C_unlabeled : float or "auto", default="auto"
    Cost of the loss of an unlabeled sample. "auto" is ``C sqrt(n_labeled / n_unlabeled) / 2``, at most
    ``C``: the more samples there are, the less each should count, or they overrule the labels.""",
    "class_prior_of_unlabeled": """\
class_prior : "labeled", array-like of shape (n_classes,), mapping or float, default="labeled"
    Class proportions among the unlabeled samples, in sorted order; a number is that of the second of two.
    "labeled" takes those of the labels, shrunk towards uniform as far as few labels leave it open. The
    labels in ``transduction_`` match them up to rounding.""",
    "labelings": """\
oracle : {"ascent", "step", "restarts"}, default="ascent"
    How a better labeling is searched: by steps as long as they gain, by one step, or by steps from
    several starts, which comes nearest to the optimum.
max_labels : int, default=20
    Maximum number of labelings in a mixture.""",
    "class_prior_of_unlabeled_": """\
class_prior_ : ndarray of shape (n_classes,)
    Class proportions of the unlabeled samples in ``transduction_``.""",
    "C_unlabeled_": """\
C_unlabeled_ : float
    Cost of the loss of an unlabeled sample.""",
    # Boosting
    "boosting": """\
n_trees : int, default=10
    Trees of a weak classifier.
max_depth : int or None, default=None
    Maximum number of splits on the way to a leaf.
min_samples_leaf : int, default=1
    Minimum number of different samples in a leaf.
max_features : "sqrt", int, float or None, default="sqrt"
    Features tried at a split: the root of their number, a number, a fraction, or all.
splitter : {"random", "best"}, default="random"
    One random cut of each feature tried, or the best of all.
criterion : {"gini", "error"}, default="gini"
    Splits are chosen by purity, or by the weight of misclassified samples.
max_samples : int or None, default=4000
    Maximum number of samples drawn for a tree, in proportion to their weights, and never more than twice
    as many as there are; ``None`` takes all samples with their weights, and holds none out.
estimator : classifier or None, default=None
    Weak classifier in place of the trees; its ``fit`` takes ``sample_weight``. It is given samples and
    missing entries as they are.
n_iter_no_change : int or None, default=None
    Stop after this many rounds without a lower loss of labeled samples that trees did not see.
tol : float, default=0.0
    By how much lower, relative to the lowest.
warm_start : bool, default=False
    Add rounds to those of the last fit, if samples, labels and all other parameters are the same; else
    begin anew.
%(unlabeled)s
%(verbose)s
random_state : int, RandomState instance or None, default=None
    Seed of the samples, splits and clusters drawn.""",
    "partly_known": """\
X : array-like of shape (n_samples, n_features)
    Samples; missing entries count as the mean of their feature.
y : array-like of shape (n_samples,) or LabelView
    Labels, some of them unknown.""",
    "staged": """\
Parameters
----------
X : array-like of shape (n_samples, n_features)
    Samples.

Yields
------""",
    "prior_settings": """\
n_neighbors : int, default=8
    Neighbors in all priors but "kmeans".
smoothing : float or None, default=None
    Labels of all classes in equal parts that "kmeans" adds to each cluster; ``None`` is one of each.""",
    "prior_": """\
prior_ : ndarray of shape (n_samples, n_classes) or None
    The prior; ``None`` without unlabeled samples, or with ``alpha=0``.""",
    "rounds_": """\
Objective before and after each round; the criterion is the sum of all weights, relative to that before
the first.""",
    # Bags
    "positive_class": """\
positive_class : label or None, default=None
    The one of two classes whose bags have key instances; ``None`` is the second in sorted order.""",
    "turns": """\
max_iter : int, default=100
    Maximum number of SVMs.
tol : float, default=1e-3
    Tolerance of each SVM, in units of the scores.""",
    "concept": """\
n_start_bags : int or None, default=None
    Positive bags whose instances are starts, drawn at random; ``None`` is all.
scale : float, default=1.0
    First scales, as a multiple of those in which the mean squared distance between instances is 2.
feature_weights : bool, default=True
    Fit the scales of all features, or keep the first ones.
threshold : {"training"} or float, default="training"
    Probability from which a bag is positive; "training" separates the training bags best, each class
    counting half.
%(positive_class)s
n_steps : int, default=20
    Maximum number of steps from each start. Few of them keep the many scales from fitting chance: on new
    bags a minimum is often worse.
tol : float, default=1e-3
    Relative gradient at which a start has converged.
%(verbose)s
random_state : int, RandomState instance or None, default=None
    Seed of the draw of start bags.

Attributes
----------
%(bag_classes_)s
concepts_ : ndarray of shape (n_columns, n_features_in_)
    The best point ``t`` of each class; a single one for two classes. Where the scale of a feature is
    almost 0, its coordinate means nothing.
scales_ : ndarray of shape (n_columns, n_features_in_)
    Its scales ``s``: weights of the features.
thresholds_ : ndarray of shape (n_columns,)
    Logarithms of the probabilities from which bags are positive.
result_ : SolverResult or list of SolverResult
    Report of the solver, with the concepts of all starts, best first; one for each of more than two
    classes.
n_iter_ : int
    Largest number of steps from a start.""",
    "bag_classes_": """\
classes_ : ndarray of shape (n_classes,)
    Class labels, sorted.
positive_class_ : label or None
    The class of bags that have key instances; ``None`` if there are more than two classes, of which each
    is set against the rest.
%(temperature_)s
%(features_in_)s""",
    # Clusters
    "n_clusters": """\
n_clusters : int, default=2
    Number of clusters.""",
    "balance": """\
balance : float, default=0.3
    How far the sizes of clusters may be from equal ones, as a fraction of these: from 0 for equal sizes
    to almost 1. With 0.3 the smaller of two clusters has at least 35 % of the samples, and one of ten
    between 7 and 13 %.""",
    "init": """\
init : {"spectral", "alignment", "kmeans"} or array-like of shape (n_samples,), default="spectral"
    The first split of the samples in two. "spectral" follows the leading eigenvector of the centered
    kernel, "alignment" is the random split that the kernel is best aligned with, "kmeans" comes from
    k-means in the space of the kernel. Labels from 0, or -1 and 1 for two clusters, are taken as they
    are, except that samples change sides where ``balance`` demands it.
n_init : int, default=20
    Random splits that "alignment" compares, or runs of k-means.""",
    "cluster_kernel": """\
%(kernel)s
    With "linear" there is no Gram matrix, and sparse samples stay sparse.
%(gamma_by_distance)s
%(approximation)s""",
    "cluster_function_": """\
threshold_ : float or ndarray of shape (n_clusters,)
    Score where two clusters meet: 0 where the sign of the scores keeps to ``balance``, else the middle of
    the gap that does; with more clusters, what each score is lowered by so that the largest does. It is
    part of ``decision_function``.
%(features_in_)s
%(kernel_)s""",
    "labels_": """\
labels_ : ndarray of shape (n_samples,)
    Cluster of each training sample. The first sample is in cluster 0, the first of the others in cluster
    1, and so on; where ``init`` has labels, clusters have its numbers.""",
    "shares_": """\
shares_ : ndarray of shape (n_clusters,)
    Proportions of the clusters in ``labels_``, within the bounds of ``balance``.""",
    "to_assign": """\
Parameters
----------
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    Samples, or their kernel with the training samples.

Returns
-------""",
}
