"""Look for picks that lose less often against isolation forest, as docs/selector-protocol.md says.

    python -m research evaluate-losses KEPT
    python -m research evaluate-losses KEPT --scores ../shared/datasets ../shared/mixed

The first form compares the designs that choose among the candidates of the performance matrix, on
all development tables. The second compares blends of picks with isolation forest, which need scores
of rows, on those of at most 3,000 rows and 100 columns. KEPT is a folder for the weights of the
forests and for scores, which are computed where they are missing. Writes losses.csv and .md, or
blends.csv and .md, to results/selector; with ``--log`` also a line for each design to designs.csv.
"""

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import rankdata

from metaod.history import iter_folder
from metaod.learners import make_learner
from metaod.models import ModelSpec, ScoreScale, score_models
from metaod.tables import prepare
from research.commands.evaluate_selector import CHOSEN, FOLDER, Bench
from research.kept_scores import KeptScores
from research.shipped import shipped_datasets, shipped_training_data
from research.statistics import average_precision, bootstrap_intervals

SEEDS, TREES, LOSS, MOST_ROWS, MOST_COLUMNS = 3, 200, 0.05, 3000, 100
TITLES = ("design", "gain [95 %]", "wins-losses", "lost > .05", "− today's [95 %]",
          "gain − today's", "numeric: gain, lost", "mixed: gain, lost")  # fmt: skip
FOREST = "IForest(n_estimators=200, max_features=1.0)"

Array = npt.NDArray[np.float64]
Utility = Callable[[Array, Array], Array]
"""What gains in AP and in ROC AUC over isolation forest are worth."""


def worth(
    weights: tuple[float, float], cap: float = 9, price: float = 0, *,
    of_ap: float = 0, of_auc: float = 0, more_auc: float = 0,
) -> tuple[str, Utility]:  # fmt: skip
    """Return a weighted sum of gains up to a cap, less prices for losses, and its name."""
    ap, auc = weights

    def utility(g: Array, a: Array) -> Array:
        total = ap * g + auc * a
        priced = price * (total < -LOSS) + of_ap * (g < -LOSS) + of_auc * (a < -LOSS)
        return np.minimum(total, cap) - priced + more_auc * np.clip(a, -0.2, 0.2)

    parts = {"capped at": cap if cap < 9 else 0, "price": price, "price of AP": of_ap,
             "price of AUC": of_auc, "plus AUC ×": more_auc}  # fmt: skip
    return ", ".join(
        [f"{ap} AP + {auc} AUC", *(f"{k} {v}" for k, v in parts.items() if v)]
    ), utility


