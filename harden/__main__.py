"""``python -m harden``: see :mod:`harden`."""

import argparse
import csv
import json
import sys
import time
from pathlib import Path

from harden import ROOT, WORK, fuzzing

COUNTS = WORK / "counts.json"
LAST_RUN = ROOT / "results" / "harden" / "last-run.csv"
FIELDS = ("kind", "target", "executions", "failures", "seconds", "peak_mib")


def count(
    kind: str, target: str, executions: int, failures: int, seconds: float, mib: float
) -> None:
    """Add a run to the counts that are kept; failures are those of the last run."""
    known = json.loads(COUNTS.read_text("utf-8")) if COUNTS.exists() else {}
    before = known.get(f"{kind}/{target}", {"executions": 0, "seconds": 0.0, "peak_mib": 0.0})
    known[f"{kind}/{target}"] = {
        "executions": before["executions"] + executions,
        "failures": failures,
        "seconds": before["seconds"] + seconds,
        "peak_mib": max(before["peak_mib"], mib),
    }
    COUNTS.write_text(json.dumps(known, indent=1), encoding="utf-8")
    print(f"{kind} {target}: {executions:,} in {seconds:.0f} s, {failures} failures", flush=True)


def run_input(options: argparse.Namespace) -> int:
    """Give damaged inputs to every target, for the time or count that it is given."""
    from harden.targets import TARGETS

    names = options.target or [*TARGETS]
    shares = {name: 5.0 if name == "readers" else 1.0 for name in names}
    total, n_failures = sum(shares.values()), 0
    for name, share in shares.items():
        seconds, most = options.seconds * share / total, int(options.count * share / total)
        found = fuzzing.start_target(name, seconds, most or 1, options.seed)
        failures = len({path.stem for path in (WORK / "failures" / name).iterdir()})
        count("input", name, found["executions"], failures, found["seconds"], found["peak_mib"])
        n_failures += failures
    return n_failures


def run_faults(options: argparse.Namespace) -> int:
    from harden import faults

    found = faults.rounds(options.seconds, options.count, options.seed, WORK)
    for harm, (n, bad, seconds) in found.items():
        count("faults", harm, n, bad, seconds, 0.0)
    return sum(bad for _, bad, _ in found.values())


def run_steady(options: argparse.Namespace) -> int:
    from harden import steady

    n_failures = 0
    for name, check in steady.CHECKS.items():
        if options.target and name not in options.target:
            continue
        begin = time.monotonic()
        n, problems, mib = check(
            options.seconds / len(options.target or steady.CHECKS), options.count
        )
        for problem in problems:
            print(f"{name}: {problem}", file=sys.stderr)
        count(steady.KINDS[name], name, n, len(problems), time.monotonic() - begin, mib)
        n_failures += len(problems)
    return n_failures


def run_mutants(options: argparse.Namespace) -> int:
    from harden import mutants

    n_surviving = n = 0
    for file, line, change, lives in mutants.sample(options.count, options.seed, options.target):
        n, n_surviving = n + 1, n_surviving + lives
        print(f"{'survives' if lives else 'noticed'}: {file}:{line}: {change}", flush=True)
    print(f"{n} changes with seed {options.seed}, {n_surviving} survive")
    return 0


def run_all(options: argparse.Namespace) -> int:
    """Run everything, half of the time with damaged input, and write the results."""
    seconds, n_failures = options.seconds, 0
    for run, share in ((run_input, 0.5), (run_faults, 0.25), (run_steady, 0.25)):
        options.seconds = seconds * share
        n_failures += run(options)
    return n_failures + write(options)


def write(_: argparse.Namespace) -> int:
    """Write the counts to results/harden/last-run.csv, and into docs/promises.md."""
    known = json.loads(COUNTS.read_text("utf-8"))
    LAST_RUN.parent.mkdir(parents=True, exist_ok=True)
    rows = []
    for name, facts in known.items():
        kind, target = name.split("/")
        figures = (
            facts["executions"],
            facts["failures"],
            round(facts["seconds"]),
            round(facts["peak_mib"]),
        )
        rows.append((kind, target, *figures))
    with LAST_RUN.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([FIELDS, *rows])
    page = ROOT / "docs" / "promises.md"
    before, mark, rest = page.read_text("utf-8").partition("<!-- counts -->\n")
    lines = ["| attack | tried | failures | seconds | peak MiB |", "|---|---|---|---|---|"]
    for kind, target, n, bad, seconds, mib in rows:
        lines.append(f"| {kind}: {target} | {n:,} | {bad} | {seconds:,} | {mib or '–'} |")
    end = rest[rest.index("<!-- end -->") :]
    page.write_text(before + mark + "\n".join(lines) + "\n" + end, encoding="utf-8")
    return 0


def main() -> None:
    if sys.argv[1:2] == ["target"]:  # the process of one target
        name, seconds, most, seed = sys.argv[2:]
        fuzzing.run_target(name, float(seconds), int(most), int(seed))
    parser = argparse.ArgumentParser(prog="python -m harden", description=__doc__)
    kinds = {
        "all": run_all,
        "input": run_input,
        "faults": run_faults,
        "steady": run_steady,
        "mutate": run_mutants,
        "write": write,
    }
    parser.add_argument("kind", choices=kinds)
    parser.add_argument("target", nargs="*")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--count", type=int, default=10**9)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    Path(WORK).mkdir(parents=True, exist_ok=True)
    sys.exit(min(kinds[options.kind](options), 1))


if __name__ == "__main__":
    main()
