"""Small problems whose answer is known."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import Bunch, check_random_state

from weakly.datasets._common import check_integer, check_number, draw_partial_labels
from weakly.estimators._docstrings import fill_doc
from weakly.rows._selection import mask_labels


@fill_doc
def make_two_moons(n_samples=200, *, n_per_class=1, noise=0.1, random_state=None):
    """Two interleaved half circles, a few points of each labeled.

    Parameters
    ----------
    n_samples : int, default=200
        Number of samples, half of them on each moon.
    n_per_class : int, default=1
        Labeled samples of each moon.
    noise : float, default=0.1
        Standard deviation of the Gaussian noise; the moons have radius 1.
    %(bunch)s
        ``X`` of shape (n_samples, 2); ``y``, the moon of each sample; ``labeled``, the
        labeled samples; and ``y_partial``, which is ``y`` with -1 on the others.

    See Also
    --------
    make_misleading_gaussians : Labels that lead a supervised method astray.

    Examples
    --------
    >>> from weakly.datasets import make_two_moons
    >>> moons = make_two_moons(100, n_per_class=2, random_state=0)
    >>> moons.X.shape, (moons.y_partial != -1).sum().item()
    ((100, 2), 4)
    """
    check_integer("n_samples", n_samples, at_least=2)
    check_number("noise", noise, at_least=0, below=np.inf)
    rng = check_random_state(random_state)
    X, y = make_moons(n_samples, noise=noise, random_state=rng)
    return Bunch(X=X, y=y, **draw_partial_labels(y, n_per_class, rng))


@fill_doc
def make_misleading_gaussians(n_samples=200, *, separation=5.0, angle=75.0, random_state=None):
    r"""Two Gaussian clusters, each with one label placed so that a supervised separator goes astray.

    The clusters are :math:`N(\pm\tfrac{s}{2} e_1, I)` in the plane, so the best separator is the vertical
    axis. The two labeled points lie near it at :math:`\pm r u`, where :math:`u` is :math:`e_1` turned by
    ``angle``: their maximum-margin separator, normal to :math:`u`, is wrong by that angle. The distance
    :math:`r = \tfrac{s}{2} \cos(\text{angle})` makes them as likely as can be under their own clusters.

    Parameters
    ----------
    n_samples : int, default=200
        Number of samples, half of them in each cluster.
    separation : float, default=5.0
        Distance :math:`s` of the centers, in standard deviations.
    angle : float, default=75.0
        How far the labels turn the separator, in degrees, in [0, 90).
    %(bunch)s

        - ``X`` of shape (n_samples, 2); ``y``, the cluster of each sample; ``labeled``, the samples 0 and 1;
          ``y_partial``, which is ``y`` with -1 on the others;
        - ``coef``, the unit normal of the best separator, which passes through the origin, and ``error``,
          its error rate :math:`\Phi(-\tfrac{s}{2})` on new samples;
        - ``misled_coef`` and ``misled_error``, the same for the maximum-margin separator of the two labels:
          :math:`u` and :math:`\Phi(-\tfrac{s}{2} \cos(\text{angle}))`.

    See Also
    --------
    make_two_moons : Clusters that no line separates.

    Notes
    -----
    The shape follows figure 1 of the paper that introduced the SVM with probabilistic labels, where one
    labeled point of each of two Gaussians misleads the SVM, the transductive SVM and the Laplacian SVM.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from weakly.datasets import make_misleading_gaussians
    >>> toy = make_misleading_gaussians(2000, random_state=0)
    >>> supervised = SVC(kernel="linear", C=1e6).fit(toy.X[toy.labeled], toy.y[toy.labeled])
    >>> print(f"{1 - supervised.score(toy.X, toy.y):.2f}")
    0.26
    >>> print(f"{toy.misled_error:.2f} expected, {toy.error:.3f} possible")
    0.26 expected, 0.006 possible
    """
    check_integer("n_samples", n_samples, at_least=2)
    check_number("separation", separation, at_least=0, below=np.inf)
    check_number("angle", angle, at_least=0, below=90)
    rng = check_random_state(random_state)
    radians = np.deg2rad(angle)
    center = separation / 2
    normal, misled_normal = np.array([1.0, 0.0]), np.array([np.cos(radians), np.sin(radians)])
    y = np.arange(n_samples) % 2
    side = 2 * y - 1
    X = rng.normal(size=(n_samples, 2)) + center * np.outer(side, normal)
    labeled = np.array([0, 1])
    X[labeled] = center * np.cos(radians) * np.outer(side[labeled], misled_normal)
    return Bunch(
        X=X,
        y=y,
        labeled=labeled,
        y_partial=mask_labels(y, labeled),
        coef=normal,
        error=norm.cdf(-center).item(),
        misled_coef=misled_normal,
        misled_error=norm.cdf(-center * np.cos(radians)).item(),
    )


@fill_doc
def make_bags(
    n_bags=100, *, n_features=10, bag_sizes=(5, 15), n_positive=None, separation=6.0, random_state=None
):
    """Make bags of instances, with one planted key instance in each positive bag.

    All instances are standard normal, and the key instances are moved by ``separation`` along one random
    direction. A bag is positive because of its key instance and nothing else.

    Parameters
    ----------
    n_bags : int, default=100
        Number of bags.
    n_features : int, default=10
        Number of features.
    bag_sizes : pair of int, default=(5, 15)
        Smallest and largest number of instances in a bag; sizes in between are equally likely.
    n_positive : int or None, default=None
        Number of positive bags; ``None`` is half of the bags.
    separation : float, default=6.0
        Distance of the mean of the key instances from that of the others, in standard deviations.
    %(bunch)s
        ``X`` of shape (n_instances, n_features), the instances, bag after bag; ``bags``, the
        bag of each instance; ``bag_y``, 1 for positive bags and 0 for negative ones; ``key_instances``, the
        row of the key instance of each positive bag, in the order of the bags; ``y``, 1 for key instances
        and 0 for the others; and ``coef``, the unit direction that tells key instances apart.

    Examples
    --------
    >>> from weakly.datasets import make_bags
    >>> data = make_bags(4, bag_sizes=(2, 2), random_state=0)
    >>> data.bags.tolist()
    [0, 0, 1, 1, 2, 2, 3, 3]
    >>> (data.bags[data.key_instances] == data.bag_y.nonzero()[0]).all().item()
    True
    """
    check_integer("n_bags", n_bags, at_least=1)
    n_positive = n_bags // 2 if n_positive is None else n_positive
    check_integer("n_positive", n_positive, at_least=0)
    if n_positive > n_bags:
        raise ValueError(f"n_positive={n_positive} is more than n_bags={n_bags}: lower it.")
    check_integer("n_features", n_features, at_least=1)
    if np.shape(bag_sizes) != (2,):
        raise ValueError(f"bag_sizes must be a pair of integers, got {bag_sizes!r}.")
    smallest, largest = bag_sizes
    check_integer("bag_sizes[0]", smallest, at_least=1)
    check_integer("bag_sizes[1]", largest, at_least=smallest)
    check_number("separation", separation, at_least=0, below=np.inf)
    rng = check_random_state(random_state)
    sizes = rng.randint(smallest, largest + 1, size=n_bags)
    starts = np.cumsum(sizes) - sizes
    bag_y = rng.permutation(np.arange(n_bags) < n_positive).astype(np.intp)
    direction = rng.normal(size=n_features)
    direction /= np.linalg.norm(direction)
    key_instances = (starts + rng.randint(sizes))[bag_y == 1]
    X = rng.normal(size=(sizes.sum(), n_features))
    X[key_instances] += separation * direction
    y = np.zeros(len(X), dtype=np.intp)
    y[key_instances] = 1
    bags = np.repeat(np.arange(n_bags), sizes)
    return Bunch(X=X, y=y, bags=bags, bag_y=bag_y, key_instances=key_instances, coef=direction)


@fill_doc
def make_clustered_classes(
    n_samples=1000,
    *,
    n_features=100,
    class_shares=(0.5, 0.3, 0.2),
    n_clusters=10,
    n_informative=10,
    separation=1.2,
    noise=0.3,
    n_per_class=1,
    random_state=None,
):
    r"""Gaussian clusters of a few classes, apart in some directions of many features.

    The clusters of all classes are as large, and their centers are drawn from :math:`N(0, s^2 I)` in a random
    subspace, in which a sample strays from its center by :math:`N(0, I)`. In all other directions there is
    noise that says nothing of the class. Every feature is a mixture of both.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples.
    n_features : int, default=100
        Number of features.
    class_shares : sequence of float, default=(0.5, 0.3, 0.2)
        Parts of the classes, in any unit; numbers of samples are rounded.
    n_clusters : int, default=10
        Clusters of each class.
    n_informative : int, default=10
        Dimension of the subspace.
    separation : float, default=1.2
        Standard deviation :math:`s` of the centers in each direction of the subspace, in those of a cluster.
    noise : float, default=0.3
        Standard deviation in each of the other directions.
    n_per_class : int, default=1
        Labeled samples of each class.
    %(bunch)s

        - ``X`` of shape (n_samples, n_features); ``y``, the class of each sample; ``labeled``, the labeled
          samples; ``y_partial``, which is ``y`` with -1 on the others;
        - ``clusters``, the cluster of each sample within its class; ``basis`` of shape
          (n_features, n_informative), orthonormal directions of the subspace; ``centers`` of shape
          (n_classes, n_clusters, n_informative), in these directions;
        - ``posterior`` of shape (n_samples, n_classes), the exact probabilities of the classes of each
          sample, and ``error``, what no rule can beat on average on these samples: the mean of one less the
          largest.

    See Also
    --------
    make_misleading_gaussians : Two clusters, and labels that lead astray.

    Notes
    -----
    With shares :math:`\pi_k`, :math:`J` clusters of each class, centers :math:`c_{kj}` and the basis
    :math:`B`, the posterior of class :math:`k` is in proportion to
    :math:`\pi_k \sum_j \exp(-\tfrac{1}{2} \|B^T x - c_{kj}\|^2)`.

    Examples
    --------
    >>> from weakly.datasets import make_clustered_classes
    >>> data = make_clustered_classes(2000, random_state=0)
    >>> data.X.shape, (data.y == 0).sum().item()
    ((2000, 100), 1000)
    >>> best = data.posterior.argmax(axis=1)
    >>> print(f"{data.error:.3f} expected, {(best != data.y).mean():.3f} found")
    0.119 expected, 0.119 found
    """
    shares = _check_shares(class_shares)
    check_integer("n_samples", n_samples, at_least=len(shares))
    check_integer("n_informative", n_informative, at_least=1)
    check_integer("n_features", n_features, at_least=n_informative)
    check_integer("n_clusters", n_clusters, at_least=1)
    check_number("separation", separation, at_least=0, below=np.inf)
    check_number("noise", noise, at_least=0, below=np.inf)
    rng = check_random_state(random_state)

    counts = np.diff(np.round(n_samples * np.cumsum([0, *shares])).astype(int))
    y = rng.permutation(np.repeat(np.arange(len(shares)), counts))
    clusters = rng.randint(n_clusters, size=n_samples)
    centers = separation * rng.normal(size=(len(shares), n_clusters, n_informative))
    directions = np.linalg.qr(rng.normal(size=(n_features, n_features)))[0]
    places = rng.normal(size=(n_samples, n_features))
    places[:, n_informative:] *= noise
    places[:, :n_informative] += centers[y, clusters]
    posterior = _cluster_posterior(places[:, :n_informative], centers, counts / n_samples)
    return Bunch(
        X=places @ directions.T,
        y=y,
        **draw_partial_labels(y, n_per_class, rng),
        clusters=clusters,
        basis=directions[:, :n_informative],
        centers=centers,
        posterior=posterior,
        error=float(np.mean(1 - posterior.max(axis=1))),
    )


def _check_shares(class_shares):
    shares = np.asarray(class_shares, dtype=float)
    if shares.ndim != 1 or len(shares) < 2 or not (np.isfinite(shares) & (shares > 0)).all():
        raise ValueError(f"class_shares must be at least two positive numbers, got {class_shares!r}.")
    return shares / shares.sum()


def _cluster_posterior(places, centers, shares):
    """Probabilities of the classes at places in the subspace."""
    squared = euclidean_distances(places, centers.reshape(-1, places.shape[1]), squared=True)
    likelihood = logsumexp(-squared.reshape(len(places), *centers.shape[:2]) / 2, axis=2)
    joint = likelihood + np.log(shares)
    return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
