"""Meta-estimators of scikit-learn on partially labeled data."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    cross_val_predict,
    cross_val_score,
    learning_curve,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from weakly import FewLabelClassifier, LaplacianRLSClassifier, LaplacianSVC, ProbabilisticLabelSVC
from weakly.model_selection import PartiallyLabeled, PartiallyLabeledKFold

pytestmark = pytest.mark.filterwarnings("ignore:.*parts of the graph without a label:UserWarning")
X, TRUTH = load_iris(return_X_y=True)
Y = np.full(150, -1)
Y[::5] = TRUTH[::5]
NAMES = np.array(["setosa", "versicolor", "virginica"], dtype=object)
MEMBERS = [("graph", LaplacianSVC()), ("walk", make_pipeline(StandardScaler(), ProbabilisticLabelSVC()))]
METAS = {
    "hard vote": VotingClassifier([*MEMBERS, ("labels", SVC())]),
    "soft vote": VotingClassifier(MEMBERS, voting="soft"),
    "stack": StackingClassifier(MEMBERS, cv=3),
    "bags": BaggingClassifier(LaplacianSVC(), n_estimators=3, random_state=0),
    "bags without weights": BaggingClassifier(
        FewLabelClassifier(random_state=0), n_estimators=2, random_state=0
    ),
    "one-vs-rest": OneVsRestClassifier(LaplacianSVC()),
    "one-vs-one": OneVsOneClassifier(LaplacianSVC()),
    "calibrated": CalibratedClassifierCV(LaplacianSVC(), cv=3),
    "boosted": AdaBoostClassifier(LaplacianSVC(), n_estimators=3),
    "itself": LaplacianSVC(),
}


@pytest.mark.parametrize("name", METAS)
@pytest.mark.parametrize("named", [False, True], ids=["integers", "text"])
def test_meta_estimators_see_no_class_of_the_marker(name, named):
    y = np.where(Y < 0, None, NAMES[Y]) if named else Y
    truth = NAMES[TRUTH] if named else TRUTH
    model = PartiallyLabeled(clone(METAS[name])).fit(X, y)
    assert model.classes_.tolist() == sorted(set(truth))
    assert model.estimator_.classes_.tolist() == sorted(set(truth))
    assert np.mean(model.transduction_ == truth) > 0.85
    assert model.score(X, y) == np.mean(model.predict(X[::5]) == truth[::5])
    if hasattr(model, "predict_proba"):
        probabilities = model.predict_proba(X)
        assert probabilities.shape == (150, 3)
        np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(X))


def test_a_vote_of_one_is_its_member():
    order = np.argsort(Y < 0, kind="stable")  # labeled samples first, as the member gets them
    alone = LaplacianSVC().fit(X[order], Y[order])
    model = PartiallyLabeled(VotingClassifier([("alone", LaplacianSVC())], voting="soft")).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X), atol=1e-12)


def test_unlabeled_samples_take_part():
    supervised = VotingClassifier([("labels", LaplacianSVC())]).fit(X[::5], TRUTH[::5])
    model = PartiallyLabeled(VotingClassifier([("labels", LaplacianSVC())])).fit(X, Y)
    assert (supervised.predict(X) != model.predict(X)).any()


@pytest.mark.parametrize(
    "container",
    [csr_matrix, lambda X: pd.DataFrame(X, columns=list("abcd")), lambda X: X.tolist()],
    ids=["sparse", "frame", "list"],
)
def test_containers(container):
    meta = VotingClassifier([("graph", LaplacianSVC())])
    plain = PartiallyLabeled(meta).fit(X, Y)
    model = PartiallyLabeled(meta).fit(container(X), Y)
    np.testing.assert_array_equal(model.predict(container(X)), plain.predict(X))


def test_samples_without_a_weight_count_as_unlabeled():
    """A bag that draws no sample of a class has a member that does not know it."""
    y = np.full(150, -1)
    y[[0, 1, 2, 50, 51, 100]] = TRUTH[[0, 1, 2, 50, 51, 100]]
    meta = BaggingClassifier(LaplacianRLSClassifier(), n_estimators=20, random_state=0)
    model = PartiallyLabeled(meta).fit(X, y)
    assert min(len(member.classes_) for member in model.estimator_.estimators_) == 2
    assert model.predict_proba(X).shape == (150, 3)


@pytest.mark.parametrize(
    ("meta", "message"),
    [
        (SVC(), "no member with the parameter `unlabeled`"),
        (
            GridSearchCV(LaplacianSVC(), {"gamma": [1.0]}),
            "GridSearchCV needs no wrapper.*PartiallyLabeledKFold",
        ),
        (make_pipeline(StandardScaler(), VotingClassifier(MEMBERS)), "would not pass the transformers"),
        (
            VotingClassifier([("p", make_pipeline(StandardScaler(), BaggingClassifier(LaplacianSVC())))]),
            "not pass",
        ),
        (StackingClassifier([("a", SVC())], final_estimator=LaplacianSVC()), "final_estimator learns"),
        (BaggingClassifier(LaplacianSVC(), max_features=2), "2 of 4 features"),
        (BaggingClassifier(LaplacianSVC(), bootstrap_features=True), "bootstrap_features=True"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value[:12],
)
def test_what_cannot_work_is_refused(meta, message):
    with pytest.raises(ValueError, match=message):
        PartiallyLabeled(meta).fit(X, Y)


def test_bad_arguments():
    model = PartiallyLabeled(VotingClassifier(MEMBERS))
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(ValueError, match="inconsistent"):
        model.fit(X, Y[:-1])
    with pytest.raises(ValueError, match="no labelled row"):
        model.fit(X, np.full(150, -1))
    with pytest.raises(ValueError, match="expecting 4 features"):
        model.fit(X, Y).predict(X[:, :3])


def test_pipelines_around_the_wrapper():
    model = make_pipeline(StandardScaler(), PartiallyLabeled(VotingClassifier([("graph", LaplacianSVC())])))
    inside = make_pipeline(StandardScaler(), LaplacianSVC())
    np.testing.assert_array_equal(model.fit(X, Y).predict(X), inside.fit(X, Y).predict(X))


# What scikit-learn's tools do with partially labeled targets


def test_plain_folds_score_labeled_samples_only():
    scores = cross_val_score(LaplacianSVC(), X, Y, cv=3)
    assert (scores > 0.8).all()  # four in five samples are unlabeled, and would count as errors


def test_cross_val_predict_with_folds_that_cover_all_samples():
    with pytest.raises(ValueError, match="only works for partitions"):
        cross_val_predict(LaplacianSVC(), X, Y, cv=PartiallyLabeledKFold(3))
    predicted = cross_val_predict(LaplacianSVC(), X, Y, cv=PartiallyLabeledKFold(3, cover=True))
    assert np.mean(predicted == TRUTH) > 0.8
    tested = [test for _, test in PartiallyLabeledKFold(3, cover=True).split(X, Y)]
    assert np.sort(np.concatenate(tested)).tolist() == list(range(150))
    trained = [train for train, _ in PartiallyLabeledKFold(3, cover=True).split(X, Y)]
    plain = [train for train, _ in PartiallyLabeledKFold(3).split(X, Y)]
    assert all(map(np.array_equal, trained, plain))


def test_halving_searches():
    grid = {"ambient_penalty": [1e-3, 1.0]}
    search = HalvingGridSearchCV(LaplacianSVC(), grid, cv=PartiallyLabeledKFold(3), random_state=0)
    assert search.fit(X, Y).best_score_ > 0.8


def test_learning_curves():
    _, _, scores = learning_curve(
        LaplacianSVC(),
        X,
        Y,
        cv=PartiallyLabeledKFold(3),
        train_sizes=[0.5, 1.0],
        shuffle=True,
        random_state=0,
        error_score="raise",
    )
    assert (scores.mean(axis=1) > 0.8).all()
