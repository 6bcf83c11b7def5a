"""Evaluate selectors with new information: injected outliers, averages within an error, MetaEns.

    python -m research evaluate-beyond injected DATASETS RECOVERIES
    python -m research evaluate-beyond errors DATASETS SCORES
    python -m research evaluate-beyond metaens-development DATASETS SCORES

DATASETS is the folder of labelled datasets with its list. RECOVERIES is a folder where the
recoveries of injected outliers are kept; they are computed where they are missing, in two seconds
for each dataset, unless ``--present`` leaves such datasets out. SCORES is a folder where the scores
of all models of the extended space are kept; they are computed where they are missing.

Follows the second search in docs/selector-protocol.md: development origins in ten folds. Writes
results/selector/injected.csv and .md, and so on; with ``--log`` it also adds a line for each design
to results/selector/designs.csv. Needs the extra ``research``.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from threadpoolctl import threadpool_limits

from metaod.history import iter_folder
from metaod.learners import make_learner, origin_folds
from metaod.models import (
    COMMITTEE,
    Matrix,
    ScoreScale,
    average_of,
    member_ids,
    model_space,
)
from metaod.models._spec import REPRESENTATIVES
from metaod.tables import prepare
from research.commands.evaluate_selector import CHOSEN, FOLDER, Bench
from research.injection import KINDS, recovery
from research.kept_scores import KeptScores
from research.metaens import MetaEns, ScoreHistory
from research.statistics import average_precision, bootstrap_intervals

SPECS = model_space("extended")
MODELS = [spec.id for spec in SPECS]
FAMILIES = [spec.detector for spec in SPECS]
FOREST = "IForest(n_estimators=100, max_features=1.0)"
PRIORS = (0.01, 0.03, 0.1, 0.3)
ERRORS = (0.25, 0.5, 1.0)
MOST = 7
"""Most candidates within one standard error that are averaged."""

DEFAULT, COMMITTEE_NAME = "the default: gain forest", "fixed committee of seven"
FIXED = "best fixed average of up to three"

Votes = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Answer:
    """The votes of models in an average; ``unit`` scores are from 0 to 1, else standardised."""

    votes: Votes
    unit: bool = False

    @classmethod
    def of(cls, *columns: str, unit: bool = False) -> "Answer":
        """The average of columns of P; a model has one vote for each column that it is in."""
        votes: dict[str, int] = defaultdict(int)
        for column in columns:
            for member in member_ids(column):
                votes[member] += 1
        return cls(tuple(sorted(votes.items())), unit)


Answers = dict[tuple[str, int], dict[str, Answer]]
"""By design and seed: the answer on every dataset."""


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("which", choices=tuple(PARTS))
    parser.add_argument("datasets", type=Path)
    parser.add_argument("kept", type=Path)
    parser.add_argument("--present", action="store_true")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--log", action="store_true")
    given = parser.parse_args()
    with threadpool_limits(1):
        study = Study(given.seeds)
        if given.which == "injected":
            study.read_recoveries(given.datasets, given.kept, compute=not given.present)
        else:
            study.read_scores(given.datasets, KeptScores(given.kept))
        print(f"{len(study.names)} datasets of {study.origins.nunique()} origins", flush=True)
        answers: Answers = {}
        for fold in range(len(study.bench.splits)):
            for part in (default(study, fold), PARTS[given.which](study, fold)):
                for design, seed, name, answer in part:
                    answers.setdefault((design, seed), {})[name] = answer
            print(f"fold {fold + 1} of 10", flush=True)
        reached = study.performance(answers)
    write(study, reached, given.which, log=given.log)


Part = Iterator[tuple[str, int, str, Answer]]


class Study:
    """Development datasets, their folds, and their recoveries or kept scores."""

    def __init__(self, seeds: int) -> None:
        self.seeds = range(seeds)
        self.bench = Bench(final=False, numeric_history=True)
        self.data = self.bench.data(CHOSEN)
        self.recoveries: dict[str, pd.DataFrame] = {}
        self.labels: dict[str, npt.NDArray[np.int8]] = {}
        self.fits: dict[tuple[int, int], tuple[Any, pd.DataFrame]] = {}
        self._histories: dict[str, ScoreHistory] = {}

    def read_recoveries(self, datasets: Path, folder: Path, *, compute: bool) -> None:
        """Read the recoveries of injected outliers; compute or leave out what is missing."""
        folder.mkdir(parents=True, exist_ok=True)
        if compute:
            for entry in iter_folder(datasets, label="y"):
                dataset = entry.load()
                path = _recovery_file(folder, dataset.fingerprint)
                if dataset.fingerprint in self.bench.P.index and not path.exists():
                    found = recovery(prepare(dataset.table).X, SPECS)
                    found.to_csv(path, float_format="%.6f")
        for name in self.bench.P.index:
            path = _recovery_file(folder, name)
            if path.exists():
                self.recoveries[name] = pd.read_csv(path, index_col=0)[MODELS]
        self.names = list(self.recoveries)

    def read_scores(self, datasets: Path, cache: KeptScores) -> None:
        """Read the labels of the datasets, and compute scores that were not kept."""
        self.cache = cache
        for entry in iter_folder(datasets, label="y"):
            dataset = entry.load()
            if dataset.fingerprint in self.bench.P.index:
                cache.of(dataset, SPECS)
                self.labels[dataset.fingerprint] = dataset.y
        self.names = [name for name in self.bench.P.index if name in self.labels]

    @property
    def origins(self) -> "pd.Series[str]":
        """Origins of the datasets."""
        return self.data.origins[self.names]

    def split(self, fold: int) -> tuple[list[str], list[str]]:
        """Names of the training and test datasets of a fold; with scores, train on all."""
        train, test = (self.data.P.index[mask] for mask in self.bench.splits[fold])
        known = set(self.names)
        usable = known if self.recoveries else set(train)
        return [name for name in train if name in usable], [name for name in test if name in known]

    def matrix(self, name: str) -> npt.NDArray[np.float32]:
        """Scores of all models in the first trial, NaN where missing."""
        kept = self.cache.read(name)
        missing = np.full(len(self.labels[name]), np.nan, dtype=np.float32)
        return np.array([kept.get((model, 0), missing) for model in MODELS])

    def history(self, name: str) -> ScoreHistory:
        """What MetaEns learns from a dataset."""
        if name not in self._histories:
            found = ScoreHistory.of(self.matrix(name), self.labels[name], FAMILIES)
            self._histories[name] = found
        return self._histories[name]

    def performance(self, answers: Answers) -> dict[str, pd.DataFrame]:
        """Average precision of all answers, by design: datasets × seeds."""
        wanted: dict[str, set[Answer]] = defaultdict(set)
        for by_name in answers.values():
            for name, answer in by_name.items():
                wanted[name].add(answer)
        columns = {Answer.of(column): column for column in self.data.P}
        found: dict[tuple[str, Answer], float] = {}
        for name, asked in wanted.items():
            kept = {} if self.recoveries else self.cache.read(name)
            for answer in asked:
                if kept:
                    found[name, answer] = _ap(answer, kept, self.labels[name])
                else:
                    found[name, answer] = float(self.data.P.loc[name, columns[answer]])
        by_design: dict[str, dict[int, pd.Series[float]]] = defaultdict(dict)
        for (design, seed), by_name in answers.items():
            values = {name: found[name, answer] for name, answer in by_name.items()}
            by_design[design][seed] = pd.Series(values).reindex(self.names)
        return {design: pd.DataFrame(values) for design, values in by_design.items()}


def _recovery_file(folder: Path, fingerprint: str) -> Path:
    return folder / f"{fingerprint.replace(':', '-')}.csv"


def _ap(
    answer: Answer, kept: dict[tuple[str, int], npt.NDArray[np.float32]], y: npt.NDArray[np.int8]
) -> float:
    """Mean average precision over the kept trials."""
    trials = {trial for model, trial in kept if model in dict(answer.votes)}
    found = []
    for trial in sorted(trials):
        total = np.zeros(len(y))
        for model, votes in answer.votes:
            scores = kept.get((model, trial), kept[model, 0]).astype(np.float64)
            if answer.unit:
                standard = MetaEns().scores(scores[np.newaxis], [0])
            else:
                standard = ScoreScale.of(scores, where=model).tempered(scores)
            total += votes * standard
        found.append(average_precision(y, total))
    return float(np.mean(found))


def default(study: Study, fold: int) -> Part:
    """The gain forest, the committee, and the best fixed average of the training origins."""
    train, test = study.split(fold)
    P, reference = study.data.P, study.data.reference
    small = [column for column in P if len(member_ids(column)) <= 3]
    best = str(P.loc[train, small].apply(lambda c: c.fillna(reference[train])).mean().idxmax())
    committee = average_of(*COMMITTEE).id
    for name in test:
        for design, column in ((COMMITTEE_NAME, committee), (FIXED, best)):
            known = pd.notna(P.loc[name, column])
            yield design, 0, name, Answer.of(column if known else FOREST)
    for seed in study.seeds:
        _, scores = _default_fit(study, fold, seed)
        yield from _picks(DEFAULT, seed, study, scores)


def injected(study: Study, fold: int) -> Part:
    """The best recoveries alone, as meta-features of the gain forest, and as a prior."""
    train, test = study.split(fold)
    P = study.data.P
    # models with the same recovery: the better one on the training origins
    order = P.loc[train, MODELS].mean().rank() * 1e-9
    for name in test:
        found = study.recoveries[name].where(P.loc[name, MODELS].notna(), axis=1)
        for kind in KINDS:
            pick = str((found.loc[kind].fillna(-1.0) + order).idxmax())
            yield f"best recovery of {kind} outliers", 0, name, Answer.of(pick)
        pick = str((found.mean().fillna(-1.0) + order).idxmax())
        yield "best recovery, mean over kinds", 0, name, Answer.of(pick)
    prior, weight = _priors(study, test), _inner_prior(study, train)
    for seed in study.seeds:
        _, scores = _default_fit(study, fold, seed)
        for factor in PRIORS:
            added = scores + factor * prior
            yield from _picks(f"forest + {factor} × recovery", seed, study, added)
        added = scores + weight * prior
        yield from _picks("forest + recovery, weight by inner folds", seed, study, added)
        for by_kind in (True, False):
            M = _recovery_features(study, by_kind=by_kind)
            _, scores = _fitted(study, M, train, test, seed)
            what = "recoveries by kind" if by_kind else "mean recoveries"
            yield from _picks(f"forest with {what}", seed, study, scores)


def errors(study: Study, fold: int) -> Part:
    """The average of the candidates within standard errors of the best predicted gain."""
    _, test = study.split(fold)
    for seed in study.seeds:
        learner, _ = _default_fit(study, fold, seed)
        for error in ERRORS:
            for single in (True, False):
                what = "single models" if single else "candidates"
                design = f"all {what} within {error} standard errors"
                for name in test:
                    columns = _within(learner, study, name, error, single=single)
                    yield design, seed, name, Answer.of(*columns)


def metaens(study: Study, fold: int) -> Part:
    """MetaEns, with the first model chosen in three ways, and its first models alone."""
    train, test = study.split(fold)
    _, predicted = _default_fit(study, fold, 0)
    history = [study.history(name) for name in train if name in study.labels]
    learner = MetaEns().fit(history, FAMILIES)
    for name in test:
        scores = study.matrix(name)
        present = ~np.isnan(scores).any(axis=1)
        best = int(np.where(present, predicted.loc[name, MODELS], -np.inf).argmax())
        for how, first in (("elect", None), ("neighbours", None), ("gain forest", best)):
            learner.first = "elect" if how == "elect" else "neighbours"
            chosen = [MODELS[index] for index in learner.choose(scores, first=first)]
            yield f"MetaEns, first by {how}", 0, name, Answer.of(*chosen, unit=True)
            yield f"first model by {how} alone", 0, name, Answer.of(chosen[0])


PARTS = {"injected": injected, "errors": errors, "metaens-development": metaens}
"""The designs, by command."""


def _default_fit(study: Study, fold: int, seed: int) -> tuple[Any, pd.DataFrame]:
    """The default learner of a fold and its predictions, fitted once."""
    if (fold, seed) not in study.fits:
        study.fits[fold, seed] = _fitted(study, study.data.M, *study.split(fold), seed)
    return study.fits[fold, seed]


def _fitted(
    study: Study, M: pd.DataFrame, train: list[str], test: list[str], seed: int, **params: Any
) -> tuple[Any, pd.DataFrame]:
    learner = make_learner(CHOSEN.learner, **{**CHOSEN.params, **params}, random_state=seed)
    learner.fit(study.data.P.loc[train], M.loc[train], study.data.origins[train])
    return learner, learner.predict(M.loc[test])


def _picks(design: str, seed: int, study: Study, scores: pd.DataFrame) -> Part:
    usable = scores.where(study.data.P.loc[scores.index].notna())
    for name, pick in usable.T.sort_index().T.idxmax(axis=1).items():
        yield design, seed, str(name), Answer.of(str(pick))


def _recovery_features(study: Study, *, by_kind: bool) -> pd.DataFrame:
    """Meta-features of all datasets with recoveries of injected outliers beside them."""
    rows = {}
    for name, found in study.recoveries.items():
        if by_kind:
            few = found[[spec.id for spec in REPRESENTATIVES]]
            rows[name] = {f"{k} {m}": few.loc[k, m] for k in few.index for m in few}
        else:
            rows[name] = found.mean().add_prefix("recovery ").to_dict()
    return study.data.M.join(pd.DataFrame.from_dict(rows, orient="index"))


def _priors(study: Study, names: list[str]) -> pd.DataFrame:
    """Mean recovery of every column's members less that of iForest; 0 where unknown."""
    members = {column: list(member_ids(column)) for column in study.data.P}
    rows = []
    for name in names:
        found = study.recoveries[name].mean()
        found = (found - found[FOREST]).fillna(0.0)
        rows.append({column: found[ids].mean() for column, ids in members.items()})
    return pd.DataFrame(rows, index=names)


