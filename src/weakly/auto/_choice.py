"""The labels choose among kernels: leave-one-out in closed form, and weights instead of a winner.

Each kernel is taken twice, under two hypotheses about the shares of the classes: that they are known, and
equal unless given (scores have mean 0 over all rows), and that they are unknown (an offset is learned).
Kernel ridge regression on the labeled samples gives the leave-one-out score of each exactly. Two rules turn
these scores into a probability of every label; the score of a kernel is the sum of their logarithms, bounded
for each label.

*A*, by the model: penalties weighted by their evidence, scores in units of their own predictive deviation.
*B*, by success: penalties weighted by the probabilities they reach, scores in units of their spread.

Weights are proportional to ``exp(score)`` times a prior: one for each family, five for the supervised one.
Where the labels are more likely under the supervised family than under the others, it decides alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby

import numpy as np
from scipy.special import gammaln, log_softmax, logsumexp, ndtr, softmax
from sklearn.utils import gen_batches

from weakly.auto._kernels import Candidate
from weakly.rows._arrays import dense_bytes, memory_limit

PENALTIES = np.logspace(-3, 1, 9)
MODEL_SCALES = (1.0, 2.0, 4.0)  # of held-out scores in units of their predictive deviation, rule A
SUCCESS_SCALES = (0.25, 0.5, 1.0, 2.0)  # of held-out scores in units of their spread, rule B
NOISE = 0.25  # variance of a target beside the model's, rule A
FLOOR = 0.01  # share of a probability that no model decides
SUPERVISED_ODDS = 5.0
_LEAST_SPREAD = 1e-6  # of held-out scores, whose targets are about 1
KEPT = 1e-4  # weight below which a kernel is left out


@dataclass(frozen=True, slots=True)
class RidgePath:
    """Ridge regressions of one or many kernels, at each of several penalties.

    Leading axes are those of the kernels, then comes the penalty. ``coefficients`` are ``a = (K + p I)^-1
    Y``, so that the scores of any rows are their kernel with these rows times ``a``; ``held_out`` is the
    score of each row by the regression without it. ``precision`` is the diagonal of ``(K + p I)^-1``: the
    inverse variance of a row given all others, in units of ``variance``. That is ``tr(Y' (K + p I)^-1 Y)``
    over the degrees of freedom, the most likely scale of the kernel, and ``log_evidence`` the log density of
    the targets under a Gaussian process with that scale, but for a constant.
    """

    coefficients: np.ndarray
    held_out: np.ndarray
    precision: np.ndarray
    variance: np.ndarray
    log_evidence: np.ndarray


def solve_ridge_path(
    gram: np.ndarray,
    targets: np.ndarray,
    penalties: np.ndarray,
    *,
    constants: Sequence[float] = (0.0,),
    n_free: int | None = None,
) -> list[RidgePath]:
    """Solve kernel ridge regression at several penalties, for a stack of kernels at once.

    ``gram`` has the kernels of the labeled samples, with leading axes, ``targets`` are the same for all of
    them, and penalties ``p`` are positive. Each of the ``constants`` is added to every entry of the kernels:
    the prior variance of an offset of the scores. There is a path for each. ``n_free`` columns of the targets
    are free, all by default; one-hot rows minus their mean have one less.

    Notes
    -----
    With ``K = Q D Q'`` every penalty costs a product. The score of a row without itself is
    ``y_i - a_i / diag_i``, [rasmussen2006]_ Eq. (5.12). A constant is a change of rank one, which
    Woodbury's identity takes into account without a second decomposition.

    References
    ----------
    .. [rasmussen2006] C. E. Rasmussen, C. K. I. Williams, "Gaussian Processes for Machine Learning", 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.auto._choice import solve_ridge_path
    >>> gram, targets = np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([[1.0], [-1.0]])
    >>> (path,) = solve_ridge_path(gram, targets, penalties=np.array([1.0]))
    >>> path.held_out[0].ravel().tolist()  # each row by the other alone: 0.5 / (1 + 1) of its target
    [-0.25, 0.25]
    """
    values, vectors = np.linalg.eigh(gram)
    # Rounding may leave eigenvalues below 0, and the smallest penalty must stay what it is.
    shrunk = 1 / (np.maximum(values, 0)[..., None, :] + penalties[:, None])
    n_free = targets.shape[1] if n_free is None else n_free
    return [_path_of(shrunk, vectors, targets, constant, n_free) for constant in constants]


def _path_of(
    shrunk: np.ndarray, vectors: np.ndarray, targets: np.ndarray, constant: float, n_free: int
) -> RidgePath:
    rotated = np.swapaxes(vectors, -1, -2)
    projected = rotated @ targets
    coefficients = vectors[..., None, :, :] @ (shrunk[..., None] * projected[..., None, :, :])
    precision = shrunk @ np.swapaxes(vectors**2, -1, -2)
    fit = np.einsum("...pi,...ic->...p", shrunk, projected**2)
    log_det = -np.log(shrunk).sum(axis=-1)
    if constant:
        # (M + c 11')^-1 = M^-1 - m m' / (1/c + 1'm) with m = M^-1 1.
        direction = (shrunk * rotated.sum(axis=-1)[..., None, :]) @ rotated
        total = 1 / constant + direction.sum(axis=-1)
        share = direction @ targets
        coefficients -= direction[..., None] * (share / total[..., None])[..., None, :]
        precision -= direction**2 / total[..., None]
        fit -= (share**2).sum(axis=-1) / total
        log_det += np.log(constant * total)
    n_rows = len(targets)
    variance = fit / (n_rows * n_free)
    return RidgePath(
        coefficients=coefficients,
        held_out=targets - coefficients / precision[..., None],
        precision=precision,
        variance=variance,
        log_evidence=-n_free / 2 * (n_rows * np.log(variance) + log_det),
    )


@dataclass(frozen=True, eq=False)
class Problem:
    """Labels of some rows of a bank.

    ``shares`` are those of the classes under the first hypothesis; where they are given, ``is_known``, there
    is no other.
    """

    rows: np.ndarray
    codes: np.ndarray
    shares: np.ndarray
    is_known: bool

    @property
    def n_classes(self) -> int:
        return len(self.shares)

    @property
    def level(self) -> np.ndarray:
        """Mean of the scores over all rows, which the targets leave out; 0 for equally frequent classes."""
        return np.sqrt(self.n_classes) * (self.shares - 1 / self.n_classes)

    @property
    def targets(self) -> np.ndarray:
        """One-hot rows minus the shares of the classes, in a scale where a score is about 1 in size."""
        return (
            np.sqrt(self.n_classes) * (np.eye(self.n_classes)[self.codes] - 1 / self.n_classes) - self.level
        )

    def first(self, n_labels: int) -> Problem:
        """The first labels alone, and one of each class whatever its place."""
        if n_labels >= len(self.rows):
            return self
        one_of_each = np.unique(self.codes, return_index=True)[1]
        others = np.setdiff1d(np.arange(len(self.rows)), one_of_each)
        kept = np.sort(np.concatenate([one_of_each, others])[: max(n_labels, len(one_of_each))])
        return replace(self, rows=self.rows[kept], codes=self.codes[kept])

    def log_priors(self) -> np.ndarray:
        """Log prior of the hypotheses: how likely they make the labels before any row is seen."""
        if self.is_known:
            return np.zeros(1)
        counts = np.bincount(self.codes, minlength=self.n_classes)
        n_labels = counts.sum()
        equal = -n_labels * np.log(self.n_classes)
        # Shares drawn uniformly: the Dirichlet-multinomial probability of the labels.
        unknown = gammaln(self.n_classes) + gammaln(counts + 1).sum() - gammaln(n_labels + self.n_classes)
        both = np.array([equal, unknown])
        return both - logsumexp(both)


@dataclass(frozen=True, eq=False)
class Rule:
    """What one rule says about kernels under one hypothesis.

    ``scores`` are sums of the log probabilities of the labels, and ``penalty_weights`` have a line for each
    kernel, of sum 1.
    """

    scores: np.ndarray
    penalty_weights: np.ndarray


def label_probabilities(scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Probability of the label of each row, from scores on a scale where 1 is a standard deviation.

    A probit for two classes, the softmax for more; a share of ``FLOOR`` is the same for all classes.
    """
    n_classes = scores.shape[-1]
    if n_classes == 2:
        margin = (scores[..., 1] - scores[..., 0]) * np.where(codes == 1, 1, -1)
        likely = ndtr(margin)
    else:
        likely = np.exp(log_softmax(scores, axis=-1))[..., np.arange(len(codes)), codes]
    return (1 - FLOOR) * likely + FLOOR / n_classes


def _mean_probabilities(scores: np.ndarray, codes: np.ndarray, scales: tuple[float, ...]) -> np.ndarray:
    """Mean over scales, as the right one is not known: kernels differ in how sure their scores are."""
    return reduce(np.add, (label_probabilities(scale * scores, codes) for scale in scales)) / len(scales)


def by_model(path: RidgePath, problem: Problem) -> Rule:
    """Rule A."""
    weights = softmax(path.log_evidence, axis=-1)
    deviation = np.sqrt(2 * (path.variance[..., None] / path.precision + NOISE))
    held_out = path.held_out + problem.level
    likely = _mean_probabilities(held_out / deviation[..., None], problem.codes, MODEL_SCALES)
    return Rule(np.log(np.einsum("mp,mpi->mi", weights, likely)).sum(axis=-1), weights)


def success_probabilities(held_out: np.ndarray, problem: Problem) -> np.ndarray:
    """Probabilities of the labels from held-out scores in units of their spread."""
    spread = np.sqrt((held_out**2).sum(axis=-1).mean(axis=-1))
    scaled = (held_out + problem.level) / np.maximum(spread, _LEAST_SPREAD)[..., None, None]
    return _mean_probabilities(scaled, problem.codes, SUCCESS_SCALES)


def by_success(path: RidgePath, problem: Problem) -> Rule:
    """Rule B."""
    scores = np.log(success_probabilities(path.held_out, problem)).sum(axis=-1)
    return Rule(logsumexp(scores, axis=-1) - np.log(len(PENALTIES)), softmax(scores, axis=-1))


RULES = (by_model, by_success)


@dataclass(frozen=True, eq=False)
class Choice:
    """Weights of all kernels, and the coefficients of the labeled samples in each.

    Models are kernels under a hypothesis, all kernels under the first of them, then all under the second.
    Each has the name of its family, the prior variance of its offset in ``constants`` and its log prior.
    ``scores``, the log probability of the labels, and ``penalties``, the ones of largest weight, have a line
    for each rule; so do the means over the penalties of the coefficients and of the leave-one-out scores,
    whose last axes are labeled samples and classes. ``problem`` has the labels that chose.
    """

    problem: Problem
    families: np.ndarray
    constants: np.ndarray
    scores: np.ndarray
    log_priors: np.ndarray
    coefficients: np.ndarray
    held_out: np.ndarray
    penalties: np.ndarray

    def weights(self, supervised: bool = False) -> np.ndarray:
        """Weights of the models by each rule, of sum 1; of the supervised ones alone if asked.

        They are alone, too, where the labels speak for them: what others add there is noise.
        """
        total = self.scores + self.log_priors
        if supervised or self.log_odds < 0:
            total = np.where(self.families == "sup", total, -np.inf)
        weights = softmax(total, axis=1)
        weights[weights < KEPT] = 0
        return weights / weights.sum(axis=1, keepdims=True)

    @property
    def log_odds(self) -> float:
        """Log odds of the labels under semi-supervised models against supervised ones, mean of the rules."""
        is_supervised = self.families == "sup"
        total = self.scores + self.log_priors - np.log(SUPERVISED_ODDS) * is_supervised
        odds = logsumexp(total[:, ~is_supervised], axis=1) - logsumexp(total[:, is_supervised], axis=1)
        n_families = len(set(self.families)) - 1
        return float(odds.mean() - np.log(max(n_families, 1)))


def choose(candidates: list[Candidate], problem: Problem) -> Choice:
    """Score every kernel by the labels."""
    gram = _stacked_grams(candidates, problem.rows)
    constants = (0.0,) if problem.is_known else (0.0, 1.0)
    groups = [_score(gram[group], problem, constants) for group in _groups(len(gram), problem)]
    # Rule by rule all kernels under the first hypothesis, then all under the second.
    scores, coefficients, held_out, penalties = (
        np.concatenate(parts, axis=2).reshape(len(RULES), -1, *parts[0].shape[3:])
        for parts in zip(*groups, strict=True)
    )
    families = np.array([candidate.family for candidate in candidates])
    sizes = {family: np.sum(families == family) for family in set(families)}
    kernel_priors = np.array([-np.log(sizes[family]) for family in families])
    kernel_priors += np.log(SUPERVISED_ODDS) * (families == "sup")
    return Choice(
        problem=problem,
        families=np.tile(families, len(constants)),
        constants=np.repeat(constants, len(candidates)),
        scores=scores,
        log_priors=np.concatenate([kernel_priors + prior for prior in problem.log_priors()]),
        coefficients=coefficients,
        held_out=held_out,
        penalties=penalties,
    )


def _groups(n_kernels: int, problem: Problem) -> Iterator[slice]:
    """Kernels so many at a time that the paths of all penalties fit a part of the memory limit."""
    per_kernel = dense_bytes(len(PENALTIES), len(problem.rows), problem.n_classes, copies=16)
    return gen_batches(n_kernels, max(1, int(memory_limit() / 4 / per_kernel)))


def _score(gram: np.ndarray, problem: Problem, constants: tuple[float, ...]) -> tuple[np.ndarray, ...]:
    """Scores, coefficients, held-out scores and best penalties of some kernels, by rule and hypothesis."""
    n_free = problem.n_classes - 1
    paths = solve_ridge_path(gram, problem.targets, PENALTIES, constants=constants, n_free=n_free)
    rules = [[rule(path, problem) for path in paths] for rule in RULES]

    def each(part: Callable[[Rule, RidgePath], np.ndarray]) -> np.ndarray:
        return np.array([[part(rule, path) for rule, path in zip(row, paths, strict=True)] for row in rules])

    return (
        each(lambda rule, path: rule.scores),
        each(lambda rule, path: np.einsum("mp,mpic->mic", rule.penalty_weights, path.coefficients)),
        each(lambda rule, path: np.einsum("mp,mpic->mic", rule.penalty_weights, path.held_out)),
        each(lambda rule, path: PENALTIES[rule.penalty_weights.argmax(axis=1)]),
    )


def _stacked_grams(candidates: list[Candidate], rows: np.ndarray) -> np.ndarray:
    """Kernels of the labeled samples; coordinates are taken once for all kernels that share them."""
    grams = []
    for coordinates, group in groupby(candidates, key=lambda candidate: candidate.space.coordinates):
        weights = [candidate.space.weights for candidate in group]
        if len(weights) == 1:
            grams.append(coordinates.gram(rows, weights[0]))
        else:
            Z = coordinates.of(rows)
            grams += [(Z * weight) @ Z.T for weight in weights]
    return np.stack(grams)
