import re
from urllib.parse import urlsplit

import pytest

from metaod.errors import BadParameter
from metaod.history import FINGERPRINT_FORMAT
from research.catalogue import Catalogue, CatalogueEntry, Source, catalogue
from research.shipped import shipped_datasets

# typed from the paper's table of the ST testbed: rows, columns, percent of outliers
PAPER = {
    "odds/annthyroid": (7200, 6, "7.4167"),
    "odds/arrhythmia": (452, 274, "14.6018"),
    "odds/mnist": (7603, 100, "9.2069"),
    "odds/shuttle": (49097, 9, "7.1511"),
    "odds/smtp_n": (95156, 3, "0.0315"),
    "odds/speech": (3686, 400, "1.6549"),
    "odds/wine": (129, 13, "7.7519"),
    "dami/Annthyroid": (7129, 21, "7.4905"),
    "dami/Glass": (214, 7, "4.2056"),
    "dami/PenDigits": (9868, 16, "0.2027"),
    "dami/SpamBase": (4207, 57, "39.9097"),
    "dami/WPBC": (198, 33, "23.7374"),
    "adbench/ALOI": (49534, 27, "3.0444"),
    "adbench/InternetAds": (1966, 1555, "18.7182"),
}


def entry(name, **changes):
    values = {"rows": 10, "columns": 2, "outliers": 1, "origin": "made up"} | changes
    return CatalogueEntry(name, name.partition("/")[0], **values)


@pytest.fixture
def small():
    return Catalogue(
        [
            entry("first/pima", in_st=True),
            entry("second/Pima", in_st=True),
            entry("second/glass"),
            entry("second/waveform"),
        ]
    )


def test_shapes_are_the_papers():
    for name, (rows, columns, percent) in PAPER.items():
        found = catalogue()[name]
        assert (found.rows, found.columns) == (rows, columns), name
        assert float(f"{100 * found.outlier_share:.4f}") == float(percent), name
        assert found.in_st, name


def test_holds_all_st_sets_except_childsets():
    in_st = catalogue().filter(in_st=True)
    assert len(in_st) == 42
    by_collection = {name: len(in_st.filter(collection=name)) for name in in_st.collections}
    # the paper has 23 of ODDS and 19 of DAMI; two of the latter are taken from ADBench
    assert by_collection == {"odds": 23, "dami": 17, "adbench": 2}


def test_names_are_unique():
    names = [name.casefold() for name in catalogue().names]
    assert len(set(names)) == len(names) == 59


def problems(found):
    """What is wrong with an entry, by name of the check."""
    https = [urlsplit(found.homepage), *(urlsplit(source.address) for source in found.sources)]
    checks = {
        "name": found.name == f"{found.collection}/{found.short_name}",
        "shape": found.rows > found.outliers > 0 and found.columns > 0,
        "texts": all((found.origin, found.licence, found.citation)),
        "sources": len(found.sources) > 0,
        "https": all(address.scheme == "https" for address in https),
        "kind": all(
            source.kind in ("npz", "mat", "tar.gz")
            and urlsplit(source.address).path.endswith("." + source.kind)
            and (source.member is not None) == (source.kind == "tar.gz")
            for source in found.sources
        ),
        "fingerprint": "no fingerprint" in found.note
        if found.fingerprint is None
        else re.fullmatch(FINGERPRINT_FORMAT, found.fingerprint) is not None,
    }
    return [name for name, passed in checks.items() if not passed]


def test_every_entry_is_complete():
    assert {found.name: problems(found) for found in catalogue() if problems(found)} == {}
    assert [found.name for found in catalogue() if found.fingerprint is None] == ["odds/speech"]


def test_the_check_of_entries_finds_a_bad_one():
    bad = entry("a/b", outliers=10, sources=(Source("http://example.org/b.zip", "npz"),))
    assert problems(bad) == ["shape", "texts", "https", "kind", "fingerprint"]


def test_sets_of_the_same_content_have_one_origin():
    known = {found.fingerprint: found for found in catalogue() if found.fingerprint}
    for found in catalogue():
        if found.fingerprint:
            assert found.origin == known[found.fingerprint].origin
    # DAMI's Pima and ODDS's are the same rows in the same order
    assert catalogue()["odds/pima"].fingerprint == catalogue()["dami/Pima"].fingerprint
    assert len(known) == 57


def test_short_names_work_where_one_collection_has_them(small):
    assert small["GLASS"].name == "second/glass"
    assert small["second/pima"].name == "second/Pima"
    assert "glass" in small
    assert "pima" not in small
    with pytest.raises(BadParameter, match="first/pima and second/Pima"):
        small["Pima"]


def test_an_unknown_name_suggests_similar_ones(small):
    with pytest.raises(BadParameter, match=r"Got 'wavform' instead.*second/waveform"):
        small["wavform"]
    with pytest.raises(BadParameter, match=r"Similar names: second/waveform\b"):
        small["first/waveform"]
    with pytest.raises(BadParameter, match="research datasets list"):
        small["zzzzzz"]


def test_filters(small):
    assert small.filter(collection="second").names == (
        "second/Pima", "second/glass", "second/waveform",
    )  # fmt: skip
    assert small.filter(in_st=False).names == ("second/glass", "second/waveform")
    assert small.filter(collection="second", in_st=True).names == ("second/Pima",)
    with pytest.raises(BadParameter, match="'first', 'second'"):
        small.filter(collection="third")


def test_is_a_collection(small):
    assert len(small) == 4
    assert [found.short_name for found in small] == ["pima", "Pima", "glass", "waveform"]
    assert repr(small) == "Catalogue(4 sets of first, second)"


def test_gives_a_frame(small):
    frame = small.to_frame()
    assert list(frame.index) == list(small.names)
    assert frame.loc["second/glass", "outlier_share"] == 0.1
    assert frame["in_st"].tolist() == [True, True, False, False]


def test_entries_are_values():
    first, second = entry("a/b", sources=(Source("x", "npz"),)), entry("a/b")
    assert first != second
    assert len({first, entry("a/b", sources=(Source("x", "npz"),))}) == 1


def test_every_catalogued_set_is_there():
    known = set(shipped_datasets().index)
    for entry in catalogue():
        assert entry.fingerprint is None or entry.fingerprint in known, entry.name


def test_the_catalogue_has_the_joined_origins():
    origins = shipped_datasets()["origin"]
    known = [entry for entry in catalogue() if entry.fingerprint in origins.index]
    assert len(known) > 50
    assert [entry.name for entry in known if entry.origin != origins[entry.fingerprint]] == []
