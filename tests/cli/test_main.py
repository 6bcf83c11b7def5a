"""The command: exit codes, one-line errors, and no heavy imports at start."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from metaod import __version__
from metaod.cli import main as command
from metaod.errors import BadFile


def called(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        command.main(list(arguments))
    out = capsys.readouterr()
    return stop.value.code, out.out, out.err


def test_version(run):
    assert run("--version") == f"metaod {__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["db"]])
def test_a_group_without_a_command_prints_its_help_alone(capsys, arguments):
    code, out, err = called(capsys, *arguments)
    assert code == 2
    assert "Usage" in out + err
    assert "error" not in err


def test_brackets_in_a_help_text_are_shown(run):
    assert "metaod-next[mcp]" in run("mcp", "--help")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_is_a_user_error():
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "metaod", "models", "--all"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=120,
        )  # fmt: skip
    assert result.returncode == 2
    assert "cannot write the output" in result.stderr


EXTRAS = (
    "dask h5py jinja2 matplotlib mcp openpyxl pooch psycopg requests sqlalchemy starlette torch"
)
COMPUTING = "joblib pyod scipy.spatial scipy.stats sklearn"
TABLES = "numba numpy pandas pyarrow scipy"


@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        (["--help"], f"{EXTRAS} {COMPUTING} {TABLES}"),
        (["--version"], f"{EXTRAS} {COMPUTING} {TABLES}"),
        (["models"], f"{EXTRAS} {COMPUTING} numba"),
        (["select", "--example"], f"{EXTRAS} {COMPUTING}"),
        (["detect", "--example"], EXTRAS),
    ],
    ids=["help", "version", "models", "select", "detect"],
)
def test_a_command_imports_only_what_it_needs(arguments, heavy):
    code = (
        "import sys\nfrom metaod.cli.main import main\n"
        f"try: main({arguments!r})\nexcept SystemExit: pass\n"
        f"print('HEAVY', [m for m in {heavy.split()!r} if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    assert result.stdout.splitlines()[-1] == "HEAVY []"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nonsense"], "nonsense"),
        (["models", "--famly", "LOF"], "--famly"),
        (["models", "--family", "LOFF"], "LOFF"),
        (["models", "--limit", "none"], "--limit"),
        (["inspect"], "--example"),
        (["inspect", "no-such-file.csv"], "no-such-file.csv"),
    ],
)
def test_a_user_error_is_one_line_and_code_2(run, arguments, says):
    assert says in run(*arguments, code=2)


def test_debug_is_accepted_anywhere(capsys):
    for arguments in (["--debug", "inspect", "missing.csv"], ["inspect", "missing.csv", "--debug"]):
        code, _, err = called(capsys, *arguments)
        assert code == 2
        assert "Traceback" in err
        assert err.splitlines()[-1].startswith("metaod: error: ")


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (ZeroDivisionError("division"), 1, "a defect in metaod, please report it"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (MemoryError(), 2, "there is not enough memory"),
        (ImportError("lib.so: failed to map segment"), 2, "there is not enough memory"),
        (BadFile("a\nb.csv", "broken\nthing"), 2, "a b.csv: broken thing"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_an_error_is_one_line_with_its_code(capsys, monkeypatch, error, code, says):
    def failing(**_):
        raise error

    monkeypatch.setattr(command, "make_app", lambda _: failing)
    found, _, err = called(capsys)
    assert found == code
    assert says in err
    assert len(err.splitlines()) == 1


def test_output_cut_short_by_its_reader_is_no_error():
    result = subprocess.run(
        f"{sys.executable} -m metaod models --all | head -1; echo ${{PIPESTATUS[0]}}",
        shell=True, executable="/bin/bash", capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert result.stderr == ""
    assert result.stdout.splitlines()[-1] == "0"


posix = pytest.mark.skipif(os.name != "posix", reason="shells and signals of POSIX")


@pytest.fixture
def with_pipes(tmp_path, monkeypatch):
    """Change to a folder with a table and two named pipes."""
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("a,b\n1,2\n3,5\n5,1\n")
    for name in ("pipe", "pipe.csv"):
        os.mkfifo(name)


@posix
@pytest.mark.usefixtures("with_pipes")
@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        ("inspect - <&-", 2, "standard input is closed; name a file"),
        ("inspect - </dev/zero", 2, "standard input is a device"),
        ("inspect - </dev/null", 2, "is empty"),
        ("inspect - <t.csv >&-", 0, ""),
        ("inspect /dev/stdin <t.csv 2>&-", 0, ""),
        ("inspect <(cat t.csv) <&-", 0, ""),
    ],
)
def test_standard_streams(line, code, says):
    result = subprocess.run(
        f"{sys.executable} -m metaod {line}", shell=True, executable="/bin/bash",
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert result.returncode == code, result.stderr
    assert says in result.stderr
    assert len(result.stderr.splitlines()) == (code == 2)


@posix
@pytest.mark.usefixtures("with_pipes")
@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("inspect /dev/zero", "is a device, not a file"),
        ("detect t.csv --apply pipe", "pipe: is a named pipe, not a file; name a file"),
        ("detect t.csv --apply /dev/zero", "/dev/zero: is a device, not a file"),
        ("detect t.csv --apply .", "is a folder"),
        ("detect t.csv --save pipe", "is a named pipe"),
        ("detect t.csv --save /dev/full", "is a device"),
        ("detect t.csv -o pipe.csv", "is a named pipe"),
        ("detect t.csv --learner pipe", "learner"),
        ("detect t.csv --learner /dev/zero", "learner"),
        ("db info --store pipe", "is a named pipe"),
        ("db info --store /dev/zero", "is a device"),
        ("db init --store pipe", "is a named pipe"),
        ("train --store my.db --out pipe", "is a named pipe"),
        ("build --store new.db --data pipe", "pipe"),
    ],
)
def test_paths_that_are_not_what_is_meant(run, line, says):
    assert says in run(*line.split(), code=2)
    assert Path("pipe").is_fifo()
    assert Path("pipe.csv").is_fifo()


def test_a_tilde_that_names_no_home_folder_is_part_of_a_name(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("~$t.csv").write_text("a,b\n1,2\n3,5\n5,1\n")
    assert "3 rows" in run("inspect", "~$t.csv")
    assert "~$none.csv" in run("select", "~$t.csv", "~$none.csv", code=2)
    assert "~$pick" in run("check", "~$t.csv", "--against", "~$pick", code=2)
    assert "~$no" in run("detect", "~$t.csv", "-o", "~$no/t.csv", "--marks", "~$m", code=2)
    assert "empty store" in run("db", "init", "--store", "~$my.db")


@posix
def test_a_signal_that_ends_the_process_removes_unfinished_files(capsys, monkeypatch, tmp_path):
    unfinished = tmp_path / "t.new"

    def working(**_):
        unfinished.touch()
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            unfinished.unlink()

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(command, "make_app", lambda _: working)
    try:
        assert called(capsys)[0] == 143
    finally:
        signal.signal(signal.SIGTERM, before)
    assert not unfinished.exists()


@pytest.mark.parametrize("module", ["metaod.cli.main", "typer", "metaod.cli.models"])
def test_an_interruption_of_imports_shows_no_traceback(module):
    code = (
        "import sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}: raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "sys.argv[1:] = ['models']\n"
        "from metaod.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "metaod: error: interrupted\n")


@posix
@pytest.mark.usefixtures("with_pipes")
def test_a_named_pipe_without_a_writer_is_named():
    with subprocess.Popen(
        [sys.executable, "-m", "metaod", "inspect", "pipe.csv"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as reader:  # fmt: skip
        assert "pipe.csv is a named pipe: waiting" in reader.stderr.readline()
        Path("pipe.csv").write_bytes(Path("t.csv").read_bytes())  # and closed at once
        assert "pipe.csv: 3 rows" in reader.communicate(timeout=120)[0]
