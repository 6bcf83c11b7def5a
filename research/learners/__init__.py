"""The paper's rivals of MetaOD and its variants, registered by name."""

from metaod.learners import register_learner

LEARNERS = {
    "metaod_variant": "variants:MetaODVariant",
    "metaod_released": "variants:ReleasedMetaOD",
    "metaod_f": "variants:MetaODF",
    "squared_error": "variants:SquaredErrorFactorisation",
    "metaod_c": "metaod_c:MetaODC",
    "alors": "alors:ALORS",
    "supervised_surrogates": "supervised_surrogates:SupervisedSurrogates",
    "argosmart": "argosmart:ARGOSMART",
    "isac": "isac:ISAC",
    "global_best": "global_best:GlobalBest",
    "global_best_rank": "global_best:GlobalBestRank",
    "random_selection": "random_selection:RandomSelection",
    "pyod_rule": "pyod_rule:PyODRule",
}
"""Modules and classes by the learners' names."""


def register() -> None:
    """Make the learners known to :func:`metaod.learners.make_learner`."""
    for name, path in LEARNERS.items():
        register_learner(name, f"research.learners.{path}")
