"""Disturb real commands at random moments, and look at what is left.

A round runs one command in a copy of a folder and disturbs it. Every file is then as before or as
an undisturbed run leaves it, nothing else is left, and the command run again gives the same result.
"""

import ctypes
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from harden import ROOT
from harden.targets import made_table

METAOD = [sys.executable, "-m", "metaod"]
SPACE = ["--space", "HBOS"]


@dataclass(frozen=True)
class Job:
    """A command, and what it starts from."""

    name: str
    words: list[str]
    prepare: list[list[str]] = field(default_factory=list)
    answers: bytes = b""
    store: str = ""  # its store, whose content counts and not its bytes
    again: tuple[str, ...] = ()  # options of the next run: models that failed are kept as failed


BUILD = ["build", "--store", "s.db", "--data", "data", "--family", "HBOS", "--family", "LODA",
         "--trials", "2", "--no-references", "--schema", "none"]  # fmt: skip
JOBS = [
    Job("detect", ["detect", "t.csv", *SPACE, "-o", "o.csv", "--cells", "c.csv"]),
    Job("report", ["detect", "t.csv", *SPACE, "-o", "o.xlsx", "--report", "r.html"]),
    Job("save", ["detect", "t.csv", *SPACE, "--save", "p.mod"]),
    Job("apply", ["detect", "t.csv", "--apply", "p.mod", "-o", "o.parquet"],
        [["detect", "t.csv", *SPACE, "--save", "p.mod"]]),
    Job("review", ["review", "t.csv", *SPACE], answers=b"ynnyny?nnnyn"),
    Job("build", BUILD, store="s.db", again=("--retry", "failed")),
    Job("export", ["db", "export", "exported", "--store", "s.db", "--evaluations"], [BUILD]),
    Job("import", ["db", "import", "exported", "--store", "new.db"],
        [BUILD, ["db", "export", "exported", "--store", "s.db", "--evaluations"]], store="new.db"),
    Job("merge", ["db", "merge", "s.db", "--store", "new.db"],
        [BUILD, ["db", "init", "--store", "new.db"]], store="new.db"),
]  # fmt: skip


@dataclass
class Run:
    """What a command did."""

    code: int
    out: str
    err: str


def started(words: list[str], folder: Path, **options: Any) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **options.pop("env", {})}
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(  # a group of its own, so that a signal reaches what it starts
        [*METAOD, *words], cwd=folder, env=environment, start_new_session=True, **pipes, **options
    )


def finished(process: subprocess.Popen[bytes], answers: bytes = b"") -> Run:
    text = b"".join(answers[i : i + 1] + b"\n" for i in range(len(answers)))
    try:
        out, err = process.communicate(text, timeout=300)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        err += b"\nTraceback: it hangs"
    return Run(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))


# what may happen to a command; each returns what it did


def killed(job: Job, folder: Path, rng: Random, seconds: float) -> Run:
    return _signalled(job, folder, rng.uniform(0.0, seconds), signal.SIGKILL)


def interrupted(job: Job, folder: Path, rng: Random, seconds: float) -> Run:
    return _signalled(job, folder, rng.uniform(0.0, seconds), signal.SIGINT)


def _signalled(job: Job, folder: Path, delay: float, number: int) -> Run:
    process, end, given = started(job.words, folder), time.monotonic() + delay, 0
    while time.monotonic() < end and process.poll() is None:
        with suppress(BrokenPipeError):
            process.stdin.write(
                b"".join(b"%c\n" % letter for letter in job.answers[given : given + 1])
            )
            process.stdin.flush()
        given += 1
        time.sleep(0.05)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
    return finished(process)


