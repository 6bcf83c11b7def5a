"""Evaluate reviews on labelled tables whose labels play the reviewer; follows docs/review.md.

    python -m research evaluate-review WORK development --jobs 2    folds of development origins
    python -m research evaluate-review WORK final --jobs 2          final origins, with all rivals
    python -m research evaluate-review WORK ablations --jobs 2      without a part of the features
    python -m research evaluate-review WORK tables                  tables and the figure alone

WORK is the folder of research train-review, which makes the tables and rankers. Writes tables and a
figure to results/review. A run that was stopped goes on where it was. Needs the extra ``research``.
"""

import argparse
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from metaod.detection._threshold import automatic_share, threshold_of
from metaod.models import Scores
from metaod.review import Ranker
from research.commands.train_review import Training, folds
from research.review_training import fit_rows, untrained_ranker
from research.reviews import CHECKPOINTS, ReviewTable, by_process, play
from research.shipped import MIXED_COLLECTIONS
from research.statistics import bootstrap_intervals

RESULTS = Path(__file__).parents[2] / "results" / "review"
BATCHED = (0, 5, 10, 20, 40, 80)
"""Numbers of answers of rivals that ask about five rows at once."""
GOALS = {5: 0.33, 10: 0.37, 20: 0.41, 40: 0.45}
"""Answers: the wanted average precision on numeric tables."""
OVER_RIVALS, MOST_LOSING, OF_PLANTED = 0.05, 0.03, 0.9
ABLATIONS = {
    "the pick and the models' ranks": (
        "pick",
        "prior",
        "lowest tail",
        "middle tail",
        "highest tail",
    ),
    "similarity by leaf": ("leaf", "process 0", "process 1", "process 2", "process 3", "rank"),
    "similarity by node": ("node",),
    "similarity by values": ("values",),
    "similarity by tails of scores": ("tails",),
    "directions": ("line", "along", "angle"),
    "numbers of marks and size of the table": ("marks", "marked o", "share of o", "log "),
    "wrong cells": ("error",),
}
"""Parts of the features, by words in their names."""
REVIEW, FOREST, START, ERRORS = "Review", "isolation forest", "no marks", "wrong cells"

Ask = npt.NDArray[np.bool_]


