"""Diverse density: concepts near an instance of every positive bag and far from all of the negative ones.

A concept is a point ``t`` with scales ``s``. An instance ``x`` belongs to it with the probability
``p = exp(-sum_k s_k^2 (x_k - t_k)^2)``. A bag is positive if any of its instances belongs to the concept
[maron1998]_, or by the most likely one of them alone, which is found in turn with the concept [zhang2002]_.
The objective has many minima, and so there are many starts, of which all take their steps at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from weakly.multi_instance._many_starts import ManyMinima, minimize_many, relative_norms
from weakly.solvers._result import SolverResult

Callback = Callable[[float], object]
Watch = Callable[[np.ndarray], object]
Energies = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]

_FLOOR = 1e-6  # of squared distances: a concept on an instance of a negative bag would have infinite energy
_FAR = 30.0  # squared distance from which a bag is as likely as its instances together, to rounding
_BLOCK_BYTES = 100_000_000  # that may be held at once for starts
_COPIES = 6  # arrays over all rows that an evaluation holds
_LEAST_FACTOR = 1e-9  # that stands for 0, where a concept lies infinitely far away
_MEMORY = 10  # steps from which curvature is known
_PARAMETER_BYTES = 8 * (2 * _MEMORY + 8)
_CHUNK = 128  # starts whose distances to all rows are held at once; more are slower, for caches


@dataclass(frozen=True, slots=True)
class StartEnergies:
    """Detail of a search from several starts: the energy reached from each, lowest first as in ``x``."""

    start_energies: np.ndarray


def solve_diverse_density(
    rows: np.ndarray | sp.csr_array,
    bag_of: np.ndarray,
    is_positive: np.ndarray,
    starts: np.ndarray,
    scales: np.ndarray,
    *,
    cause: str = "any",
    fit_scales: bool = True,
    tol: float = 1e-4,
    max_iter: int = 200,
    callback: Callback | None = None,
) -> SolverResult:
    """Find the concepts of locally largest diverse density, each from a start of its own.

    Bags in ``bag_of`` are sorted, from 0 and without gaps. ``starts`` are first points, as a rule instances
    of positive bags, and ``scales`` the first scales of all; a scale of 0 stays as it is: its feature has no
    part in any concept. With ``cause="any"`` any instance may make a bag positive (noisy or), with "one" the
    most likely one does (EM-DD).

    ``tol`` is the largest norm of the gradient, in units set by the first scales, relative to the energy or
    to 1 if that is less; for "one" also the fraction of the energy by which a new choice of instances must
    lower it. ``max_iter`` counts steps from each start, for "one" over all choices of instances.
    ``callback`` sees the lowest energy of the starts at hand.

    ``x`` of shape (n_starts, 2, n_features) holds points and scales, concepts of low energy first, and
    ``detail.start_energies`` their energies: minus the logarithm of the likelihood of all bags. Objective
    and criterion are those of the best concept at the beginning and at the end, ``n_iter`` is the largest
    over starts. For "one" the criterion at the end is that of the instances for which the concept was
    fitted.
    """
    bags = _Bags.of(rows, bag_of, is_positive, scales)
    points = bags.parameters(starts, fit_scales)
    watch = None if callback is None else lambda values: callback(float(values.min()))
    descend = {"any": _descend_any, "one": _descend_one}[cause]
    begins: list[ManyMinima] = []
    ends: list[ManyMinima] = []
    n_blocks = -(-points.size * _PARAMETER_BYTES // _BLOCK_BYTES)
    for block in np.array_split(points, min(n_blocks, len(points))):
        begins.append(descend(bags, block, tol, 0, None))
        goes_on = not any(found.stopped for found in begins + ends)
        ends.append(descend(bags, block, tol, max_iter, watch) if goes_on else begins[-1])
    return _result(bags, _join(begins), _join(ends), max_iter)


def _join(minima: list[ManyMinima]) -> ManyMinima:
    *parts, stops = zip(*minima, strict=True)
    points, values, criteria, n_iter, converged = map(np.concatenate, parts)
    return ManyMinima(points, values, criteria, n_iter, converged, next(filter(None, stops), ""))


def _result(bags: _Bags, begin: ManyMinima, end: ManyMinima, max_iter: int) -> SolverResult:
    order = np.argsort(end.values, kind="stable")
    first, best = int(begin.values.argmin()), int(order[0])
    status = "max_iter" if end.n_iter[best] >= max_iter else "stalled"
    status = end.stopped or ("converged" if end.converged[best] else status)
    return SolverResult(
        x=bags.concepts(end.points[order]),
        objective=np.array([begin.values[first], end.values[best]]),
        criterion=np.array([begin.criteria[first], end.criteria[best]]),
        n_iter=int(end.n_iter.max()),
        status=status,
        detail=StartEnergies(end.values[order]),
    )


class _Bags(NamedTuple):
    """Rows of all bags, those of positive ones first, in units in which one minimizer fits all data.

    Rows are centered, unless they are sparse, and multiplied by units such that all first scales are equal
    and the sum of their squares is 1. The parameters of a concept are the scales ``r`` in these units, its
    factors, and ``u = r t``, its image: ``d2 = ||r x - u||^2`` is convex in them, and not in ``(t, s)``, from
    which quasi-Newton steps take several times as long.
    """

    terms: Any  # squares of rows beside rows: squared distances are linear in them
    bag_of: np.ndarray
    firsts: np.ndarray  # first row of each bag
    n_positive: int  # bags
    center: np.ndarray
    units: np.ndarray

    @classmethod
    def of(cls, rows: Any, bag_of: np.ndarray, is_positive: np.ndarray, scales: np.ndarray) -> _Bags:
        order = np.argsort(~is_positive[bag_of], kind="stable")
        firsts = np.flatnonzero(np.diff(bag_of[order], prepend=-1))
        sizes = np.diff(firsts, append=len(order))
        new_bag_of = np.repeat(np.arange(len(firsts)), sizes)
        units = np.asarray(scales, dtype=np.float64) * np.sqrt(len(scales))
        if sp.issparse(rows):
            rows, center = sp.csr_array(rows[order], dtype=np.float64, copy=True), np.zeros(len(units))
            rows.data *= units[rows.indices]
            terms = sp.hstack([rows * rows, rows], format="csr")
        else:
            rows = rows[order].astype(np.float64)
            center = rows.mean(axis=0)  # or else distances were small differences of large numbers
            rows = (rows - center) * units
            terms = np.hstack([rows * rows, rows])
        return cls(terms, new_bag_of, firsts, int(is_positive.sum()), center, units)

    def parameters(self, starts: np.ndarray, fit_scales: bool) -> np.ndarray:
        rows = (np.asarray(starts, dtype=np.float64) - self.center) * self.units
        first = np.full_like(rows, rows.shape[1] ** -0.5)
        return np.hstack([first * rows, first]) if fit_scales else first * rows

    def concepts(self, parameters: np.ndarray) -> np.ndarray:
        images, factors = _split(parameters, len(self.units))
        factors = np.where(np.abs(factors) < _LEAST_FACTOR, _LEAST_FACTOR, factors)
        points = images / (factors * np.where(self.units == 0, 1.0, self.units)) + self.center
        return np.stack([points, np.abs(np.broadcast_to(factors * self.units, points.shape))], axis=1)


def _split(parameters: np.ndarray, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Images and factors, which all starts share where they are not fitted."""
    factors = parameters[:, n_features:]
    return parameters[:, :n_features], factors if factors.size else np.full((1, n_features), n_features**-0.5)


