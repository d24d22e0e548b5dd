"""Loops on several threads, and what is left of them after a fork."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import MiniBatchKMeans
from threadpoolctl import threadpool_limits

from weakly import FewLabelClassifier, ProbabilisticLabelSVC, _threads
from weakly._compat import openmp_after_fork
from weakly._compile import njit
from weakly._threads import run_parallel
from weakly.boosting._objectives import ExpectationObjective, PriorObjective
from weakly.graphs import anchor_graph, neighbor_graph, radius_graph
from weakly.graphs._cell_kernels import divisive_clusters
from weakly.graphs._neighbors import find_neighbors
from weakly.rows._blocks import row_keys

needs_fork = pytest.mark.skipif(sys.platform != "linux", reason="forks are the way of Linux")


@njit(nogil=True)
def count(start, stop, times):
    for i in range(start, stop):
        times[i] += 1


@pytest.fixture
def four_threads(monkeypatch):
    monkeypatch.setattr("weakly._threads._most_threads", lambda: 4)
    _threads._pool.cache_clear()
    yield
    _threads._pool.cache_clear()


@pytest.mark.usefixtures("four_threads")
@pytest.mark.parametrize("n_tasks", [0, 1, 2, 3, 5, 16, 17, 1000])
@pytest.mark.parametrize("grain", [1, 7])
def test_every_task_is_done_once(n_tasks, grain):
    times = np.zeros(n_tasks, int)
    run_parallel(count, n_tasks, times, grain=grain)
    np.testing.assert_array_equal(times, 1)


def n_threads_at_work():
    """Threads that do tasks at the same time: in its first one each waits for three others."""
    all_four, workers = threading.Barrier(4, timeout=5), set()

    def meet(start, stop):
        if threading.get_ident() not in workers:
            workers.add(threading.get_ident())
            all_four.wait()

    with suppress(threading.BrokenBarrierError):
        run_parallel(meet, 16)
    return len(workers)


@pytest.mark.usefixtures("four_threads")
def test_threads_share_the_work_and_grain_keeps_them_from_it():
    assert n_threads_at_work() == 4
    alone = []
    run_parallel(lambda start, stop: alone.append((start, stop, threading.current_thread())), 99, grain=50)
    assert alone == [(0, 99, threading.main_thread())]


@pytest.mark.usefixtures("four_threads")
def test_errors_of_any_thread_are_raised_and_end_the_work():
    done = []

    def fail(start, stop):
        done.append(start)
        time.sleep(0.01)
        if threading.current_thread() is not threading.main_thread():
            raise ValueError("in a helper")

    with pytest.raises(ValueError, match="in a helper"):
        run_parallel(fail, 16)
    done.clear()

    def interrupt(start, stop):
        done.append(start)
        time.sleep(0.01)
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_parallel(interrupt, 16)
    n_done = len(done)
    assert n_done <= 8  # one stretch for each thread that had begun, or a second
    time.sleep(0.05)
    assert len(done) == n_done  # nobody works on


@pytest.mark.skipif(os.name != "posix", reason="signals to threads are POSIX")
@pytest.mark.usefixtures("four_threads")
def test_an_interrupt_while_others_work_waits_for_them():
    begun, finished = threading.Event(), []

    def work(start, stop):
        if threading.current_thread() is threading.main_thread():
            begun.wait(10)
            return
        begun.set()
        time.sleep(0.05)  # until the caller waits
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        time.sleep(0.1)
        finished.append(start)

    with pytest.raises(KeyboardInterrupt):
        run_parallel(work, 2)
    assert finished


@pytest.mark.usefixtures("four_threads")
def test_without_further_threads_the_caller_works_alone(monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    times = np.zeros(1000, int)
    run_parallel(count, len(times), times)
    np.testing.assert_array_equal(times, 1)
    assert _threads._pool.cache_info().currsize == 0  # and what waited in the pool is forgotten


LATE = """
import threading, time
from weakly import _threads
_threads._most_threads = lambda: 3
def late():
    threading.main_thread().join()
    time.sleep(0.1)
    done = []
    _threads.run_parallel(lambda start, stop: done.append(stop - start), 9)
    print(sum(done))
