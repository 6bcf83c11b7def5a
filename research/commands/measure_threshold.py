"""Compare rules that flag rows by their scores; print Markdown tables.

python -m research measure-threshold FOLDER SCORES

FOLDER holds labelled datasets, of which those of development origins with at most 10,000 rows and
100 columns are used, once as they are and once without their labelled outliers. SCORES is a folder
where the models' scores are kept; what it lacks is computed. Clean tables of four kinds, and the
same with one to three cells moved a hundred deviations beyond the others, are generated. All are
scored by the committee. docs/selector-protocol.md has the protocol.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from metaod.detection._extremes import Extremes
from metaod.detection._threshold import automatic_share, clear_gap, threshold_of
from metaod.learners import origin_folds
from metaod.models import COMMITTEE, ScoreScale, score_models
from research.development import scored_tables
from research.kept_scores import KeptScores
from research.statistics import average_precision, bootstrap_intervals

Scores = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Rule = Callable[[Scores], Flags]

CLEAN = ("gaussian", "uniform", "mixture", "lognormal", "real")
FOLDS = 10
UPPER = 0.25
"""Share of a table's rows, the highest ones, that the learned rule chooses from."""


@dataclass(frozen=True)
class Case:
    """Scores of one table; its kind is ``rare``, ``planted`` or one of `CLEAN`."""

    kind: str
    origin: str
    scores: Scores
    y: npt.NDArray[np.int8]


def committee_scores(X: Scores, fixed: Flags | None, scores: dict[str, Scores]) -> Scores:
    """Return the scores of the committee, with extreme cells."""
    own = [scores[member.id] for member in COMMITTEE if member.id in scores]
    average = np.mean([ScoreScale.of(s, where="a member").tempered(s) for s in own], axis=0)
    extremes = Extremes.of(X, fixed)
    gaps = extremes.gaps(X)
    return extremes.beside(average, gaps).lifted(average, gaps)


def cases(folder: str, kept: KeptScores) -> Iterator[Case]:
    """Yield labelled tables, the same without outliers, and generated ones."""
    for kind, is_clean in (("rare", False), ("real", True)):
        for table in scored_tables(folder, kept, lambda _: COMMITTEE, without_outliers=is_clean):
            scores = committee_scores(table.X, table.fixed, table.scores)
            yield Case(kind, table.origin, scores, table.y)
    for kind in CLEAN[:-1]:
        for n_rows in (300, 1_000, 3_000, 8_000):
            for n_columns in (3, 8, 20):
                for n_planted in (0, 1, 2, 3):
                    X, y = made(kind, n_rows, n_columns, n_planted)
                    found = score_models(X, list(COMMITTEE), trials=1)
                    own = {s.spec.id: s.scores for s in found if s.scores is not None}
                    scores = committee_scores(X, None, own)
                    yield Case("planted" if n_planted else kind, f"{kind} {n_rows}", scores, y)


def made(
    kind: str, n_rows: int, n_columns: int, n_planted: int
) -> tuple[Scores, npt.NDArray[np.int8]]:
    """Return a generated table and which of its rows have a planted cell."""
    rng = np.random.default_rng([n_rows, n_columns, n_planted, CLEAN.index(kind)])
    mixing = np.eye(n_columns) + rng.normal(size=(n_columns, n_columns)) / (2 * n_columns**0.5)
    X = rng.normal(size=(n_rows, n_columns))
    if kind == "uniform":
        X = rng.uniform(size=(n_rows, n_columns))
    elif kind == "mixture":
        X += 3 * rng.normal(size=(3, n_columns))[rng.choice(3, n_rows, p=[0.5, 0.3, 0.2])]
    else:
        X = X @ mixing if kind == "gaussian" else np.exp(X @ mixing)
    y = np.zeros(n_rows, np.int8)
    for row in rng.choice(n_rows, n_planted, replace=False):
        column = rng.integers(n_columns)
        X[row, column] = X[:, column].max() + 100 * X[:, column].std()
        y[row] = 1
    return X, y


# the rules


def highest(share: Callable[[Scores], float]) -> Rule:
    """Flag a share of the rows."""
    return lambda scores: scores > threshold_of(scores, share(scores))


def above(threshold: Callable[[Scores], float]) -> Rule:
    """Flag the scores above a threshold."""
    return lambda scores: scores > threshold(scores)


def former_share(scores: Scores) -> float:
    """Return the share by the rule that was used before."""
    beyond = float(np.mean(scores > scores.mean() + scores.std()))
    return float(np.sqrt(0.1 * np.clip(beyond, 0.005, 0.5)))


def _tukey(scores: Scores, fence: float) -> float:
    low, high = np.percentile(scores, [25, 75])
    return float(high + fence * (high - low))


def _log(scores: Scores) -> Scores:
    from_zero = scores - scores.min()
    return np.asarray(np.log(from_zero + 0.01 * from_zero.max() + 1e-300))


def _exponential(scores: Scores) -> float:
    """The score that an exponential tail through the upper tenth exceeds once in ten tables."""
    start = float(np.quantile(scores, 0.9))
    beyond = scores[scores > start] - start
    return start + float(beyond.mean() if len(beyond) else 0.0) * np.log(len(scores))