def _distances(terms: Any, parameters: np.ndarray) -> np.ndarray:
    """Squared distances of rows (n_rows, n_points)."""
    images, factors = _split(parameters, terms.shape[1] // 2)
    products = terms @ np.hstack([np.broadcast_to(factors**2, images.shape), -2 * factors * images]).T
    products += np.vecdot(images, images)
    return np.maximum(products, 0.0, out=products)


def _gradients(terms: Any, parameters: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """From the slopes of the energy in the squared distances."""
    n_features = terms.shape[1] // 2
    images, factors = _split(parameters, n_features)
    sums = slopes.T @ terms
    squares, products = sums[:, :n_features], sums[:, n_features:]
    by_images = 2 * (slopes.sum(axis=0)[:, None] * images - factors * products)
    if parameters.shape[1] == n_features:
        return by_images
    return np.hstack([by_images, 2 * (factors * squares - images * products)])


def _assess(
    terms: Any, energies: Energies, parameters: np.ndarray, which: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Values and gradients, for as many starts at once as caches and memory like."""
    values, gradients = np.empty(len(parameters)), np.empty_like(parameters)
    for chunk in _chunks(len(parameters), terms.shape[0]):
        values[chunk], slopes = energies(_distances(terms, parameters[chunk]), which[chunk])
        gradients[chunk] = _gradients(terms, parameters[chunk], slopes)
    return values, gradients


def _chunks(n_starts: int, n_rows: int) -> list[slice]:
    size = int(np.clip(_BLOCK_BYTES // (8 * _COPIES * n_rows), 1, _CHUNK))
    return [slice(at, at + size) for at in range(0, n_starts, size)]


def _descend_any(
    bags: _Bags, points: np.ndarray, tol: float, max_iter: int, watch: Watch | None
) -> ManyMinima:
    energy = partial(_assess, bags.terms, lambda distances, _: _by_any(bags, distances))
    return minimize_many(energy, points, tol=tol, max_iter=max_iter, memory=_MEMORY, callback=watch)


def _by_any(bags: _Bags, distances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Energies where any instance may be the cause, and their slopes in the squared distances."""
    distances, slopes = _floored(distances)  # [maron1998] section 2
    n_rows = int(np.searchsorted(bags.bag_of, bags.n_positive))
    values, slopes_there = _unlikely(distances[n_rows:])
    slopes[n_rows:] *= slopes_there
    total = values.sum(axis=0)
    if n_rows:
        parts = distances[:n_rows], bags.bag_of[:n_rows], bags.firsts[: bags.n_positive]
        values, slopes_there = _any_likely(*parts)
        slopes[:n_rows] *= slopes_there
        total += values.sum(axis=0)
    return total, slopes


def _floored(distances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Squared distances that end smoothly at the floor, and their slopes in the plain ones."""
    floored = np.sqrt(distances * distances + _FLOOR**2)
    return floored, distances / floored


def _unlikely(distances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Energies ``-log(1 - p)`` and their slopes."""
    others = -np.expm1(-distances)
    return -np.log(others), 1 - 1 / others


def _any_likely(
    distances: np.ndarray, bag_of: np.ndarray, firsts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Energies ``-log(1 - prod_i (1 - p_i))`` of bags, and slopes of all rows.

    In bags that are far the product is 1 to rounding, and the energy is that of ``sum_i p_i``; their
    probabilities are relative to the largest, for they may all be too small for a number.
    """
    nearest = np.minimum.reduceat(distances, firsts, axis=0)
    is_far = nearest > _FAR
    any_far = bool(is_far.any())
    shares = np.exp(np.where(is_far, nearest, 0.0)[bag_of] - distances if any_far else -distances)
    p = np.where(is_far[bag_of], 0.0, shares) if any_far else shares
    none = np.add.reduceat(np.log1p(-p), firsts, axis=0)  # logarithm of the product
    none[is_far] = -1.0  # any number that does no harm
    some = -np.expm1(none)
    values, factors = -np.log(some), np.exp(none) / some
    if any_far:
        total = np.add.reduceat(shares, firsts, axis=0)[is_far]
        values[is_far], factors[is_far] = nearest[is_far] - np.log(total), 1 / total
    return values, shares * factors[bag_of] / (1 - p)


def _descend_one(
    bags: _Bags, points: np.ndarray, tol: float, max_iter: int, watch: Watch | None
) -> ManyMinima:
    """Choose the most likely instances and fit the concept to them, in turn [zhang2002]_.

    A new choice lowers the energy of positive bags and raises that of negative ones: what is returned is the
    best of all concepts on the way.
    """
    chosen, values = _choose(bags, points)
    active, n_iter = np.arange(len(points)), np.zeros(len(points), dtype=np.intp)
    criteria = relative_norms(*_ChosenEnergy(bags, chosen)(points, active))
    best = ManyMinima(points.copy(), values, criteria, n_iter, np.zeros(len(points), dtype=bool), "")
    while len(active) and not best.stopped:
        energy, limits = _ChosenEnergy(bags, chosen[active]), max_iter - n_iter[active]
        start = best.points[active]
        fit = minimize_many(energy, start, tol=tol, max_iter=limits, memory=_MEMORY, callback=watch)
        then, values = _choose(bags, fit.points)
        gain = best.values[active] - values
        is_settled = (then == chosen[active]).all(axis=1) | (gain <= tol * np.maximum(values, 1.0))
        best.n_iter[active] += fit.n_iter
        best.converged[active] = is_settled & fit.converged
        better = active[gain > 0]
        chosen[better] = then[gain > 0]
        for kept, new in zip(best[:3], (fit.points, values, fit.criteria), strict=True):
            kept[better] = new[gain > 0]
        active = active[~is_settled & (n_iter[active] < max_iter)]
        best = best._replace(stopped=fit.stopped)
    return best


def _choose(bags: _Bags, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nearest row of each bag for each start (n_starts, n_bags), and the energies with them."""
    n_rows = bags.terms.shape[0]
    chosen = np.empty((len(parameters), len(bags.firsts)), dtype=np.intp)
    values = np.empty(len(parameters))
    for chunk in _chunks(len(parameters), n_rows):
        distances = _distances(bags.terms, parameters[chunk])
        nearest = np.minimum.reduceat(distances, bags.firsts, axis=0)
        candidates = np.where(distances == nearest[bags.bag_of], np.arange(n_rows)[:, None], n_rows)
        chosen[chunk] = np.minimum.reduceat(candidates, bags.firsts, axis=0).T
        values[chunk] = _by_chosen(nearest, bags.n_positive)[0]
    return chosen, values


def _by_chosen(distances: np.ndarray, n_positive: int) -> tuple[np.ndarray, np.ndarray]:
    """Energies by one row of each bag (n_bags, n_starts), and their slopes in the squared distances."""
    floored, slopes = _floored(distances[n_positive:])
    values, slopes_negative = _unlikely(floored)
    all_slopes = np.vstack([np.ones((n_positive, distances.shape[1])), slopes * slopes_negative])
    return values.sum(axis=0) + distances[:n_positive].sum(axis=0), all_slopes


class _ChosenEnergy:
    """The energy with given rows, one of each bag, as a function of concepts."""

    def __init__(self, bags: _Bags, chosen: np.ndarray) -> None:
        used, places = np.unique(chosen, return_inverse=True)
        self.terms, self.n_positive = bags.terms[used], bags.n_positive
        self.places = places.reshape(chosen.shape).T

    def __call__(self, parameters: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return _assess(self.terms, self._energies, parameters, which)

    def _energies(self, distances: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        places, weights = self.places[:, which], np.zeros_like(distances)
        values, slopes = _by_chosen(np.take_along_axis(distances, places, axis=0), self.n_positive)
        np.put_along_axis(weights, places, slopes, axis=0)
        return values, weights
