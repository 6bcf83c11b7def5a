"""Shared-computation scoring: many models from one computation."""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metaod.models._base import Kernel

__all__ = ["all_kernels"]


@cache
def all_kernels() -> "tuple[Kernel, ...]":
    """Every kernel; a spec goes to the first that serves it."""
    # late: numba is slow to import, and each of these needs it
    from metaod.models._neighbours import NeighbourKernel  # noqa: PLC0415
    from metaod.models.families.hbos import HBOSKernel  # noqa: PLC0415
    from metaod.models.families.iforest import ForestKernel  # noqa: PLC0415
    from metaod.models.families.kde import KDEKernel  # noqa: PLC0415
    from metaod.models.families.loda import LODAKernel  # noqa: PLC0415
    from metaod.models.families.oblique import ObliqueKernel  # noqa: PLC0415
    from metaod.models.families.ocsvm import OCSVMKernel  # noqa: PLC0415

    return (
        NeighbourKernel(),
        KDEKernel(),
        OCSVMKernel(),
        ForestKernel(),
        ObliqueKernel(),
        HBOSKernel(),
        LODAKernel(),
    )
