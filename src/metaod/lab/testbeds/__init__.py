"""The paper's two testbeds: POC, of siblings, and ST, of datasets with little in common."""

from metaod.lab.testbeds.manifest import LeftOut, Manifest, Member, read_manifest
from metaod.lab.testbeds.poc import build_poc
from metaod.lab.testbeds.st import build_st

__all__ = ["LeftOut", "Manifest", "Member", "build_poc", "build_st", "read_manifest"]
