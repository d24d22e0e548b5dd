"""Figures 3 and 4: the weight of the prior, the learning rate, and what happens round by round."""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.papers._model import ACCURACY, Table, table_of
from benchmarks.papers._protocols import method_of
from benchmarks.papers.rmsboost._fit import varied_accuracy
from benchmarks.papers.rmsboost._rounds import value_after
from benchmarks.papers.rmsboost._tables import KMEANS, RMS, STAGED

ALPHAS = ("0.001", "0.003", "0.01", "0.03", "0.1", "0.3", "1")
RATES = ("0.01", "0.03", "0.1", "0.3", "1")
ROUNDS = ("1", "2", "5", "10", "20", "50", "100", "200")
ELSEWHERE = "On Letter, draws as in table 2; the paper's figure is of VOC2006 and has no numbers in the text."


_figure = partial(table_of, datasets=("letter",), repeats=3, quick_repeats=1)


def _varied(key: str, caption: str, name: str, columns: tuple[str, ...], title: str, differs: str) -> Table:
    return _figure(
        {"RMSB": {**STAGED, "varied": name}, "RMSB, k-means": {**KMEANS, "varied": name}},
        columns,
        key=key,
        caption=caption,
        evaluate=varied_accuracy,
        column_title=title,
        **ACCURACY,
        differs=f"{ELSEWHERE} {differs}",
    )


def _by_rounds(key: str, caption: str, rows: dict[str, tuple[str, str]], **rest: Any) -> Table:
    """Rows are a prior and a measure."""
    runs = {prior: method_of(RMS, n_estimators=200, prior=prior)["params"] for prior in ("kmeans", "staged")}
    return _figure(
        {row: {"params": runs[prior], "measure": measure} for row, (prior, measure) in rows.items()},
        ROUNDS,
        key=key,
        caption=caption,
        evaluate=value_after,
        column_title="rounds",
        **rest,
    )


def _both_priors(**measures: str) -> dict[str, tuple[str, str]]:
    """A row for each measure with either prior."""
    names = {"k-means": "kmeans", "staged": "staged"}
    return {f"{row}, {name}": (names[name], measure) for name in names for row, measure in measures.items()}


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
        **ACCURACY,
        differs=f"{ELSEWHERE} 200 rounds, in which the margin term asks for a score of 10.",
    ),
    _by_rounds(
        "figure4-gradients",
        "Letter by rounds: mean norm of the gradient of the objective by the scores of a row",
        _both_priors(labelled="labeled", unlabelled="unlabeled"),
        unit="hundredths",
        differs=ELSEWHERE,
    ),
    _by_rounds(
        "figure4-weights",
        "Letter by rounds: mean weight of unlabelled rows whose prior is right or wrong",
        _both_priors(right="right", wrong="wrong"),
        unit="hundredths",
        beside=("rows",),
        differs=ELSEWHERE,
    ),
)
