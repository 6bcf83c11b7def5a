"""Give damaged inputs to a target, and keep those that fail or reach new code.

With atheris (Linux, Python 3.11 to 3.13) the code that inputs reach guides the damage; without it,
samples are damaged at random. Each target runs in a process of its own.
"""

import gc
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random

from harden import ROOT, WORK
from harden.mutating import Mutate, damaged, plain
from harden.targets import TARGETS, Target

SECONDS, MIB = 10.0, 512.0
"""The most that one input may take."""


class Unclear(AssertionError):
    """An error does not tell the user what to do."""


class Costly(AssertionError):
    """An input takes too much time or memory."""


def memory(name: str) -> float:
    """Return a figure of this process in MiB: VmRSS now, VmHWM at most."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def check_clear(error: Exception) -> None:
    """Refuse an error that is not one line with a remedy."""
    from metaod.errors import BadParameter

    text = str(error)
    if "\n" in text or len(text) > 4000:
        raise Unclear(f"{len(text)} characters, {text.count(chr(10)) + 1} lines: {text[:300]!r}")
    if not getattr(error, "remedy", None) and not isinstance(error, BadParameter):
        raise Unclear(f"no remedy: {text[:300]}")


def tried(attempt: Callable[[bytes], object], data: bytes) -> BaseException | None:
    """Return what is wrong with how an input is treated."""
    from metaod.errors import UserError

    before, start = memory("VmRSS"), time.process_time()
    _forget_peak()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                attempt(data)
            except UserError as error:
                check_clear(error)
        seconds, mib = time.process_time() - start, memory("VmHWM") - before
        if seconds > SECONDS or mib > MIB:
            raise Costly(f"{seconds:.0f} s, {mib:.0f} MiB")
    except Exception as error:
        return error
    return None


class Session:
    """Tries inputs of one target; counts them, and keeps one of each way to fail."""

    def __init__(self, name: str, target: Target) -> None:
        self.name, self.target = name, target
        self.executions, self.peak = 0, 0.0
        self.failures = WORK / "failures" / name
        self.failures.mkdir(parents=True, exist_ok=True)

    def attempt(self, data: bytes) -> None:
        """Try an input."""
        self.executions += 1
        error = tried(self.target.attempt, data)
        if error is not None:
            self._keep(data, error)
        self.peak = max(self.peak, memory("VmHWM"))

    def _keep(self, data: bytes, error: BaseException) -> None:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if "/metaod/" in frame.filename] or frames
        place = f"{type(error).__name__}-{Path(own[-1].filename).stem}-{own[-1].name}"
        if isinstance(error, Unclear):
            raised = traceback.extract_tb(error.__context__.__traceback__)
            place = f"Unclear-{Path(raised[-1].filename).stem}-{raised[-1].lineno}"
        stem = self.failures / "".join(c if c.isalnum() or c in "-_" else "_" for c in place)
        if not stem.with_suffix(".input").exists():
            stem.with_suffix(".input").write_bytes(data)
            text = "".join(traceback.format_exception(error))
            stem.with_suffix(".txt").write_text(text, encoding="utf-8", errors="replace")

    def replay(self) -> int:
        """Try the inputs that failed before; forget those that no longer do."""
        for path in self.failures.glob("*.input"):
            data = path.read_bytes()
            path.unlink()
            path.with_suffix(".txt").unlink(missing_ok=True)
            self.attempt(data)
        return len([*self.failures.glob("*.input")])


def _guided(session: Session, seconds: float, count: int, seed: int) -> None:
    """Let atheris draw inputs, from those that reached new code before."""
    import atheris

    corpus = WORK / "corpus" / session.name
    corpus.mkdir(parents=True, exist_ok=True)
    for data in session.target.samples:
        (corpus / hashlib.sha1(data).hexdigest()).write_bytes(data)

    def mutated(data: bytes, most: int, number: int) -> bytes:
        return _change(
            data,
            session.target.head,
            Random(number),
            lambda part: atheris.Mutate(part, max(len(part) * 2, 16)),
        )[:most]

    deadline = time.monotonic() + seconds

    def attempt(data: bytes) -> None:
        if time.monotonic() < deadline and session.executions < count:
            session.attempt(data)
        else:
            _finish(session, seconds - (deadline - time.monotonic()))

    arguments = [f"-seed={seed}", f"-timeout={5 * SECONDS:.0f}", f"-max_len={2**16}",
                 f"-artifact_prefix={session.failures}/", "-rss_limit_mb=0",
                 str(corpus)]  # fmt: skip
    atheris.Setup(["harden", *arguments], attempt, custom_mutator=mutated)
    atheris.Fuzz()


def _change(data: bytes, head: int, rng: Random, mutate: Mutate) -> bytes:
    """Damage what follows the bytes that choose options, or these."""
    chosen = data[:head] if rng.random() < 0.9 else rng.randbytes(head)
    return chosen + damaged(data[head:], rng, mutate)


def _unguided(session: Session, seconds: float, count: int, seed: int) -> None:
    start, rng = time.monotonic(), Random(seed)
    while time.monotonic() - start < seconds and session.executions < count:
        session.attempt(
            _change(rng.choice(session.target.samples), session.target.head, rng, plain(rng))
        )
    _finish(session, time.monotonic() - start)


def _finish(session: Session, seconds: float) -> None:
    """Write the figures and end the process, of which libFuzzer would lose the rest."""
    figures = {"executions": session.executions, "seconds": seconds, "peak_mib": session.peak}
    (WORK / f"{session.name}.json").write_text(json.dumps(figures), encoding="utf-8")
    sys.stdout.flush()
    os._exit(0)


def run_target(name: str, seconds: float, count: int, seed: int) -> None:
    """Try inputs of one target in this process, which ends with it."""
    folder = Path(tempfile.mkdtemp(prefix="harden-"))
    try:
        import atheris
    except ImportError:
        engine, target = _unguided, _made(name, folder)
    else:
        engine = _guided
        with atheris.instrument_imports(include=["metaod"], exclude=_compiled()):
            target = _made(name, folder)
    session = Session(name, target)
    session.replay()
    session.executions = 0
    for data in session.target.samples:
        session.attempt(data)
    gc.freeze()
    engine(session, seconds, count, seed)


def _compiled() -> list[str]:
    """Return the modules that numba compiles, which atheris must not change."""
    files = (ROOT / "src" / "metaod").rglob("*.py")
    places = [path.relative_to(ROOT / "src") for path in files if "njit" in path.read_text("utf-8")]
    return [".".join(place.with_suffix("").parts) for place in places]


def _made(name: str, folder: Path) -> Target:
    target = TARGETS[name](folder)
    for data in target.samples:  # loads what is imported late
        tried(target.attempt, data)
    return target


def start_target(name: str, seconds: float, count: int, seed: int) -> dict[str, float]:
    """Run a target in a process of its own; return its figures. One that dies is a failure."""
    figures = WORK / f"{name}.json"
    figures.unlink(missing_ok=True)
    (WORK / "failures" / name).mkdir(parents=True, exist_ok=True)
    words = ["-m", "harden", "target", name, str(seconds), str(count), str(seed)]
    with (WORK / f"{name}.log").open("wb") as log:
        done = subprocess.run(
            [sys.executable, *words], cwd=ROOT, stdout=log, stderr=log, check=False
        )
    if not figures.exists():
        where = WORK / "failures" / name / f"died-{done.returncode}.txt"
        where.write_bytes((WORK / f"{name}.log").read_bytes()[-20_000:])
        return {"executions": 0, "seconds": 0.0, "peak_mib": 0.0}
    found: dict[str, float] = json.loads(figures.read_text("utf-8"))
    return found
