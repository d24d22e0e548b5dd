"""Figures 3 and 4: the weight of the prior, the learning rate, and what happens round by round."""

from __future__ import annotations

from typing import Any

from benchmarks.papers._model import Table
from benchmarks.papers.rmsboost._fit import varied_accuracy
from benchmarks.papers.rmsboost._rounds import value_after
from benchmarks.papers.rmsboost._tables import KMEANS, STAGED, boosted

ALPHAS = ("0.001", "0.003", "0.01", "0.03", "0.1", "0.3", "1")
RATES = ("0.01", "0.03", "0.1", "0.3", "1")
ROUNDS = ("1", "2", "5", "10", "20", "50", "100", "200")
ELSEWHERE = "On Letter, draws as in table 2; the paper's figure is of VOC2006 and has no numbers in the text."


def _figure(key: str, caption: str, settings: dict[str, Any], columns: tuple[str, ...], **rest: Any) -> Table:
    return Table(
        key=key,
        caption=caption,
        rows=tuple(settings),
        columns=columns,
        settings=settings,
        datasets=("letter",),
        repeats=3,
        quick_repeats=1,
        **rest,
    )


def _varied(key: str, caption: str, name: str, columns: tuple[str, ...], title: str, differs: str) -> Table:
    return _figure(
        key,
        caption,
        {"RMSB": {**STAGED, "varied": name}, "RMSB, k-means": {**KMEANS, "varied": name}},
        columns,
        evaluate=varied_accuracy,
        unit="accuracy %",
        column_title=title,
        lower_is_better=False,
        differs=f"{ELSEWHERE} {differs}",
    )


def _by_rounds(key: str, caption: str, rows: dict[str, tuple[str, str]], **rest: Any) -> Table:
    """Rows are a prior and a measure."""
    runs = {prior: boosted(n_estimators=200, prior=prior)["params"] for prior in ("kmeans", "staged")}
    return _figure(
        key,
        caption,
        {row: {"params": runs[prior], "measure": measure} for row, (prior, measure) in rows.items()},
        ROUNDS,
        evaluate=value_after,
        column_title="rounds",
        **rest,
    )


FIGURES = (
    _varied(
        "figure3-alpha",
        "Letter by the weight of the prior",
        "alpha",
        ALPHAS,
        "alpha",
        "The weight of the margin is a tenth of alpha. The default is the share of labelled rows, 0.05.",
    ),
    _varied(
        "figure3-rate",
        "Letter by the learning rate",
        "learning_rate",
        RATES,
        "learning rate",
        "50 rounds whatever the rate; the margin follows it. The default is 0.1.",
    ),
    _by_rounds(
        "figure4-accuracy",
        "Letter by rounds",
        {"RMSB": ("staged", "accuracy"), "RMSB, k-means": ("kmeans", "accuracy")},
        unit="accuracy %",
        lower_is_better=False,
        differs=f"{ELSEWHERE} 200 rounds, in which the margin term asks for a score of 10.",
    ),
    _by_rounds(
        "figure4-gradients",
        "Letter by rounds: mean norm of the gradient of the objective by the scores of a row",
        {
            "labelled, k-means": ("kmeans", "labeled"),
            "unlabelled, k-means": ("kmeans", "unlabeled"),
            "labelled, staged": ("staged", "labeled"),
            "unlabelled, staged": ("staged", "unlabeled"),
        },
        unit="hundredths",
        differs=ELSEWHERE,
    ),
    _by_rounds(
        "figure4-weights",
        "Letter by rounds: mean weight of unlabelled rows whose prior is right or wrong",
        {
            "right, k-means": ("kmeans", "right"),
            "wrong, k-means": ("kmeans", "wrong"),
            "right, staged": ("staged", "right"),
            "wrong, staged": ("staged", "wrong"),
        },
        unit="hundredths",
        beside=("rows",),
        differs=ELSEWHERE,
    ),
)
