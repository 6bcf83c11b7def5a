"""What a table looks like, as a named vector: the only thing that the selector sees.

The names below are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metaod.metafeatures.extraction import MetaFeatures, extract, extract_many
    from metaod.metafeatures.landmarkers.runs import LandmarkerRuns
    from metaod.metafeatures.schema import SCHEMAS, Feature, Schema

__all__ = [
    "SCHEMAS",
    "Feature",
    "LandmarkerRuns",
    "MetaFeatures",
    "Schema",
    "extract",
    "extract_many",
]

_HOMES = {
    "SCHEMAS": "schema",
    "Feature": "schema",
    "LandmarkerRuns": "landmarkers.runs",
    "MetaFeatures": "extraction",
    "Schema": "schema",
    "extract": "extraction",
    "extract_many": "extraction",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