def main() -> None:
    """Run one evaluation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("which", choices=("development", "final", "ablations", "tables"))
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    if given.which == "ablations":
        ablate(given.work, given.jobs)
        return
    if given.which != "tables":
        run(given.work, given.which, given.jobs)
    for which in ("development", "final"):
        if (RESULTS / f"{which}.parquet").exists():
            write_tables(which)
    if (RESULTS / "final.parquet").exists():
        draw()


def run(work: Path, which: str, jobs: int) -> None:
    """Review every table of the development or the final origins by every method."""
    kept = work / which
    kept.mkdir(exist_ok=True)
    methods = FINAL if which == "final" else DEVELOPMENT
    tasks = []
    for name, fold in folds(work).items():
        ranker = work / f"ranker-{fold}.review"
        if (fold == "final") == (which == "final") and ranker.exists():
            table, planted = (work / made / f"{name}.npz" for made in ("tables", "planted"))
            tasks.append((table, ranker, kept / f"{name}.csv", methods))
            if planted.exists():
                tasks.append((planted, ranker, kept / f"planted {name}.csv", PLANTED))
    with threadpool_limits(1):
        Parallel(jobs, verbose=1)(delayed(review_one)(*task) for task in tasks)
    frames = [pd.read_csv(path) for _, _, path, _ in tasks if path.exists()]
    found = pd.concat([frame for frame in frames if len(frame)])
    found.to_parquet(RESULTS / f"{which}.parquet", index=False)


def review_one(path: Path, ranker: Path, kept: Path, methods: Sequence[str]) -> None:
    """Review one table by the methods that are not done yet."""
    done = pd.read_csv(kept) if kept.exists() else pd.DataFrame({"method": []})
    open_methods = [method for method in methods if method not in set(done["method"])]
    if not open_methods:
        return
    table = ReviewTable.read(path)
    about = {
        "table": table.name,
        "origin": table.origin,
        "mixed": table.name.split("/")[0] in MIXED_COLLECTIONS,
        "rows": len(table.y),
        "outliers": int(table.y.sum()),
    }
    learned = Ranker.read(ranker)
    rows = [
        {**about, "method": method, **measured}
        for method in open_methods
        for measured in METHODS[method](table, learned)
    ]
    pd.concat([done, pd.DataFrame(rows)]).to_csv(kept, index=False)


def ablate(work: Path, jobs: int) -> None:
    """Train without a part of the features on four folds, and review the tables of the fifth.

    A quarter of the states is used. The weight of the pick in scores and of the process in
    questions stays.
    """
    fold_of = folds(work)
    training = Training(work, jobs)
    names = [name for name, fold in fold_of.items() if fold not in (0, "final")]
    states = [sample for name in names for sample in training.read(name)][::4]
    paths = [work / "tables" / f"{name}.npz" for name, fold in fold_of.items() if fold == 0]
    rows = []
    for part, words in {"nothing": (), **ABLATIONS}.items():
        kept = np.array([not any(word in name for word in words) for name in Ranker.features])
        without = [replace(sample, features=sample.features * kept) for sample in states]
        ranker = Ranker(fit_rows(without), untrained_ranker().left)
        with threadpool_limits(1):
            found = Parallel(jobs)(delayed(precisions)(path, ranker) for path in paths)
        rows.append({"without": part, "tables": len(found), **pd.DataFrame(found).mean()})
        print(rows[-1], flush=True)
    pd.DataFrame(rows).to_csv(RESULTS / "ablations.csv", index=False, float_format="%.5f")


def precisions(path: Path, ranker: Ranker) -> dict[str, float]:
    """Average precision of a review after some numbers of answers."""
    reached = play(ReviewTable.read(path), ranker, checkpoints=(0, 5, 10, 20, 40))
    return {str(at.answers): at.precision for at in reached}


def by_review(table: ReviewTable, ranker: Ranker, **options: Any) -> Iterator[dict[str, Any]]:
    """Review with what was learned."""
    for reached in play(table, ranker, **options):
        low, estimate, high = reached.expected
        yield {
            "answers": reached.answers,
            "ap": reached.precision,
            "found": reached.found,
            "left": reached.left,
            "low": low,
            "estimate": estimate,
            "high": high,
            "flagged_f1": reached.flagged,
        }


def without_marks(table: ReviewTable, scores: Scores) -> Iterator[dict[str, Any]]:
    """Ask by a fixed ranking, and flag as ``contamination="auto"`` does."""
    flagged = table.f1(scores > threshold_of(scores, automatic_share(scores)))
    order = np.argsort(-np.where(table.askable, scores, -np.inf), kind="stable")
    for answers in CHECKPOINTS:
        found = int(table.y[order[: min(answers, int(table.askable.sum()))]].sum())
        measured = {"ap": table.precision(scores), "found": found, "flagged_f1": flagged}
        yield {"answers": answers, **measured}


def outliers_only(table: ReviewTable, ranker: Ranker) -> Iterator[dict[str, Any]]:
    """Mark random outliers and nothing else."""
    generator = np.random.default_rng(zlib.crc32(table.name.encode()))
    outliers = generator.permutation(np.flatnonzero(table.askable & (table.y == 1)))
    marked = table.marked(ranker)
    for answers in (0, 1, 2, 3, 5, 10):
        if answers <= len(outliers):
            marked.mark(dict.fromkeys(outliers[:answers].tolist(), True))
            yield {"answers": answers, "ap": table.precision(marked.scores), "found": answers}


def one_by_one(
    table: ReviewTable, rank: Any, checkpoints: Sequence[int], batch: int
) -> Iterator[dict[str, Any]]:
    """Ask by a rival's scores, which ``rank`` gives for marked rows and answers."""
    open_rows = table.askable.copy()
    rows: list[int] = []
    scores = rank(rows, table.y[rows] == 1)
    for answers in checkpoints:
        while len(rows) < answers and open_rows.any():
            wanted = min(batch, answers - len(rows), int(open_rows.sum()))
            order = np.argsort(-np.where(open_rows, scores, -np.inf), kind="stable")[:wanted]
            open_rows[order] = False
            rows += order.tolist()
            scores = rank(rows, table.y[rows] == 1)
        found = int(table.y[rows].sum())
        yield {"answers": answers, "ap": table.precision(scores), "found": found}


