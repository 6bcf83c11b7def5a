"""The figures of an evaluation; matplotlib is imported only when one is drawn."""
