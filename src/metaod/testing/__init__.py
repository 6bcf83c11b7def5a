"""Contract tests that authors of extensions run over their own."""

from typing import TYPE_CHECKING, Any

from metaod.testing.detectors import Check, ContractViolation, check_detector, detector_contract
from metaod.testing.learners import check_learner, learner_contract

if TYPE_CHECKING:
    from metaod.testing.stores import check_store, store_contract

__all__ = [
    "Check", "ContractViolation", "check_detector", "check_learner", "check_store",
    "detector_contract", "learner_contract", "store_contract",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in ("check_store", "store_contract"):
        from metaod.testing import stores  # noqa: PLC0415 - needs sqlalchemy

        return getattr(stores, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
