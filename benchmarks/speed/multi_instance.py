"""Claims about classifiers of bags."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

import weakly
from benchmarks.speed.tasks import Claim, Task
from weakly.datasets import load
from weakly.multi_instance._key_margin import solve_bag_margin, solve_instance_margin
from weakly.solvers._label_sets import KeyInstances

C = 0.1  # of the two costs that the table of bags tries with a linear kernel, the larger
SOLVERS = {"MI-SVM": solve_bag_margin, "mi-SVM": solve_instance_margin}
ESTIMATORS = {"MI-SVM": weakly.BagMarginSVC, "mi-SVM": weakly.InstanceMarginSVC}


def elephant() -> tuple[np.ndarray, np.ndarray]:
    """Instances, and for each its bag and the label of that in one number."""
    data = load("mil_elephant")
    return StandardScaler().fit_transform(data.X), 2 * data.bags + data.bag_y[data.bags]


def read(X: np.ndarray, codes: np.ndarray) -> tuple[weakly.Bags, np.ndarray]:
    bags = weakly.Bags.from_ids(X, codes // 2)
    return bags, (codes % 2)[bags.offsets[:-1]] == 1


def distance(method: str, X: np.ndarray, codes: np.ndarray) -> Any:
    """How far an objective is from that of a solution to 1e-6, in per cent."""
    bags, is_positive = read(X, codes)
    costs = np.full(len(bags), C)
    tight = SOLVERS[method](X @ X.T, bags.bag_of, is_positive, costs, tol=1e-6).objective[-1]
    return lambda objective: 100 * abs(objective / tight - 1)


def ours(method: str, X: np.ndarray, codes: np.ndarray) -> Task:
    bags, is_positive = read(X, codes)
    off_by = distance(method, X, codes)

    def fit(repeat: int) -> float:
        model = ESTIMATORS[method](C=C, kernel="linear").fit(bags, is_positive)
        return off_by(model.result_.objective[-1])

    return fit


def interior_points(method: str, X: np.ndarray, codes: np.ndarray) -> Task:
    """The turns of misvm, each solved by cvxopt as misvm does it."""
    bags, is_positive = read(X, codes)
    off_by = distance(method, X, codes)
    turns = {"MI-SVM": turns_of_bags, "mi-SVM": turns_of_instances}[method]
    return lambda repeat: off_by(turns(X @ X.T, bags, is_positive))


def quadratic_program(gram: np.ndarray, signs: np.ndarray, sums: Any) -> tuple[np.ndarray, float, float]:
    """Coefficients, bias and objective; ``sums`` are the rows that share the cost ``C``, one to a line."""
    from cvxopt import matrix, solvers, sparse, spdiag, spmatrix

    solvers.options["show_progress"] = False
    n_rows, places = len(signs), sums.tocoo()
    shared = spmatrix(places.data, places.row.tolist(), places.col.tolist(), sums.shape)
    limits = np.concatenate([np.zeros(n_rows), np.full(sums.shape[0], C)])
    found = solvers.qp(
        matrix(gram * np.outer(signs, signs)),
        matrix(-1.0, (n_rows, 1)),
        sparse([spdiag([-1.0] * n_rows), shared]),
        matrix(limits),
        matrix(signs[None]),
        matrix(0.0),
    )
    return signs * np.ravel(found["x"]), float(found["y"][0]), -found["primal objective"]


def turns_of_instances(gram: np.ndarray, bags: weakly.Bags, is_positive: np.ndarray) -> float:
    in_positive = is_positive[bags.bag_of]
    signs, single = np.where(in_positive, 1.0, -1.0), sp.eye_array(len(gram))
    while True:
        x, bias, objective = quadratic_program(gram, signs, single)
        scores = gram @ x + bias
        best = np.zeros(len(scores), dtype=bool)
        best[bags.largest(scores)] = True
        then = np.where(in_positive & ((scores > 0) | best), 1.0, -1.0)
        if (then == signs).all():
            return objective
        signs = then


def turns_of_bags(gram: np.ndarray, bags: weakly.Bags, is_positive: np.ndarray) -> float:
    keys = KeyInstances.of_bags(bags.bag_of, is_positive)
    groups = np.empty(len(keys.signs), dtype=np.intp)
    groups[keys.owner] = bags.bag_of
    sums = sp.csr_array((np.ones(len(groups)), (groups, np.arange(len(groups)))))
    choice = keys.means()
    while True:
        lines = abs(keys.lines(choice))
        x, _, objective = quadratic_program(lines @ (lines @ gram).T, keys.signs, sums)
        then = keys.best(np.ones(len(keys.signs)), gram @ (lines.T @ x))
        if (then == choice).all():
            return objective
        choice = then


BAGS = [
    Claim(
        name=name,
        statement=f"{ESTIMATORS[method].__name__}(kernel='linear', C={C}) against the same turns with "
        "cvxopt's interior points, as misvm does them; elephant (200 bags, 1391 x 230); errors are the "
        "distance of the objective from that of a solution to 1e-6",
        dataset="mil_elephant",
        rows=elephant,
        ours=partial(ours, method),
        rival=partial(interior_points, method),
        ratio_limit=0.05,
        repeats=3,
        needs="cvxopt",
    )
    for name, method in (("bag-margin", "MI-SVM"), ("instance-margin", "mi-SVM"))
]
