"""Contract tests that authors of extensions run over their own."""

from metaod.testing.detectors import Check, ContractViolation, check_detector, detector_contract
from metaod.testing.learners import check_learner, learner_contract
from metaod.testing.stores import check_store, store_contract

__all__ = [
    "Check", "ContractViolation", "check_detector", "check_learner", "check_store",
    "detector_contract", "learner_contract", "store_contract",
]  # fmt: skip
