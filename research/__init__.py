"""Research: benchmark catalogue, childsets, testbeds, evaluation protocols, tables, figures."""

from research.learners import register

register()
