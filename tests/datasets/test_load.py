import os

import numpy as np
import pytest
import sklearn.datasets
from scipy.sparse import random_array

from weakly.datasets import list_datasets, load
from weakly.datasets._sources import SOURCES, conversion


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    sparse = random_array((6, 9), density=0.4, format="csr", rng=rng, dtype=np.float32)
    np.savez(
        tmp_path / "text.npz",
        X_data=sparse.data,
        X_indices=sparse.indices,
        X_indptr=sparse.indptr.astype(np.int64),
        X_shape=np.array(sparse.shape),
        y=np.array([0, 1, 2, 0, 1, 2], dtype=np.int16),
        classes=np.array(["red", "green", "blue"]),
        labeled_100=np.array([[0, 1, 2, 3]], dtype=np.int32),
        labeled_10=np.array([[0, 1, 2], [3, 4, 5]], dtype=np.int32),
        vocab=np.array(list("abcdefghi")),
    )
    np.savez(
        tmp_path / "images.npz",
        X=np.arange(8, dtype=np.uint8).reshape(4, 2),
        y=np.array([0, 1, 1, 0], dtype=np.int16),
        classes=np.array(["0", "1"]),
        is_train=np.array([True, True, False, False]),
        columns=np.array(["left", "right"]),
    )
    np.savez(
        tmp_path / "mil_drugs.npz",
        X=np.ones((5, 3), dtype=np.float32),
        bags=np.array([0, 0, 1, 2, 2], dtype=np.int32),
        bag_y=np.array([1, 0, 1], dtype=np.int16),
    )
    (tmp_path / "README.md").write_text("not a dataset")
    return tmp_path


def test_dense_data_keep_their_type(folder):
    images = load("images", directory=folder)
    assert images.X.dtype == np.uint8
    assert images.X.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert images.target_names[images.y].tolist() == ["0", "1", "1", "0"]
    assert images.y.dtype == np.intp
    assert images.is_train.tolist() == [True, True, False, False]
    assert images.feature_names.tolist() == ["left", "right"]
    assert images.labeled_splits == {}


def test_sparse_data_and_published_splits(folder):
    text = load("text", directory=str(folder))
    expected = random_array((6, 9), density=0.4, format="csr", rng=np.random.default_rng(0), dtype=np.float32)
    assert (text.X.toarray() == expected.toarray()).all()
    assert text.X.dtype == np.float32
    assert text.X.indices.dtype == text.X.indptr.dtype == np.int32
    assert list(text.labeled_splits) == [10, 100]
    assert text.labeled_splits[10].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert text.feature_names[3] == "d"
    assert "is_train" not in text


def test_multi_instance_data(folder):
    drugs = load("mil_drugs", directory=folder)
    assert drugs.bags.tolist() == [0, 0, 1, 2, 2]
    assert drugs.bag_y[drugs.bags].tolist() == [1, 1, 0, 1, 1]
    assert "y" not in drugs


def test_environment_variable(folder, monkeypatch):
    monkeypatch.setenv("WEAKLY_DATA", str(folder))
    assert list_datasets() == ["images", "mil_drugs", "text"]
    assert load("images").X.shape == (4, 2)


@pytest.mark.parametrize("function", [lambda: load("usps"), list_datasets], ids=["load", "list"])
@pytest.mark.parametrize("value", [None, "", "no/such/place"])
def test_absent_directory_says_how_to_set_it(function, value, monkeypatch):
    monkeypatch.delenv("WEAKLY_DATA", raising=False)
    if value is not None:
        monkeypatch.setenv("WEAKLY_DATA", value)
    with pytest.raises(ValueError, match="WEAKLY_DATA") as caught:
        function()
    message = str(caught.value)
    assert ("no/such/place" if value else "is not set") in message
    assert "export WEAKLY_DATA=" in message
    assert all(field in message for field in ["X_indptr", "classes", "bag_y", "labeled_L", "is_train"])


@pytest.mark.parametrize("name", ["usps", "mnist", "ssl_text", "mil_tiger"])
def test_absent_data_name_their_collection_and_how_to_convert_it(name, tmp_path, monkeypatch):
    collection = {
        "usps": "Elements of Statistical Learning",
        "mnist": "LeCun, Cortes and Burges",
        "ssl_text": "Chapelle, Schoelkopf and Zien",
        "mil_tiger": "Andrews, Tsochantaridis and Hofmann",
    }[name]
    monkeypatch.setenv("WEAKLY_DATA", "")
    for directory in (None, tmp_path):
        with pytest.raises(ValueError, match=collection) as caught:
            load(name, directory=directory)
        assert f'np.savez_compressed("{name}.npz"' in str(caught.value)
        assert collection in str(caught.value).splitlines()[0]


def convert(name, folder, monkeypatch, **names):
    monkeypatch.chdir(folder)
    exec(conversion(name), {"np": np} | names)
    return load(name, directory=folder)