threading.Thread(target=late).start()
"""


def test_work_goes_on_while_the_interpreter_shuts_down():
    done = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("9\n", "")


def test_results_do_not_depend_on_threads(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5))
    rows = sp.random_array((3000, 40), density=0.1, rng=rng, format="csr")
    codes = np.where(np.arange(3000) < 100, np.arange(3000) % 2, -1)
    scores, costs = rng.normal(size=(3000, 2)), rng.uniform(size=3000)
    prior = rng.dirichlet([1, 1], 3000)
    objectives = [
        PriorObjective(codes, costs, prior, alpha=0.5, beta=0.1, margin=1.0),
        ExpectationObjective(codes, costs, prior[:, 0], 0.5),
    ]
    found = []
    for n_threads in (1, 5):
        monkeypatch.setattr("weakly._threads._most_threads", lambda n_threads=n_threads: n_threads)
        targets = [objective.targets(scores, 0) for objective in objectives]
        found.append(
            [
                row_keys(X),
                row_keys(rows),
                divisive_clusters(X, 30, np.arange(7).astype(np.uint64)),
                find_neighbors(X, 5, "cells", False, 0),
                *(part for target in targets for part in (target.labels, target.log_weights, target.losses)),
            ]
        )
    for one, several in zip(*found, strict=True):
        np.testing.assert_array_equal(one, several)


@needs_fork
@pytest.mark.usefixtures("four_threads")
def test_a_forked_child_has_threads_of_its_own():
    assert n_threads_at_work() == 4
    assert in_child(n_threads_at_work) == 4


def centers_of_clusters():
    X = np.random.default_rng(0).normal(size=(2000, 20))
    with openmp_after_fork():
        return MiniBatchKMeans(20, n_init=1, random_state=0).fit(X).cluster_centers_.tolist()


@needs_fork
def test_openmp_of_scikit_learn_works_in_a_forked_child():
    with threadpool_limits(2, user_api="openmp"):
        expected = centers_of_clusters()
        np.testing.assert_allclose(in_child(centers_of_clusters), expected)


SAMPLES = np.random.default_rng(0).normal(size=(600, 20))  # several chunks for a search by brute force
FEW = np.where(np.arange(600) < 20, (SAMPLES[:, 0] > 0).astype(int), -1)
SEARCHES = {
    "neighbors": lambda: neighbor_graph(SAMPLES).affinity.data,
    "cells": lambda: find_neighbors(SAMPLES, 5, "cells", False, 0),
    "radius": lambda: radius_graph(SAMPLES, radius=5.0).affinity.data,
    "anchors": lambda: anchor_graph(SAMPLES, n_anchors=40, random_state=0).gram,
    "few labels": lambda: fitted(FewLabelClassifier, random_state=0).predict_proba(SAMPLES),
    "novelty": lambda: fitted(ProbabilisticLabelSVC, novelty_threshold=0.5).predict(SAMPLES),
}


@cache
def fitted(kind, **options):
    return kind(**options).fit(SAMPLES, FEW)


@needs_fork
@pytest.mark.parametrize("search", SEARCHES)
def test_searches_for_neighbors_work_in_a_forked_child(search):
    function = SEARCHES[search]
    with threadpool_limits(2, user_api="openmp"):
        expected = function()
        np.testing.assert_allclose(in_child(function), expected, rtol=1e-10)


def in_child(function, timeout=60):
    """What a function returns in a forked child; a child that hangs is an error."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=lambda: theirs.send(function()))
    child.start()
    try:
        assert ours.poll(timeout), "the child hangs or died"
        return ours.recv()
    finally:
        child.kill()
        child.join()
