"""HDF5 files, including those of MATLAB 7.3, which store matrices column by column."""

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from metaod.errors import BadFile, required
from metaod.options import Reading
from metaod.tables.readers._arrays import ArrayInfo, densify, read_chosen
from metaod.tables.readers._reader import Content
from metaod.tables.readers._source import (
    DEFLATE_RATIO,
    Source,
    check_bytes,
    check_expansion,
    damaged,
    format_bytes,
    library_errors,
)


def read(source: Source, options: Reading) -> Content:
    """Read a dataset of an HDF5 file."""
    needed_for = "reading HDF5 files and those of MATLAB 7.3"
    h5py = required("h5py", extra="hdf5", needed_for=needed_for)
    arrays: dict[str, ArrayInfo] = {}

    def describe(name: str, item: Any) -> None:
        if name.startswith("#"):
            return  # MATLAB's own storage for cells
        if _is_sparse(item):
            rows, columns = int(item.attrs["MATLAB_sparse"]), len(item["jc"]) - 1
            arrays[name] = ArrayInfo((rows, columns), "sparse", numeric=True)
        elif isinstance(item, h5py.Dataset) and not _is_sparse(item.parent):
            arrays[name] = _describe(item)

    with (
        library_errors(source.name, "HDF5"),
        source.open() as stream,
        h5py.File(stream, "r") as file,
    ):
        file.visititems(describe)

        def load(name: str) -> npt.NDArray[Any]:
            item = file[name]
            if _is_sparse(item):
                return _load_sparse(item, options.memory_limit, source.name)
            _check_stored(item, source.name, options.memory_limit)
            array = np.asarray(item[()])
            return array.T if "MATLAB_class" in item.attrs else array

        return read_chosen(arrays, load, source.name, options)


def _is_sparse(item: Any) -> bool:
    return hasattr(item, "keys") and "MATLAB_sparse" in item.attrs


def _describe(dataset: Any) -> ArrayInfo:
    shape = tuple(int(n) for n in dataset.shape or ())
    numeric = dataset.dtype.kind in "biuf"
    if "MATLAB_class" not in dataset.attrs:
        readable = dataset.dtype.kind in "biufSV"
        return ArrayInfo(shape, str(dataset.dtype), numeric, readable)
    kind = dataset.attrs["MATLAB_class"]
    kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else str(kind)
    # of an empty matrix, the numbers stored are the sizes of its axes
    shape = (0, 0) if "MATLAB_empty" in dataset.attrs else shape[::-1]
    numeric = numeric and kind not in ("char", "cell")
    return ArrayInfo(shape, kind, numeric, readable=numeric)


def _check_stored(dataset: Any, source: str, max_bytes: int) -> None:
    """Refuse a dataset that is too large, or much larger than what is stored of it."""
    name = dataset.name.lstrip("/")
    if dataset.is_virtual or dataset.external:
        what = f"array {name!r} lies in other files"
        raise BadFile(source, what, remedy="write it into one file")
    promised = prod(dataset.shape) * dataset.dtype.itemsize
    check_bytes(source, "promises", promised, max_bytes)
    stored = dataset.id.get_storage_size()
    if promised > 2**20 and promised > DEFLATE_RATIO * stored:
        size = f"promises {format_bytes(promised)}, but {format_bytes(stored)} are stored"
        raise damaged(source, f"array {name!r} {size}")
    check_expansion(source, stored, promised, "save it with less compression")


def _load_sparse(group: Any, max_bytes: int, source: str) -> npt.NDArray[Any]:
    for part in ("data", "ir", "jc"):
        if part in group:
            _check_stored(group[part], source, max_bytes)
    columns = group["jc"][()].astype(np.int64)
    shape = (int(group.attrs["MATLAB_sparse"]), len(columns) - 1)
    rows = group["ir"][()].astype(np.int64) if "ir" in group else np.empty(0, np.int64)
    data = group["data"][()] if "data" in group else np.empty(0)
    return densify(scipy.sparse.csc_array((data, rows, columns), shape=shape), max_bytes, source)