def _inner_prior(study: Study, train: list[str]) -> float:
    """The weight of the prior with the best performance in five folds of the training origins."""
    folds = origin_folds(study.data.origins[train], 5)
    P, reference = study.data.P.loc[train], study.data.reference[train]
    gains = dict.fromkeys((0.0, *PRIORS), 0.0)
    for fold in range(5):
        left, out = ([n for n, f in zip(train, folds, strict=True) if (f == fold) == inside]
                     for inside in (False, True))  # fmt: skip
        _, scores = _fitted(study, study.data.M, left, out, 0, n_estimators=100)
        prior = _priors(study, out)
        for weight in gains:
            picks = (scores + weight * prior).where(P.loc[out].notna()).idxmax(axis=1)
            gains[weight] += sum(P.loc[name, picks[name]] - reference[name] for name in out)
    return max(gains, key=lambda weight: gains[weight])


def _within(learner: Any, study: Study, name: str, error: float, *, single: bool) -> list[str]:
    """Columns whose predicted gain is within standard errors of the best, at most seven."""
    M = study.data.M.loc[[name], list(learner.features_)].to_numpy(dtype=np.float64)
    weights: Matrix = learner.regression_.leaf_weights(learner.leaves_, M)[0] * learner.votes_
    weights = weights / weights.sum()
    columns = np.array(sorted(learner.models_))  # the order of a learner's own columns
    allowed = study.data.P.loc[name, columns].notna().to_numpy()
    if single:
        allowed = allowed & np.isin(columns, MODELS)
    columns = columns[allowed]
    gains = learner.gains_[:, allowed]
    values = gains - learner.price * (gains < -learner.loss)
    means = weights @ values
    behind = values[:, [means.argmax()]] - values
    spread = weights @ behind**2 - (weights @ behind) ** 2
    errors = np.sqrt(np.maximum(spread, 0.0) * (weights**2).sum())
    order = np.argsort(-means, kind="stable")
    near = order[(means.max() - means <= error * errors)[order]]
    return [str(column) for column in columns[near[:MOST]]]


