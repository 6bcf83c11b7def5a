"""The error tree: what a user can fix, in one line, and it survives a process boundary."""

from copy import copy

import pytest

from metaod import errors

USER_ERRORS = [
    errors.UserError("what", where="where", remedy="remedy"),
    errors.BadFile("a.csv", "bad", line=3, column="x", remedy="fix it"),
    errors.BadFile("a.csv", "bad", column=2),
    errors.BadColumn("x", "is gone", path="a.csv", remedy="name another"),
    errors.BadParameter("HBOS", "n_bins", ["a", "b"], 1, remedy="Choose one"),
    errors.MissingExtra("openpyxl", extra="excel", needed_for="XLSX"),
]


@pytest.mark.parametrize("error", USER_ERRORS, ids=lambda error: type(error).__name__)
def test_user_errors_are_one_line_and_one_kind(error):
    assert isinstance(error, errors.UserError)
    assert isinstance(error, errors.MetaODError)
    assert "\n" not in str(error)


@pytest.mark.parametrize("error", USER_ERRORS, ids=lambda error: type(error).__name__)
def test_user_errors_are_rebuilt_whole(error):
    again = copy(error)
    assert type(again) is type(error)
    assert str(again) == str(error)


def test_bad_parameter_has_scikit_learns_form():
    error = errors.BadParameter("LOF", "metric", ("euclidean", "manhattan"), "cosine")
    assert isinstance(error, ValueError)
    assert str(error) == (
        "The 'metric' parameter of LOF must be one of {'euclidean', 'manhattan'}. "
        "Got 'cosine' instead."
    )


def test_a_bad_option_is_called_one():
    error = errors.BadParameter("metaod models", "--space", ("paper", "all"), "papr")
    assert str(error).startswith("The '--space' option of metaod models must be one of {'paper'")


def test_a_long_value_is_cut():
    assert len(str(errors.BadParameter("f", "x", "short", "y" * 10_000))) < 200


def test_a_long_name_of_a_column_is_cut_wherever_it_is_named():
    name = "x" * 10_000 + "7"
    note = errors.Message("note", "column {column!r} of {columns}", column=name,
                          columns=errors.listed([name, name]))  # fmt: skip
    for text in (note, errors.BadColumn(name, "bad"), errors.BadFile("t.csv", "bad", column=name)):
        assert "x7'" in str(text)
        assert len(str(text)) < 250


def test_a_line_break_in_a_file_name_does_not_break_the_line():
    assert str(errors.BadFile("a\nb.csv", "bad")) == "a b.csv: bad"


def test_missing_extra_is_an_import_error_with_the_command():
    error = errors.MissingExtra("openpyxl", extra="excel", needed_for="XLSX")
    assert isinstance(error, ImportError)
    assert 'pip install "metaod-next[excel]"' in str(error)
