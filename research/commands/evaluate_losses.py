"""Look for picks that lose less often against isolation forest, as docs/selector-protocol.md says.

    python -m research evaluate-losses KEPT
    python -m research evaluate-losses KEPT --scores ../shared/datasets ../shared/mixed
    python -m research evaluate-losses KEPT --final

The first form compares the designs that choose among the candidates of the performance matrix, on
all development tables. The second compares blends of picks with isolation forest, which need scores
of rows, on those of at most 3,000 rows and 100 columns. The third measures the chosen design on the
second final set. KEPT is a folder for the weights of the forests and for scores, which are computed
where they are missing. Writes losses, blends or losses-final to results/selector.
"""

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import rankdata

from metaod.history import iter_folder
from metaod.learners import make_learner, register_learner
from metaod.learners.gain_forest import GainForest
from metaod.models import ModelSpec, ScoreScale, score_models
from metaod.tables import prepare
from research.commands.evaluate_selector import CHOSEN, FOLDER, Bench
from research.kept_scores import KeptScores
from research.shipped import shipped_datasets, shipped_training_data
from research.statistics import average_precision, bootstrap_intervals

SEEDS, TREES, LOSS, MOST_ROWS, MOST_COLUMNS = 3, 200, 0.05, 3000, 100
TITLES = ("design", "gain [95 %]", "wins-losses", "lost > .05", "− today's [95 %]",
          "gain − today's", "numeric: gain, lost", "mixed: gain, lost")  # fmt: skip
CHOICE = replace(CHOSEN, learner="capped_gain_forest", roc_auc=0.5)
CAP = 0.3  # of the chosen design
LABEL = "label"  # kept beside the scores
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
    parser.add_argument("--final", action="store_true")
    given = parser.parse_args()
    if given.final:
        on_final_tables()
        return
    study = Study(given.kept)
    if given.scores:
        write(study, blends(study, given.kept, given.scores), "blends")
        return
    found = dict(designs(study))
    found["the design that the criterion chooses on the other nine folds"] = chosen(study, found)
    write(study, found, "losses")


class CappedGainForest(GainForest):
    """The gain forest, where no gain counts more than a cap."""

    name = "capped_gain_forest"

    def _fit(self, training: Any, progress: Any) -> None:
        super()._fit(training, progress)
        self.gains_ = np.minimum(self.gains_, CAP)


register_learner(CappedGainForest.name, f"{__name__}:CappedGainForest")


def on_final_tables() -> None:
    """Write the figures of the chosen design on the second final set."""
    bench = Bench(final=True, mixed=True)
    reached = bench.run({"": CHOICE}, 1)[""]
    mixed = bench.is_mixed[bench.P.index].to_numpy()
    lines = ["| final tables | gain [95 %] | wins-losses | lost > .05 |", "|---|---|---|---|"]
    for name, own in (("numeric", ~mixed), ("mixed", mixed)):
        gains = reached[own].sub(bench.iforest[own], axis=0)
        mean = gains.mean(axis=1)
        low, high = bootstrap_intervals(mean.to_frame(), bench.origins[own])[0]
        wins, losses = (gains > 1e-9).sum().mean(), (gains < -1e-9).sum().mean()
        lost = (gains < -LOSS).mean(axis=None)
        lines.append(f"| {own.sum()} {name} | {mean.mean():+.4f} [{low:+.4f}, {high:+.4f}] | "
                     f"{wins:.0f}-{losses:.0f} | {lost:.1%} |")  # fmt: skip
    (FOLDER / "losses-final.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


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
        self.tested = np.flatnonzero(self.data.P.index.isin(self.bench.P.index))
        self.known = self.known[self.tested]
        self.origins = self.data.origins.iloc[self.tested]
        self.fold = np.zeros(len(self.tested), dtype=np.intp)
        # of a tested table for every table; 0 for those of its fold
        self.weights = np.zeros((SEEDS, len(self.tested), len(self.ap)))
        self.distance = np.zeros(len(self.tested))
        for fold, (train, test) in enumerate(self.bench.splits):
            own = test[self.tested]
            self.fold[own] = fold
            past = self.data.without({*self.data.origins} - {*self.data.origins[train]}).history()
            M = self.data.M[test].to_numpy(dtype=np.float64)
            self.distance[own] = [np.sort(past.distances(m))[:5].mean() for m in M]
            for seed in range(SEEDS):
                path = kept / f"weights-{seed}-{fold}.npy"
                self.weights[seed][np.ix_(own, train)] = self._weights(path, seed, train, test)
        self.risks = self.weights @ (self.ap < -LOSS).astype(np.float64)
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
        scores = self.weights @ utility(self.ap, self.auc)
        usable = self.known & among & (self.risks <= risk)
        best = np.where(usable, scores, -np.inf).argmax(axis=2, keepdims=True)
        found = {"column": np.where(usable.any(axis=2, keepdims=True), best, -1)}
        found |= {"score": np.take_along_axis(scores, best, 2),
                  "risk": np.take_along_axis(self.risks, best, 2)}  # fmt: skip
        return {name: values[:, :, 0].T for name, values in found.items()}

    def gained(self, columns: Array) -> Array:
        """Return the gains of picked columns; column -1 is isolation forest itself."""
        gains = self.ap[self.tested[:, np.newaxis], columns]
        return np.where(columns < 0, 0.0, gains)


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
            kept = (study.distance <= np.quantile(study.distance, far))[:, np.newaxis]
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
                found[way][place] = average_precision(y.astype(np.int8), values) - iforest[place]
    return found


def scored(
    study: Study, kept: Path, folders: list[Path], wanted: list[set[str]]
) -> Iterator[tuple[int, Array, dict[str, Array]]]:
    """Yield place, labels and tempered scores of tables; compute what was not kept."""
    store, known = KeptScores(kept), shipped_datasets().loc[study.origins.index, "name"]
    entries = {entry.full_name: entry for i, label in enumerate(("y", "outlier"))
               for entry in iter_folder(folders[i], label=label)}  # fmt: skip
    for place, (fingerprint, name) in enumerate(known.items()):
        entry = entries.get(name)
        if entry is None or (entry.rows or 0) > MOST_ROWS or (entry.columns or 0) > MOST_COLUMNS:
            continue
        own = {model: values for (model, _), values in store.read(fingerprint).items()}
        if lacking := {LABEL, *wanted[place]} - set(own):
            dataset = entry.load()
            prepared = prepare(dataset.table)
            specs = map(ModelSpec.parse, sorted(lacking - {LABEL}))
            found = score_models(prepared.X, specs, trials=1, fixed=prepared.fixed)
            own |= {of.spec.id: of.scores for of in found if of.scores is not None}
            own |= {LABEL: np.asarray(dataset.y)}
            store.write(fingerprint, {(model, 0): v.astype(np.float32) for model, v in own.items()})
        if wanted[place] <= set(own):
            doubles = {model: own[model].astype(np.float64) for model in (LABEL, *wanted[place])}
            y = doubles.pop(LABEL)
            yield place, y, {m: ScoreScale.of(v, where=m).tempered(v) for m, v in doubles.items()}


def write(study: Study, found: dict[str, Array], name: str) -> None:
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
