"""k-means in the space of a kernel, from many starts at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from weakly.solvers._quotas import assign_quotas
from weakly.solvers._result import Labeling, SolverResult
from weakly.spaces import FeatureSpace, KernelSpace

_MOST_ENTRIES = 2_000_000  # of the products of rows with the means of all runs that go side by side


@dataclass(frozen=True, slots=True, kw_only=True)
class BestRun(Labeling):
    """Clusters of the best of several runs, and the last sum of squares of every run."""

    start_energies: np.ndarray


def solve_kernel_means(
    space: KernelSpace | FeatureSpace,
    starts: np.ndarray,
    n_clusters: int,
    *,
    least: int = 1,
    most: int | None = None,
    tol: float = 1e-4,
    max_iter: int = 300,
    callback: Callable[[], object] | None = None,
) -> SolverResult:
    """Minimize the squared distances of samples to the means of their clusters, and keep the best run.

    Each round takes the means of the clusters, then the clusters that are best for the means: the nearest
    mean, or within bounds of the sizes the assignment with the least sum. Neither makes the sum larger, but
    where the matrix is no kernel, and then a run ends. Runs share their products with the kernel.

    ``starts`` has a line of clusters from 0 for each run, none of them empty; where they are out of bounds,
    the run begins with those within that are best for their means. ``tol`` is the gain of a round, relative
    to the spread of all samples, at which a run ends.

    ``x`` has the parameters of a mean in each column, ``intercept`` minus half its squared norm: the nearest
    mean has the largest score. ``objective`` has the sums of the best run, ``criterion`` its gains relative
    to the spread.
    """
    most = space.n_rows if most is None else most
    squares = space.squared_norms()
    spread = _spread(space, squares) or 1.0
    n_at_once = max(1, _MOST_ENTRIES // (space.n_rows * n_clusters))
    blocks = [np.array(starts[first : first + n_at_once]) for first in range(0, len(starts), n_at_once)]
    runs: list[_Run] = []
    for codes in blocks:
        codes = _started(space, codes, n_clusters, least, most, squares)
        runs += _descend(space, codes, n_clusters, (least, most), squares, tol * spread, max_iter, callback)
        statuses = {run.status for run in runs}
        if statuses & {"stopped", "interrupted"}:
            break
    best = min(runs, key=lambda run: run.history[-1])
    averages = _averages(best.codes[None], n_clusters)
    theta = space.adjoint(averages.toarray().astype(space.dtype, copy=False))
    objective = np.array(best.history)
    return SolverResult(
        x=theta,
        objective=objective,
        criterion=-np.diff(objective, prepend=np.inf) / spread,
        n_iter=len(objective) - 1,
        status="interrupted" if "interrupted" in statuses else best.status,
        intercept=-np.einsum("ic,ic->c", averages.toarray(), space.scores(theta)) / 2,
        detail=BestRun(best.codes[None], start_energies=np.array([run.history[-1] for run in runs])),
    )


@dataclass(eq=False)
class _Run:
    """Clusters from one start, and their sums so far; as it goes on, its status says what would end it."""

    codes: np.ndarray
    history: list[float]
    status: str = "max_iter"

    def take(self, codes: np.ndarray, total: float, least_gain: float) -> None:
        gain = self.history[-1] - total
        if gain >= 0:  # less than that is rounding, or no kernel
            self.codes = codes
            self.history.append(total)
        if not gain > least_gain:
            self.status = "converged"


def _descend(
    space: KernelSpace | FeatureSpace,
    codes: np.ndarray,
    n_clusters: int,
    bounds: tuple[int, int],
    squares: np.ndarray,
    least_gain: float,
    max_iter: int,
    callback: Callable[[], object] | None,
) -> list[_Run]:
    """Rounds of several runs, until each of them gains too little."""
    scores, norms, sums = _means(space, codes, n_clusters, squares)
    runs = [_Run(run, [float(total)]) for run, total in zip(codes, sums, strict=True)]
    active = runs
    try:
        for _ in range(max_iter):
            proposed = np.array([_nearest(*run, *bounds) for run in zip(scores, norms, strict=True)])
            scores, norms, sums = _means(space, proposed, n_clusters, squares)
            for run, codes_of_run, total in zip(active, proposed, sums, strict=True):
                run.take(codes_of_run, float(total), least_gain)
            goes_on = [place for place, run in enumerate(active) if run.status == "max_iter"]
            active, scores, norms = [active[place] for place in goes_on], scores[goes_on], norms[goes_on]
            if not active:
                break
            if callback is not None and callback():
                for run in active:
                    run.status = "stopped"
                break
    except KeyboardInterrupt:
        for run in active:
            run.status = "interrupted"
    return runs


def _started(
    space: KernelSpace | FeatureSpace,
    codes: np.ndarray,
    n_clusters: int,
    least: int,
    most: int,
    squares: np.ndarray,
) -> np.ndarray:
    """First clusters, within the bounds."""
    sizes = np.array([np.bincount(run, minlength=n_clusters) for run in codes])
    outside = np.flatnonzero((sizes.min(axis=1) < least) | (sizes.max(axis=1) > most))
    if len(outside):
        scores, norms, _ = _means(space, codes[outside], n_clusters, squares)
        codes[outside] = [_nearest(*run, least, most) for run in zip(scores, norms, strict=True)]
    return codes


def seeded_codes(
    space: KernelSpace | FeatureSpace,
    n_clusters: int,
    n_draws: int,
    rng: np.random.RandomState,
    *,
    spread_out: bool,
) -> np.ndarray:
    """Clusters around rows drawn at random, several times; spread out, each far from others (k-means++)."""
    squares = space.squared_norms()
    return np.array([_seeded(space, squares, n_clusters, rng, spread_out) for _ in range(n_draws)])


def _seeded(
    space: KernelSpace | FeatureSpace,
    squares: np.ndarray,
    n_clusters: int,
    rng: np.random.RandomState,
    spread_out: bool,
) -> np.ndarray:
    nearest = np.full(space.n_rows, np.inf)
    codes = np.zeros(space.n_rows, dtype=np.int64)
    seeds: list[int] = []
    for code in range(n_clusters):
        free = np.ones(space.n_rows)
        free[seeds] = 0.0
        chances = nearest * free if spread_out and seeds else free
        chances = chances if chances.sum() > 0 else free  # the rows are all the same
        seed = int(rng.choice(space.n_rows, p=chances / chances.sum()))
        seeds.append(seed)
        distances = np.maximum(squares + squares[seed] - 2 * space.column(seed), 0.0)
        closer = distances < nearest
        nearest[closer], codes[closer] = distances[closer], code
    codes[seeds] = np.arange(n_clusters)  # of equal rows, too
    return codes


def _averages(codes: np.ndarray, n_clusters: int) -> sp.csr_array:
    """Matrix of the means of the clusters of all runs, a column for each."""
    n_runs, n_rows = codes.shape
    columns = (codes + n_clusters * np.arange(n_runs)[:, None]).ravel()
    sizes = np.bincount(columns, minlength=n_runs * n_clusters)
    rows = np.tile(np.arange(n_rows), n_runs)
    return sp.csr_array((1.0 / sizes[columns], (rows, columns)), shape=(n_rows, n_runs * n_clusters))


def _means(
    space: KernelSpace | FeatureSpace, codes: np.ndarray, n_clusters: int, squares: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Products of rows with the means of each run, half the squared norms of those, and the sums."""
    n_runs, n_rows = codes.shape
    averages = _averages(codes, n_clusters)
    scores = space.expand(averages).astype(np.float64, copy=False)
    scores = scores.reshape(n_rows, n_runs, n_clusters).transpose(1, 0, 2)
    own = np.take_along_axis(scores, codes[:, :, None], axis=2)[:, :, 0]
    sizes = np.array([np.bincount(run, minlength=n_clusters) for run in codes])
    norms = (
        np.array([np.bincount(run, mine, n_clusters) for run, mine in zip(codes, own, strict=True)]) / sizes
    )
    return scores, norms / 2, squares.sum() - own.sum(axis=1)


def _spread(space: KernelSpace | FeatureSpace, squares: np.ndarray) -> float:
    return float(_means(space, np.zeros((1, space.n_rows), dtype=np.int64), 1, squares)[2][0])


def _nearest(scores: np.ndarray, half_norms: np.ndarray, least: int, most: int) -> np.ndarray:
    """The nearest mean of each row, within the bounds where they would not hold by themselves."""
    nearness = scores - half_norms
    codes = nearness.argmax(axis=1)
    sizes = np.bincount(codes, minlength=len(half_norms))
    if sizes.min() >= least and sizes.max() <= most:
        return codes
    return assign_quotas(nearness, np.full(len(sizes), least), np.full(len(sizes), most)).codes
