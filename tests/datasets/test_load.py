import os
from zipfile import ZipFile

import numpy as np
import pytest
import sklearn.datasets
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import issparse, random_array

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


def test_splits_in_a_file_of_their_own(folder):
    np.savez(folder / "text_draws.npz", labeled_3=np.array([[5, 3, 1], [0, 1, 2]]))
    np.savez(folder / "alone_draws.npz", X=np.eye(2), y=[0, 1], classes=["a", "b"])  # of no other dataset
    assert list_datasets(directory=folder) == ["alone_draws", "images", "mil_drugs", "text"]
    splits = load("text", directory=folder).labeled_splits
    assert splits[3].tolist() == [[5, 3, 1], [0, 1, 2]]
    assert sorted(splits) == [3, 10, 100]
    np.savez(folder / "text_draws.npz", labeled_3=np.array([[5, 3, 6]]))
    with pytest.raises(ValueError, match=r"text_draws\.npz cannot be read .* 'labeled_3'"):
        load("text", directory=folder)


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
        ({"X": np.eye(2), "y": [0, 1, 1], "classes": ["a", "b"]}, "'y' has 3 values, and X makes that 2"),
        ({"X": np.eye(2), "y": [0, 2], "classes": ["a", "b"]}, r"'y' has codes outside 0\.\.1"),
        ({"X": np.eye(2), "y": [0, -1], "classes": ["a", "b"]}, r"'y' has codes outside 0\.\.1"),
        ({"X": np.eye(2), "y": [0.0, 1.0], "classes": ["a", "b"]}, "'y' cannot be of type float64"),
        ({"X": np.eye(2), "y": [[0, 1]], "classes": ["a", "b"]}, "'y' has 2 axes and must have 1"),
        ({"X": np.eye(2), "y": 1, "classes": ["a", "b"]}, "'y' has 0 axes"),
        ({"X": np.eye(2), "y": [0, 0], "classes": "a"}, "'classes' has 0 axes"),
        ({"X": np.eye(2), "bags": [0, 1], "bag_y": [1]}, r"'bags' has codes outside 0\.\.0"),
        ({"X": np.eye(2), "bags": [0, 1]}, "'bag_y' is missing"),
        (
            {"X": np.array([{}, {}]), "y": [0, 1], "classes": ["a", "b"]},
            "'X' is damaged .*allow_pickle=False",
        ),
        ({"X": np.ones(2), "y": [0, 1], "classes": ["a", "b"]}, "'X' has 1 axes and must have 2"),
        ({"X": np.full((2, 2), "a"), "y": [0, 1], "classes": ["a", "b"]}, "'X' cannot be of type"),
        ({"X": np.eye(2) * 1j, "y": [0, 1], "classes": ["a", "b"]}, "'X' cannot be of type complex"),
        ({"X": np.ones((0, 2)), "y": np.zeros(0, int), "classes": ["a"]}, "without samples"),
        (
            {"X": np.eye(2), "y": [0, 1], "classes": ["a", "b"], "labeled_2": [[0, 2]]},
            r"'labeled_2' .*0\.\.1",
        ),
        ({"X": np.eye(2), "y": [0, 1], "classes": ["a", "b"], "labeled_2": [0, 1]}, "'labeled_2' has 1 axes"),
        (
            {"X": np.eye(2), "y": [0, 1], "classes": ["a", "b"], "labeled_x": [[0]]},
            "'labeled_x' does not end",
        ),
        ({"X": np.eye(2), "y": [0, 1], "classes": ["a", "b"], "is_train": [True]}, "'is_train' has 1 values"),
        ({"X": np.eye(2), "y": [0, 1], "classes": ["a", "b"], "is_train": [0, 1]}, "'is_train' cannot be"),
        ({"X": np.eye(2), "y": [0, 1], "classes": ["a", "b"], "columns": ["a"]}, "'columns' has 1 values"),
    ],
)
def test_files_without_the_layout(tmp_path, arrays, message):
    np.savez(tmp_path / "odd.npz", **arrays)
    with pytest.raises(ValueError, match=message) as caught:
        load("odd", directory=tmp_path)
    assert str(tmp_path / "odd.npz") in str(caught.value)
    assert "numpy.savez" in str(caught.value)


