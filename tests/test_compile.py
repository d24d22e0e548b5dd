"""Where machine code may be kept."""

import os
import tempfile

import numba
import pytest
from numba.core import caching

from weakly._compile import _private_directory, njit

pytestmark = pytest.mark.skipif(os.name != "posix", reason="elsewhere temporary files are the user's own")


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """An empty directory for temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    _private_directory.cache_clear()
    yield tmp_path
    _private_directory.cache_clear()


def test_the_directory_is_made_for_its_user_alone(temporary):
    directory = _private_directory()
    assert directory == temporary / f"weakly-{os.getuid()}"
    assert directory.stat().st_mode & 0o777 == 0o700
    _private_directory.cache_clear()
    assert _private_directory() == directory  # which is there by now


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o701])
def test_a_directory_that_is_open_to_others_is_not_used(temporary, mode):
    directory = temporary / f"weakly-{os.getuid()}"
    directory.mkdir()
    directory.chmod(mode)
    assert _private_directory() is None


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_another_user_is_not_used(temporary):
    directory = temporary / f"weakly-{os.getuid()}"
    directory.mkdir(mode=0o700)
    os.chown(directory, 65534, 65534)
    assert _private_directory() is None


def test_links_and_files_are_not_used(temporary):
    name = temporary / f"weakly-{os.getuid()}"
    (temporary / "elsewhere").mkdir(mode=0o700)
    name.symlink_to(temporary / "elsewhere")
    assert _private_directory() is None
    name.unlink()
    name.touch()
    _private_directory.cache_clear()
    assert _private_directory() is None


def test_no_place_for_temporary_files_is_no_error(monkeypatch):
    def nowhere():
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", nowhere)
    _private_directory.cache_clear()
    assert _private_directory() is None
    _private_directory.cache_clear()


def test_options_and_the_settings_of_other_packages(temporary, monkeypatch):
    monkeypatch.setattr(caching.CompileResultCacheImpl, "_locator_classes", [])  # no place for anything
    directory = numba.config.CACHE_DIR

    @njit(fastmath=True, nogil=True)
    def double(x):
        return 2 * x

    assert double(4.0) == 8.0
    assert double.targetoptions["fastmath"]
    assert double.targetoptions["nogil"]
    assert list(temporary.rglob("*double*.nbc"))
    assert directory == numba.config.CACHE_DIR
    with pytest.raises(RuntimeError, match="no locator available"):
        numba.njit(cache=True)(double.py_func)


def test_a_numba_of_other_insides_is_used_without_a_cache(temporary, monkeypatch):
    monkeypatch.setattr(caching.CompileResultCacheImpl, "_locator_classes", [])
    monkeypatch.delattr(caching, "_CacheLocator")

    @njit
    def double(x):
        return 2 * x

    assert double(4.0) == 8.0
    assert not list(temporary.rglob("*.nbc"))
