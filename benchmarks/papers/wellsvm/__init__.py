"""Convex weakly labelled support vector machines on UCI sets and published splits (Li et al., 2013)."""

from benchmarks.papers._model import Paper, table_of
from benchmarks.papers._protocols import MAJORITY, SVM, method_of, published_split_error
from benchmarks.papers.wellsvm import _uci
from benchmarks.papers.wellsvm._clustering import MANY, NEWS, TABLE11
from benchmarks.papers.wellsvm._multi_instance import BAGS, TABLE10
from benchmarks.papers.wellsvm._scale import FIGURES
from benchmarks.papers.wellsvm._transductive import (
    DIFFERS_10,
    DIFFERS_50,
    METHODS_10,
    METHODS_50,
    MOONS,
    NEWSGROUPS,
    PUBLISHED_50,
    TARGETS_50,
)

WELL = "weakly.WellSVC"
SETTINGS = {
    "WellSVM, C_unlabeled 0.01": method_of(WELL, C_unlabeled=0.01),
    "WellSVM, C_unlabeled 1": method_of(WELL, C_unlabeled=1.0),
    "WellSVM, offset 1": method_of(WELL, offset=1.0),
}
METHODS = {
    "WellSVM": method_of(WELL),
    "WellSVM, linear": method_of(WELL, kernel="linear"),
    "LapSVM": method_of("weakly.LaplacianSVC", warm_start=True),
    "SVM": SVM,
    "majority of the labels": MAJORITY,
}
NARROWER = {
    "WellSVM, offset 1": method_of(WELL, offset=1.0),
    "WellSVM, narrower kernel, C 10": method_of(WELL, C=10.0, C_unlabeled=0.1, gamma="scale"),
}

BOOK = ("ssl_g241c", "ssl_g241d", "ssl_digit1", "ssl_usps", "ssl_coil", "ssl_bci", "ssl_text")
PUBLISHED_BOOK = {
    "SVM": (47.32, 46.66, 30.60, 20.03, 68.36, 49.85, 45.37),
    "TSVM": (24.71, 50.08, 17.77, 25.20, 67.50, 49.15, 40.37),
    "WellSVM": (37.37, 43.33, 16.94, 22.74, 70.73, 48.50, 33.70),
}
OTHERS = ("g50c", "text1", "uspst")
PUBLISHED_OTHERS = {
    "SVM": (8.2, 14.8, 20.7),
    "TSVM": (8.4, 8.1, 14.5),
    "WellSVM": (7.6, 8.7, 14.3),
}

DIFFERS = (
    "The paper chooses the kernel, its width and the cost of unlabelled rows by cross-validation on the "
    "labels; here one setting serves all sets, the estimators' defaults. For WellSVM: rows as they come, an "
    "RBF kernel whose width is the root of the mean squared distance, C = 1, and unlabelled rows that cost "
    "less the more they are. That rule was picked on other draws of labels of these sets (but for COIL), on "
    "generated text, and after a look at two of these columns (Digit1 and g50c, with fixed costs of 0.05, "
    "0.07 and 0.1). Further rows of it show other settings: the best of a column is what oracle parameters "
    "would reach among them. Errors are over the unlabelled rows of the published splits. Shares of the "
    "classes come from the labels. On USPS, where one class has a fifth of the rows, labelings keep to that "
    "but the sign of the scores gives it about twice as many rows: there is no offset beside the centring. "
    "With one (*offset 1*) USPS is far better and most others far worse, for then predictions keep to the "
    "shares of ten labels. LapSVM and the SVM have fixed settings too; the published numbers of SVM and TSVM "
    "are those the paper quotes. COIL-20 of table 7 has no published splits at hand."
)
# Checked on two other draws of labels, class by class.
USPST = (
    " On uspst part of WellSVM's distance to the paper is the one setting for all sets: a narrower kernel "
    "with a higher C does better (*narrower kernel*). The rest is the model: one digit against nine is often "
    "not the split with the widest margin. On two other draws of 50 labels, in 8 of 20 such problems a "
    "labeling was found whose objective is below that of the true labels, and in 15 of 20 the mixture's is; "
    "so a better search would not help."
)


def _table(key, caption, columns, methods, n_labels, n_splits, published, targets, differs):
    return table_of(
        {row: {"n_labels": n_labels, **method} for row, method in methods.items()},
        columns,
        published,
        key=key,
        caption=caption,
        evaluate=published_split_error,
        targets=targets,
        rivals=("SVM", "majority of the labels"),
        baseline="SVM",
        datasets=columns,
        column_title="data set",
        repeats=n_splits,
        differs=differs,
    )


def _targets_of_well(**by_column):
    return {("WellSVM", column): value for column, value in by_column.items()}


PAPER = Paper(
    key="wellsvm",
    title="Convex and Scalable Weakly Labeled SVMs",
    reference="Y.-F. Li, I. W. Tsang, J. T. Kwok and Z.-H. Zhou, JMLR 14, 2013",
    tables=(
        *_uci.TABLES,
        _table(
            "table6",
            "Benchmarks of the book on semi-supervised learning, 10 labels",
            BOOK,
            METHODS | SETTINGS | METHODS_10,
            10,
            12,
            PUBLISHED_BOOK,
            _targets_of_well(ssl_g241c=25.0, ssl_digit1=17.0, ssl_text=33.0),
            DIFFERS + DIFFERS_10,
        ),
        _table(
            "table7",
            "Other sets with published splits, 50 labels",
            OTHERS,
            METHODS | NARROWER | METHODS_50,
            50,
            10,
            PUBLISHED_OTHERS | PUBLISHED_50,
            _targets_of_well(g50c=6.5, text1=8.7, uspst=20.0) | TARGETS_50,
            DIFFERS + USPST + DIFFERS_50,
        ),
        MOONS,
        NEWSGROUPS,
        *FIGURES,
        BAGS,
        TABLE10,
        TABLE11,
        NEWS,
        MANY,
    ),
)
