"""Contract tests that authors of extensions run over their own."""

from metaod.testing.detectors import check_detector, detector_contract
from metaod.testing.learners import check_learner, learner_contract

__all__ = ["check_detector", "check_learner", "detector_contract", "learner_contract"]
