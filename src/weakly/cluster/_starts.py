"""First labelings of rows without any label, from products with the kernel of a machine alone."""

import numpy as np

_MOST_STEPS = 30  # products for a leading eigenvector, and rounds of k-means
_ROUNDING = 1e-10


def spectral_start(machine, rng):
    """Signs of the leading eigenvector of the centred kernel, by Lanczos steps from a random vector."""
    n_rows = len(machine.ridge)
    basis, diagonal, beside = [_unit(_centred(rng.normal(size=n_rows)))], [], []
    for _ in range(min(_MOST_STEPS, n_rows - 1)):  # centred vectors have one dimension less
        image = _centred(machine.scores(basis[-1][None])[0])
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
    """The random labeling that the centred kernel is best aligned with."""
    size = (n_init, len(machine.ridge))
    labels = np.array([_nearest(machine, scores) for scores in rng.normal(size=size)])
    centred = labels - labels.mean(axis=1, keepdims=True)
    # <K, yy'> / (|K| |yy'|): the norms are the same for all
    return labels[np.einsum("ti,ti->t", centred, machine.scores(centred)).argmax()]


def kmeans_start(machine, rng, n_init):
    """The best of several runs of k-means in the space of the kernel, each from two rows."""
    runs = [_two_means(machine, rng) for _ in range(n_init)]
    return _nearest(machine, max(runs, key=lambda run: run[1])[0])


def given_start(machine, labels):
    """A labeling near a given one: where the given one has too many of a sign, the least typical leave."""
    pull = machine.scores((labels - labels.mean())[None])[0]
    return _nearest(machine, labels + 0.5 * pull / (np.abs(pull).max() or 1.0))


def _two_means(machine, rng):
    """How much nearer the second mean is to each row, and the spread between the means."""
    n_rows = len(machine.ridge)
    means = np.zeros((2, n_rows))
    means[[0, 1], rng.choice(n_rows, 2, replace=False)] = 1.0
    labels = None
    for _ in range(_MOST_STEPS):
        scores = machine.scores(means)
        norms = np.einsum("ci,ci->c", means, scores)
        nearer = scores[1] - scores[0] - (norms[1] - norms[0]) / 2
        before, labels = labels, nearer > 0
        n_second = np.count_nonzero(labels)
        if n_second in (0, n_rows) or (before is not None and (labels == before).all()):
            break
        means = np.array([~labels / (n_rows - n_second), labels / n_second])
    # The distance of the means, weighted by the sizes, is what the clusters explain of all variance.
    n_second = np.count_nonzero(labels)
    apart = norms.sum() - 2 * means[0] @ scores[1]
    return nearer, n_second * (n_rows - n_second) * apart


def _nearest(machine, scores):
    return machine.label_set.best(np.ones(len(scores)), scores)


def _centred(vector):
    return vector - vector.mean()


def _unit(vector):
    return vector / (np.linalg.norm(vector) or 1.0)
