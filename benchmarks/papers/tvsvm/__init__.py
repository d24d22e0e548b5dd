"""Total variation and Laplacian classifiers on USPS digits (Bresson and Zhang, 2012)."""

from benchmarks.papers._model import Paper, by_place, table_of
from benchmarks.papers._protocols import SVM, method_of, transductive_error, transductive_failure

# One setting for both tables and all numbers of labels; the paper does not print its own.
LAPLACIAN = {
    "kernel": "rbf",
    "gamma": "median",
    "ambient_penalty": 1e-3,
    "graph_penalty": 0.1,
    "n_neighbors": 5,
    "graph_weights": "self-tuning",
    "laplacian": "unnormalized",  # L = D - W, as in the paper
    "warm_start": True,
}
RLS, LAPLACIAN_SVC = "weakly.LaplacianRLSClassifier", "weakly.LaplacianSVC"
METHODS = {
    "Lap-RLS": method_of(RLS, **LAPLACIAN),
    "Lap-RLS, threshold 0": method_of(RLS, **LAPLACIAN, class_prior=None),
    "Lap-SVM": method_of(LAPLACIAN_SVC, **LAPLACIAN),
    "Lap-SVM, hinge": method_of(LAPLACIAN_SVC, **LAPLACIAN, loss="hinge"),
}
CUTS = {
    "TV-RLS": method_of("weakly.TotalVariationRLSClassifier", warm_start=True),
    "TV-SVM": method_of("weakly.TotalVariationSVC", warm_start=True),
    "Cheeger-RLS": method_of("weakly.CheegerRLSClassifier", warm_start=True),
    "Cheeger-SVM": method_of("weakly.CheegerSVC", warm_start=True),
}
SIMPLEX = {  # the paper's own problems of several classes, Eqs. (93) and (118)
    "Lap-RLS, simplex": method_of(RLS, **LAPLACIAN, simplex=True),
    "Lap-SVM, simplex": method_of(LAPLACIAN_SVC, **LAPLACIAN, loss="hinge", simplex=True),
}
RIVALS = {"SVM, labelled rows only": SVM}

LABELS = ("1", "5", "10", "50")
# Numbers for 1, 5, 10 and 50 labels per class, of two classes and of four. The paper gives no spread; ours
# at one label per class leaves a standard error near 3 on a mean of 10.
PUBLISHED = {
    "Lap-RLS": ((18.09, 10.48, 7.77, 4.14), (20.06, 6.64, 4.03, 3.3)),
    "Lap-SVM": ((13.79, 9.84, 7.61, 4.77), (49.95, 14.21, 6.27, 2.82)),
    "TV-RLS": ((3.18, 3.16, 3.13, 3.16), (2.0, 2.06, 1.91, 1.98)),
    "TV-SVM": ((3.18, 3.13, 3.13, 3.08), (1.75, 1.82, 1.77, 1.85)),
    "Cheeger-RLS": ((4.06, 3.74, 4.03, 2.84), (3.35, 1.95, 1.85, 1.87)),
    "Cheeger-SVM": ((3.87, 3.74, 4.00, 2.73), (2.94, 2.08, 1.72, 1.74)),
}
CUT_TARGETS = {
    "TV-RLS": ((3.2, 3.2, 3.2, 3.2), (2.2, 1.8, 1.8, 1.8)),
    "TV-SVM": ((3.2, 3.2, 3.2, 3.2), (2.2, 1.8, 1.8, 1.8)),
    "Cheeger-RLS": ((3.5, 3.5, 3.5, 3.5), (2.2, 2.2, 2.2, 2.2)),
    "Cheeger-SVM": ((3.5, 3.5, 3.5, 3.5), (2.2, 2.2, 2.2, 2.2)),
}
LAPLACIAN_TARGETS = {"Lap-RLS": (20.5, 11.0, 8.5, 4.5), "Lap-SVM": (20.5, 11.0, 8.7, 5.8)}  # of two classes

