"""Declared options: what they accept, and the signatures that repeat them."""

from inspect import signature

import pytest

import metaod
from metaod.errors import BadParameter
from metaod.options import Checking, Columns, Fitting, Options, Picking, Reading


@pytest.mark.parametrize(
    ("function", "groups", "others"),
    [
        (metaod.read_table, [Reading], {"source"}),
        (metaod.select, [Picking], {"X"}),
        (metaod.MetaOD, [Picking, Fitting, Columns], set()),
        (metaod.check, [Checking], {"X", "pick", "reading", "progress"}),
    ],
    ids=["read_table", "select", "MetaOD", "check"],
)
def test_signatures_have_the_declared_options(function, groups, others):
    found = {name: own.default for name, own in signature(function).parameters.items()}
    offered = {name: own.default for group in groups for name, own in group.offered().items()}
    assert {name: found[name] for name in offered} == offered
    declared = {name for group in groups for name in group.declared()}
    assert set(found) - declared | (others & declared) == others


@pytest.mark.parametrize(
    ("given", "legal"),
    [
        ({"label": 3}, "a str or None"),
        ({"header": 1}, "True, False or None"),
        ({"skip_rows": -1}, "an int in the range [0, inf) or None"),
        ({"skip_footer": True}, "an int in the range [0, inf) or None"),
        ({"sheet": 1.5}, "a str, an int or None"),
        ({"max_bytes": 0}, "an int in the range [1, inf) or None"),
        ({"bad_values": "drop"}, "one of {'finding', 'missing', 'text', 'error'}"),
        ({"decimal": ";"}, "one of {'.', ','}"),
        ({"decimal": ",", "delimiter": ","}, "another character than the delimiter"),
        ({"delimiter": [None]}, "one ASCII character that is no letter, digit, quote or line end"),
        *(
            ({"delimiter": mark}, "one ASCII character that is no letter, digit, quote or line end")
            for mark in ("ab", "", '"', "a", "§")
        ),
        *(
            ({"na": na}, "a str, a number, an iterable of them, or a dict of them by column")
            for na in ([None], True, b"x", None)
        ),
        ({"variable": []}, "a str or None"),
        ({"text": 3}, "a column's name or an iterable of names"),
    ],
    ids=str,
)
def test_wrong_values_are_refused_with_the_legal_set(given, legal):
    with pytest.raises(BadParameter) as error:
        Reading(**given).checked("read_table")
    name = next(iter(given))
    assert (error.value.owner, error.value.name, error.value.got) == (
        "read_table", name, given[name],
    )  # fmt: skip
    assert error.value.legal == legal


@pytest.mark.parametrize("given", [[], (), ""])
def test_a_space_holds_a_model(given):
    with pytest.raises(BadParameter, match="space"):
        Picking(space=given).checked("select")


@pytest.mark.parametrize("given", ["hex", "no such encoding", 3])
def test_encodings_are_names_of_text_encodings(given):
    with pytest.raises(BadParameter, match="encoding"):
        Reading(encoding=given).checked("read_table")


def test_values_are_converted_as_the_code_uses_them():
    found = Reading(na=[-999, 1.0, "x"], text="name", delimiter="\\t").checked("read_table")
    assert (found.missing_words, found.text_columns, found.delimiter) == (
        ("-999", "1", "x"), ("name",), "\t",
    )  # fmt: skip
    assert found.given() == {"na": ("-999", "1", "x"), "text": ("name",), "delimiter": "\t"}
    by_column = {"q3": 99, "q4": ["x", -1]}
    assert Reading(na=by_column).checked("read_table").na == ("q3=99", "q4=x", "q4=-1")
    assert Picking(space=["paper"], exclude=[]).checked("select").given() == {"space": "paper"}
    fitting = Fitting(contamination="5%", n_jobs=-1).checked("MetaOD")
    assert fitting.given() == {"contamination": 0.05, "n_jobs": -1}


@pytest.mark.parametrize(
    "given", [{"n_jobs": 0}, {"n_jobs": True}, {"n_jobs": 1.5}, {"contamination": [0.1]}], ids=str
)
def test_wrong_values_of_fitting_are_refused(given):
    with pytest.raises(BadParameter):
        Fitting(**given).checked("MetaOD")


@pytest.mark.parametrize("group", [Reading, Columns, Picking, Fitting, Checking])
def test_every_option_has_a_help_text_and_a_schema(group: type[Options]):
    schema = group.json_schema()
    assert schema["additionalProperties"] is False
    for name, own in group.offered().items():
        assert own.help.endswith(".")
        assert schema["properties"][name]["description"] == own.help
        assert own.metavar or bool in own.types