def write(study: Study, reached: dict[str, pd.DataFrame], which: str, *, log: bool) -> None:
    """Write the table of designs, and add it to the log."""
    iforest = study.data.reference[study.names]
    usual, committee, best = (
        reached[name].mean(axis=1) for name in (DEFAULT, COMMITTEE_NAME, FIXED)
    )
    rows = []
    for design, values in reached.items():
        row: dict[str, Any] = {"design": design, "MAP": values.mean(axis=None)}
        mean = values.mean(axis=1)
        for title, other in (
            ("gain", iforest),
            ("over_default", usual),
            ("over_committee", committee),
            ("over_fixed", best),
        ):
            difference = values.sub(other, axis=0)
            low, high = bootstrap_intervals((mean - other).to_frame(), study.origins)[0]
            row |= {title: difference.mean(axis=None), f"{title}_low": low, f"{title}_high": high}
            row[f"{title}_wins"] = round(float((difference > 1e-9).sum().mean()))
            row[f"{title}_losses"] = round(float((difference < -1e-9).sum().mean()))
        row["lost_05"] = (values.sub(iforest, axis=0) < -0.05).mean(axis=None)
        rows.append(row)
    table = pd.DataFrame(rows)
    table.to_csv(FOLDER / f"{which}.csv", index=False, float_format="%.6f")
    titles = ["design", "MAP", "− iForest [95 %]", "lost > .05", "− default [95 %]", "wins-losses"]
    titles += ["− committee [95 %]", "wins-losses"]
    lines = [
        f"{len(study.names)} development datasets of {study.origins.nunique()} origins.",
        "",
        f"| {' | '.join(titles)} |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = [
            row["design"],
            f"{row['MAP']:.4f}",
            _interval(row, "gain"),
            f"{row['lost_05']:.1%}",
        ]
        for title in ("over_default", "over_committee"):
            cells += [_interval(row, title), f"{row[f'{title}_wins']}-{row[f'{title}_losses']}"]
        lines.append(f"| {' | '.join(cells)} |")
    (FOLDER / f"{which}.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    if log:
        _log(study, rows, which)


def _interval(row: dict[str, Any], title: str) -> str:
    return f"{row[title]:+.4f} [{row[f'{title}_low']:+.4f}, {row[f'{title}_high']:+.4f}]"


def _log(study: Study, rows: list[dict[str, Any]], which: str) -> None:
    path = FOLDER / "designs.csv"
    before = pd.read_csv(path, dtype=str)
    added = []
    for number, row in enumerate(rows, len(before) + 1):
        signed = {key: f"{row[key]:+.4f}" for key in ("gain", "over_fixed")}
        for ours, theirs in (("gain_low", "low"), ("gain_high", "high")):
            signed[theirs] = f"{row[ours]:+.4f}"
        for side in ("over_fixed_low", "over_fixed_high"):
            signed[side] = f"{row[side]:+.4f}"
        added.append(
            {
                "number": str(number),
                "stage": "8 new information",
                "space": "40 models, averages of up to three of 14, the committee",
                "datasets": str(len(study.names)),
                "origins": str(study.origins.nunique()),
                "design": row["design"],
                "wins": str(row["gain_wins"]),
                "losses": str(row["gain_losses"]),
                "lost_05": f"{100 * row['lost_05']:.1f}",
                "note": f"research evaluate-beyond {which}",
                **signed,
            }
        )
    pd.concat([before, pd.DataFrame(added)])[list(before)].to_csv(path, index=False)
