"""The paper's two testbeds: POC, of sibling childsets, and ST, of unrelated datasets."""

from metaod.lab.testbeds._building import build_childsets, build_poc, build_st
from metaod.lab.testbeds._folder import LeftOut, Manifest, Member, read_manifest
from metaod.lab.testbeds._sources import versions

__all__ = [
    "LeftOut",
    "Manifest",
    "Member",
    "build_childsets",
    "build_poc",
    "build_st",
    "read_manifest",
    "versions",
]
