import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import balanced_accuracy_score, get_scorer, make_scorer
from sklearn.model_selection import KFold, cross_val_score
from sklearn.semi_supervised import LabelSpreading

from weakly.model_selection import labeled_scorer

X = np.array([[-2.0], [-1.0], [1.0], [2.0], [-1.0], [1.0]])
CODES = np.array([0, 1, 1, 1, -1, -1])
LABELED = CODES != -1
NAMES = np.where(LABELED, np.array(["no", "yes"], dtype=object)[CODES], None)


@pytest.fixture(scope="module")
def model():
    return LogisticRegression().fit([[-1.0], [1.0]], [0, 1])


@pytest.fixture(scope="module")
def named_model():
    return LogisticRegression().fit([[-1.0], [1.0]], ["no", "yes"])


def test_accuracy_of_labelled_rows(model):
    # Rows 0, 2, 3 are right, row 1 is wrong; counting the unlabelled rows would give 3 of 6.
    assert labeled_scorer("accuracy")(model, X, CODES) == 0.75


@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc", "neg_log_loss", "balanced_accuracy"])
def test_equals_the_scorer_on_the_labelled_rows(model, scoring):
    expected = get_scorer(scoring)(model, X[LABELED], CODES[LABELED])
    assert labeled_scorer(scoring)(model, X, CODES) == expected
    assert labeled_scorer(get_scorer(scoring))(model, X, CODES) == expected


@pytest.mark.parametrize(
    "y",
    [
        NAMES,
        NAMES.tolist(),
        pd.Series(NAMES),
        pd.Series(NAMES, dtype="category"),
        pd.Series(NAMES, dtype="string"),
    ],
    ids=["objects", "list", "pandas", "categories", "string"],
)
def test_strings(named_model, y):
    assert labeled_scorer("accuracy")(named_model, X, y) == 0.75


@pytest.mark.parametrize(
    "y",
    [
        np.where(LABELED, CODES, np.nan),
        pd.Series(CODES, dtype="Int64").where(LABELED),
        np.where(LABELED, CODES, None),
    ],
    ids=["floats", "nullable integers", "integers with None"],
)
def test_numbers_with_gaps(model, y):
    assert labeled_scorer("accuracy")(model, X, y) == 0.75


@pytest.mark.parametrize("rows", [csr_array(X), X.tolist()], ids=["sparse", "list"])
def test_containers_of_features(model, rows):
    assert labeled_scorer("accuracy")(model, rows, CODES) == 0.75


def test_data_frame():
    frame = pd.DataFrame(X, columns=["x"], index=list("fedcba"))
    model = LogisticRegression().fit(frame.iloc[[0, 3]], [0, 1])
    assert labeled_scorer("accuracy")(model, frame, CODES) == 0.75


def test_override_makes_minus_one_a_class():
    y = np.array([-1, 1, 0, -1])
    minus_one = DummyClassifier(strategy="constant", constant=-1).fit([[0], [0]], [-1, 1])
    assert labeled_scorer("accuracy", unlabeled=0)(minus_one, np.zeros((4, 1)), y) == pytest.approx(2 / 3)
    assert labeled_scorer("accuracy", unlabeled=None)(minus_one, np.zeros((4, 1)), y) == 0.5


def test_sample_weight_follows_the_rows(model):
    weights = [1.0, 3.0, 1.0, 1.0, 50.0, 50.0]
    scorer = labeled_scorer("accuracy")
    assert scorer(model, X, CODES, sample_weight=weights) == 0.5
    assert scorer(model, X[::-1], CODES[::-1], sample_weight=weights[::-1]) == 0.5


def test_regression():
    model = LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])
    y = np.array([-1.5, np.nan, 1.0, np.nan, -1.0, np.nan])
    expected = -(0.5**2) / 3
    assert labeled_scorer("neg_mean_squared_error")(model, X, y) == pytest.approx(expected)


def test_pickles(model):
    scorer = pickle.loads(pickle.dumps(labeled_scorer("accuracy")))
    assert scorer(model, X, CODES) == 0.75


def test_plain_splitter_with_unlabelled_test_rows():
    rng = np.random.default_rng(0)
    truth = np.arange(60) % 2
    features = rng.normal(size=(60, 1)) * 0.1 + truth[:, None]
    y = np.where(rng.random(60) < 0.5, truth, -1)
    cv = KFold(3, shuffle=True, random_state=0)
    model = LabelSpreading()
    assert (
        cross_val_score(model, features, y, cv=cv, scoring=labeled_scorer("accuracy")).tolist() == [1.0] * 3
    )
    assert cross_val_score(model, features, y, cv=cv, scoring="accuracy").max() < 1
    custom = make_scorer(balanced_accuracy_score)
    assert cross_val_score(model, features, y, cv=cv, scoring=labeled_scorer(custom)).tolist() == [1.0] * 3


def test_errors(model):
    with pytest.raises(ValueError, match="scoring must be"):
        labeled_scorer(None)
    with pytest.raises(ValueError, match="no_such_score"):
        labeled_scorer("no_such_score")
    with pytest.raises(ValueError, match="no labeled sample"):
        labeled_scorer("accuracy")(model, X, np.full(6, -1))
