"""The classifiers of the library under their names on the command line."""

from __future__ import annotations

import inspect
import re

import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin

import weakly
from weakly.cli._errors import UserError, did_you_mean
from weakly.rows._arrays import dense_bytes, require_fit

DEFAULT_METHOD = "few-label"


def methods():
    """Return the public classifiers of rows by command-line name, in the order of ``weakly.__all__``."""
    # Modules are left aside by their lower case: some need an extra to import.
    public = (getattr(weakly, name) for name in weakly.__all__ if name[0].isupper())
    return {_command_name(thing): thing for thing in public if _is_classifier(thing)}


def method_name(word):
    """Return the command-line name of a method given by that name or by its class's."""
    known = methods()
    by_class = {estimator_class.__name__: name for name, estimator_class in known.items()}
    if word not in known and word not in by_class:
        raise UserError(f"unknown method {word!r}: {did_you_mean(word, [*known, *by_class])}")
    return by_class.get(word, word)


def make_estimator(method, *, n_rows, seed):
    """Construct a method with its defaults, as far as the size of the table allows them."""
    estimator = methods()[method_name(method)]()
    defaults = estimator.get_params()
    wanted = {"random_state": seed, "warm_start": True}
    if "n_neighbors" in defaults:
        wanted["n_neighbors"] = min(defaults["n_neighbors"], n_rows - 1)
    return estimator.set_params(**{name: value for name, value in wanted.items() if name in defaults})


def suit_features(features, estimator):
    """Return sparse features dense where the estimator takes no other, if they fit the memory limit."""
    if not sp.issparse(features) or estimator.__sklearn_tags__().input_tags.sparse:
        return features
    require_fit(
        dense_bytes(*features.shape),
        f"to make {features.shape[1]} sparse features dense, which {type(estimator).__name__} has to,",
        f"choose a method that takes sparse ones, such as {DEFAULT_METHOD}",
    )
    return features.toarray()


def summary_line(estimator_class):
    """Return the first sentence of a class's documentation."""
    return (inspect.getdoc(estimator_class) or "").split("\n\n")[0].replace("\n", " ")


def _is_classifier(thing):
    """Whether it labels rows of a table; classifiers of bags know no unlabeled rows."""
    return (
        inspect.isclass(thing)
        and issubclass(thing, ClassifierMixin)
        and issubclass(thing, BaseEstimator)
        and "unlabeled" in inspect.signature(thing).parameters
    )


def _command_name(estimator_class):
    stem = estimator_class.__name__.removesuffix("Classifier")
    word_start = r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
    return re.sub(word_start, "-", stem).lower()
