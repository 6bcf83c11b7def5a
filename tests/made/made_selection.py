"""A pick without a learner: the models in the order that a test names."""

from dataclasses import dataclass, field

import pandas as pd

from metaod.models import ModelSpec, member_ids
from metaod.options import Picking
from metaod.tables import PreparedTable, Table, prepare, read_table

MODELS = (
    "KNN(n_neighbors=5, method=largest)",
    "IForest(n_estimators=20, max_features=0.5)",
    "HBOS(n_bins=10, alpha=0.1)",
)


@dataclass
class MadeTrust:
    warnings: tuple[str, ...] = ("the table is made up",)

    def to_dict(self):
        return {"predicted": 0.7, "warnings": list(self.warnings)}

    def summary(self):
        return "Expected performance: 0.70."


@dataclass
class MadeExplanation:
    pick: str = ""
    is_fixed: bool = False

    def to_dict(self):
        return {"pick": self.pick}

    def reason(self):
        return "A made-up reason."

    def figures(self):
        return []


@dataclass
class MadeSelection:
    """What `Selection` offers, of what fitting and the commands use."""

    prepared: PreparedTable
    models: tuple[str, ...] = MODELS
    random_state: int = 0
    measure: str = "AP"
    picking: Picking = field(default_factory=Picking)
    passed_over: dict[ModelSpec, str] = field(default_factory=dict)

    @property
    def best(self):
        return ModelSpec.parse(self.models[0])

    @property
    def members(self):
        return member_ids(self.models[0])

    @property
    def ranking(self):
        n = len(self.models)
        predicted = [0.7 - 0.1 * place for place in range(n)]
        return pd.DataFrame(
            {
                "model": list(self.models),
                "predicted": predicted,
                "low": [value - 0.3 for value in predicted],
                "high": [value + 0.2 for value in predicted],
                "seconds": [0.01, 0.3, float("nan"), 1.0][:n],
                "score": predicted,
            }
        )

    @property
    def trust(self):
        return MadeTrust()

    def specs(self):
        return map(ModelSpec.parse, self.models)

    def explain(self, *, top=5):
        return MadeExplanation(self.models[0])

    def nearest(self, *, top=5):
        known = {"n_rows": 100, "n_columns": 5, "performance": 0.5, "reference": float("nan")}
        return pd.DataFrame([{"name": "a table like it", **known}])

    def to_dict(self, *, top=None):
        rows = self.ranking.head(len(self.models) if top is None else top)
        plain = rows.astype(object).where(rows.notna(), None)
        return {
            "pick": dict.fromkeys(self.members, 1 / len(self.members)),
            "ranking": plain.to_dict("records"),
            "trust": self.trust.to_dict(),
            "why": self.explain().to_dict(),
        }


def made_select(X, *, models=MODELS, random_state=0, **options):
    """As `metaod.select`; any learner will do."""
    options.pop("progress", None)
    if not isinstance(X, PreparedTable):
        X = prepare(X if isinstance(X, Table | pd.DataFrame) else read_table(X))
    return MadeSelection(X, models, random_state, picking=Picking(**options))


def pick_with(monkeypatch, *models):
    """Let every fit pick from these models."""
    monkeypatch.setattr("metaod.detection._estimator.make_selection", selecting(*models))


def selecting(*models):
    """As `make_selection` of the room, with these models for the ranking."""

    def make(X, picking, *, owner="select", tracker=None):
        return MadeSelection(X, models or MODELS, picking.random_state, picking=picking)

    return make
