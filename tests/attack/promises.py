"""What every fit promises, whatever it is given."""

from __future__ import annotations

import re
import time
import warnings

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgWarning
from sklearn.metrics import adjusted_rand_score

from weakly import Bags

from .subjects import rows_like

LONGEST = 60.0  # seconds
_FOREIGN = (RuntimeWarning, LinAlgWarning, FutureWarning, DeprecationWarning, np.exceptions.ComplexWarning)


def attack(subject, given):
    """Fit, and return the promises that were broken; an empty list is what we want."""
    before = _contents(given.X)
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        broken = _fit_and_ask(subject, given)
    broken += [f"{w.category.__name__}: {w.message}" for w in caught if _is_foreign(w)]
    if time.perf_counter() - start > LONGEST:
        broken.append(f"took {time.perf_counter() - start:.0f} s")
    if _contents(given.X) != before:
        broken.append("changed X in place")
    return broken


def _is_foreign(warning):
    """Whether a warning is NumPy's, SciPy's or numba's and not the library's own."""
    return issubclass(warning.category, _FOREIGN) or "numba" in warning.category.__module__


def _fit_and_ask(subject, given):
    try:
        model = subject.make(**given.params).fit(*given.arguments(subject), **given.fit_params)
    except (ValueError, TypeError, MemoryError) as error:
        return _judge(error, given)
    if given.refused:
        return ["accepted what it must refuse"]
    return [
        *_outputs(subject, model, given),
        *_attributes(subject, model, given),
        *_accuracy(subject, model, given),
    ]


def _judge(error, given):
    if isinstance(error, np.linalg.LinAlgError):  # a ValueError to Python, but no word of ours
        return [f"{type(error).__name__}: {error}"]
    if given.refused is False:
        return [f"refused: {type(error).__name__}: {error}"]
    if not re.search(given.names, str(error)):
        return [f"does not name {given.names!r}: {type(error).__name__}: {error}"]
    return []


def _outputs(subject, model, given):
    """Predictions for the training samples and for new ones."""
    for where, X in (("training", given.X), ("new", given.new())):
        if X is None:
            continue
        rows = rows_like(subject, X, np.arange(len(X)) % 2 if where == "new" else given.truth)
        n_rows = len(rows) if isinstance(rows, Bags) else X.shape[0] if hasattr(X, "shape") else len(X)
        for method in ("predict", "decision_function", "predict_proba"):
            if hasattr(model, method):
                values = np.asarray(getattr(model, method)(rows))
                yield from _values(f"{method} of {where} samples", values, n_rows, method, model)


def _values(what, values, n_rows, method, model):
    if len(values) != n_rows:
        yield f"{what}: {len(values)} of {n_rows}"
    if values.dtype.kind == "f" and not np.isfinite(values).all() and not _is_novelty(method, model):
        yield f"{what} is not finite"
    elif method == "predict_proba":
        yield from _probabilities(what, values)
    elif method == "predict" and _are_strange(values, model):
        yield f"{what} has labels that are no classes"


def _are_strange(labels, model):
    is_open = _is_novelty("predict", model) or not hasattr(model, "classes_")
    return not is_open and not np.isin(labels, model.classes_).all()


def _is_novelty(method, model):
    return method == "predict" and getattr(model, "novelty_threshold", None) is not None


def _probabilities(what, values):
    tolerance = 1e-4 if values.dtype == np.float32 else 1e-8
    if values.min(initial=0) < -1e-12 or np.abs(values.sum(axis=1) - 1).max(initial=0) > tolerance:
        yield f"{what} are no probabilities"


def _attributes(subject, model, given):
    n_samples = len(given.truth)
    if subject.kind in ("some", "numbers"):
        yield from _values("transduction_", np.asarray(model.transduction_), n_samples, "predict", model)
    if hasattr(model, "label_distributions_"):
        yield from _probabilities("label_distributions_", np.asarray(model.label_distributions_))
    if subject.kind == "clusters" and not (
        len(model.labels_) == n_samples
        and np.isin(model.labels_, np.arange(subject.params.get("n_clusters", 2))).all()
    ):
        yield "labels_ are no clusters"
    result = getattr(model, "result_", None)
    objective = np.asarray(getattr(result, "objective", 0.0), dtype=float)
    if not np.isfinite(objective).all():
        yield "result_.objective is not finite"


def _accuracy(subject, model, given):
    """Classes that are plain to see must be seen: a wrong answer without a word is the worst."""
    if not given.easy:
        return
    if subject.kind == "clusters":
        score = adjusted_rand_score(given.truth, model.labels_)
        is_possible = subject.params.get("n_clusters", 2) == len(np.unique(given.truth))
        least = 0.7 if is_possible else 0.25  # two clusters cannot be three
    elif subject.kind == "numbers":
        score = 1 - np.mean((model.transduction_ - given.truth) ** 2) / np.var(given.truth)
        least = 0.5
    elif subject.kind == "bags":
        bags, y = rows_like(subject, given.X, given.truth), given.arguments(subject)[1]
        score, least = np.mean(model.predict(bags) == y), 0.7
    else:
        score, least = np.mean(np.asarray(model.predict(given.X)) == given.truth), 0.7
    if score < least:
        yield f"accuracy {score:.2f} where classes are plain to see"


def _contents(X):
    """Bytes of the samples, to tell whether they were changed."""
    if sp.issparse(X):
        return tuple(
            getattr(X, name).tobytes()
            for name in ("data", "indices", "indptr", "row", "col")
            if hasattr(X, name)
        )
    return X.tobytes() if isinstance(X, np.ndarray) and X.dtype != object else None
