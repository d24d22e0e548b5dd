"""A cluster as the place where work is done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import joblib
from distributed import Client, as_completed

_PATIENCE = "10s"  # for a scheduler to answer


@contextmanager
def connect(scheduler: Any) -> Iterator[Client]:
    """Do the work of a block on a cluster: fits on Dask collections, and grid searches.

    Parameters
    ----------
    scheduler : str, distributed.Client or cluster object
        Address of a scheduler ("tcp://host:8786"), a connected client, or a cluster like ``LocalCluster``.

    Yields
    ------
    distributed.Client
        The client, closed at the end unless it was given.

    Raises
    ------
    ValueError
        If no scheduler answers.

    Examples
    --------
    >>> from distributed import LocalCluster
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import GridSearchCV
    >>> from weakly import LaplacianRLSClassifier
    >>> from weakly.distributed import connect
    >>> X, y = load_digits(n_class=3, return_X_y=True)
    >>> search = GridSearchCV(LaplacianRLSClassifier(), {"graph_penalty": [0.01, 0.1]}, cv=2)
    >>> with LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster:
    ...     with connect(cluster):
    ...         score = search.fit(X, y).best_score_
    >>> bool(score > 0.9)
    True
    """
    if isinstance(scheduler, Client):
        with scheduler.as_current(), joblib.parallel_config(backend="dask"):
            yield scheduler
        return
    try:
        client = Client(scheduler, timeout=_PATIENCE)
    except (OSError, TypeError, ValueError) as error:
        raise ValueError(
            f"no Dask scheduler answers at {scheduler!r}: start one with 'dask scheduler' and workers with "
            "'dask worker ADDRESS', and give its address."
        ) from error
    with client, joblib.parallel_config(backend="dask"):
        yield client


def spread(client: Client, function: Callable[..., Any], tasks: Iterable[tuple]) -> Iterator[tuple[int, Any]]:
    """Run a function on a cluster for each of several tuples of arguments.

    Parameters
    ----------
    client : distributed.Client
        The client of the cluster.
    function : callable
        What is run.
    tasks : iterable of tuple
        Arguments.

    Yields
    ------
    tuple of int and object
        Place of the task, and its result, as they come in; of a task that was lost, or whose result could not
        travel, the text of the error.

    Examples
    --------
    >>> from distributed import Client
    >>> from weakly.distributed import spread
    >>> with Client(n_workers=1, processes=False, dashboard_address=":0") as client:
    ...     sorted(spread(client, pow, [(2, 3), (3, 2)]))
    [(0, 8), (1, 9)]
    """
    futures = {client.submit(function, *task, pure=False): place for place, task in enumerate(tasks)}
    for future in as_completed(list(futures)):
        place = futures.pop(future)  # and with it what the workers hold
        failed = future.status == "error"
        yield place, repr(future.exception()) if failed else future.result()
