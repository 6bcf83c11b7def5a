"""Meta-features: a table described by a named vector."""

from metaod.metafeatures._extraction import MetaFeatures, extract, extract_many
from metaod.metafeatures._landmarker_runs import LandmarkerRuns
from metaod.metafeatures._schema import SCHEMA_VERSIONS, SCHEMAS, Feature, Schema, schema
from metaod.metafeatures._summaries import statistic_and_summary

__all__ = [
    "SCHEMAS",
    "SCHEMA_VERSIONS",
    "Feature",
    "LandmarkerRuns",
    "MetaFeatures",
    "Schema",
    "extract",
    "extract_many",
    "schema",
    "statistic_and_summary",
]