def without_space(job: Job, folder: Path, rng: Random, _: float) -> Run:
    """Run on a small disk; where none can be mounted, files may not be large."""
    free = rng.choice([0, 4, 8, 16, 32, 64]) * 1024
    pages = sum(1 + -(-path.stat().st_size // 4096) for path in folder.rglob("*"))
    disk, options = tempfile.mkdtemp(prefix="harden-"), f"size={(pages + 1) * 4096 + free}"
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", disk]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        limits = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (free + 1024, free + 1024))
        return finished(started(job.words, folder, preexec_fn=limits), job.answers)
    try:
        shutil.copytree(folder, disk, dirs_exist_ok=True)
        found = finished(started(job.words, Path(disk)), job.answers)
        shutil.rmtree(folder)
        shutil.copytree(disk, folder)
    finally:
        subprocess.run(["umount", disk], check=True)
        Path(disk).rmdir()
    return found


def read_only(job: Job, folder: Path, _: Random, __: float) -> Run:
    """Run in a folder that may not be written."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    found = finished(started(job.words, folder, preexec_fn=_as_ordinary_user), job.answers)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return found


def homeless(job: Job, folder: Path, _: Random, __: float) -> Run:
    """Run where no home, temporary folder or folder for compiled code can be written."""
    nowhere = Path(tempfile.mkdtemp(prefix="harden-"))
    nowhere.chmod(0o555)
    names = ("HOME", "TMPDIR", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    env = dict.fromkeys(names, str(nowhere))
    process = started(job.words, folder, env=env, preexec_fn=_as_ordinary_user)
    found = finished(process, job.answers)
    nowhere.rmdir()  # nothing was written there
    return found


def _as_ordinary_user() -> None:
    """Give up the superuser's right to ignore permissions, for good."""
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, capability)  # PR_CAPBSET_DROP; without effect for others


def without_memory(job: Job, folder: Path, rng: Random, _: float) -> Run:
    limit = int(rng.uniform(0.2, 1.6) * 2**30)
    limits = partial(resource.setrlimit, resource.RLIMIT_AS, (limit, limit))
    return finished(started(job.words, folder, preexec_fn=limits), job.answers)


HARMS: dict[str, tuple[Callable[[Job, Path, Random, float], Run], set[int]]] = {
    "killed": (killed, {0, -9}),
    "interrupted": (interrupted, {0, 130, -2}),
    "without space": (without_space, {0, 2}),
    "read-only": (read_only, {0, 2}),
    "homeless": (homeless, {0}),
    "without memory": (
        without_memory,
        {0, 1, 2, -6, -11, 134, 139, 127},
    ),  # a library may end the process
}
"""What may happen, and the exit codes that are right then."""


# what is left


def content(folder: Path, store: str) -> dict[str, object]:
    """Return the files by name; of a store its content, of the marks what was answered."""
    from made_builds import content as held

    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix in (".lock", ".db-journal") or path.is_dir():
            continue
        if name == store:
            found[name] = repr(held(path))
        elif name.endswith(".marks.csv"):
            found[name] = [
                tuple(line.split(",")[i] for i in (0, 3)) for line in path.read_text().splitlines()
            ]
        elif path.suffix == ".xlsx":
            found[name] = "a workbook"  # it states when it was made
        else:
            found[name] = path.read_bytes()
    return found


class Scene:
    """The folders of a job: as it begins, and as an undisturbed run leaves it."""

    def __init__(self, job: Job, base: Path) -> None:
        from made_builds import make_folder

        self.job, self.start, end = job, base / f"{job.name}-start", base / f"{job.name}-end"
        self.start.mkdir()
        (self.start / "t.csv").write_bytes(made_table(60))
        if job.store or (job.prepare and job.prepare[0] is BUILD):
            make_folder(self.start / "data", 3, 60)
        for words in job.prepare:
            run = finished(started(words, self.start))
            assert run.code == 0, (words, run.err)
        shutil.copytree(self.start, end)
        begin = time.monotonic()
        whole = finished(started(job.words, end), job.answers)
        assert whole.code == 0, whole.err
        self.seconds = time.monotonic() - begin
        self.before, self.after = content(self.start, job.store), content(end, job.store)

    def round(self, harm: str, folder: Path, rng: Random) -> str:
        """Disturb the command; return what is wrong then, or an empty text."""
        shutil.copytree(self.start, folder)
        disturb, codes = HARMS[harm]
        run = disturb(self.job, folder, rng, self.seconds * 1.1)
        problems = [] if run.code in codes else [f"exit code {run.code}: {run.err[-600:]}"]
        if "Traceback" in run.err and harm != "without memory":
            problems.append(f"a traceback: {run.err[-900:]}")
        if run.code == 2 and run.err.count("metaod: error:") != 1 and harm != "without memory":
            problems.append(f"more than one line: {run.err[-600:]}")
        problems += self._left(content(folder, self.job.store), run, harm)
        again = finished(started([*self.job.words, *self.job.again], folder), self.job.answers)
        if again.code != 0:
            problems.append(f"not again: {again.err[-600:]}")
        elif self.job.name != "review" and (left := content(folder, self.job.store)) != self.after:
            names = [
                name for name in {*left, *self.after} if left.get(name) != self.after.get(name)
            ]
            problems.append(f"another result when run again: {sorted(names)}")
        return "; ".join(problems)

    def _left(self, left: dict[str, object], run: Run, harm: str) -> Iterator[str]:
        for name, held in left.items():
            if name.endswith(".new"):
                if harm != "killed":
                    yield f"{name} is left"
            elif name.endswith(".marks.csv"):
                answered = max(map(int, re.findall(r"answered (\d+)", run.out)), default=0)
                if not answered <= len(held) - 1 or held != self.after[name][: len(held)]:
                    yield f"{answered} answers were taken, the file has {held}"
            elif name == self.job.store:
                continue  # it has what was finished; running again shows that
            elif held not in (self.before.get(name), self.after.get(name)):
                yield f"{name} is neither old nor new"
        yield from (f"{name} was lost" for name in self.before if name not in left)


def rounds(seconds: float, count: int, seed: int, work: Path) -> dict[str, tuple[int, int, float]]:
    """Disturb commands; return rounds, failures and seconds by what happened to them."""
    rng, base = Random(seed), Path(tempfile.mkdtemp(prefix="harden-"))
    base.chmod(0o755)
    found = dict.fromkeys(HARMS, (0, 0, 0.0))
    scenes: dict[str, Scene] = {}
    end = time.monotonic() + seconds
    (work / "failures" / "faults").mkdir(parents=True, exist_ok=True)
    for number in range(count):
        if time.monotonic() > end:
            break
        job, harm = rng.choice(JOBS), [*HARMS][number % len(HARMS)]
        scene = scenes.get(job.name) or scenes.setdefault(job.name, Scene(job, base))
        folder, begin = base / f"round-{number}", time.monotonic()
        problem = scene.round(harm, folder, rng)
        n, bad, spent = found[harm]
        found[harm] = (n + 1, bad + bool(problem), spent + time.monotonic() - begin)
        if problem:
            where = work / "failures" / "faults" / f"{harm}-{job.name}-{seed}-{number}.txt"
            where.write_text(problem, encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(base, ignore_errors=True)
    return found
