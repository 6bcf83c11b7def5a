"""The paper's evidence, rebuilt from data: testbeds, protocols, statistics, tables and figures."""
