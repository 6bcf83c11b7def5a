"""The built-in detector families, registered on import in the order that the spaces list them."""

# ruff: noqa: F401 - imported to be registered
# isort: off
from metaod.models.families import kde
from metaod.models.families import knn
from metaod.models.families import lof
from metaod.models.families import ocsvm
from metaod.models.families import cof
from metaod.models.families import abod
from metaod.models.families import iforest
from metaod.models.families import hbos
from metaod.models.families import loda
from metaod.models.families import oblique
from metaod.models.families import mcd
from metaod.models.families import pca
from metaod.models.families import ecod
from metaod.models.families import cblof
