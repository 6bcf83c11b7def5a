"""Landmarkers: quick detectors whose structure and scores describe a table."""