DIFFERS = (
    "The paper prints neither its kernel width, penalties and graph, nor whether they varied with the "
    "number of labels: here one setting serves all, picked by looking at other draws of the same rows and"
    " at scikit-learn's digits. Rows are all of USPS's training and test digits, raw pixels in [-1, 1]. "
    "The paper thresholds scores at 0; the rows without that remark normalise class masses first, because"
    " with few labels the scores have the right order but a shifted level. Lap-SVM has the squared hinge,"
    " which is the squared loss as long as no labelled row lies beyond its margin: with few labels hardly"
    " any does, so this row all but repeats Lap-RLS and is no second piece of evidence. The paper's own "
    "loss, the hinge with an intercept, is the row after it; each published number stands in one row "
    "only. The SVM and the literal threshold are not in the paper. Total variation and Cheeger rows have "
    "the estimators' defaults, picked on other draws of the same rows and of scikit-learn's digits. They "
    "try two starts, the Poisson solution and the same with pairs of classes split anew along "
    "eigenvectors where the labels allow it, and keep the end whose classes have the lower Cheeger "
    "ratios; the paper does not say where it starts. With few labels the hinge and the squared loss pull "
    "alike, and the rows of the two hardly differ. A first run on these draws showed two of ten in table "
    "2 with 4 and 9 mixed at one label per class. Rules of the start were then changed twice, each time "
    "picked on other draws, and everything measured again. Two draws still fail. Table failures4 has 25 "
    "draws."
)
DIFFERS_FAILURES = (
    "Not in the paper: at one label per class a start may lie in a wrong cut. A failure is an error above "
    "15 %. Settings as in table 1."
)
DIFFERS_UNBALANCED = (
    "Not in the paper: 62 % of the rows are ones, and one label per class does not say so. Settings as in "
    "table 1."
)


def _extra(key, caption, classes, evaluate, **rest):
    """A table at one label per class that the paper does not have."""
    data = {"name": "usps", "classes": classes}
    measured = {"Lap-RLS": METHODS["Lap-RLS"]} | CUTS
    return table_of(
        {row: {"data": data, **method} for row, method in measured.items()},
        ("1",),
        key=key,
        caption=caption,
        evaluate=evaluate,
        datasets=("usps",),
        **rest,
    )


def _table(key, caption, classes, methods, **targets):
    data = {"name": "usps", "classes": classes}
    problem = 0 if len(classes) == 2 else 1
    targets |= {row: numbers[problem] for row, numbers in CUT_TARGETS.items()}
    return table_of(
        {row: {"data": data, **method} for row, method in (methods | CUTS | RIVALS).items()},
        LABELS,
        {row: numbers[problem] for row, numbers in PUBLISHED.items()},
        key=key,
        caption=caption,
        evaluate=transductive_error,
        targets=by_place(targets, LABELS),
        rivals=tuple(RIVALS),
        datasets=("usps",),
        differs=DIFFERS,
    )


PAPER = Paper(
    key="tvsvm",
    title="TV-SVM: Total Variation Support Vector Machine for Semi-Supervised Data Classification",
    reference="X. Bresson and R. Zhang, arXiv:1210.0699, 2012",
    tables=(
        _table("table1", "USPS, 4 against 9", [4, 9], METHODS, **LAPLACIAN_TARGETS),
        _table("table2", "USPS, 0, 1, 4 and 9", [0, 1, 4, 9], METHODS | SIMPLEX),
        _extra(
            "failures",
            "USPS, 4 against 9, share of 25 draws that end in a wrong cut",
            [4, 9],
            transductive_failure,
            targets={(row, "1"): 0.0 for row in CUTS},
            unit="failures %",
            repeats=25,
            differs=DIFFERS_FAILURES,
        ),
        _extra(
            "failures4",
            "USPS, 0, 1, 4 and 9, share of 25 draws that end in a wrong cut",
            [0, 1, 4, 9],
            transductive_failure,
            unit="failures %",
            repeats=25,
            differs=DIFFERS_FAILURES,
        ),
        _extra("unbalanced", "USPS, 1 against 7", [1, 7], transductive_error, differs=DIFFERS_UNBALANCED),
    ),
)