def by_reweighting(table: ReviewTable, _: Ranker) -> Iterator[dict[str, Any]]:
    """Fit weights of the pick's models to the marks by logistic regression around equal weights."""
    from scipy.optimize import minimize
    from scipy.stats import rankdata

    n_rows, n_models = table.members.shape
    tails = -np.log((n_rows + 1 - rankdata(table.members, axis=0)) / n_rows)
    start = np.r_[np.full(n_models, 1 / n_models), -3.0]

    def rank(rows: list[int], answers: Ask) -> Scores:
        signs, own = np.where(answers, 1.0, -1.0), tails[rows]

        def loss(weights: Scores) -> float:
            odds = signs * (own @ weights[:-1] + weights[-1])
            return float(np.logaddexp(0, -odds).sum() + np.square(weights - start).sum() / 2)

        weights = minimize(loss, start).x if rows else start
        return np.asarray(tails @ weights[:-1])

    return one_by_one(table, rank, BATCHED, 5)


def by_random_forest(table: ReviewTable, _: Ranker) -> Iterator[dict[str, Any]]:
    """Fit a random forest to the marks as soon as there are both kinds."""
    from sklearn.ensemble import RandomForestClassifier

    pick = table.scores

    def rank(rows: list[int], answers: Ask) -> Scores:
        if len(set(answers.tolist())) < 2:
            return pick
        forest = RandomForestClassifier(100, random_state=0).fit(table.X[rows], answers)
        return np.asarray(forest.predict_proba(table.X)[:, 1] + 1e-6 * pick)

    return one_by_one(table, rank, BATCHED, 5)


