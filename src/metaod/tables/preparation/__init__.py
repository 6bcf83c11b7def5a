"""Preparation: a table becomes a finite float matrix, and a record says what was done to it.

The steps are a file each: a table is taken in (``intake``), every column is read into one of two
plain forms (``reading``, ``objects``, ``parsing``, ``moments``), what to do with it is decided
once (``decisions``, ``identifiers``, ``appearances``, ``growth``), and an encoder (``encoders``)
does it, to the first rows and to later ones alike. ``record`` puts it in words, ``state`` in JSON.
"""

from metaod.tables.preparation.preparation import Preparation, prepare
from metaod.tables.preparation.prepared import PreparedTable
from metaod.tables.preparation.record import ColumnRecord, PreparationRecord

__all__ = ["ColumnRecord", "Preparation", "PreparationRecord", "PreparedTable", "prepare"]
