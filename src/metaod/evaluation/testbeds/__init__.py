"""The paper's two testbeds: POC, of siblings, and ST, of datasets with little in common."""

from metaod.evaluation.testbeds.manifest import LeftOut, Manifest, Member, read_manifest
from metaod.evaluation.testbeds.poc import build_poc
from metaod.evaluation.testbeds.st import build_st

__all__ = ["LeftOut", "Manifest", "Member", "build_poc", "build_st", "read_manifest"]
