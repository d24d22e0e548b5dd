import numpy as np
import pytest

from weakly.rows._arrays import dense_bytes, fits, memory_limit, require_fit


@pytest.fixture
def limit(monkeypatch):
    return lambda text: monkeypatch.setenv("WEAKLY_MEMORY_LIMIT", text)


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        ("8GB", 8 * 1024**3),
        ("500MB", 500 * 1024**2),
        ("1.5 gb", 1536 * 1024**2),
        (" 3KB ", 3072),
        ("2tb", 2 * 1024**4),
        ("100B", 100),
        ("12345", 12345),
    ],
)
def test_limit_is_read_with_its_unit(limit, text, n_bytes):
    limit(text)
    assert memory_limit() == n_bytes


def test_limit_without_the_variable_is_two_gigabytes(monkeypatch):
    monkeypatch.delenv("WEAKLY_MEMORY_LIMIT", raising=False)
    assert memory_limit() == 2 * 1024**3


@pytest.mark.parametrize("text", ["", "GB", "lots", "8XB", "8GiB", "nan", "inf", "-1GB"])
def test_limit_that_is_no_size_names_the_variable(limit, text):
    limit(text)
    with pytest.raises(ValueError, match=r"WEAKLY_MEMORY_LIMIT.*8GB"):
        memory_limit()


def test_dense_bytes_is_what_numpy_takes():
    assert dense_bytes(7, 5, dtype=np.float32) == np.empty((7, 5), np.float32).nbytes
    assert dense_bytes(7, dtype=np.float64, copies=3) == 3 * np.empty(7).nbytes
    assert dense_bytes(10**6, 10**6, dtype=np.float64) == 8 * 10**12  # beyond 32 bits
    assert dense_bytes(np.int64(120), 10**18) == 8 * 120 * 10**18  # and beyond 64


def test_the_limit_itself_fits(limit):
    limit("1000")
    assert fits(1000)
    assert not fits(1001)
    require_fit(1000, "a matrix", "shrink it")


def test_error_says_size_limit_and_what_to_set(limit):
    limit("10MB")
    with pytest.raises(
        MemoryError, match=r"a matrix needs 1.5 GB.*limit of 10 MB: shrink it.*WEAKLY_MEMORY_LIMIT"
    ):
        require_fit(3 * 2**29, "a matrix", "shrink it")
