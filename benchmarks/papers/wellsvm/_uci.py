"""Tables 2, 3 and 4: UCI sets with 5, 10 and 15 % of the training rows labelled."""

from benchmarks.papers._held_out import held_out_accuracy
from benchmarks.papers._model import ACCURACY, table_of
from benchmarks.papers._protocols import MAJORITY, SVM, method_of

WELL, TUNED = "weakly.WellSVC", "benchmarks.papers._held_out.TunedSVC"

METHODS = {
    "WellSVM": method_of(WELL, C=3.0, offset=1.0, tol=0.01),
    "WellSVM, defaults": method_of(WELL),
    "LapSVM": method_of("weakly.LaplacianSVC"),
    "SVM": method_of(TUNED),
    "SVM, C tuned too": method_of(TUNED, C=[1.0, 10.0, 100.0]),
    "SVM, not tuned": SVM,
    "majority of the labels": MAJORITY,
}

SETS = (
    "echocardiogram",
    "house",
    "heart_statlog",
    "haberman",
    "liver_disorders",
    "spectf",
    "ionosphere",
    "house_votes",
    "clean1",
    "australian",
    "diabetes",
    "german",
    "kr_vs_kp",
    "sick",
)
PUBLISHED = {
    "table2": {
        "SVM": (80, 90, 73, 65, 56, 73, 67, 88, 58, 79, 67, 70, 91, 94),
        "TSVM": (74, 90, 75, 61, 55, 68, 82, 89, 60, 82, 67, 69, 92, 89),
        "LapSVM": (64, 90, 74, 57, 55, 61, 65, 87, 54, 78, 67, 62, 80, 90),
        "USVM": (81, 90, 75, 75, 59, 74, 77, 83, 65, 80, 70, 70, 91, 94),
        "WellSVM": (80, 90, 73, 75, 53, 70, 70, 89, 63, 81, 69, 70, 92, 94),
    },
    "table3": {
        "SVM": (81, 90, 79, 75, 59, 74, 78, 92, 69, 81, 70, 67, 93, 93),
        "TSVM": (76, 92, 74, 60, 57, 76, 90, 91, 71, 84, 70, 67, 93, 89),
        "LapSVM": (69, 89, 80, 60, 55, 64, 66, 88, 63, 82, 71, 66, 86, 92),
        "USVM": (82, 83, 80, 75, 53, 72, 88, 91, 72, 84, 72, 70, 93, 93),
        "WellSVM": (81, 90, 81, 75, 57, 72, 82, 92, 69, 83, 74, 70, 94, 93),
    },
    "table4": {
        "SVM": (83, 92, 76, 72, 61, 77, 76, 92, 71, 86, 75, 71, 95, 94),
        "TSVM": (76, 94, 74, 62, 54, 79, 90, 92, 74, 85, 73, 70, 93, 90),
        "LapSVM": (75, 83, 79, 63, 53, 60, 83, 90, 63, 83, 73, 68, 91, 90),
        "USVM": (85, 91, 73, 74, 58, 74, 89, 83, 76, 83, 72, 70, 94, 94),
        "WellSVM": (83, 92, 75, 74, 56, 75, 84, 89, 72, 86, 75, 72, 95, 94),
    },
}

DIFFERS = (
    "The paper's Heart and Isolet are not at hand. A quarter of the rows is held out, and the share is that "
    "of the training rows: the paper says of all the labelled data. Both parts keep the shares of the "
    "classes, and a class has at least one label. Missing values become the mean and columns are "
    "standardised, by the training rows; of this the paper says nothing. It chooses kernel, width and the "
    "cost of unlabelled rows for each method by cross-validation on the labels; here that is done for the "
    "SVM only (with C = 1 as in the paper, and once more with C out of 1, 10 and 100), and WellSVM and "
    "LapSVM have one setting for all sets. That of WellSVM was picked on other draws of the same sets, seeds "
    "from 1000, 2000 and 3000, by the accuracy on their rows held out, out of about ninety settings. Draws "
    "keep the shares of the classes, which its offset then trusts. Two of the reported draws, of house and "
    "haberman at 5 %, had been seen before with another setting. On haberman no method measured here beats "
    "the majority class; labelings keep to the shares all the same, and cost WellSVM more than on any "
    "other set."
)


def _table(key, per_cent):
    return table_of(
        {row: {"fraction": per_cent / 100, "test_size": 0.25, **method} for row, method in METHODS.items()},
        SETS,
        PUBLISHED[key],
        key=key,
        caption=f"UCI sets, {per_cent} % of the training rows labelled",
        evaluate=held_out_accuracy,
        rivals=tuple(row for row in METHODS if row.startswith(("SVM", "majority"))),
        baseline="SVM",
        datasets=SETS,
        column_title="data set",
        **ACCURACY,
        repeats=30,
        differs=DIFFERS,
    )


TABLES = (_table("table2", 5), _table("table3", 10), _table("table4", 15))
