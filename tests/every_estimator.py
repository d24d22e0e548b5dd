"""Every estimator with data that it takes, as small as can be; as a script, a fit of each."""

import inspect
import warnings
from importlib import import_module

import numpy as np

import weakly

RNG = np.random.default_rng(0)
TRUTH = np.repeat([0, 1], 20)
X = RNG.normal(size=(40, 20)) + 2 * TRUTH[:, None]  # so wide that neighbors are found by brute force
PARTLY = np.where(np.arange(40) % 5 == 0, TRUTH, -1)
BAGS = list(X.reshape(10, 4, 20))
OF_BAGS = TRUTH[::4]


def every_estimator():
    """Names of the public estimators, each with an unfitted one and the arguments of its ``fit``."""
    for name, home in weakly._HOME.items():
        kind = getattr(weakly, name)
        if inspect.isclass(kind) and hasattr(kind, "fit") and name != "InstanceTransformer":
            yield name, make(name), arguments_of(name, home)


def make(name):
    """An estimator with a seed, where it takes one."""
    kind = getattr(weakly, name)
    return kind(**({"random_state": 0} if "random_state" in inspect.signature(kind).parameters else {}))


def arguments_of(name, home):
    if home == "multi_instance":
        return weakly.Bags.from_list(BAGS), OF_BAGS
    if home == "cluster":
        return (X,)
    return X, TRUTH if name == "WestonWatkinsSVC" else PARTLY


def answers_of(name):
    """What an estimator says of the data that it was fitted to."""
    rows, *rest = arguments_of(name, weakly._HOME[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit this small may stop early
        model = make(name).fit(rows, *rest)
    return model.labels_ if hasattr(model, "labels_") else model.predict(rows)


if __name__ == "__main__":
    for public in weakly.__all__:
        getattr(weakly, public)
    for part in ("cli", "distributed", "plotting"):
        import_module(f"weakly.{part}")
    n_fitted = 0
    for name, *_ in every_estimator():
        assert len(answers_of(name)) in (len(X), len(BAGS))
        n_fitted += 1
    print(f"{n_fitted} estimators fitted")
