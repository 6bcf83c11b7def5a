"""The models of the extended space that averages are made of: one or a few a family."""

from metaod.detectors.spec import ModelSpec

__all__ = ["REPRESENTATIVES"]

REPRESENTATIVES = tuple(
    ModelSpec.parse(model)
    for model in (
        "IForest(n_estimators=200, max_features=1.0)",
        "IForest(n_estimators=200, max_features=0.5)",
        "SCiForest(n_dims=2, n_estimators=100, n_trials=3, max_depth=32)",
        "SCiForest(n_dims=2, n_estimators=100, n_trials=3, max_depth=32, scaling=signedlog)",
        "KDE(gamma_scale=0.3, scaling=robust)",
        "KDE(gamma_scale=0.3, scaling=signedlog)",
        "KDE(gamma_scale=0.3, scaling=whitened)",
        "KDE(gamma_scale=1.0)",
        "KNN(n_neighbors=100, method=largest, scaling=robust)",
        "KNN(n_neighbors=100, method=largest)",
        "KNN(n_neighbors=20, method=largest, scaling=robust)",
        "LOF(n_neighbors=100, metric=euclidean)",
        "MCD()",
        "HBOS(n_bins=10, alpha=0.1)",
        "ECOD()",
    )
)
"""What averages are made of, see :func:`~metaod.detectors.averages.averages_of`."""
