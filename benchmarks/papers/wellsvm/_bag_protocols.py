"""Bags: cross-validation over them, regions located in pictures, and settings chosen inside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.ensemble import VotingClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.papers._protocols import _bunch, _class_of
from weakly import Bags
from weakly.datasets import make_pictures
from weakly.multi_instance import bag_scores

WELL = "weakly.WellMultiInstanceSVC"
N_TRAIN = 10  # pictures of each category


def bag_accuracy(settings: Mapping[str, Any], column: str, seed: int) -> float:
    """Return the accuracy in per cent of ten-fold cross-validation over bags.

    Columns are standardised by the instances of the training bags.

    Parameters
    ----------
    settings : mapping
        "estimator": dotted name, WellMultiInstanceSVC by default. "params": its parameters; among them
        "width" stands for that of an RBF kernel, in units of the root of the mean squared distance between
        training instances, and may also stand beside them. "grid", if given: parameters to choose from by
        the accuracy in "n_folds" folds of the training bags, the first of the best; "then" are parameters
        of the last fit alone. "by_means", if true: an ordinary machine on the means of bags. "vote", in
        place of all: estimators, by dotted name with parameters, whose mean probabilities decide.
    column : str
        Name of the data set.
    seed : int
        Seed of the folds.

    Returns
    -------
    float
        Between 0 and 100.
    """
    bunch = _bunch(column)
    bags, y = Bags.from_ids(bunch.X, bunch.bags), bunch.bag_y
    n_right = 0
    for train, test in StratifiedKFold(10, shuffle=True, random_state=seed).split(y, y):
        kept, held_out = standardised(bags[train], bags[test])
        if settings.get("by_means"):
            means = [np.array([bag.mean(axis=0) for bag in part]) for part in (kept, held_out)]
            model = SVC(**settings["params"]).fit(means[0], y[train])
            predicted = model.predict(means[1])
        else:
            predicted = chosen_model(settings, kept, y[train]).predict(held_out)
        n_right += np.count_nonzero(predicted == y[test])
    return 100.0 * n_right / len(y)


def located_regions(settings: Mapping[str, Any], column: str, seed: int) -> dict[str, float]:
    """Rate how well the regions of interest of a category are located in pictures held out.

    Parameters
    ----------
    settings : mapping
        As in ``bag_accuracy``, without means of bags.
    column : str
        The category.
    seed : int
        Seed of the draw of training pictures, ten of each category.

    Returns
    -------
    dict
        "value": the harmonic success rate; "relevant" and "predicted": its parts; "accuracy" of pictures.
    """
    data = _pictures()
    train, test = draw_pictures(data.bag_y, seed)
    is_category = data.bag_y == list(data.target_names).index(column)
    bags = Bags.from_ids(data.features, data.bags)
    is_key = bags.split(data.is_key)
    kept, held_out = standardised(bags[train], bags[test])
    model = chosen_model(settings, kept, is_category[train])
    scores = bag_scores(model, held_out, is_category[test], [is_key[picture] for picture in test])
    names = {"value": "harmonic", "relevant": "of_relevant", "predicted": "of_predicted"}
    return {name: scores[key] for name, key in names.items()} | {"accuracy": scores["accuracy"]}


@lru_cache(maxsize=1)
def _pictures() -> Any:
    return make_pictures(100, random_state=0)


def draw_pictures(categories: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw ten pictures of each category, and return the others too.

    Parameters
    ----------
    categories : ndarray of shape (n_pictures,)
        Category of each picture.
    seed : int
        Seed.

    Returns
    -------
    tuple of two ndarrays
        Training and test pictures, ascending.
    """
    rng = np.random.default_rng(seed)
    of_each = [np.flatnonzero(categories == category) for category in np.unique(categories)]
    train = np.sort(np.concatenate([rng.choice(rows, N_TRAIN, replace=False) for rows in of_each]))
    return train, np.setdiff1d(np.arange(len(categories)), train)


def standardised(kept: Bags, held_out: Bags) -> tuple[Bags, Bags]:
    """Columns with mean 0 and variance 1 over the instances of the first bags.

    Parameters
    ----------
    kept, held_out : Bags
        Training bags and others.

    Returns
    -------
    tuple of two Bags
        The same, standardised.
    """
    scaler = StandardScaler().fit(kept.rows)
    return kept.with_rows(scaler.transform(kept.rows)), held_out.with_rows(scaler.transform(held_out.rows))


def chosen_model(settings: Mapping[str, Any], bags: Bags, y: np.ndarray) -> Any:
    """Fit the setting that does best in folds of the bags, or the only one.

    Parameters
    ----------
    settings : mapping
        As in ``bag_accuracy``.
    bags : Bags
        Training bags, standardised.
    y : ndarray of shape (n_bags,)
        Their labels.

    Returns
    -------
    classifier of bags
        Fitted to all of them.
    """
    candidates = list(_candidates(settings, bags))
    if len(candidates) == 1:
        return candidates[0].fit(bags, y)
    folds = StratifiedKFold(settings["n_folds"], shuffle=True, random_state=0)
    n_right = np.zeros(len(candidates))
    for train, test in folds.split(y, y):
        kept, held_out = bags[train], bags[test]
        for number, model in enumerate(candidates):
            predicted = model.fit(kept, y[train]).predict(held_out)
            n_right[number] += np.count_nonzero(predicted == y[test])
    return candidates[int(np.argmax(n_right))].set_params(**settings.get("then", {})).fit(bags, y)


def _candidates(settings: Mapping[str, Any], bags: Bags) -> Iterator[Any]:
    """Models with the parameters of each setting, or one that lets several vote."""
    if "vote" in settings:
        voters = [(name, _class_of(name)(**params)) for name, params in settings["vote"].items()]
        yield VotingClassifier(voters, voting="soft")
        return
    make = _class_of(settings.get("estimator", WELL))
    beside = {"width": settings["width"]} if "width" in settings else {}
    for changed in settings.get("grid", [{}]):
        params = settings["params"] | beside | changed
        if "width" in params:
            mean_squared = 2 * bags.rows.var(axis=0).sum()
            params["gamma"] = float(1 / (2 * params.pop("width") ** 2 * mean_squared))
        yield make(**params)
