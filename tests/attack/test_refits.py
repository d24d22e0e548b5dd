"""A fit takes effect as a whole or not at all, and nothing outside reaches into a fitted model."""

import contextlib
import inspect
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from weakly import Bags
from weakly.estimators._base import Progress
from weakly.exceptions import FitInterruptedWarning

from .subjects import FIRST, SUBJECTS, bags_of, blobs, some_of_each

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


class Boom(BaseException):
    """Neither an error nor an interrupt, which a fit might handle."""


class Fuse:
    """Makes an estimator explode when a fit sets its nth attribute."""

    def __init__(self, model):
        self.left = -1
        fuse = self

        class Bomb(type(model)):
            def __setattr__(self, name, value):
                fuse.left -= 1
                if fuse.left == -1:
                    raise Boom
                super().__setattr__(name, value)

        model.__class__ = Bomb


def two_problems(subject):
    """Arguments of two fits on the same samples whose classes have no name in common."""
    X, truth = blobs(30)
    labeled = some_of_each(truth)
    first = subject.arguments(X, truth, labeled)
    if subject.kind == "clusters":
        return first, (X + 1.0,)
    if subject.kind == "bags":
        return first, (first[0], first[1] + 7)
    return first, subject.arguments(X, truth % 2 + 7, labeled)


@pytest.mark.parametrize("name", FIRST)
def test_a_refit_that_fails_leaves_the_old_model(name):
    subject = FIRST[name]
    first, second = two_problems(subject)
    model = subject.make().fit(*first)
    fuse, before, n_set = Fuse(model), vars(model).copy(), 0
    while fuse.left < 0:  # until a fit has fewer attributes to set
        fuse.left = n_set
        with contextlib.suppress(Boom):
            model.fit(*second)
            break
        assert vars(model).keys() == before.keys()
        assert all(value is before[key] for key, value in vars(model).items())
        n_set += 1
    assert n_set > 3  # it did explode, once for every attribute


@pytest.mark.parametrize("name", ["RMSBoostClassifier", "SERBoostClassifier", "AdaBoostMLClassifier"])
def test_rounds_that_are_not_finished_leave_those_before(name, monkeypatch):
    X, truth = blobs()
    y = FIRST[name].arguments(X, truth, some_of_each(truth))[1]
    model = FIRST[name].make(warm_start=True, n_estimators=3).fit(X, y)
    before = model.decision_function(X)
    n_calls = []

    def explode(progress, *state):
        n_calls.append(1)
        if len(n_calls) == 2:
            raise Boom

    monkeypatch.setattr(Progress, "count", explode)
    with pytest.raises(Boom):
        model.set_params(n_estimators=9).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), before)
    assert model.n_estimators_ == 3


def changeable(subject, container):
    X, truth = blobs(30)
    X = container(X)
    if subject.kind == "bags":
        bags, y = bags_of(X, truth)
        return (bags, y), Bags(bags.rows.copy(), bags.offsets.copy()), bags.rows
    return subject.arguments(X, truth, some_of_each(truth)), X.copy(), X


@pytest.mark.parametrize("name", FIRST)
@pytest.mark.parametrize("container", [np.array, sp.csr_matrix], ids=["dense", "sparse"])
def test_the_callers_array_is_not_the_models(name, container):
    subject = FIRST[name]
    if container is sp.csr_matrix and not subject.takes_sparse:
        pytest.skip("takes dense samples only")
    arguments, same, X = changeable(subject, container)
    model = subject.make().fit(*arguments)
    before = model.predict(same)
    (X.data if sp.issparse(X) else X)[...] = 0
    np.testing.assert_array_equal(model.predict(same), before)


def keep_or_tell(subject, arguments, interrupt):
    """Fit under an interrupt: it is told, with a model that predicts, or raised, with no model at all."""
    model = subject.make()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with interrupt:
                model.fit(*arguments)
        except KeyboardInterrupt:
            return not [key for key in vars(model) if key.endswith("_")]
    if not interrupt.is_pressed:
        return True
    results = model.result_
    statuses = [one.status for one in (results if isinstance(results, list) else [results])]
    model.predict(arguments[0])
    return "interrupted" in statuses and any(w.category is FitInterruptedWarning for w in caught)


class Interrupt:
    """Ctrl-C at the nth call of a function of the library, and never with ``None``."""

    def __init__(self, n_calls=None):
        self.n_calls, self.limit, self.is_pressed = 0, n_calls, False

    def __enter__(self):
        sys.setprofile(self._watch)

    def __exit__(self, *error):
        sys.setprofile(None)

    def _watch(self, frame, event, argument):
        is_generator = frame.f_code.co_flags & inspect.CO_GENERATOR  # one that is closed raises nothing
        if event == "call" and not is_generator and "weakly" in frame.f_globals.get("__name__", ""):
            self.n_calls += 1
            if self.n_calls == self.limit:
                self.is_pressed = True
                sys.setprofile(None)
                raise KeyboardInterrupt


def interrupt_each_of(n_moments, subject):
    X, truth = blobs(60, spread=2.0)
    arguments = subject.arguments(X, truth, some_of_each(truth))
    whole = Interrupt()
    assert keep_or_tell(subject, arguments, whole)
    for n_calls in np.unique(np.linspace(1, whole.n_calls - 1, n_moments).astype(int)):
        assert keep_or_tell(subject, arguments, Interrupt(n_calls)), n_calls


@pytest.mark.parametrize("name", FIRST)
def test_an_interrupt_is_told_or_raised(name):
    interrupt_each_of(6, FIRST[name])


@pytest.mark.attack
@pytest.mark.parametrize("name", SUBJECTS)
def test_an_interrupt_anywhere_is_told_or_raised(name):
    interrupt_each_of(60, SUBJECTS[name])
