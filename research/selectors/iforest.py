"""MetaOD: IForest."""

import pandas as pd


def select(table: pd.DataFrame) -> str:  # noqa: ARG001 - the same for every table
    """Return the isolation forest with PyOD's default parameters."""
    return "IForest(n_estimators=100, max_features=1.0)"
