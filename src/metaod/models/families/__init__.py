"""Detectors of our own with PyOD's interface, where PyOD has none like them."""
