"""Meta-features: a table described by a named vector."""

from metaod.metafeatures._extraction import MetaFeatures, extract
from metaod.metafeatures._landmarkers import FeatureInputs, LandmarkerRuns
from metaod.metafeatures._schema import (
    SCHEMAS,
    Feature,
    Schema,
    computes,
    register_schema,
    schema,
    statistic_and_summary,
)

__all__ = [
    "SCHEMAS", "Feature", "FeatureInputs", "LandmarkerRuns", "MetaFeatures", "Schema", "computes",
    "extract", "register_schema", "schema", "statistic_and_summary",
]  # fmt: skip
