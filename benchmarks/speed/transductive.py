"""Claims about the transductive machine for sparse rows."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.svm import LinearSVC

import weakly
from benchmarks.papers.wellsvm._transductive import technical_news
from benchmarks.speed.tasks import Claim, Task, first_fit, fit_all, text

N_LABELS_OF_NEWS, N_LABELS_OF_TEXT = 10, 50  # of each class
generated = partial(text, 200_000, 40_000, 87)


def news(n_terms: int | None) -> tuple[Any, np.ndarray]:
    counts, y = technical_news(n_terms)
    return TfidfTransformer().fit_transform(counts), y


def multi_switch() -> Any:
    return weakly.TransductiveLinearSVC(optimizer="multi_switch")


def fit_first_rows(n_rows: int, X: Any, y: np.ndarray) -> Task:
    return first_fit(multi_switch, N_LABELS_OF_TEXT, X[:n_rows], y[:n_rows])


TRANSDUCTIVE = [
    *(
        Claim(
            name=name,
            statement="TransductiveLinearSVC(optimizer='multi_switch') with 10 labels per class against "
            f"LinearSVC with all labels; 20 newsgroups, comp and sci against the rest, 18,774 x {columns}",
            dataset="news20",
            rows=partial(news, n_terms),
            ours=partial(first_fit, multi_switch, N_LABELS_OF_NEWS),
            rival=partial(fit_all, LinearSVC),
            ratio_limit=8.0,
        )
        for name, n_terms, columns in (
            ("transductive-news", 10_000, "10,000"),
            ("transductive-news-all", None, "61,188"),
        )
    ),
    Claim(
        name="transductive-text",
        statement="TransductiveLinearSVC(optimizer='multi_switch') with 50 labels per class; generated text, "
        "200,000 x 40,000, about 70 words a row",
        dataset="usps",
        rows=generated,
        ours=partial(first_fit, multi_switch, N_LABELS_OF_TEXT),
        memory_limit_gb=2.0,
    ),
    Claim(
        name="transductive-growth",
        statement="TransductiveLinearSVC(optimizer='multi_switch') with 50 labels per class on 200,000 rows "
        "against the same on 50,000; generated text, 40,000 columns, about 70 words a row; the limit is a "
        "quarter above linear growth",
        dataset="usps",
        rows=generated,
        ours=partial(fit_first_rows, 200_000),
        rival=partial(fit_first_rows, 50_000),
        ratio_limit=5.0,
        repeats=5,
    ),
]
