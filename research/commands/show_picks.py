"""Print the default's picks for a dozen well-known datasets, compared with other choices.

Each pick is by the default's recipe trained without the dataset's origin. The Markdown table has
the pick (families and scalings of its members; no scaling means z-scores), its AP, PyOD's default
iForest, the choice of PyOD's ADEngine (kNN below 20 columns and 5,000 rows, otherwise iForest, both
with default parameters), and the best of all models and averages with hindsight.

    python -m research show-picks
"""

import pandas as pd

from metaod.history import RECIPES
from metaod.history._training import out_of_fold_scores
from metaod.learners import make_learner
from metaod.models import ModelSpec
from research.shipped import FOLDS, shipped_datasets, shipped_matrix, shipped_training_data

NAMES = (
    "odds/annthyroid", "odds/breastw", "dami/Cardiotocography", "odds/glass", "odds/ionosphere",
    "odds/letter", "odds/mammography", "odds/satellite", "odds/thyroid", "odds/vowels", "odds/wbc",
    "odds/wine",
)  # fmt: skip
KNN = "KNN(n_neighbors=5, method=largest)"
IFOREST = "IForest()"


def short(model: str) -> str:
    """Families of the members with their scalings, and MCD's core."""
    parts = []
    for member in ModelSpec.parse(model).members:
        core = dict(member.params).get("core")
        scaling = "" if member.scaling == "zscore" else f" {member.scaling}"
        parts.append(member.detector + (f" core {core}" if core else "") + scaling)
    return " + ".join(parts)


def main() -> None:
    """Compute the picks and print the table."""
    recipe = RECIPES["default"]
    data = shipped_training_data(
        recipe.schemas, space=recipe.space, averages=recipe.averages, final=False
    )
    learner = make_learner(recipe.learner, **recipe.params)
    scores = out_of_fold_scores(learner, data.P, data.M, data.origins, n_folds=FOLDS)
    references = shipped_matrix(references=True)
    shapes = shipped_datasets()
    names = pd.Series(data.datasets.index, index=data.datasets["name"])
    print("| dataset | pick | AP | iForest | ADEngine | best |")
    print("|---|---|---|---|---|---|")
    n_better = n_known = 0
    for name in NAMES:
        if name not in names.index:
            print(f"| {name} | a final dataset, or not available | | | | |")
            continue
        key = names[name]
        reached = data.P.loc[key]
        usable = scores.loc[key][reached.notna()]
        pick = str(usable.sort_index().idxmax())
        rows, columns = shapes.loc[key, ["n_rows", "n_columns"]]
        small = rows < 5000 and columns < 20
        rule = reached[KNN] if small else references.loc[key, IFOREST]
        forest = references.loc[key, IFOREST]
        n_known, n_better = n_known + 1, n_better + int(reached[pick] > forest)
        print(
            f"| {name} | {short(pick)} | {reached[pick]:.3f} | "
            f"{forest:.3f} | {rule:.3f} | {reached.max():.3f} |"
        )
    print(f"\nThe pick is above iForest on {n_better} of the {n_known}.")
