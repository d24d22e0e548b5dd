"""A graph as a change of space, and the supervised problem that is left on the labelled rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from weakly.rows._arrays import cast as cast_array
from weakly.rows._arrays import dtype_of, is_tensor
from weakly.spaces._base import FeatureSpace, KernelSpace, ScoreFunction
from weakly.spaces._protocols import BaseSpace, Factor, Space


@dataclass(frozen=True, eq=False)
class DeformedSpace:
    """A space whose norm includes the manifold penalty: ``a ||f||^2 + g f'Lf``.

    Build it with :func:`deform`. The parameters are those of ``base``, and so are scores of new rows.

    Parameters
    ----------
    base : KernelSpace, FeatureSpace or CorrectedSpace
        The space that is deformed.
    laplacian : csr_array of shape (n_rows, n_rows)
        Symmetric graph Laplacian ``L``.
    ambient : float
        Weight ``a`` of the norm of ``base``.
    graph : float
        Weight ``g`` of the graph.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from weakly.spaces import DeformedSpace, KernelSpace
    >>> space = DeformedSpace(KernelSpace(np.eye(2)), sp.csr_array((2, 2)), ambient=4.0, graph=0.0)
    >>> space.adjoint(np.array([1.0, 2.0])).tolist()
    [0.25, 0.5]
    """

    base: Space
    laplacian: sp.csr_array
    ambient: float
    graph: float

    @property
    def n_rows(self) -> int:
        return self.base.n_rows

    @property
    def n_params(self) -> int:
        return self.base.n_params

    @property
    def dtype(self) -> np.dtype:
        return self.base.dtype

    @property
    def xp(self) -> Any:
        return self.base.xp

    @property
    def has_gram(self) -> bool:
        return False  # the one of the base is not of this norm

    @property
    def has_blocks(self) -> bool:
        return self.base.has_blocks

    @property
    def has_own_values(self) -> bool:
        return self.base.has_own_values

    @cached_property
    def factor(self) -> Factor:
        """The factorisation of ``T``, done when first needed."""
        if self.graph == 0:
            ambient = self.ambient
            return Factor(lambda theta: theta / ambient, lambda theta: theta / ambient**0.5)
        return cast(BaseSpace, self.base).factor(self.laplacian, self.ambient, self.graph)

    @cached_property
    def _placed_laplacian(self) -> Any:
        """The Laplacian where the space lives."""
        return self.xp.operator(self.laplacian, self.dtype)

    def own(self, array: np.ndarray) -> np.ndarray:
        """Put an array where the space lives: in its type, and on its device if it has one."""
        return self.xp.place(array, self.dtype if dtype_of(array).kind == "f" else None)

    def apply(self, theta: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """``T theta`` without a factorisation, from the scores of ``theta``."""
        if self.graph == 0:
            return self.ambient * theta
        laplacian = self._placed_laplacian if is_tensor(scores) else self.laplacian
        return self.ambient * theta + self.graph * self.base.adjoint(laplacian @ scores)

    def image(self, theta: np.ndarray) -> np.ndarray:
        """``T theta`` as a check of a solution: single precision of features adds no error to it."""
        base = self.base
        if self.graph == 0 or not isinstance(base, FeatureSpace):
            return self.apply(theta, self.scores(theta))
        return self.ambient * theta + self.graph * base.smoothed(self.laplacian, theta)

    def scores(self, theta: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Values on the training rows, or on some of them."""
        return self.base.scores(theta, rows)

    def adjoint(self, values: np.ndarray) -> np.ndarray:
        """``T^-1 A* v``."""
        theta = self.factor.solve(self.base.adjoint(values))
        return cast_array(theta, self.dtype)

    def inner(self, a: np.ndarray, b: np.ndarray, scores: np.ndarray | None = None) -> np.ndarray:
        """Column by column ``<a, T b>``; ``scores`` are those of ``b``, where the caller has them."""
        return self.base.inner(a, self.apply(b, self.base.scores(b) if scores is None else scores))

    def induced(self, theta: np.ndarray) -> np.ndarray:
        """What the function says of the training rows as if they were new."""
        return self.base.induced(theta)

    def function(self, theta: np.ndarray) -> ScoreFunction:
        """The function with these parameters, for new rows."""
        return self.base.function(theta)


