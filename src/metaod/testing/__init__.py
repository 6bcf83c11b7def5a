"""Contract tests that authors of extensions run over their own."""

from metaod.testing.detectors import (
    Check,
    ContractViolation,
    check_detector,
    detector_contract,
)

__all__ = ["Check", "ContractViolation", "check_detector", "detector_contract"]
