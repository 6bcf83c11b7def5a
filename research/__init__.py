"""Research: benchmark catalogue, childsets, testbeds, evaluation protocols, tables, figures."""
