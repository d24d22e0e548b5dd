"""Spaces of functions over rows.

A space answers four questions about its functions, each given by parameters ``theta``:

===================  ==========================================================  ===========  ============
question             meaning                                                     kernel       features
===================  ==========================================================  ===========  ============
``scores(theta)``    ``A theta``, the values on the training rows                ``K theta``  ``Z theta``
``adjoint(v)``       ``A* v``, with ``<A* v, theta>_H = v' A theta``             ``v``        ``Z' v``
``inner(a, b)``      ``<a, b>_H``; with ``a = b`` the penalty ``||f||_H^2``      ``a' K b``   ``a' b``
``function(theta)``  a function of new rows, free of the training matrices       ``k(X) t``   ``z(X) t``
===================  ==========================================================  ===========  ============

The adjoint is taken in the metric of the space: for a kernel it is the identity, which is why a gradient
step in function space costs one product with ``K`` and not two. Two pieces of dense algebra differ
between kernels and features, and live with them: ``normal_equations`` (weighted ridge) and ``factor``. A
:class:`CorrectedSpace`, features plus a value of its own for every row, has neither: solvers iterate on it.

**A graph is a change of space.** :func:`deform` puts the manifold penalty into the norm,
``||f||^2 = a ||f||_H^2 + g f'Lf``. With ``T = a I + g A*LA`` the scores stay and the adjoint becomes
``T^-1 A*``. A Laplacian method is then a supervised method on the labelled rows of the deformed space
(:func:`restrict`), and one factorisation of ``T`` serves all classes, losses and label sets.

**Many kernels share their features.** Every function of the spectrum of a Laplacian, or of a covariance, is a
kernel with the same eigenvectors and other weights: a :class:`FilteredSpace` is such weights on shared
:class:`Coordinates`, centred, and free of anything n x n.

**Dense algebra may run on a GPU.** ``build_space(..., device="cuda")`` gives the same spaces with matrices
on a device, through PyTorch: the array library is the parameter ``xp`` of a space. They answer in the kind of
array that they are asked in, NumPy's or tensors.

**Solvers ask for what a space can do**, not for its class: whether it ``has_gram``, ``has_own_values`` or
``has_blocks``, the ``mean_square`` of its kernel, the ``products`` of some rows, their ``squared_norms`` and
the ``largest_product``, products with combinations of rows (``expand``), and the space of a ``part`` of them.

Methods that must see all rows in every step ask for the function nearest to given values instead
(:func:`build_smoother`).
"""

from weakly.spaces._anchored import AnchoredSpace, BlockAnchorGraph, anchor_space, block_anchor_graph
from weakly.spaces._base import FeatureSpace, KernelSpace, ScoreFunction
from weakly.spaces._build import APPROXIMATIONS, build_space, exact_space
from weakly.spaces._corrected import CorrectedSpace
from weakly.spaces._deformed import DeformedSpace, Restriction, deform, restrict, undeformed, whiten
from weakly.spaces._filtered import Coordinates, FilteredSpace
from weakly.spaces._protocols import BaseSpace, NormalEquations, Space
from weakly.spaces._smoother import Smoother, build_smoother

__all__ = [
    "APPROXIMATIONS",
    "AnchoredSpace",
    "BaseSpace",
    "BlockAnchorGraph",
    "Coordinates",
    "CorrectedSpace",
    "DeformedSpace",
    "FeatureSpace",
    "FilteredSpace",
    "KernelSpace",
    "NormalEquations",
    "Restriction",
    "ScoreFunction",
    "Smoother",
    "Space",
    "anchor_space",
    "block_anchor_graph",
    "build_smoother",
    "build_space",
    "deform",
    "exact_space",
    "restrict",
    "undeformed",
    "whiten",
]