AP, HALF, BOTH, AUC = (1, 0), (1, 0.5), (1, 1), (0, 1)
UTILITIES: dict[str, Utility] = dict(
    [
        *(worth(AP, 9, price) for price in (0.1, 0, 0.2, 0.3, 0.5, 1)),
        *(worth(AP, cap, price) for cap, price in (
            (0.05, 0), (0.1, 0), (0.2, 0), (0.1, 0.05), (0.1, 0.1), (0.2, 0.1), (0.2, 0.15),
            (0.2, 0.2))),
        *(worth(AP, 0.2, price, more_auc=more) for price, more in (
            (0.1, 0.25), (0.1, 0.5), (0.1, 1), (0.15, 1), (0.15, 2), (0.15, 4), (0.2, 2))),
        worth(AP, 0.2, 0.1, more_auc=0.5, of_auc=0.05),
        worth(AP, 9, 0.1, more_auc=0.5),
        *(worth(HALF, cap, price) for cap, price in (
            (0.2, 0), (0.2, 0.05), (0.2, 0.1), (0.2, 0.2), (0.1, 0.1), (0.3, 0.05), (0.3, 0.1))),
        worth(HALF, 0.2, of_ap=0.15, of_auc=0.05),
        *(worth(BOTH, cap, price) for cap, price in (
            (0.2, 0), (0.2, 0.05), (0.2, 0.1), (0.2, 0.2), (0.1, 0.1), (0.3, 0), (0.3, 0.05),
            (0.5, 0.05))),
        *(worth(AUC, cap, of_ap=ap, of_auc=auc) for cap, ap, auc in (
            (0.05, 0, 0), (0.1, 0, 0), (0.2, 0, 0), (0.5, 0, 0), (0.1, 0.02, 0), (0.1, 0.05, 0),
            (0.1, 0.1, 0), (0.2, 0.03, 0), (0.2, 0.05, 0), (0.2, 0.1, 0), (0.1, 0, 0.03),
            (0.2, 0, 0.05), (0.2, 0.05, 0.05))),
    ]
)  # fmt: skip
TODAY, BOLD, BEST = (worth(*of)[0] for of in ((AP, 9, 0.1), (AUC, 0.5), (HALF, 0.3, 0.1)))
NARROW, CAPPED, FREE = (worth(*of)[0] for of in ((HALF, 0.2, 0.1), (AP, 0.2, 0.1), (AP, 9)))
UTILITIES |= {
    **{f"AP, price {p} of losses above {x}": lambda g, _, p=p, x=x: g - p * (g < -x)
       for p, x in ((0.1, 0.02), (0.2, 0.02), (0.3, 0.02), (0.1, 0.1), (0.2, 0.1))},
    **{f"AP less {c} × squared losses": lambda g, _, c=c: g - c * np.minimum(g, 0) ** 2
       for c in (1, 2, 5, 10)},
    **{f"AP, losses × {c}": lambda g, _, c=c: np.maximum(g, 0) + c * np.minimum(g, 0)
       for c in (1.5, 2, 3)},
    **{f"AP + {w} AUC, tanh of gains / {c}, price {p}":
       lambda g, a, w=w, c=c, p=p: c * np.tanh((g + w * a) / c) - p * (g + w * a < -LOSS)
       for w, c, p in ((0, 0.1, 0), (0, 0.03, 0.02), (0.5, 0.05, 0.03), (1, 0.05, 0.03))},
}  # fmt: skip