def deform(base: Space, laplacian: sp.csr_array, *, ambient: float, graph: float) -> DeformedSpace:
    """Put a manifold penalty into the norm of a space.

    Kernels become ``K (a I + g L K)^-1``, features ``Z C^-T`` with ``C C' = a I + g Z'LZ``.

    Parameters
    ----------
    base : KernelSpace, FeatureSpace or CorrectedSpace
        The space to deform.
    laplacian : csr_array of shape (n_rows, n_rows)
        Symmetric graph Laplacian.
    ambient : float
        Weight of the norm of ``base``, positive.
    graph : float
        Weight of ``f'Lf``, at least 0.

    Returns
    -------
    DeformedSpace
        Factored when first needed, and once.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.graphs import affinity_graph
    >>> from weakly.spaces import KernelSpace, deform
    >>> laplacian = affinity_graph([[0, 1], [1, 0]]).laplacian("unnormalized")
    >>> smooth = deform(KernelSpace(np.eye(2)), laplacian, ambient=1.0, graph=1000.0)
    >>> smooth.scores(smooth.adjoint(np.array([1.0, 0.0]))).round(2).tolist()
    [0.5, 0.5]
    """
    if not 0 < ambient < np.inf:
        raise ValueError(f"ambient is {ambient}: the weight of the norm must be a positive number.")
    if not 0 <= graph < np.inf:
        raise ValueError(f"graph is {graph}: the weight of the graph must be 0 or a positive number.")
    if laplacian.shape != (base.n_rows, base.n_rows):
        raise ValueError(
            f"laplacian has shape {laplacian.shape} for {base.n_rows} rows: it must be square and match."
        )
    # Plain floats leave float32 arrays what they are; NumPy's do not.
    return DeformedSpace(base, laplacian, float(ambient), float(graph))


def undeformed(base: Space) -> DeformedSpace:
    """Hand a space as it is to a solver that asks for a deformed one.

    Parameters
    ----------
    base : KernelSpace or FeatureSpace
        The space.

    Returns
    -------
    DeformedSpace
        With the norm of ``base``.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.spaces import KernelSpace, undeformed
    >>> undeformed(KernelSpace(np.eye(2))).adjoint(np.array([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    return deform(base, sp.csr_array((base.n_rows, base.n_rows)), ambient=1.0, graph=0.0)


@dataclass(frozen=True, eq=False)
class Restriction:
    """A supervised problem on some rows of a space.

    Parameters
    ----------
    space : KernelSpace or FeatureSpace
        A space over those rows alone, with the norm of the whole.
    lift : callable
        From its parameters to those of the whole space.
    """

    space: BaseSpace
    lift: Callable[[np.ndarray], np.ndarray]


def whiten(space: DeformedSpace) -> Restriction | None:
    """Put the norm of a deformed space into its features: the same functions, with the plain norm.

    Parameters
    ----------
    space : DeformedSpace
        The space; it is factored, if it was not before.

    Returns
    -------
    Restriction or None
        A space over all rows and the way back; ``None`` for kernels and for sparse features, which would
        become dense.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from weakly.spaces import FeatureSpace, deform, whiten
    >>> space = deform(FeatureSpace(np.array([[2.0], [4.0]])), sp.csr_array((2, 2)), ambient=4.0, graph=0.0)
    >>> whiten(space).space.features.tolist()
    [[1.0], [2.0]]
    """
    base, root_solve = space.base, space.factor.root_solve
    if not isinstance(base, FeatureSpace) or root_solve is None or sp.issparse(base.features):
        return None
    return _whitened(base, root_solve)


def _whitened(
    base: FeatureSpace, root_solve: Callable[[np.ndarray], np.ndarray], rows: np.ndarray | None = None
) -> Restriction:
    inverse_root = root_solve(np.eye(base.n_params))
    return Restriction(base.combined(inverse_root.T, rows), lambda theta: inverse_root.T @ theta)


def restrict(space: DeformedSpace, rows: np.ndarray) -> Restriction:
    """Reduce a problem whose loss sees only ``rows`` to those rows.

    By the representer theorem the minimiser is ``A* E beta``: a kernel problem with as many unknowns as
    rows. With more rows than parameters the problem stays in the features.

    Parameters
    ----------
    space : DeformedSpace
        The whole space.
    rows : ndarray of int
        Rows with a loss.

    Returns
    -------
    Restriction
        The small space and the way back, both in float64.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from weakly.spaces import KernelSpace, deform, restrict
    >>> space = deform(KernelSpace(np.diag([2.0, 3.0])), sp.csr_array((2, 2)), ambient=0.5, graph=0.0)
    >>> restrict(space, np.array([1])).space.gram.tolist()
    [[6.0]]
    """
    base, root_solve = cast(BaseSpace, space.base), space.factor.root_solve
    if isinstance(base, FeatureSpace) and root_solve is not None and len(rows) > base.n_params:
        return _whitened(base, root_solve, rows)
    representers = space.factor.solve(base.representers(rows))
    gram = base.scores(representers, rows)
    return Restriction(KernelSpace((gram + gram.T) / 2), lambda theta: representers @ theta)
