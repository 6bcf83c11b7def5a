"""Childsets: benchmark datasets with controlled properties, drawn from labelled tables."""
