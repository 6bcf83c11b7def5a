"""Measure what extreme cells, and averages that grow further, change on tables with rare classes.

python -m research measure-extremes FOLDER SCORES

FOLDER holds labelled datasets, of which those of development origins with at most 10,000 rows and
100 columns are used (by all lists of final origins). SCORES is a folder where the models' scores
are kept; what it lacks is computed. Each pick is measured as it was before (scores of members
hardly grow beyond [-3, 6]), with their logarithm beyond 6, and with extreme cells: means over
tables, the difference with its 95 % interval over origins, wins and losses. The learner's picks are
those of the shipped recipe, trained without the table's fold of origins.
"""

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.detection._extremes import Extremes
from metaod.models import COMMITTEE, ModelSpec, ScoreScale
from research.commands.evaluate_selector import CHOSEN, Bench, picks_of, scores_of
from research.development import ScoredTable, scored_tables
from research.kept_scores import KeptScores
from research.statistics import average_precision, bootstrap_intervals

FOREST_200 = ModelSpec.parse("IForest(n_estimators=200, max_features=1.0)")

Scores = npt.NDArray[np.float64]


def learned_picks() -> dict[str, ModelSpec]:
    """Return the learner's pick for each development dataset, by fingerprint."""
    bench = Bench(final=False)
    data = bench.data(CHOSEN)
    picks: dict[str, ModelSpec] = {}
    for train, test in bench.splits:
        best = picks_of(data.P[test], scores_of(data, CHOSEN, 0, train, test), CHOSEN.most)
        picks |= {name: ModelSpec.parse(model) for name, model in best.items()}
    return picks


def limited(standardised: Scores) -> Scores:
    """Return scores of a member as they were averaged before."""
    inside = np.clip(standardised, -3, 6)
    beyond = standardised - inside
    return np.asarray(inside + np.copysign(0.01 * np.log1p(np.abs(beyond)), beyond))


def measured(table: ScoredTable, members: list[ModelSpec]) -> dict[str, float]:
    """Return the AP of one pick on one table in each way."""
    own = [table.scores[member.id] for member in members]
    before = plain = own[0]
    if len(own) > 1:
        scales = [ScoreScale.of(s, where="a member") for s in own]
        pairs = list(zip(scales, own, strict=True))
        before = np.mean([limited(scale.standardised(s)) for scale, s in pairs], axis=0)
        plain = np.mean([scale.tempered(s) for scale, s in pairs], axis=0)
    extremes = Extremes.of(table.X, table.fixed)
    gaps = extremes.gaps(table.X)
    lifted = extremes.beside(plain, gaps).lifted(plain, gaps)
    ways = {"before": before, "logarithm": plain, "with extreme cells": lifted}
    return {name: average_precision(table.y, scores) for name, scores in ways.items()}


def main() -> None:
    """Score, measure, print."""
    learned = learned_picks()

    def models(fingerprint: str) -> set[ModelSpec]:
        return {*COMMITTEE, FOREST_200, *learned[fingerprint].members}

    rows = []
    for table in scored_tables(sys.argv[1], KeptScores(Path(sys.argv[2])), models):
        picks = {
            "committee": [member for member in COMMITTEE if member.id in table.scores],
            "the learner's": list(learned[table.fingerprint].members),
            "isolation forest": [FOREST_200],
        }
        for name, members in picks.items():
            if all(member.id in table.scores for member in members):
                rows.append({"pick": name, "origin": table.origin, **measured(table, members)})
    found = pd.DataFrame(rows)
    print("| pick | tables | before | logarithm | with extreme cells |\n|---|---|---|---|---|")
    for name, own in found.groupby("pick", sort=False):
        cells = [str(name), str(len(own)), f"{own['before'].mean():.4f}"]
        for way in ("logarithm", "with extreme cells"):
            gain = (own[way] - own["before"]).groupby(own["origin"]).mean()
            low, high = bootstrap_intervals(gain.to_frame(), gain.index)[0]
            wins, losses = int((gain > 1e-9).sum()), int((gain < -1e-9).sum())
            cells.append(f"{gain.mean():+.4f} [{low:+.4f}, {high:+.4f}], {wins}-{losses}")
        print(f"| {' | '.join(cells)} |")
