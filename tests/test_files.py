"""Files that are written whole, and what a killed process left of them."""

import os
import subprocess
import sys
import time

import pytest

from metaod import _files

WRITER = """
import sys, time
from pathlib import Path
from metaod._files import replace_file

def write(stream):
    stream.write(b"half")
    stream.flush()
    print("writing", flush=True)
    time.sleep(60)

replace_file(Path(sys.argv[1]), write)
"""


@pytest.mark.skipif(os.name != "posix", reason="locks and signals of POSIX")
def test_what_a_killed_writer_left_is_removed_by_the_next_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "_YOUNG_SECONDS", -1.0)
    path = tmp_path / "out[1].csv"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    try:
        for writer in writers:
            assert writer.stdout.readline() == b"writing\n"
        assert len(list(tmp_path.iterdir())) == 2
        writers[0].kill()
        writers[0].wait()
        others = {"out1.csv.0123abcd.new", "out[1].csv.notes.new", "out[1].csv.0123abcd.new.txt"}
        for name in others:
            (tmp_path / name).touch()
        _files.replace_file(path, lambda stream: stream.write(b"whole"))
        left = {own.name for own in tmp_path.iterdir()} - others - {path.name}
        assert len(left) == 1  # of the writer that is alive
        assert path.read_bytes() == b"whole"
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()


@pytest.mark.skipif(os.name != "posix", reason="rights of POSIX")
@pytest.mark.parametrize("mode", [0o600, 0o664])
def test_a_file_keeps_its_rights(tmp_path, mode):
    path = tmp_path / "private.csv"
    path.touch()
    path.chmod(mode)
    _files.replace_file(path, lambda stream: stream.write(b"1"))
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"1", mode)


def test_a_file_that_was_just_made_stays(tmp_path):
    (tmp_path / "t.csv.0123abcd.new").touch()
    _files.replace_file(tmp_path / "t.csv", lambda stream: stream.write(b"1"))
    assert len(list(tmp_path.iterdir())) == 2
    before = time.time() - 60
    os.utime(tmp_path / "t.csv.0123abcd.new", (before, before))
    _files.replace_file(tmp_path / "t.csv", lambda stream: stream.write(b"2"))
    assert (len(list(tmp_path.iterdir())) == 1) == (os.name == "posix")
