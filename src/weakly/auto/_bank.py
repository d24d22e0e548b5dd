"""Build a bank of kernels: prepare samples, connect them, and take the kernels of all families.

Then pose the labels to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_random_state

from weakly.auto._anchor_kernels import AnchorSamples
from weakly.auto._choice import Problem
from weakly.auto._kernels import WIDTHS, Basis, Candidate, ConnectedSamples, Families, KernelBank, Size
from weakly.auto._neighbor_kernels import NeighborSamples
from weakly.auto._views import learn_preparation
from weakly.estimators._fitting import Progress
from weakly.rows._blocks import ArrayBlocks, RowBlocks, canonical, dense_bytes, memory_limit
from weakly.rows._keys import RowKeys, first_keys
from weakly.rows._magnitude import squarable

SIZES = {"fast": Size(1000, 100, 300, 10), "full": Size(2000, 200, 500, 10)}
SIZE_OF_MANY = Size(500, 50, 100, 5)  # in "fast", beyond so many samples:
MANY_ROWS = 10_000
FEWEST_LANDMARKS = 50
SAMPLE_ROWS = 20_000  # that preparation, components, anchors and clusterings are learned from
SAMPLE_BYTES = 2**28  # of these at most, where samples are long
FEWEST_ROWS = 3000  # however long they are


def build_bank(
    X: Any,
    n_classes: int,
    *,
    graph: str = "knn",
    effort: str = "fast",
    preparation: str = "auto",
    random_state: Any = None,
    device: str | None = None,
    verbose: int = 0,
) -> KernelBank:
    """Build the kernels of a data set; no label takes part.

    Parameters
    ----------
    X : {ndarray, csr matrix, RowBlocks} of shape (n_rows, n_features)
        Samples, float32 or float64.
    n_classes : int
        Number of classes to come: clusterings have so many clusters, and several times as many.
    graph : {"knn", "anchor"}, default="knn"
        "knn" connects samples with their nearest neighbors and holds the values of all kernels. "anchor"
        connects them through anchors and reads them three times; preparation, components and anchors are
        learned from the first 20,000 samples in an order of their contents.
    effort : {"fast", "full"}, default="fast"
        "full" takes more landmarks, eigenvectors and components.
    preparation : {"auto", "standardize", "normalize", "tf-idf", "raw"}, default="auto"
        See :func:`learn_preparation`.
    random_state : int, RandomState or None, default=None
        Draws the landmarks, and the starts of clusterings.
    device : str or None, default=None
        Where neighbors are sought, always exactly, and where kernels with the landmarks are computed;
        ``None`` is NumPy.
    verbose : int, default=0
        1 shows the stages.

    Returns
    -------
    KernelBank
        The kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.auto import build_bank
    >>> bank = build_bank(np.random.default_rng(0).normal(size=(60, 3)), n_classes=2)
    >>> bank.candidates[0].name
    'linear'
    """
    if effort not in SIZES or graph not in ("knn", "anchor") or n_classes < 2:
        raise ValueError(
            f"effort is {effort!r}, graph {graph!r} and n_classes {n_classes}: use 'fast' or 'full', 'knn' "
            "or 'anchor', and at least 2 classes."
        )
    blocks = _blocks_of(X)
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    progress = Progress("bank", verbose)
    with progress.stage("preparation"):
        found = first_keys(blocks, blocks.shape[0] if graph == "knn" else _sample_size(blocks), seed)
        rows = canonical(blocks.take(found.rows))
        squarable(rows)
        prepared = learn_preparation(rows, preparation)
        rows = prepared(rows)
    is_large = blocks.shape[0] > MANY_ROWS
    size = SIZE_OF_MANY if is_large and effort == "fast" else SIZES[effort]
    if graph == "knn":
        rows = rows.astype(np.float32, copy=False) if is_large else rows
        size = _affordable(size, rows)
    with progress.stage("principal components"):
        basis = Basis(rows, prepared, size, seed, device)
    with progress.stage("neighbours" if graph == "knn" else "anchors"):
        samples: ConnectedSamples = (
            NeighborSamples(basis, found, is_large) if graph == "knn" else AnchorSamples(basis, blocks)
        )
    return samples.bank(_candidates(Families(samples, basis, n_classes), progress))


def _candidates(families: Families, progress: Progress) -> list[Candidate]:
    found: list[Candidate] = []
    for name, stage in (
        ("kernels", families.supervised),
        ("deformed kernels", families.deformed),
        ("graph spectra and clusters", families.spectral_and_principal),
    ):
        with progress.stage(name):
            found += stage()
    return found


def _blocks_of(X: Any) -> RowBlocks:
    """Blocks as they are; of an array, which is checked, those in memory."""
    if hasattr(X, "reduce"):
        return X
    X = check_array(
        X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2, input_name="X"
    )
    return ArrayBlocks(canonical(X))


def _sample_size(blocks: RowBlocks) -> int:
    per_row = blocks.shape[1] * blocks.dtype.itemsize
    return min(SAMPLE_ROWS, max(FEWEST_ROWS, SAMPLE_BYTES // per_row))


def _affordable(size: Size, rows: Any) -> Size:
    """No more landmarks than fit half the memory limit, where the values of all samples are held."""
    per_landmark = dense_bytes(rows.shape[0], len(WIDTHS) + 2, dtype=rows.dtype)  # kernels and distances
    most = max(int(memory_limit() / 2 / per_landmark), FEWEST_LANDMARKS)
    return replace(size, n_landmarks=min(size.n_landmarks, most))


@dataclass(frozen=True, eq=False)
class Posed:
    """Labels among the samples of a bank.

    Parameters
    ----------
    candidates : list of Candidate
        Kernels with the values of the labeled samples, if not of all.
    problem : Problem
        The labels, whose rows are places in these kernels.
    columns : ndarray of shape (n_classes, n_columns)
        From the classes of the problem to the columns of decisions.
    public : ndarray of shape (n_classes,)
        Sorted class of each class of the problem.
    """

    candidates: list[Candidate]
    problem: Problem
    columns: np.ndarray
    public: np.ndarray


def pose(
    labels: Any, blocks: RowBlocks, bank: KernelBank, shares: np.ndarray | None, most_labels: int
) -> Posed:
    """Take the labels, at most so many, in an order of their own.

    Labeled samples are in the order of the bank and classes in that of their first sample, so that neither
    the order of the input nor any name of a class plays a part.
    """
    order = np.argsort(blocks.take(labels.labeled, RowKeys(bank.seed)), kind="stable")
    codes, n_classes = labels.labeled_codes[order], labels.n_classes
    public = np.argsort(np.unique(codes, return_index=True)[1])
    given = np.full(n_classes, 1 / n_classes) if shares is None else shares[public]
    problem = Problem(np.arange(len(codes)), np.argsort(public)[codes], given, shares is not None)
    problem = problem.first(most_labels)
    candidates, places = bank.at(blocks, labels.labeled[order][problem.rows])
    columns = 2 / np.sqrt(n_classes) * np.eye(n_classes)[public]  # 2 between the right class and the others
    if n_classes == 2:
        columns = (columns[:, 1:] - columns[:, :1]) / 2
    return Posed(candidates, replace(problem, rows=places), columns, public)
