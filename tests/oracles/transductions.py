"""The transductive support vector machine by listing all labelings and fitting a machine to each."""

from typing import NamedTuple

import numpy as np

from tests.oracles.labelings import all_signs


class Listing(NamedTuple):
    """All labelings within the balance, and what the machine of each costs: at most ``gap`` too much."""

    labels: np.ndarray
    values: np.ndarray
    gap: float

    @property
    def best(self):
        return self.values.min()

    def within(self, share):
        """The labelings that cost at most this part more than the best."""
        return self.labels[self.values <= (1 + share) * self.best]


def list_transductions(gram, costs, known, signs, least, most):
    """Every labeling with these signs on known rows and so many positive ones among the others."""
    labels = all_signs(known, signs, len(gram), least, most)
    primal, dual = fit_machines(root_of(gram), costs, labels)
    return Listing(labels, primal, float(np.max((primal - dual) / np.maximum(primal, 1e-9))))


def root_of(gram):
    """Features whose inner products are the kernel."""
    values, vectors = np.linalg.eigh(gram)
    return (vectors * np.sqrt(np.maximum(values, 0)))[:, values > 1e-12 * values[-1]]


def fit_machines(root, costs, labels, *, max_iter=100):
    """Minimise ``||w||^2 / 2 + sum_i C_i max(1 - y_i (r_i w + b), 0)^2 / 2`` for all labelings at once.

    Newton steps on ``(w, b)``, each machine with its own step length. Returns the primal objectives and
    those of a feasible point of the dual, which certify them.

    Parameters
    ----------
    root : ndarray of shape (n_rows, n_features)
        Features whose inner products are the kernel.
    costs : ndarray of shape (n_rows,)
        Costs ``C``.
    labels : ndarray of shape (n_labelings, n_rows)
        Signs ``y``.
    max_iter : int, default=100
        Most steps.
    """
    design = np.column_stack([root, np.ones(len(root))])
    penalty = np.append(np.ones(root.shape[1]), 0.0)

    def slack_of(point):
        return np.maximum(1 - labels * (point @ design.T), 0)

    def value_of(point):
        return (point**2 @ penalty + slack_of(point) ** 2 @ costs) / 2

    point = np.zeros((len(labels), design.shape[1]))
    for _ in range(max_iter):
        slack = slack_of(point)
        gradient = point * penalty - (costs * slack * labels) @ design
        hessian = np.einsum("li,ij,ik->ljk", costs * (slack > 0), design, design) + np.diag(penalty + 1e-12)
        step = -np.linalg.solve(hessian, gradient[..., None])[..., 0]
        slope, before = np.einsum("lj,lj->l", step, gradient), value_of(point)
        length = np.ones(len(labels))
        for _ in range(40):
            is_short = value_of(point + length[:, None] * step) <= before + 1e-4 * length * slope
            length = np.where(is_short, length, length / 2)
        point = np.where(is_short[:, None], point + length[:, None] * step, point)
        if (np.abs(slope) <= 1e-15 * (1e-3 + before)).all():
            break
    return value_of(point), _dual(design, costs, labels, costs * slack_of(point))


def _dual(design, costs, labels, dual):
    """The dual objective, when coefficients of both signs have been scaled down to the same sum."""
    sums = np.stack([np.sum(dual * (labels == sign), axis=1) for sign in (-1.0, 1.0)])
    factors = sums.min(axis=0) / np.where(sums > 0, sums, 1)
    dual = dual * np.where(labels > 0, factors[1][:, None], factors[0][:, None])
    weights = (dual * labels) @ design[:, :-1]
    return dual.sum(axis=1) - (weights**2).sum(axis=1) / 2 - (dual**2 / costs).sum(axis=1) / 2