def by_coniferest(table: ReviewTable, _: Ranker, *, kind: str) -> Iterator[dict[str, Any]]:
    """Review with a forest of coniferest; its scores are lower for anomalies."""
    from coniferest.aadforest import AADForest
    from coniferest.label import Label
    from coniferest.pineforest import PineForest

    spread = table.X.std(axis=0)
    X = (table.X - table.X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    forest = {"AADForest": AADForest, "PineForest": PineForest}[kind](random_seed=0, n_jobs=1)
    forest.fit(X)

    def rank(rows: list[int], answers: Ask) -> Scores:
        if rows:
            labels = np.where(answers, Label.ANOMALY, Label.REGULAR)
            forest.fit_known(X, X[rows], labels)
        return np.asarray(-forest.score_samples(X))

    return one_by_one(table, rank, BATCHED, 5)


METHODS: dict[str, Any] = {
    REVIEW: by_review,
    "Review, five at a time": partial(by_review, batch=5, checkpoints=BATCHED),
    "Review, ten at a time": partial(by_review, batch=10, checkpoints=(0, 10, 20, 40, 80)),
    "Review, 5 % wrong": partial(by_review, noise=0.05),
    "Review, 10 % wrong": partial(by_review, noise=0.10),
    "Review, 20 % wrong": partial(by_review, noise=0.20),
    "Review, outliers only": outliers_only,
    "Review, strategy learn": partial(by_review, rank=attrgetter("doubts")),
    "Review, asks by its scores": partial(by_review, rank=attrgetter("scores")),
    "Review, asks by the process": partial(by_review, rank=by_process),
    "process alone": partial(by_review, rank=by_process, measured=by_process),
    "AADForest": partial(by_coniferest, kind="AADForest"),
    "PineForest": partial(by_coniferest, kind="PineForest"),
    "re-weighting": by_reweighting,
    "random forest on marks": by_random_forest,
    FOREST: lambda table, _: without_marks(table, table.forest),
    START: lambda table, _: without_marks(table, table.scores),
    ERRORS: lambda table, _: without_marks(table, table.errors[:, 0].astype(np.float64)),
}
DEVELOPMENT = (
    REVIEW, "Review, strategy learn", "Review, asks by its scores",
    "Review, asks by the process", "process alone", FOREST, START,
)  # fmt: skip
FINAL = tuple(name for name in METHODS if name not in (*DEVELOPMENT[1:4], ERRORS))
PLANTED = (REVIEW, FOREST, START, ERRORS)


def write_tables(which: str) -> None:
    """Write the tables of an evaluation as Markdown."""
    found = pd.read_parquet(RESULTS / f"{which}.parquet")
    lines = [*goal_rows(found), ""] if which == "final" else []
    for part, here in parts_of(found):
        ap = found[here].pivot_table(index="table", columns=["method", "answers"], values="ap")
        origins = found[here].groupby("table")["origin"].first().reindex(ap.index)
        counts = f"{len(ap)} tables, {part}, of {origins.nunique()} origins"
        lines += [f"### {counts}", "", *precision_rows(ap), "", *gain_rows(ap, origins), ""]
        lines += [*detail_rows(found[here], ap), ""]
    lines += [*size_rows(found), ""]
    (RESULTS / f"{which}.md").write_text("\n".join(lines), encoding="utf-8")
    print("\n".join(lines))


def parts_of(found: pd.DataFrame) -> Iterator[tuple[str, pd.Series]]:
    """Yield the numeric and the mixed tables, and those with planted errors."""
    planted = found["table"].str.startswith("planted/")
    yield "numeric", ~found["mixed"] & ~planted
    yield "mixed", found["mixed"] & ~planted
    yield "with planted errors", planted


def goal_rows(found: pd.DataFrame) -> list[str]:
    """What is reached of each goal."""
    lines = ["| goal | reached |", "|---|---|"]

    def add(goal: str, text: str, *, is_met: bool) -> None:
        lines.append(f"| {goal} | {text}{'' if is_met else ' **missed**'} |")

    of = {part: found[here] for part, here in parts_of(found)}
    for part in ("numeric", "mixed"):
        ap = of[part].pivot_table(index="table", columns=["method", "answers"], values="ap")
        origins = of[part].groupby("table")["origin"].first().reindex(ap.index)
        goals = GOALS if part == "numeric" else {}
        for answers, least in goals.items():
            reached = ap[REVIEW][answers].mean()
            goal = f"{part}, {answers} answers: average precision {least:.2f}"
            add(goal, f"{reached:.3f}", is_met=round(reached, 3) >= least)
        rivals = [("AADForest", n) for n in goals] or [(FOREST, 5)]
        for rival, answers in rivals:
            gain = ap[REVIEW][answers] - ap[rival][answers]
            low, high = bootstrap_intervals(gain.to_frame(), origins)[0]
            goal = f"{part}, {answers} answers: {OVER_RIVALS:.2f} above {rival}"
            is_met = round(gain.mean(), 3) >= OVER_RIVALS
            add(goal, f"{gain.mean():+.3f} [{low:+.3f}, {high:+.3f}]", is_met=is_met)
        losing = (ap[REVIEW][10] < ap[REVIEW][0] - 0.05).mean()
        goal = f"{part}: at most {MOST_LOSING:.0%} more than .05 below their start after ten"
        add(goal, f"{losing:.1%}", is_met=losing <= MOST_LOSING)
    own = of["with planted errors"]
    reached = own.loc[(own["method"] == REVIEW) & (own["answers"] == 5), "ap"].mean()
    goal = f"planted errors, 5 answers: average precision {OF_PLANTED:.2f}"
    add(goal, f"{reached:.3f}", is_met=reached >= OF_PLANTED)
    return lines


def precision_rows(ap: pd.DataFrame) -> list[str]:
    """Mean average precision by method and number of answers."""
    lines = [
        "| mean AP after … answers | " + " | ".join(map(str, CHECKPOINTS)) + " |",
        "|---" * (len(CHECKPOINTS) + 1) + "|",
    ]
    for method in METHODS:
        if method in ap.columns.get_level_values(0):
            own = ap[method].mean()
            cells = [f"{own[n]:.3f}" if n in own.index else "" for n in CHECKPOINTS]
            if method in (FOREST, START, ERRORS):
                cells[1:] = [""] * (len(cells) - 1)
            lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return lines


def gain_rows(ap: pd.DataFrame, origins: pd.Series) -> list[str]:
    """Gains of the review with intervals, wins and losses."""
    rivals = [name for name in ("AADForest", FOREST, START, ERRORS) if name in ap.columns]
    lines = [
        "| Review − … [95 %], wins-losses | 5 | 10 | 20 | 40 |",
        "|---|---|---|---|---|",
    ]
    for rival in rivals:
        cells = []
        for answers in GOALS:
            gain = ap[REVIEW][answers] - ap[rival][answers]
            low, high = bootstrap_intervals(gain.to_frame(), origins)[0]
            wins, losses = int((gain > 0).sum()), int((gain < 0).sum())
            cells.append(f"{gain.mean():+.3f} [{low:+.3f}, {high:+.3f}], {wins}-{losses}")
        lines.append(f"| {rival} | " + " | ".join(cells) + " |")
    return lines


def detail_rows(found: pd.DataFrame, ap: pd.DataFrame) -> list[str]:
    """Outliers found, tables that lose, outliers left, and flags."""
    lines = [
        "| | 5 | 10 | 20 | 40 |",
        "|---|---|---|---|---|",
    ]
    counts = found.pivot_table(index="table", columns=["method", "answers"], values="found")
    for method in (REVIEW, "AADForest", "PineForest", FOREST, START):
        if method in counts.columns:
            cells = [f"{counts[method][n].mean():.2f}" for n in GOALS]
            lines.append(f"| outliers found: {method} | " + " | ".join(cells) + " |")
    start = ap[REVIEW][0]
    for name, base in (("its own start", start), (FOREST, ap[FOREST][0])):
        shares = [(ap[REVIEW][n] < base - 0.05).mean() for n in GOALS]
        cells = [f"{share:.1%}" for share in shares]
        lines.append(f"| tables more than .05 below {name} | " + " | ".join(cells) + " |")
    own = found[found["method"] == REVIEW].set_index(["answers", "table"])
    covered = (own["left"] >= own["low"]) & (own["left"] <= own["high"])
    error = np.abs(np.log((own["estimate"] + 0.5) / (own["left"] + 0.5)))
    cells = [f"{covered[n].mean():.0%}" for n in GOALS]
    lines.append("| outliers left within the interval | " + " | ".join(cells) + " |")
    cells = [f"{np.exp(error[n].mean()):.2f}" for n in GOALS]
    lines.append("| estimate of outliers left, wrong by a factor of | " + " | ".join(cells) + " |")
    cells = [f"{own['flagged_f1'][n].mean():.3f}" for n in GOALS]
    auto = found.loc[found["method"] == START].groupby("table")["flagged_f1"].first().mean()
    lines.append(
        f"| F1 of the flags (`auto` without marks: {auto:.3f}) | " + " | ".join(cells) + " |"
    )
    return lines


def size_rows(found: pd.DataFrame) -> list[str]:
    """Gains over the start after ten answers, by number of rows and share of outliers."""
    own = found[(found["method"] == REVIEW) & ~found["table"].str.startswith("planted/")]
    own = own.pivot_table(index=["table", "rows", "outliers"], columns="answers", values="ap")
    about = own.index.to_frame(index=False)
    gain = pd.Series((own[10] - own[0]).to_numpy())
    groups = {
        "rows": pd.cut(about["rows"], [0, 500, 1500, 3000]),
        "share of outliers": pd.cut(about["outliers"] / about["rows"], [0, 0.02, 0.05, 0.1, 1]),
    }
    lines = ["| | tables | AP before | gain with 10 answers |", "|---|---|---|---|"]
    for name, groups_of in groups.items():
        for interval, members in gain.groupby(groups_of, observed=True):
            before = own[0].to_numpy()[members.index].mean()
            lines.append(
                f"| {name} {interval} | {len(members)} | {before:.3f} | {members.mean():+.3f} |"
            )
    return lines


def draw() -> None:
    """Draw average precision and outliers found against answers, for all methods."""
    import matplotlib.pyplot as plt

    found = pd.read_parquet(RESULTS / "final.parquet")
    # colours that people with any colour vision tell apart (Okabe and Ito)
    shown = {
        REVIEW: ("#0072B2", "o"),
        "AADForest": ("#D55E00", "s"),
        "PineForest": ("#009E73", "^"),
        "random forest on marks": ("#CC79A7", "D"),
        "re-weighting": ("#E69F00", "v"),
        FOREST: ("#555555", "x"),
    }
    figure, axes = plt.subplots(2, 2, figsize=(10, 7), sharex=True, layout="constrained")
    for (part, here), row in zip(parts_of(found), axes, strict=False):
        for axis, value in zip(row, ("ap", "found"), strict=True):
            for method, (colour, marker) in shown.items():
                own = found[here & (found["method"] == method)].groupby("answers")[value].mean()
                own = own[own.index <= 40]
                width = 2.5 if method == REVIEW else 1.2
                style: dict[str, Any] = {"color": colour, "marker": marker, "linewidth": width}
                axis.plot(own.index, own.to_numpy(), markersize=4, label=method, **style)
            label = "mean average precision" if value == "ap" else "outliers found"
            axis.set(title=f"{part} tables", ylabel=label)
            axis.grid(alpha=0.3)
    for axis in axes[1]:
        axis.set_xlabel("answers")
    axes[0, 0].legend(frameon=False, fontsize=8)
    figure.savefig(RESULTS / "final.svg")
    figure.savefig(RESULTS / "final.png", dpi=110)
    plt.close(figure)
