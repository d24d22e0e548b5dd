"""A cluster of two processes, for the few tests that need to see rows cross between machines."""

import dask
import distributed
import pytest


@pytest.fixture(scope="session")
def cluster():
    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**settings) as started:
        yield started


@pytest.fixture(autouse=True)
def scheduler(request):
    """Tasks in this process or as ``SCHEDULER`` of the module says, unless a cluster is asked for."""
    if {"client", "cluster"} & set(request.fixturenames):
        yield
    else:
        with dask.config.set(getattr(request.module, "SCHEDULER", {"scheduler": "synchronous"})):
            yield


@pytest.fixture
def client(cluster):
    """The cluster as the scheduler of all collections while the test lasts."""
    with distributed.Client(cluster) as connected:
        yield connected
