"""The fingerprint of a dataset's content, which does not depend on the file it came from."""

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadParameter
from metaod.tables import Table

FINGERPRINT_FORMAT = r"fp1:[0-9a-f]{32}"
"""Regular expression of fingerprints: the version of the recipe, then 128 bits in hexadecimal."""

_MISSING = (2**64 - 1).to_bytes(8, "little")


def fingerprint(X: Any, y: Any = None) -> str:
    """Hash X and y as read, before any imputation or encoding.

    Parameters
    ----------
    X : Table, pandas.DataFrame or array-like of shape (n_rows, n_columns)
        The data; column names and index are ignored.
    y : array-like of shape (n_rows,), optional
        The label. By default that of `X` where it is a labelled :class:`~metaod.tables.Table`.

    Returns
    -------
    str
        ``"fp1:"`` and the first 32 hexadecimal digits of a SHA-256.

    Notes
    -----
    The recipe, version 1. The hash runs over these bytes, in this order:

    1. ``metaod-fingerprint-1``, the number of rows and the number of columns, in ASCII, each
       followed by a line feed;
    2. every column, from left to right: a numeric one as the letter ``n`` and its values as
       little-endian float64; a text one as the letter ``t`` and, for every value, the number of
       bytes of its UTF-8 form as a little-endian 64-bit integer and those bytes, where a missing
       value is the integer 2⁶⁴ - 1 alone;
    3. the label, if there is one: the letter ``y`` and its values as little-endian float64.

    Numbers and booleans of any type are numeric, by their float64 value: -0.0 counts as 0.0, and
    every NaN or missing value as the same NaN. A text column in which every value reads as a
    number is numeric too, because one file format calls ``"1"`` a category and another a number.
    Dates are text: ISO 8601 with microseconds, in UTC if they have a time zone. Nothing depends
    on the file format, the memory layout or the data type: a numeric frame has the fingerprint
    of its matrix.

    Examples
    --------
    >>> import numpy as np
    >>> fingerprint([[1, 2], [3, 4]], [0, 1])
    'fp1:...'
    >>> fingerprint([[1, 2], [3, 4]], [0, 1]) == fingerprint(np.array([[1.0, 2], [3, 4]]), [0, 1])
    True
    """
    if isinstance(X, Table):
        y = X.label if y is None else y
        X = X.frame
    columns = X if isinstance(X, pd.DataFrame) else _as_matrix(X)
    n_rows, n_columns = columns.shape
    digest = hashlib.sha256(b"metaod-fingerprint-1\n%d\n%d\n" % (n_rows, n_columns))
    for j in range(n_columns):
        if isinstance(columns, pd.DataFrame):
            digest.update(_series_bytes(columns.iloc[:, j]))
        else:
            digest.update(b"n" + _float64_bytes(columns[:, j]))
    if y is not None:
        label = _as_array(y, "y")
        if label.shape != (n_rows,) or label.dtype.kind not in "biuf":
            legal = f"numeric, of shape ({n_rows},)"
            raise BadParameter("fingerprint", "y", legal, f"{label.dtype} {label.shape}")
        digest.update(b"y" + _float64_bytes(label))
    return f"fp1:{digest.hexdigest()[:32]}"


def _as_matrix(X: Any) -> "npt.NDArray[Any] | pd.DataFrame":
    matrix = _as_array(X, "X")
    if matrix.ndim != 2:
        legal = "a table or a two-dimensional array"
        raise BadParameter("fingerprint", "X", legal, f"shape {matrix.shape}")
    return matrix if matrix.dtype.kind in "biuf" else pd.DataFrame(matrix)


def _as_array(values: Any, name: str) -> npt.NDArray[Any]:
    try:
        return np.asarray(values)
    except ValueError as error:  # rows of unequal length
        raise BadParameter("fingerprint", name, "rows of one length", values) from error


def _series_bytes(series: "pd.Series[Any]") -> bytes:
    if pd.api.types.is_complex_dtype(series.dtype):
        raise BadParameter("fingerprint", "X", "without complex numbers", series.dtype)
    if pd.api.types.is_numeric_dtype(series.dtype):
        return b"n" + _float64_bytes(series.to_numpy(dtype=np.float64, na_value=np.nan))
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        series = _iso_dates(series)
    codes, values = pd.factorize(series, use_na_sentinel=True)
    texts = [_text(value) for value in values]
    try:
        numbers = np.array([*map(float, texts), np.nan])
    except ValueError:
        encoded = [_text_bytes(text) for text in texts] + [_MISSING]
        # a missing value has code -1: the last
        return b"t" + b"".join(encoded[code] for code in codes)
    return b"n" + _float64_bytes(numbers[codes])


def _iso_dates(series: "pd.Series[Any]") -> "pd.Series[Any]":
    if series.dt.tz is not None:
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    texts = np.datetime_as_string(series.to_numpy(dtype="datetime64[us]"))
    return pd.Series(texts, dtype=object).mask(series.isna().to_numpy())


def _text(value: object) -> str:
    # in a column with None, booleans and numbers of any width are objects
    return str(float(value) if isinstance(value, bool | np.bool_ | np.floating) else value)


def _text_bytes(text: str) -> bytes:
    # some files hold a lone surrogate, which is not UTF-8
    encoded = text.encode("utf-8", errors="surrogatepass")
    return len(encoded).to_bytes(8, "little") + encoded


def _float64_bytes(values: npt.NDArray[Any]) -> bytes:
    numbers = np.array(values, dtype="<f8")
    numbers += 0.0  # -0.0 becomes 0.0
    numbers[np.isnan(numbers)] = np.nan
    return numbers.tobytes()
