import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from weakly.cli._errors import UserError
from weakly.cli._files import replacing, require_different, require_free

UNFINISHED = """
import time, typer
from pathlib import Path
from weakly.cli._errors import clean_stops
from weakly.cli._files import replacing

def command(path: Path):
    with clean_stops(), replacing(path) as file:
        file.write(b"half")
        file.flush()
        print("half written", flush=True)
        time.sleep(60)

typer.run(command)
"""


@pytest.mark.parametrize("content", [None, b"old"])
def test_a_file_appears_when_it_is_whole(tmp_path, content):
    path = tmp_path / "t.csv"
    if content:
        path.write_bytes(content)
    with replacing(path) as file:
        file.write(b"new")
        file.flush()
        assert (path.read_bytes() if content else path.exists()) == (content or False)
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["t.csv"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit(143), ValueError])
def test_what_goes_wrong_leaves_the_old_file(tmp_path, error):
    path = tmp_path / "t.csv"
    path.write_bytes(b"old")

    def write():
        with replacing(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises((KeyboardInterrupt, SystemExit, ValueError)):
        write()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["t.csv"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_is_told_and_leaves_the_old_file(tmp_path, monkeypatch, step):
    path = tmp_path / "t.csv"
    path.write_bytes(b"old")

    def fail(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(UserError, match="No space left on device"), replacing(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["t.csv"]


def test_the_content_is_on_the_disk_before_the_name_changes(tmp_path, monkeypatch):
    steps = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *a, n=name, real=real: steps.append(n) or real(*a))
    with replacing(tmp_path / "t.csv") as file:
        file.write(b"new")
    assert steps == ["fsync", "replace"]


def test_links_and_permissions_stay(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"old")
    (tmp_path / "t.csv").chmod(0o640)
    (tmp_path / "link.csv").symlink_to("t.csv")
    with replacing(tmp_path / "link.csv") as file:
        file.write(b"new")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "t.csv").read_bytes() == b"new"
    assert (tmp_path / "t.csv").stat().st_mode & 0o777 == 0o640


def test_new_files_have_the_usual_permissions(tmp_path):
    (tmp_path / "usual").touch()
    with replacing(tmp_path / "t.csv") as file:
        file.write(b"new")
    assert (tmp_path / "t.csv").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("number", "code", "n_left"), [(signal.SIGKILL, -9, 1), (signal.SIGINT, 130, 0), (signal.SIGTERM, 143, 0)]
)
def test_signals_leave_the_old_file(tmp_path, number, code, n_left):
    path = tmp_path / "t.csv"
    path.write_bytes(b"old")
    command = [sys.executable, "-c", UNFINISHED, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "half written\n"
        process.send_signal(number)
        _, told = process.communicate(timeout=30)
    assert process.returncode == code, told
    assert told == ("interrupted: no file is left half written.\n" if code == 130 else "")
    assert path.read_bytes() == b"old"
    assert len(os.listdir(tmp_path)) == 1 + n_left


def test_one_file_under_several_names_is_refused(tmp_path):
    table = tmp_path / "t.csv"
    table.write_bytes(b"mine")
    os.link(table, tmp_path / "hard.csv")
    (tmp_path / "soft.csv").symlink_to("t.csv")
    (tmp_path / "folder").symlink_to(tmp_path)
    for path in (table, tmp_path / "hard.csv", tmp_path / "soft.csv", tmp_path / "folder" / "t.csv"):
        with pytest.raises(UserError, match=r"--out '.*' is the table itself: choose another name\."):
            require_different({"the table": table, "--out": path})
    with pytest.raises(UserError, match=r"--report '.*' is --out itself"):
        require_different({"--out": tmp_path / "new", "--report": tmp_path / "folder" / "new"})
    require_different({"the table": table, "--out": tmp_path / "new", "--report": tmp_path / "other"})
    require_different({"the table": Path("-"), "--out": Path("-")})


def test_places_where_no_file_can_be(tmp_path):
    (tmp_path / "dangling.csv").symlink_to("nowhere.csv")
    (tmp_path / "folder").mkdir()
    with pytest.raises(UserError, match=r"dangling\.csv' is a link to nothing"):
        require_free(tmp_path / "dangling.csv", force=True)
    with pytest.raises(UserError, match="folder' is not a file"):
        require_free(tmp_path / "folder", force=True)
    with pytest.raises(UserError, match="/dev/null' is not a file"):
        require_free(Path("/dev/null"), force=True)
    with pytest.raises(UserError, match="name a file"):
        require_free(Path("-"))
    with pytest.raises(UserError, match=r"cannot write '/proc/t\.csv'"):
        require_free(Path("/proc/t.csv"))
    assert not (tmp_path / "nowhere.csv").exists()


def test_a_file_that_may_not_be_written_is_not_replaced(tmp_path, monkeypatch):
    (tmp_path / "t.csv").touch()
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path / "t.csv")
    with pytest.raises(UserError, match=r"t\.csv': permission denied"):
        require_free(tmp_path / "t.csv", force=True)
    require_free(tmp_path / "new.csv")
