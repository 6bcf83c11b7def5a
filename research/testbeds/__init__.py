"""The paper's two testbeds: POC, of sibling childsets, and ST, of unrelated datasets."""