SPARSE = {
    "X_data": np.ones(2), "X_indices": np.array([0, 2]), "X_indptr": np.array([0, 1, 2]),
    "X_shape": np.array([2, 3]), "y": np.array([0, 1]), "classes": np.array(["a", "b"]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("entry", "value", "message"),
    [
        ("X_indices", [0, 3], r"'X_indices' has codes outside 0\.\.2"),
        ("X_indices", [-1, 2], r"'X_indices' has codes outside 0\.\.2"),
        ("X_indices", [0, 2**32 + 1], r"'X_indices' has codes outside 0\.\.2"),  # 1 in 32 bits
        ("X_indices", [0.0, 2.0], "'X_indices' cannot be of type float64"),
        ("X_indices", [0], "'X_indices' has 1 values, and X_data has 2"),
        ("X_indptr", [0, 2], "'X_indptr' has 2 values, and X_shape makes that 3"),
        ("X_indptr", [0, 3, 2], "'X_indptr' does not rise from 0 to 2"),
        ("X_indptr", [1, 1, 2], "'X_indptr' does not rise from 0 to 2"),
        ("X_indptr", [0, 1, 1], "'X_indptr' does not rise from 0 to 2"),
        ("X_shape", [2], "'X_shape' has 1 values"),
        ("X_shape", [2, -3], r"'X_shape' is \[2, -3\]"),
        ("X_data", [[1.0, 2.0]], "'X_data' has 2 axes"),
        ("X_data", None, "neither an entry 'X' nor 'X_data'"),
    ],
)
def test_sparse_parts_that_do_not_belong_together(tmp_path, entry, value, message):
    """Each of these made a matrix that reads beyond its memory, or one that is not what was stored."""
    np.savez(tmp_path / "whole.npz", **SPARSE)
    assert load("whole", directory=tmp_path).X.toarray().tolist() == [[1, 0, 0], [0, 0, 1]]
    arrays = {name: array for name, array in (SPARSE | {entry: value}).items() if array is not None}
    np.savez(tmp_path / "odd.npz", **arrays)
    with pytest.raises(ValueError, match=message):
        load("odd", directory=tmp_path)


def test_a_single_array_is_no_dataset(tmp_path):
    with (tmp_path / "odd.npz").open("wb") as file:
        np.save(file, np.eye(2))
    with pytest.raises(ValueError, match="no archive of arrays"):
        load("odd", directory=tmp_path)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Bytes of a sparse and a dense dataset, compressed and not, and what they hold."""
    folder, found = tmp_path_factory.mktemp("whole"), []
    dense = {"X": np.arange(6.0).reshape(2, 3), "y": np.array([0, 1]), "classes": np.array(["a", "b"])}
    extra = {"labeled_1": np.array([[0], [1]]), "is_train": np.array([True, False])}
    for arrays in (SPARSE | extra, dense | extra | {"columns": np.array(["u", "v", "w"])}):
        for save in (np.savez, np.savez_compressed):
            save(folder / "whole.npz", **arrays)
            found.append(((folder / "whole.npz").read_bytes(), arrays, load("whole", directory=folder)))
    return found


@given(data=st.data())
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_bytes_are_refused_or_harmless(stored, tmp_path, data):
    """Bytes that a reader skips may change; otherwise a file is refused, by a ValueError that names it."""
    content, _, whole = stored[data.draw(st.integers(0, len(stored) - 1))]
    damaged = bytearray(content)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    (tmp_path / "odd.npz").write_bytes(damaged)
    try:
        found = load("odd", directory=tmp_path)
    except ValueError as error:
        refusal = str(error)
    else:
        refusal = None
    if refusal is not None:
        assert str(tmp_path / "odd.npz") in refusal
        return
    assert found.keys() == whole.keys()
    assert str(found.labeled_splits) == str(whole.labeled_splits)
    for name in found.keys() - {"labeled_splits"}:
        a, b = (part.toarray() if issparse(part) else part for part in (found[name], whole[name]))
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("content", [b"", b"not an archive", b"PK\x03\x04 broken"])
def test_broken_files(tmp_path, content):
    (tmp_path / "broken.npz").write_bytes(content)
    with pytest.raises(ValueError, match="cannot be read as a dataset"):
        load("broken", directory=tmp_path)


@pytest.mark.parametrize("damaged", [b"(2, 2(", b"(2, 2 "])
def test_headers_with_unequal_brackets(tmp_path, damaged):
    """The checksum, of a file changed as a whole, says nothing of it."""
    np.savez(tmp_path / "whole.npz", X=np.eye(2), y=[0, 1], classes=["a", "b"])
    with ZipFile(tmp_path / "whole.npz") as whole, ZipFile(tmp_path / "odd.npz", "w") as odd:
        for name in whole.namelist():
            odd.writestr(name, whole.read(name).replace(b"(2, 2)", damaged))
    with pytest.raises(ValueError, match="'X' is damaged"):
        load("odd", directory=tmp_path)


@pytest.mark.skipif("WEAKLY_DATA" not in os.environ, reason="WEAKLY_DATA is not set")
@pytest.mark.parametrize(
    ("name", "shape", "n_classes", "splits"),
    [
        ("uspst", (2007, 256), 10, {50: (10, 50)}),
        ("ssl_text", (1500, 11960), 2, {10: (12, 10), 100: (12, 100)}),
        ("letter", (20000, 16), 26, {}),
        ("mnist", (70000, 784), 10, {10 * n: (50, 10 * n) for n in range(1, 6)}),
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