def main() -> None:
    """Write one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kept", type=Path)
    parser.add_argument("--scores", type=Path, nargs=2)
    parser.add_argument("--log", action="store_true")
    given = parser.parse_args()
    study = Study(given.kept)
    if given.scores:
        write(study, blends(study, given.kept, given.scores), "blends", log=given.log)
        return
    found = dict(designs(study))
    found["the design that the criterion chooses on the other nine folds"] = chosen(study, found)
    write(study, found, "losses", log=given.log)


class Study:
    """Development tables, and for every fold and seed the weights of its training tables."""

    def __init__(self, kept: Path) -> None:
        self.bench = Bench(final=False, mixed=True)
        self.data = self.bench.data(CHOSEN)
        auc = shipped_training_data(CHOSEN.schemas, space="extended", averages=True,
                                    measure="roc_auc")  # fmt: skip
        self.columns = np.array(sorted(self.data.P))  # equal scores: the first by id
        self.known = self.data.P[self.columns].notna().to_numpy()
        self.ap, self.auc = (
            filled_gains(own.P[self.columns], own.reference) for own in (self.data, auc)
        )
        self.with_forest = np.array([f"{FOREST} +" in c or f'{FOREST}"' in c or c == FOREST
                                     for c in self.columns])  # fmt: skip
        self.folds = [
            [(*split, self._weights(kept / f"weights-{seed}-{fold}.npy", seed, *split))
             for fold, split in enumerate(self.bench.splits)]
            for seed in range(SEEDS)
        ]  # fmt: skip
        self.tested = np.flatnonzero(self.data.P.index.isin(self.bench.P.index))
        self.origins = self.data.origins.iloc[self.tested]
        shapes = shipped_datasets().loc[self.origins.index]
        mixed = self.bench.is_mixed[self.origins.index].to_numpy()
        self.groups = {"all": mixed | ~mixed, "numeric": ~mixed, "mixed": mixed,
                       "under_300_rows": (shapes["n_rows"] < 300).to_numpy(),
                       "over_100_columns": (shapes["n_columns"] > 100).to_numpy()}  # fmt: skip

    def _weights(self, path: Path, seed: int, train: Any, test: Any) -> Array:
        if not path.exists():
            learner: Any = make_learner(CHOSEN.learner, n_estimators=TREES, random_state=seed)
            learner.fit(self.data.P[train], self.data.M[train], self.data.origins[train])
            M = self.data.M.loc[test, list(learner.features_)].to_numpy(dtype=np.float64)
            weights = learner.regression_.leaf_weights(learner.leaves_, M) * learner.votes_
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, weights / weights.sum(axis=1, keepdims=True))
        found: Array = np.load(path)
        return found

    def picks(self, utility: Utility, *, among: Any = True, risk: float = 1.0) -> dict[str, Array]:
        """Return the column picked for each tested table (tables, seeds), its score and its risk.

        The risk is the weighted share of training tables with a loss; columns above it, or not
        among the allowed ones, are not picked. The column is -1 if none is left.
        """
        worth, lost = utility(self.ap, self.auc), self.ap < -LOSS
        shape = (len(self.known), SEEDS)
        found = {"column": np.full(shape, -1), "score": np.zeros(shape), "risk": np.zeros(shape)}
        for seed, folds in enumerate(self.folds):
            for train, test, weights in folds:
                scores, risks = weights @ worth[train], weights @ lost[train]
                usable = self.known[test] & among & (risks <= risk)
                best = np.where(usable, scores, -np.inf).argmax(axis=1)
                rows = np.arange(len(best))
                found["column"][test, seed] = np.where(usable.any(axis=1), best, -1)
                found["score"][test, seed] = scores[rows, best]
                found["risk"][test, seed] = risks[rows, best]
        return {name: values[self.tested] for name, values in found.items()}

    def gained(self, columns: Array) -> Array:
        """Return the gains of picked columns; column -1 is isolation forest itself."""
        gains = self.ap[self.tested[:, np.newaxis], columns]
        return np.where(columns < 0, 0.0, gains)

    @cached_property
    def distance(self) -> Array:
        """Return the rank of each tested table's distance to the training tables of its fold."""
        far = np.zeros(len(self.known))
        for train, test, _ in self.folds[0]:
            own = self.data.only(set(self.data.origins[train])).history()
            M = self.data.M.loc[test].to_numpy(dtype=np.float64)
            nearest = [np.sort(own.distances(m))[:5].mean() for m in M]
            far[test] = nearest
        return rankdata(far[self.tested]) / len(self.tested)

    @cached_property
    def fold(self) -> npt.NDArray[np.intp]:
        found = np.zeros(len(self.known), dtype=np.intp)
        for number, (_, test, _) in enumerate(self.folds[0]):
            found[test] = number
        return found[self.tested]


def filled_gains(P: pd.DataFrame, reference: "pd.Series[float]") -> Array:
    """Return gains over the reference; a missing value is a small loss, as in the gain forest."""
    gains = P.sub(reference, axis=0)
    return gains.fillna(np.minimum(gains.mean(), 0) - 0.02).to_numpy()


def designs(study: Study) -> Iterator[tuple[str, Array]]:
    """Yield the gains of every design that picks from the matrix (tables, seeds)."""
    for name, utility in UTILITIES.items():
        yield name, study.gained(study.picks(utility)["column"])
    for name in (TODAY, FREE, CAPPED, BEST, BOLD):
        found = study.picks(UTILITIES[name], among=study.with_forest)
        yield f"{name}; averages with IForest(200) alone", study.gained(found["column"])
    for risk in (0.01, 0.02, 0.03, 0.04, 0.06):
        found = study.picks(UTILITIES[FREE], risk=risk)
        yield f"{FREE}; predicted share of losses at most {risk}", study.gained(found["column"])
    small = study.groups["under_300_rows"][:, np.newaxis]
    for name in (TODAY, BEST):
        found = study.picks(UTILITIES[name])
        gains, risk = study.gained(found["column"]), found["risk"]
        for score in (0.005, 0.01, 0.02):
            kept = found["score"] > score
            yield f"{name}; IForest() where the score is at most {score}", gains * kept
        for far in (0.9, 0.7, 0.5):
            kept = study.distance[:, np.newaxis] <= far
            yield f"{name}; IForest() for the {1 - far:.0%} farthest tables", gains * kept
        yield f"{name}; IForest() under 300 rows", gains * ~small
        yield f"{name}; IForest() above a conformal bound of the risk", gains * conformal(
            study, gains, risk)  # fmt: skip


