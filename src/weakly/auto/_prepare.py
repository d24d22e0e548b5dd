"""Bring rows to a form in which distances mean something, and say how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import Normalizer, StandardScaler

PREPARATIONS = ("auto", "standardize", "normalize", "tf-idf", "raw")
_MANY_COLUMNS = 16  # from which it can be told whether columns share one scale
_SPREAD = 4.0  # between the ranges of most columns that share one
_LARGEST_SHARE = 0.25  # of the whole variance that one of them may have


@dataclass(frozen=True, eq=False)
class Preparation:
    """How rows are prepared, learned from the training rows.

    Parameters
    ----------
    kind : {"standardize", "normalize", "tf-idf", "raw"}
        What is done.
    reason : str
        Why, in words.
    transformer : transformer or None
        Fitted; ``None`` leaves rows as they are. Dense rows are centered in any case but "normalize" and
        "tf-idf".
    """

    kind: str
    reason: str
    transformer: Any = None

    def __call__(self, X: Any) -> Any:
        """Prepare rows."""
        if self.transformer is None:
            return X
        prepared = self.transformer.transform(X)
        return sp.csr_array(prepared) if sp.issparse(prepared) else prepared

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason}"


def learn_preparation(X: Any, kind: str = "auto") -> Preparation:
    """Decide how rows are prepared, and learn what that takes.

    Parameters
    ----------
    X : {ndarray, csr matrix} of shape (n_rows, n_features)
        Training rows.
    kind : {"auto", "standardize", "normalize", "tf-idf", "raw"}, default="auto"
        "auto" looks at the rows: counts of words are weighed by tf-idf, other sparse rows without negative
        entries get length 1, dense columns are standardized unless they share one scale, as pixels do.

    Returns
    -------
    Preparation
        To be called with rows.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.auto import learn_preparation
    >>> print(learn_preparation(np.array([[1.0, 2000.0], [2.0, 1000.0]])))
    standardize: the columns have scales of their own
    """
    if kind not in PREPARATIONS:
        raise ValueError(f"preparation is {kind!r}: use one of {', '.join(PREPARATIONS)}.")
    kind, reason = (kind, "as asked") if kind != "auto" else _detect(X)
    transformer = {
        "standardize": StandardScaler(with_mean=not sp.issparse(X)),
        "normalize": Normalizer(),
        "tf-idf": TfidfTransformer(sublinear_tf=True),
        # Far from 0, single precision would see nothing but the offset.
        "raw": None if sp.issparse(X) else StandardScaler(with_std=False),
    }[kind]
    return Preparation(kind, reason, None if transformer is None else transformer.fit(X))


def _detect(X: Any) -> tuple[str, str]:
    if sp.issparse(X):
        if X.nnz and X.data.min() < 0:
            return "raw", "sparse rows with negative entries are taken as scaled already"
        if X.nnz and X.data.max() > 1 and (X.data == np.floor(X.data)).all():
            return "tf-idf", "sparse whole numbers are taken as counts of words"
        return "normalize", "sparse rows are compared by their angle"
    low, high = X.min(axis=0), X.max(axis=0)
    ranges = (high - low)[high > low]
    if len(ranges) < _MANY_COLUMNS:
        return "standardize", "the columns have scales of their own"
    variances = X.var(axis=0, dtype=np.float64)
    few, most = np.quantile(ranges, [0.1, 0.9])
    # Pixels at the border of pictures hardly vary, but like all others they begin at black.
    like_pixels = np.mean(low == low.min()) >= 0.9 and np.mean(high == high.max()) >= 0.5
    if (most <= _SPREAD * few or like_pixels) and variances.max() <= _LARGEST_SHARE * variances.sum():
        return "raw", "the columns share one scale"
    return "standardize", "the columns have scales of their own"
