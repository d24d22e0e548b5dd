"""WellSVC with a linear kernel on rows in blocks."""

from functools import partial

import numpy as np
import scipy.sparse as sp

from weakly.estimators._base import class_codes, unlabeled_cost
from weakly.estimators._calibration import prior_temperature
from weakly.estimators._class_prior import prior_of
from weakly.estimators._progress import Progress
from weakly.kernels import resolve_kernel
from weakly.spaces import FeatureSpace
from weakly.svm._block_cutting_plane import as_column, best_labels, solve_block_cutting_plane
from weakly.svm._block_linear import LabeledBlocks, linear_scores
from weakly.svm._costs import labeled_costs
from weakly.svm._primal_mixture import MixtureProblem, fit_mixture

_SUPERVISED_TOL = 1e-8


def fit_blocks(model, X, y, sample_weight):
    """Fit a WellSVC on a Dask collection."""
    from weakly.distributed import checked_rows, labels_of

    _require_linear(model)
    blocks = checked_rows(model, X)
    labels, weights = labels_of(y, blocks, model.unlabeled, sample_weight)
    model.class_prior_ = prior_of(model.class_prior, labels)
    model.C_unlabeled_ = unlabeled_cost(model.C, model.C_unlabeled, labels)
    costs = labeled_costs(model.C, model.C_unlabeled_, weights)
    rows = LabeledBlocks(blocks, labels, costs, is_sparse=False)
    model.classes_ = labels.classes
    progress = Progress(type(model).__name__, model.verbose)
    with progress.stage("labelings"):
        shift = _shift(model, blocks)
        results = [
            _solve(model, rows, signs, bounds, shift, progress.count)
            for signs, bounds in zip(labels.targets().T, model._counts(labels), strict=True)
        ]
    model._warn_unfinished(results)
    model.results_ = results
    _publish(model, rows, *shift)
    return model


def _require_linear(model):
    """Sums over rows are all there is: they give linear machines, with a loss that has a slope everywhere."""
    needed = {"kernel": "linear", "loss": "squared_hinge", "oracle": "ascent"}
    given = {name: getattr(model, name) for name in needed}
    if given != needed or model.approximation not in ("auto", None):
        asked = ", ".join(f"{name}={value!r}" for name, value in needed.items())
        had = ", ".join(f"{name}={value!r}" for name, value in given.items())
        raise ValueError(
            f"WellSVC takes rows in memory, and Dask collections with {asked} and approximation='auto'; "
            f"it has {had} and approximation={model.approximation!r}. Set these, pass X.compute(), or fit a "
            "TransductiveLinearSVC."
        )


def _shift(model, blocks):
    """Mean row, and the column that stands for the constant of the kernel."""
    total = blocks.reduce(_total) / blocks.shape[0]
    mean = total if model.center else np.zeros_like(total)
    if not model.offset:
        return mean, 0.0
    squares = blocks.reduce(partial(_squares, mean=mean)) / blocks.shape[0]
    return mean, float(np.sqrt(model.offset * squares))


def _solve(model, rows, signs, bounds, shift, callback):
    """Labelings of one class against the rest, from that of a machine without unlabelled rows."""
    blocks, labeled = rows.blocks, rows.labels.labeled
    known = blocks.keep(blocks.spread(labeled, signs, 0.0))
    supervised = MixtureProblem(blocks, *shift, blocks.keep(blocks.spread(labeled, rows.costs, 0.0)), known)
    column = blocks.keep(blocks.of(known).map(as_column, width=1, dtype=np.int8))
    fit = fit_mixture(supervised, column, np.zeros((1, supervised.n_params)), tol=_SUPERVISED_TOL)
    costs = blocks.keep(blocks.spread(labeled, rows.costs, model.C_unlabeled_))
    problem = MixtureProblem(blocks, *shift, costs, known)
    return solve_block_cutting_plane(
        problem,
        best_labels(problem, None, fit.W[0], *bounds),
        *bounds,
        tol=model.tol,
        max_labels=model.max_labels,
        refine=model.refine,
        callback=callback,
    )


def _publish(model, rows, mean, constant):
    blocks = rows.blocks
    model.n_iter_ = max(result.n_iter for result in model.results_)
    model.temperature_ = prior_temperature(len(model.classes_))
    vectors = np.column_stack([result.x for result in model.results_])
    coef, model._offset = vectors[:-1], constant * vectors[-1] - mean @ vectors[:-1]
    first = blocks.take(np.zeros(1, dtype=np.intp))
    settings = {"gamma": model.gamma, "degree": model.degree, "coef0": model.coef0}
    model.kernel_ = resolve_kernel("linear", first, **settings)
    nowhere = np.zeros(0, dtype=np.intp)
    border = blocks.spread(nowhere, nowhere, -1)
    model.transduction_ = rows.publish(coef, model._offset, border, model.classes_)
    model.label_distributions_ = rows.distributions(coef, model._offset, model.temperature_)
    settings = {
        "coef": coef,
        "offset": model._offset,
        "dtype": blocks.dtype,
        "n_classes": len(model.classes_),
    }
    model.predicted_shares_ = blocks.reduce(partial(_count, **settings)) / blocks.shape[0]
    space = FeatureSpace(first)
    model._function = space.function(coef.astype(space.dtype))


def _total(rows):
    return np.asarray(rows.sum(axis=0, dtype=np.float64)).ravel()


def _squares(rows, mean):
    """Sum of the squared norms of the rows less the mean."""
    if not sp.issparse(rows):
        return float(np.sum((rows - mean) ** 2))
    rows = rows.astype(np.float64, copy=False)
    return float(rows.multiply(rows).sum() - 2 * (rows @ mean).sum() + rows.shape[0] * mean @ mean)


def _count(rows, coef, offset, dtype, n_classes):
    return np.bincount(class_codes(linear_scores(rows, coef, offset).astype(dtype)), minlength=n_classes)