def conformal(study: Study, gains: Array, risk: Array) -> npt.NDArray[np.bool_]:
    """Keep picks whose risk is below the largest bound that lost 2 % on the other nine folds."""
    kept = np.zeros(gains.shape, dtype=bool)
    for fold in range(len(study.bench.splits)):
        own = study.fold == fold
        order = np.argsort(risk[~own], axis=None, kind="stable")
        lost = np.cumsum((gains[~own] < -LOSS).ravel()[order]) + 1
        allowed = np.flatnonzero(lost <= 0.02 * (len(order) + 1))
        bound = risk[~own].ravel()[order][allowed[-1]] if len(allowed) else -1.0
        kept[own] = risk[own] <= bound
    return kept


def chosen(study: Study, found: dict[str, Array]) -> Array:
    """Return the gains of the design that the criterion chooses on the other nine folds."""
    gains, today = np.zeros_like(found[TODAY]), found[TODAY]
    for fold in range(len(study.bench.splits)):
        own = study.fold == fold
        fit = [name for name in found if found[name][~own].mean() >= today[~own].mean()]
        best = min(fit, key=lambda name: float((found[name][~own] < -LOSS).mean()))
        print(f"fold {fold + 1}: {best}")
        gains[own] = found[best][own]
    return gains


def blends(study: Study, kept: Path, folders: list[Path]) -> dict[str, Array]:
    """Return the gains of blends with IForest(200); NaN for tables without scores."""
    picks = {name: study.picks(UTILITIES[name]) for name in (TODAY, CAPPED, BOLD, BEST, NARROW)}
    columns = {name: study.columns[own["column"][:, 0]] for name, own in picks.items()}
    wanted = [{FOREST, *(m.id for own in columns.values() for m in ModelSpec.parse(own[i]).members)}
              for i in range(len(study.tested))]  # fmt: skip
    iforest = study.data.reference.iloc[study.tested].to_numpy()
    found: dict[str, Array] = defaultdict(lambda: np.full((len(study.tested), 1), np.nan))
    for place, y, scores in scored(study, kept, folders, wanted):
        forest = scores[FOREST]
        for name, own in picks.items():
            ids = [member.id for member in ModelSpec.parse(columns[name][place]).members]
            pick = np.mean([scores[m] for m in ids], axis=0)
            risk = (own["risk"][place, 0] > np.quantile(own["risk"], [1 / 3, 2 / 3])).sum() / 4
            ways = {
                name: pick,
                **{f"{name}; {w}:1 with IForest(200)": w * pick + forest for w in (3, 2, 1)},
                f"{name}; 1:1 with IForest(200), ranks": rankdata(pick) + rankdata(forest),
                f"{name} and IForest(200)": np.mean([scores[m] for m in {*ids, FOREST}], axis=0),
                f"{name}; IForest(200) by thirds of risk": (1 - risk) * pick + risk * forest,
            }
            for way, values in ways.items():
                found[way][place] = average_precision(y, values) - iforest[place]
    return found


