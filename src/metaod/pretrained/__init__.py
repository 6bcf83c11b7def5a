"""What ships with the package: the performance matrix, and how it was made."""

from metaod.pretrained.matrix import (
    final_origins,
    shipped_cells,
    shipped_datasets,
    shipped_folder,
    shipped_matrix,
    shipped_metafeatures,
)

__all__ = [
    "final_origins",
    "shipped_cells",
    "shipped_datasets",
    "shipped_folder",
    "shipped_matrix",
    "shipped_metafeatures",
]
