"""First labelings of rows without any label, within the label set of a machine."""

import numpy as np

from weakly.cluster._kernel_means_solver import seeded_codes, solve_kernel_means
from weakly.solvers import assign_quotas

_MOST_STEPS = 30  # products for a leading eigenvector
_ROUNDING = 1e-10


def first_split(init, space, machine, rng, n_init):
    """A labeling by the name of a start."""
    match init:
        case "alignment":
            return alignment_start(machine, rng, n_init)
        case "kmeans":
            return kmeans_start(space, machine, rng, n_init)
    return spectral_start(machine, rng)


def spectral_start(machine, rng):
    """Signs of the leading eigenvector of the centered kernel, by Lanczos steps from a random vector."""
    n_rows = len(machine.ridge)
    basis, diagonal, beside = [_unit(_centered(rng.normal(size=n_rows)))], [], []
    for _ in range(min(_MOST_STEPS, n_rows - 1)):  # centered vectors have one dimension less
        image = _centered(machine.scores(basis[-1][None])[0])
        diagonal.append(basis[-1] @ image)
        known = np.array(basis)
        for _ in range(2):  # once is not enough, twice is
            image = image - known.T @ (known @ image)
        beside.append(np.linalg.norm(image))
        if beside[-1] <= _ROUNDING * max(map(abs, diagonal)):
            break
        basis.append(image / beside[-1])
    within = np.array(basis[: len(diagonal)])
    coupling = np.diag(beside[: len(diagonal) - 1], 1)
    _, vectors = np.linalg.eigh(np.diag(diagonal) + coupling + coupling.T)
    return _nearest(machine, vectors[:, -1] @ within)


def alignment_start(machine, rng, n_init):
    """The random labeling that the centered kernel is best aligned with."""
    size = (n_init, len(machine.ridge))
    labels = np.array([_nearest(machine, scores) for scores in rng.normal(size=size)])
    centered = labels - labels.mean(axis=1, keepdims=True)
    # <K, yy'> / (|K| |yy'|): the norms are the same for all
    return labels[np.einsum("ti,ti->t", centered, machine.scores(centered)).argmax()]


def kmeans_start(space, machine, rng, n_init):
    """The best of several runs of k-means in the space of the kernel."""
    found = solve_kernel_means(space, seeded_codes(space, 2, n_init, rng, spread_out=True), 2).whole()
    nearness = space.scores(found.x) + found.intercept
    return _nearest(machine, nearness[:, 1] - nearness[:, 0])


def given_start(machine, labels):
    """A labeling near a given one: where the given one has too many of a sign, the least typical leave."""
    pull = machine.scores((labels - labels.mean())[None])[0]
    return _nearest(machine, labels + 0.5 * pull / (np.abs(pull).max() or 1.0))


def aligned_codes(space, n_clusters, rng, n_init):
    """Of random clusters of equal size, those that the kernel is best aligned with."""
    draws = np.array([rng.permutation(space.n_rows) % n_clusters for _ in range(n_init)])
    # The alignment of sizes that are all the same is the part of the spread that lies between the means.
    return draws[solve_kernel_means(space, draws, n_clusters, max_iter=0).detail.start_energies.argmin()]


def near_codes(space, codes, n_clusters, least, most):
    """Clusters near given ones: where one has too many rows, those nearest to another leave."""
    sizes = np.bincount(codes, minlength=n_clusters)
    if sizes.min() >= least and sizes.max() <= most:
        return codes
    found = solve_kernel_means(space, codes[None], n_clusters, max_iter=0)
    nearness = space.scores(found.x) + found.intercept
    given = codes[:, None] == np.arange(n_clusters)
    pull = 0.25 * nearness / (np.abs(nearness).max() or 1.0)  # less than it costs to leave
    return assign_quotas(given + pull, np.full(n_clusters, least), np.full(n_clusters, most)).codes


def _nearest(machine, scores):
    return machine.label_set.best(np.ones(len(scores)), scores)


def _centered(vector):
    return vector - vector.mean()


def _unit(vector):
    return vector / (np.linalg.norm(vector) or 1.0)
