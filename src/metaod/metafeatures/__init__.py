"""Meta-features: a table described by a named vector."""

from typing import TYPE_CHECKING

from metaod._lazy import exports

if TYPE_CHECKING:
    # the extraction registers the schemas
    from metaod.metafeatures._extraction import (
        SCHEMAS,
        MetaFeatures,
        extract,
        register_schema,
        schema,
    )
    from metaod.metafeatures._landmarkers import LandmarkerRuns
    from metaod.metafeatures._schema import Feature, computes

__all__ = [
    "SCHEMAS", "Feature", "LandmarkerRuns", "MetaFeatures", "computes", "extract",
    "register_schema", "schema",
]  # fmt: skip

__getattr__ = exports(__name__)