RULES: dict[str, Rule] = {
    "former": highest(former_share),
    **{f"{share:.0%}": highest(lambda _, s=share: s) for share in (0.1, 0.05, 0.02, 0.01)},
    **{
        f"mean + {k} sd": above(lambda scores, k=k: float(scores.mean() + k * scores.std()))
        for k in (2, 3, 4)
    },
    **{f"Tukey's fence {k}": above(lambda s, k=k: _tukey(s, k)) for k in (1.5, 3.0, 5.0)},
    "Tukey's fence 1.5, log scores": lambda scores: above(lambda s: _tukey(s, 1.5))(_log(scores)),
    "exponential tail": above(_exponential),
    "clear gap, else none": highest(lambda scores: (clear_gap(scores) or 0) / len(scores)),
    "**clear gap, else few**": highest(automatic_share),
}


def features(scores: Scores) -> Scores:
    """Describe the highest rows by the shape of the scores, whatever the number of rows."""
    middle, upper, q90, q95, q99 = np.quantile(scores, [0.5, 0.75, 0.9, 0.95, 0.99])
    spread, unit = scores.std() or 1.0, max(upper - middle, 1e-9)
    falling = np.sort(scores)[::-1][: max(2, int(UPPER * len(scores)))]
    shape = [
        np.log((q90 - middle) / unit + 1e-3),
        np.log((q99 - middle) / (q95 - middle + 1e-9) + 1e-3),
        np.log((falling[0] - middle) / (q99 - middle + 1e-9) + 1e-3),
        ((scores - scores.mean()) ** 3).mean() / spread**3,
        np.mean(scores > scores.mean() + spread),
    ]
    own = [np.log(np.maximum((falling - middle) / unit, 1e-3)), (falling - scores.mean()) / spread]
    return np.column_stack([*own, np.broadcast_to(shape, (len(falling), len(shape)))])


def learned_flags(found: list[Case], limits: list[float]) -> dict[str, list[Flags]]:
    """Flag by a logistic regression over all kinds but planted, by folds of origins."""
    described = [features(case.scores) for case in found]
    folds = origin_folds(pd.Series([case.origin for case in found]), FOLDS)
    flags: dict[str, list[Flags]] = {f"logistic, {limit}": [] for limit in limits}
    order = [np.argsort(-case.scores, kind="stable") for case in found]
    models = {}
    for fold in range(FOLDS):
        learn = [i for i, case in enumerate(found) if folds[i] != fold and case.kind != "planted"]
        X = np.vstack([described[i] for i in learn])
        y = np.concatenate([found[i].y[order[i]][: len(described[i])] for i in learn])
        weights = np.concatenate([np.full(len(described[i]), 1 / len(order[i])) for i in learn])
        models[fold] = make_pipeline(StandardScaler(), LogisticRegression(C=1e3))
        models[fold].fit(X, y, logisticregression__sample_weight=weights * 1e3)
    for i, case in enumerate(found):
        chances = models[int(folds[i])].predict_proba(described[i])[:, 1]
        for limit in limits:
            own = np.zeros(len(case.scores), np.bool_)
            own[order[i][: len(chances)][chances > limit]] = True
            flags[f"logistic, {limit}"].append(own)
    return flags


def f1(flagged: Flags, y: npt.NDArray[np.int8]) -> float:
    """Harmonic mean of precision and recall."""
    hits = np.count_nonzero(flagged & (y == 1))
    return float(2 * hits / max(1, np.count_nonzero(flagged) + np.count_nonzero(y == 1)))


def main() -> None:
    """Score, measure, print."""
    found = list(cases(sys.argv[1], KeptScores(Path(sys.argv[2]))))
    flags = {name: [rule(case.scores) for case in found] for name, rule in RULES.items()}
    flags |= learned_flags(found, [0.05, 0.08, 0.1, 0.12, 0.15])
    works = [case.kind == "rare" and average_precision(case.y, case.scores) > 0.5 for case in found]
    rows = [
        {
            "rule": name,
            "kind": case.kind,
            "origin": case.origin,
            "works": works[i],
            "share": own[i].mean(),
            "n": own[i].sum(),
            "hits": (own[i] & (case.y == 1)).sum(),
            "outliers": case.y.sum(),
            "f1": f1(own[i], case.y),
        }
        for name, own in flags.items()
        for i, case in enumerate(found)
    ]
    table = pd.DataFrame(rows)
    print(table[table["rule"] == "former"]["kind"].value_counts().to_dict(), "\n")
    kinds = " | ".join(CLEAN)
    print(f"| rule | F1 | − former | precision | F1, AP > .5 | {kinds} | real, mean | planted |")
    print("|---" * (len(CLEAN) + 7) + "|")
    rare = table[table["kind"] == "rare"]
    by_origin = rare.pivot_table("f1", "origin", "rule")
    for name in flags:
        own, gain = table[table["rule"] == name], by_origin[name] - by_origin["former"]
        low, high = bootstrap_intervals(gain.to_frame(), gain.index)[0]
        mine, planted = own[own["kind"] == "rare"], own[own["kind"] == "planted"]
        medians = own.groupby("kind")["share"].median()
        cells = [
            name,
            f"{by_origin[name].mean():.3f}",
            f"{gain.mean():+.3f} [{low:+.3f}, {high:+.3f}]",
            f"{mine['hits'].sum() / max(1, mine['n'].sum()):.0%}",
            f"{mine[mine['works']]['f1'].mean():.3f}",
            *(f"{medians[kind]:.1%}" for kind in CLEAN),
            f"{own[own['kind'] == 'real']['share'].mean():.1%}",
            f"{planted['hits'].sum() / planted['outliers'].sum():.0%}",
        ]
        print(f"| {' | '.join(cells)} |")