def test_the_conversion_of_usps_reads_the_published_files(tmp_path, monkeypatch):
    rows = {"train": [[6.0, -1.0, 0.5], [5.0, 0.25, 1.0]], "test": [[9.0, 0.0, -0.5]]}
    for part, values in rows.items():
        np.savetxt(tmp_path / f"zip.{part}.gz", values)
    data = convert("usps", tmp_path, monkeypatch)
    assert data.X.tolist() == [[-1.0, 0.5], [0.25, 1.0], [0.0, -0.5]]
    assert data.target_names[data.y].tolist() == ["6", "5", "9"]


def test_the_conversion_of_mnist_keeps_the_order_of_rows(tmp_path, monkeypatch):
    def fetch_openml(name, *, return_X_y, as_frame):
        assert (name, return_X_y, as_frame) == ("mnist_784", True, False)
        return np.eye(3), np.array(["5", "0", "4"], dtype=object)

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    data = convert("mnist", tmp_path, monkeypatch, sklearn=sklearn)
    assert data.X.tolist() == np.eye(3).tolist()
    assert data.target_names[data.y].tolist() == ["5", "0", "4"]


def test_every_conversion_is_code():
    for name in SOURCES:
        compile(conversion(name), name, "exec")


@pytest.mark.skipif("WEAKLY_DATA" not in os.environ, reason="WEAKLY_DATA is not set")
def test_the_origin_of_all_data_is_known():
    assert set(list_datasets()) <= set(SOURCES)


def test_absent_directory_argument_is_named():
    with pytest.raises(ValueError, match="directory names 'no/such/place'"):
        load("usps", directory="no/such/place")


def test_unknown_name_lists_what_there_is(folder):
    with pytest.raises(ValueError, match="Did you mean 'images'") as caught:
        load("image", directory=folder)
    message = str(caught.value)
    assert str(folder / "image.npz") in message
    assert "images, mil_drugs, text" in message
    assert "X_indptr" in message


def test_unknown_name_without_neighbours(folder, tmp_path_factory):
    with pytest.raises(ValueError, match="no dataset 'zzzz'") as caught:
        load("zzzz", directory=folder)
    assert "Did you mean" not in str(caught.value)
    with pytest.raises(ValueError, match="Available: none"):
        load("zzzz", directory=tmp_path_factory.mktemp("empty"))


def test_names_do_not_leave_the_directory(folder):
    inner = folder / "inner"
    inner.mkdir()
    with pytest.raises(ValueError, match="There is no dataset"):
        load("../images", directory=inner)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"y": [0, 1], "classes": ["a", "b"]}, "X_"),
        ({"X": np.eye(2)}, "'y'"),
        ({"X": np.eye(2), "y": [0, 1]}, "classes"),
        ({"X": np.eye(2), "y": [0, 1, 1], "classes": ["a", "b"]}, "y has 3 entries and X has 2 rows"),
        ({"X": np.eye(2), "y": [0, 2], "classes": ["a", "b"]}, r"codes outside 0\.\.1"),
        ({"X": np.eye(2), "y": [0, -1], "classes": ["a", "b"]}, r"codes outside 0\.\.1"),
        ({"X": np.eye(2), "bags": [0, 1], "bag_y": [1]}, r"bags has codes outside 0\.\.0"),
        ({"X": np.array([{}, {}]), "y": [0, 1], "classes": ["a", "b"]}, "allow_pickle=False"),
    ],
)
def test_files_without_the_layout(tmp_path, arrays, message):
    np.savez(tmp_path / "odd.npz", **arrays)
    with pytest.raises(ValueError, match=message) as caught:
        load("odd", directory=tmp_path)
    assert str(tmp_path / "odd.npz") in str(caught.value)
    assert "numpy.savez" in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"not an archive", b"PK\x03\x04 broken"])
def test_broken_files(tmp_path, content):
    (tmp_path / "broken.npz").write_bytes(content)
    with pytest.raises(ValueError, match="cannot be read as a dataset"):
        load("broken", directory=tmp_path)


@pytest.mark.skipif("WEAKLY_DATA" not in os.environ, reason="WEAKLY_DATA is not set")
@pytest.mark.parametrize(
    ("name", "shape", "n_classes", "splits"),
    [
        ("uspst", (2007, 256), 10, {50: (10, 50)}),
        ("ssl_text", (1500, 11960), 2, {10: (12, 10), 100: (12, 100)}),
        ("letter", (20000, 16), 26, {}),
    ],
)
def test_published_shapes(name, shape, n_classes, splits):
    if name not in list_datasets():
        pytest.skip(f"{name} is not in WEAKLY_DATA")
    data = load(name)
    assert data.X.shape == shape
    assert np.unique(data.y).tolist() == list(range(n_classes)) == list(range(len(data.target_names)))
    assert {n: rows.shape for n, rows in data.labeled_splits.items()} == splits
    for rows in data.labeled_splits.values():
        assert all(len(set(data.y[split])) == n_classes for split in rows)
