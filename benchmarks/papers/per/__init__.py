"""Several classes whose positive scores exclude each other, on faces (Liu et al., 2011)."""

from benchmarks.papers._model import ACCURACY, Paper, Table, table_of
from benchmarks.papers._protocols import default_params
from benchmarks.papers.per._faces import Choice, recognition_rate
from benchmarks.papers.per._paths import SETS, error_on_set, step_value

EXCLUSIVE = "weakly.ExclusiveLaplacianSVC"
FIXED = {
    "m-SVM": Choice("pixels", 1.0),
    "m-LapSVM": Choice("pixels", 1.0, 0.01),
    "m-LapSVM with PER": Choice("pixels", 1.0, 0.01, 0.1, "sum"),
    "m-LapSVM with pairs": Choice("pixels", 1.0, 0.01, 0.1, "pairs"),
}
SEARCHED = {
    "m-SVM, chosen": "ambient",
    "m-LapSVM, chosen": "graph",
    "PER, chosen": "sum",
    "pairs, chosen": "pairs",
}
STEPS = ("1", "2", "5", "10", "20", "50", "100", "200", "500")

DIFFERS = (
    "The first four rows have fixed penalties, found in early trials on draws not on record: pixels "
    "divided by 255, a linear kernel, a binary graph of 5 neighbours, and the weights 1, 0.01 and 0.1 of "
    "norm, graph and charge. The others choose by cross-validation on the labelled images: first the weight "
    "of the norm and whether images are scaled to length 1, then that of the graph with a norm as large "
    "or a tenth of it, each out of the paper's grid and 0.01; then, beside none, one of five weights of the "
    "charge. Four folds, three times at 5 labels; one fold of four from 20 labels on, to save time. The "
    "paper holds out a validation set that it does not describe. Its figure has no numbers but those of 5 "
    "images in the text. 'Pairs' is not in the paper: it charges products of two positive scores, so "
    "that a single one costs nothing. Flower-102 and Scene-15 of the paper are not to be had."
)
HELPS = (
    " Does PER help? Not here: at 5 images it has 70.5 % against 70.6 of m-LapSVM with fixed penalties, 75.7 "
    "against 76.4 where they are chosen, and no column is won; pairs change nothing. After the graph few "
    "images have two positive scores, and the sum charges the one right score of all others too. What makes "
    "the difference is the scaling of images and the choice of penalties. The first row is 1.1 below the "
    "paper's number at 5 images, where draws differ by 3.6."
)


def _path_table(key, caption, measure, methods, **rest):
    return table_of(
        {
            row: {"measure": measure, "choice": choice._asdict(), "solver": solver}
            for row, (choice, solver) in methods.items()
        },
        STEPS,
        key=key,
        caption=caption,
        evaluate=step_value,
        datasets=("yaleb",),
        column_title="steps",
        repeats=3,
        **rest,
    )


def _of_sets(**changed):
    params = {"ambient_penalty": 1e-2, "gamma": "mean-distance", "class_prior": None}
    return {"params": default_params(EXCLUSIVE, **(params | changed))}


PAPER = Paper(
    key="per",
    title="Multi-class Semi-supervised SVMs with Positiveness Exclusive Regularization",
    reference="X. Liu, X. Yuan, S. Yan and H. Jin, ICCV 2011",
    tables=(
        Table(
            key="figure3",
            caption="YaleB, 38 subjects, images not labelled",
            rows=(*FIXED, *SEARCHED),
            columns=("5", "10", "20", "30", "40", "50"),
            evaluate=recognition_rate,
            settings={
                **{row: {"choice": choice._asdict()} for row, choice in FIXED.items()},
                **{row: {"search": last} for row, last in SEARCHED.items()},
            },
            published={
                ("m-SVM", "5"): 67.50,
                ("m-LapSVM", "5"): 70.69,
                ("m-LapSVM with PER", "5"): 75.32,
            },
            targets={
                ("m-SVM", "5"): 66.5,
                ("m-LapSVM", "5"): 69.69,
                ("pairs, chosen", "5"): 75.3,
            },
            baseline="m-LapSVM",
            datasets=("yaleb",),
            column_title="labelled images of each subject",
            **ACCURACY,
            repeats=5,
            beside=("claimed twice",),
            differs=DIFFERS + HELPS,
        ),
        _path_table(
            "figure1",
            "YaleB, 5 labels: objective over its end, in per cent of the first",
            "excess",
            {
                "L-BFGS": (FIXED["m-LapSVM with PER"], "lbfgs"),
                "accelerated gradients": (FIXED["m-LapSVM with PER"], "apg"),
            },
            unit="per cent of the first excess",
            differs="The paper's own step, by its constant, is too short to arrive on any but tiny problems; "
            "both methods here take gradients in the metric of the deformed kernel.",
        ),
        _path_table(
            "figure2",
            "YaleB, 5 labels: unlabelled images with more than one positive score",
            "claims",
            {
                "m-SVM": (FIXED["m-SVM"], "lbfgs"),
                "m-LapSVM": (FIXED["m-LapSVM"], "lbfgs"),
                "m-LapSVM with PER": (FIXED["m-LapSVM with PER"], "lbfgs"),
                "PER, charge 10": (FIXED["m-LapSVM with PER"]._replace(charge=10.0), "lbfgs"),
                "m-LapSVM with pairs": (FIXED["m-LapSVM with pairs"], "lbfgs"),
                "PER without graph": (Choice("pixels", 1.0, 0.0, 0.1, "sum"), "lbfgs"),
                "pairs without graph": (Choice("pixels", 1.0, 0.0, 0.1, "pairs"), "lbfgs"),
            },
            unit="images",
            differs="The paper begins with all coefficients 1, here with none.",
        ),
        table_of(
            {
                "m-SVM": _of_sets(graph_penalty=0.0, exclusive_penalty=0.0),
                "m-LapSVM": _of_sets(exclusive_penalty=0.0),
                "PER": _of_sets(exclusive="sum"),
                "pairs": _of_sets(exclusive="pairs"),
                "PER, charge 1": _of_sets(exclusive="sum", exclusive_penalty=1.0),
                "pairs, charge 1": _of_sets(exclusive="pairs", exclusive_penalty=1.0),
                "PER without graph": _of_sets(exclusive="sum", graph_penalty=0.0),
                "pairs without graph": _of_sets(exclusive="pairs", graph_penalty=0.0),
            },
            tuple(SETS),
            key="others",
            caption="Other sets: digits and COIL-20 with 2 labels per class, USPS with 5",
            evaluate=error_on_set,
            baseline="m-LapSVM",
            datasets=("usps", "coil20"),
            column_title="data set",
            beside=("claimed twice",),
            differs="Not in the paper: does a charge ever help? An RBF kernel whose width is the root of the "
            "mean squared distance, 0.01 and 0.1 as weights of norm and graph, 0.1 as that of the charge, "
            "and scores as they are, without normalised class masses.",
        ),
    ),
)
