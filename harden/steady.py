"""Load, and the same numbers on other machines: each check returns what it tried and what is wrong.

Each takes the seconds and the count that it may spend, and returns how much was tried, the
problems, and the most memory in MiB.
"""

import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from itertools import count as naturals
from pathlib import Path

import numpy as np

from harden import ROOT
from harden.fuzzing import memory
from harden.targets import made_table

Tried = tuple[int, list[str], float]
GROWTH, SLOWER = 24.0, 1.5  # MiB, and how much longer a step may take at the end than at the begin


def table(seed: int, n_rows: int = 120) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4)) @ rng.normal(size=(4, 4))
    X[:5] += rng.normal(0, 5, size=4)
    return X


def _flat(step: Callable[[int], object], seconds: float, count: int) -> Tried:
    """Repeat a step; time and memory of the last fifth are those of the second fifth."""
    for number in range(5):
        step(number)  # compiles, and loads what is imported late
    times, held, end = [], [], time.monotonic() + seconds
    while len(times) < count and (time.monotonic() < end or len(times) < 10):
        begin = time.process_time()
        step(len(times))
        times.append(time.process_time() - begin)
        held.append(memory("VmRSS"))
    fifth = len(times) // 5
    slower = np.median(times[-fifth:]) / np.median(times[fifth : 2 * fifth])
    growth = np.median(held[-fifth:]) - np.median(held[fifth : 2 * fifth])
    problems = [f"a step takes {slower:.2f} times as long at the end"] if slower > SLOWER else []
    problems += [f"memory grew by {growth:.0f} MiB"] if growth > GROWTH else []
    print(f"time at the end {slower:.2f} times that at the begin, memory {growth:+.1f} MiB")
    return len(times), problems, max(held)


def selections(seconds: float, count: int) -> Tried:
    """Picks for table after table in one process."""
    import metaod

    return _flat(lambda number: metaod.select(table(number)), seconds, count)


def answers(seconds: float, count: int) -> Tried:
    """Answers of reviews in one process; every hundredth begins the review of another table."""
    import metaod

    review = None

    def step(number: int) -> None:
        nonlocal review
        if number % 100 == 0 or review is None:
            model = metaod.MetaOD(space="HBOS", pick="learned-single", rows_only=True)
            review = model.fit(table(number, 300)).review()
        [row] = review.ask(1)
        review.tell(row, row < 5)

    return _flat(step, seconds, count)


def scores_of(seed: int) -> bytes:
    """Return the scores of a table, for threads and processes beside each other."""
    import metaod

    return (
        metaod.MetaOD(pick="committee", rows_only=True).fit(table(seed)).decision_scores_.tobytes()
    )


def _beside(pool: ThreadPoolExecutor | ProcessPoolExecutor, n: int) -> Tried:
    expected = [scores_of(seed) for seed in range(n)]
    with pool:
        found = list(pool.map(scores_of, range(n)))
    wrong = sum(one != other for one, other in zip(expected, found, strict=True))
    return n, [f"{wrong} of {n} tables have other scores"] if wrong else [], memory("VmHWM")


def threads(_: float, count: int) -> Tried:
    """Sixteen threads score tables at once; the scores are those of one after another."""
    return _beside(ThreadPoolExecutor(16), min(count, 32))


def processes(_: float, count: int) -> Tried:
    """Sixteen processes do."""
    spawning = multiprocessing.get_context("spawn")
    return _beside(ProcessPoolExecutor(16, mp_context=spawning), min(count, 16))


def users(seconds: float, count: int) -> Tried:
    """Fifty users of the page: each uploads, scores, looks at the result, and deletes.

    The page may ask a user to come later (503, 409, 429); nothing else may go wrong.
    """
    from made_server import client_of, made_csv, serving

    from metaod.web import Limits

    done, problems, end, numbers = Counter(), [], time.monotonic() + seconds, naturals()

    def use() -> None:
        with client_of(server) as client:
            while time.monotonic() < end and next(numbers) < count:
                try:
                    opened = client.upload(made_csv())
                    if opened.status_code != 201:
                        done[opened.status_code] += 1
                        time.sleep(0.5)
                        continue
                    path = opened.headers["Location"]
                    begun = client.post(f"{path}/detection", json={})
                    if begun.status_code == 202:
                        state = client.wait(path, 120)["state"]
                        assert state == "done", state
                        assert len(client.get(f"{path}/result").json()) > 0
                    done[begun.status_code] += 1
                    client.delete(path)
                except Exception as error:
                    problems.append(repr(error))

    with tempfile.TemporaryDirectory() as folder, serving(Path(folder), Limits()) as server:
        people = [threading.Thread(target=use) for _ in range(50)]
        for person in people:
            person.start()
        for person in people:
            person.join()
    print(f"answers by status: {dict(done)}")
    problems += [f"status {code}" for code in done if code not in (202, 409, 429, 503)]
    problems += [] if done[202] else ["no table was scored"]
    return sum(done.values()), problems, memory("VmHWM")


FIGURES = """
import hashlib, io, os, sys
from metaod.detection import detect
from metaod.tables import read_table
table = read_table(io.BytesIO(sys.stdin.buffer.read()))
found = detect(table, n_jobs=int(os.environ.get("N_JOBS", 1)))
text = [found.model.fitted_.weights, found.scores.tobytes(), found.order.tolist()]
text += [found.flags.tolist()]
text += [cell.to_dict() for cell in found.model.cells_.found.findings(0.0)]
print(hashlib.sha256(repr(text).encode()).hexdigest())
"""


def machines(seconds: float, count: int) -> Tried:
    """Picks, scores, flags and findings with other time zones, languages, hashes and threads."""
    known = subprocess.run(
        ["locale", "-a"], capture_output=True, text=True, check=False
    ).stdout.split()
    languages = [
        name for name in known if name in ("C", "C.utf8", "POSIX", "tr_TR.utf8", "de_DE.utf8")
    ]
    variants = [{}, *({"TZ": zone} for zone in ("Asia/Tokyo", "America/St_Johns", "UTC-14"))]
    variants += [{"LC_ALL": name} for name in languages]
    variants += [{"PYTHONHASHSEED": seed} for seed in ("1", "77")]
    variants += [{"PYTHONUTF8": "0", "LC_ALL": "C"}, {"PYTHONOPTIMIZE": "2"}]
    variants += [
        {"OMP_NUM_THREADS": n, "NUMBA_NUM_THREADS": n, "N_JOBS": n} for n in ("2", "4", "8")
    ]
    found, data, end = {}, made_table(90), time.monotonic() + seconds
    for variant in variants[:count]:
        if found and time.monotonic() > end:
            break
        env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **variant}
        done = subprocess.run(
            [sys.executable, "-c", FIGURES], input=data, env=env, capture_output=True, check=False
        )
        found[json.dumps(variant)] = done.stdout or done.stderr[-500:]
    expected = found["{}"]
    problems = [f"{name}: {text!r}" for name, text in found.items() if text != expected]
    return len(found), problems, 0.0


CHECKS: dict[str, Callable[[float, int], Tried]] = {
    check.__name__: check for check in (selections, answers, threads, processes, users, machines)
}
KINDS = dict.fromkeys(CHECKS, "load") | {"machines": "numbers"}
