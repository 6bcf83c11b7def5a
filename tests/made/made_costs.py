"""The expected cost of one model."""

from metaod.models import expected_costs


def expected_cost(spec, n_rows, n_columns):
    [cost] = expected_costs([spec], n_rows, n_columns)
    return cost