def scored(
    study: Study, kept: Path, folders: list[Path], wanted: list[set[str]]
) -> Iterator[tuple[int, Any, dict[str, Array]]]:
    """Yield place, labels and tempered scores of tables; compute what was not kept."""
    store, places = KeptScores(kept), {f: i for i, f in enumerate(study.origins.index)}
    for entry in (e for folder, label in zip(folders, ("y", "outlier"), strict=True)
                  for e in iter_folder(folder, label=label)):  # fmt: skip
        if (entry.rows or 0) > MOST_ROWS or (entry.columns or 0) > MOST_COLUMNS:
            continue
        dataset = entry.load()
        place = places.pop(dataset.fingerprint, None)
        if place is None:
            continue
        raw = {model: own for (model, _), own in store.read(dataset.fingerprint).items()}
        if lacking := [ModelSpec.parse(model) for model in sorted(wanted[place] - set(raw))]:
            prepared = prepare(dataset.table)
            found = score_models(prepared.X, lacking, trials=1, fixed=prepared.fixed)
            new = {(own.spec.id, 0): own.scores for own in found if own.scores is not None}
            store.write(dataset.fingerprint, {k: v.astype(np.float32) for k, v in new.items()})
            raw |= {model: own for (model, _), own in new.items()}
        if wanted[place] <= set(raw):
            own = {model: raw[model].astype(np.float64) for model in wanted[place]}
            tempered = {m: ScoreScale.of(s, where=m).tempered(s) for m, s in own.items()}
            yield place, dataset.y, tempered


def write(study: Study, found: dict[str, Array], name: str, *, log: bool) -> None:
    """Write the table of designs; counts and shares are means over seeds."""
    today, rows = found[TODAY], []
    for design, gains in found.items():
        mean, lost = gains.mean(axis=1), (gains < -LOSS).mean(axis=1)
        more, over = lost - (today < -LOSS).mean(axis=1), mean - today.mean(axis=1)
        here = ~np.isnan(mean)
        ends = bootstrap_intervals(np.array([mean, more, over]).T[here], study.origins[here])
        row: dict[str, Any] = {"design": design}
        for group, members in study.groups.items():
            own = members & here
            row |= {f"{group}_gain": mean[own].mean(), f"{group}_lost": lost[own].mean(),
                    f"{group}_wins": (gains[own] > 1e-9).sum() / gains.shape[1],
                    f"{group}_losses": (gains[own] < -1e-9).sum() / gains.shape[1]}  # fmt: skip
        for what, values, (low, high) in zip(("gain", "more", "over"), (mean, more, over), ends,
                                             strict=True):  # fmt: skip
            row |= {what: values[here].mean(), f"{what}_low": low, f"{what}_high": high}
        rows.append(row)
    pd.DataFrame(rows).to_csv(FOLDER / f"{name}.csv", index=False, float_format="%.6f")
    n, origins = int(here.sum()), study.origins[here].nunique()
    lines = [
        f"{n} development tables of {origins} origins.",
        "",
        f"| {' | '.join(TITLES)} |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r['design']} | {r['gain']:+.4f} [{r['gain_low']:+.4f}, {r['gain_high']:+.4f}] | "
        f"{r['all_wins']:.0f}-{r['all_losses']:.0f} | {r['all_lost']:.1%} | {100 * r['more']:+.1f} "
        f"[{100 * r['more_low']:+.1f}, {100 * r['more_high']:+.1f}] | {r['over']:+.4f} | "
        f"{r['numeric_gain']:+.4f}, {r['numeric_lost']:.1%} | {r['mixed_gain']:+.4f}, "
        f"{r['mixed_lost']:.1%} |"
        for r in rows
    ]
    (FOLDER / f"{name}.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    if log:
        path = FOLDER / "designs.csv"
        before = pd.read_csv(path, dtype=str)
        added = pd.DataFrame(
            {"number": str(len(before) + i), "stage": "9 fewer losses", "datasets": str(n),
             "space": before["space"].iloc[-1], "origins": str(origins), "design": r["design"],
             "gain": f"{r['gain']:+.4f}", "low": f"{r['gain_low']:+.4f}",
             "high": f"{r['gain_high']:+.4f}", "wins": f"{r['all_wins']:.0f}",
             "losses": f"{r['all_losses']:.0f}", "lost_05": f"{100 * r['all_lost']:.1f}",
             "note": f"research evaluate-losses, {name}"} for i, r in enumerate(rows, 1)
        )  # fmt: skip
        pd.concat([before, added])[list(before)].to_csv(path, index=False)
