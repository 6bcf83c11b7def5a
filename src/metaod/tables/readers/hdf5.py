"""HDF5 files, and so MATLAB's of version 7.3, which store matrices column by column."""

from math import prod
from typing import Any, BinaryIO

import h5py
import numpy as np
import numpy.typing as npt
import scipy.sparse

from metaod.errors import BadFile
from metaod.tables.readers.archives import DEFLATE_RATIO
from metaod.tables.readers.arrays import ArrayInfo, read_chosen
from metaod.tables.readers.content import Content, foreign_errors, gibibytes
from metaod.tables.readers.options import ReadOptions
from metaod.tables.readers.source import Source, too_large
from metaod.tables.readers.sparse import densify

__all__ = ["read"]


def read(source: Source, options: ReadOptions) -> Content:
    """Read one dataset, and the label if it is another of the file."""
    arrays: dict[str, ArrayInfo] = {}

    def note(name: str, item: Any) -> None:
        if name.startswith("#"):
            return  # MATLAB's own storage for cells
        if _is_sparse(item):
            rows, columns = int(item.attrs["MATLAB_sparse"]), len(item["jc"]) - 1
            arrays[name] = ArrayInfo((rows, columns), "sparse", numeric=True)
        elif isinstance(item, h5py.Dataset) and not _is_sparse(item.parent):
            arrays[name] = _describe(item)

    with foreign_errors(source.name, "HDF5"), source.open() as stream, _open(stream) as file:
        file.visititems(note)

    def load(name: str) -> npt.NDArray[Any]:
        with foreign_errors(source.name, "HDF5"), source.open() as stream, _open(stream) as file:
            item = file[name]
            if _is_sparse(item):
                return _sparse(item, options.max_bytes, source.name)
            _check_promise(item, source.name, options.max_bytes)
            array: npt.NDArray[Any] = item[()]
            return np.asarray(array).T if _is_matlab(item) else np.asarray(array)

    return read_chosen(arrays, load, source.name, options)


def _open(stream: BinaryIO) -> Any:
    return h5py.File(stream, "r")


def _is_matlab(item: Any) -> bool:
    return "MATLAB_class" in item.attrs


def _is_sparse(item: Any) -> bool:
    return isinstance(item, h5py.Group) and "MATLAB_sparse" in item.attrs


def _describe(dataset: Any) -> ArrayInfo:
    shape = tuple(int(n) for n in dataset.shape or ())
    kind = str(dataset.dtype)
    numeric = dataset.dtype.kind in "biuf"
    if _is_matlab(dataset):
        shape = shape[::-1]
        kind = dataset.attrs["MATLAB_class"]
        kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else str(kind)
        if "MATLAB_empty" in dataset.attrs:
            shape = (0, 0)  # the numbers stored are the sizes of axes
        numeric = numeric and kind not in ("char", "cell")
        return ArrayInfo(shape, kind, numeric, readable=numeric)
    return ArrayInfo(shape, kind, numeric, readable=dataset.dtype.kind in "biufSV")


def _check_promise(dataset: Any, source: str, max_bytes: int) -> None:
    """Refuse a dataset that claims too much, or much and stores next to nothing."""
    if dataset.is_virtual or dataset.external:
        raise BadFile(
            source,
            f"array {dataset.name.lstrip('/')!r} lies in other files",
            remedy="write it into one file",
        )
    promised = prod(dataset.shape) * dataset.dtype.itemsize
    if promised > max_bytes:
        raise too_large(source, f"promises {gibibytes(promised)}", max_bytes)
    stored = dataset.id.get_storage_size()
    if promised > 2**20 and promised > DEFLATE_RATIO * stored:
        raise BadFile(
            source,
            f"array {dataset.name.lstrip('/')!r} promises {gibibytes(promised)}, but "
            f"{gibibytes(stored)} are stored",
            remedy="it is damaged or was never written: write or download it again",
        )


def _sparse(group: Any, max_bytes: int, source: str) -> npt.NDArray[Any]:
    for part in ("data", "ir", "jc"):
        if part in group:
            _check_promise(group[part], source, max_bytes)
    columns = group["jc"][()].astype(np.int64)
    shape = (int(group.attrs["MATLAB_sparse"]), len(columns) - 1)
    rows = group["ir"][()].astype(np.int64) if "ir" in group else np.empty(0, np.int64)
    data = group["data"][()] if "data" in group else np.empty(0)
    return densify(scipy.sparse.csc_array((data, rows, columns), shape=shape), max_bytes, source)
