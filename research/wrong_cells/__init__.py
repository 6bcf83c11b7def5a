"""Wrong cells: planted errors, rivals and measures of the evaluation."""
