"""What a model is, the model spaces, and how a spec becomes a detector."""

from metaod.detectors.families import (
    Family,
    families,
    family,
    register_family,
    unregister_family,
)
from metaod.detectors.spaces import SPACES, model_space, specs_of
from metaod.detectors.spec import ModelSpec

__all__ = [
    "SPACES",
    "Family",
    "ModelSpec",
    "families",
    "family",
    "model_space",
    "register_family",
    "specs_of",
    "unregister_family",
]
