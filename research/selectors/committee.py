"""MetaOD: committee."""

import pandas as pd

import metaod


def select(table: pd.DataFrame) -> str:
    """Return the average of the seven models, without those that do not apply."""
    return metaod.select(table, pick="committee").best.id
