"""Findings, reasons and corrections are written as the user's file has its values."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import metaod
from metaod.detection import (
    describe_findings,
    detect,
    read_corrections,
    write_cells,
    write_corrected,
)
from metaod.review import RowView
from metaod.tables import read_table

N_ROWS = 200


def text_of(number, decimals):
    return f"{number:,.{decimals}f}".translate(str.maketrans(".,", ",."))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    rng = np.random.default_rng(1)
    net = rng.lognormal(6, 0.4, N_ROWS).round(2)
    margin, warmth = rng.normal(12, 2, N_ROWS).round(1), rng.normal(21.4, 0.8, N_ROWS).round(1)
    net[40], margin[80], warmth[120] = 100 * net[40], 1250.0, 214.0
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(N_ROWS), "D")
    lines = ["Datum;Netto;Brutto;Marge;Temp"]
    for i in range(N_ROWS):
        gross = 1.19 * net[i] / (100 if i == 40 else 1)
        amounts = f"{text_of(net[i], 2)} €;{text_of(gross, 2)} €;{text_of(margin[i], 1)} %"
        lines.append(f"{days[i]:%d.%m.%Y};{amounts};{text_of(warmth[i], 1)}")
    lines[161] = lines[161].replace("2024", "2042")
    target = tmp_path_factory.mktemp("notations") / "klinik.csv"
    target.write_text("\n".join(lines) + "\n", "utf-8")
    return target


@pytest.fixture(scope="module")
def found(path):
    return detect(read_table(path))


def test_findings_are_written_as_the_file_has_them(found, path):
    lines = path.read_text("utf-8").splitlines()
    groups = describe_findings(found)["groups"]
    cells = {(own["row"], own["name"]): own for group in groups for own in group["cells"]}
    for row, name, suggestion, expected in (
        (41, "Netto", None, " €"),
        (81, "Marge", "12,5 %", "12,5 %"),
        (121, "Temp", "21,4", "21,4"),
        (161, "Datum", None, ".2024 to "),
    ):
        own = cells[row, name]
        assert own["value"].strip(" €%") in lines[row]
        assert expected in own["expected"]
        assert suggestion in (None, own["suggestion"])


def test_zeros_gaps_and_words_are_shown_as_the_file_has_them(tmp_path):
    lines = ["id,fee,days", *(f"r{i},{i % 5}.{i % 4}0,{i % 7}" for i in range(200))]
    lines[51], lines[101], lines[151] = "r50,99900.00,1", "r100,N/A,2", "r150,1.20,many"
    path = tmp_path / "fees.csv"
    path.write_text("\n".join(lines))
    found = detect(read_table(path))
    cells = {(own.row, own.column): own for own in found.findings}
    assert "99900.00" in cells[50, "fee"].sentence()
    assert "N/A" in cells[100, "fee"].sentence()
    assert (cells[50, "fee"].value, cells[100, "fee"].value) == (99900, None)
    reasons = {own.column: own for own in found.explain([150])[0].reasons}
    assert (reasons["days"].usual, reasons["days"].value_text) == ("not a number", "many")
    view = {own.name: own for own in RowView(found.table, found.record).cells(150)}
    assert (view["days"].usual, view["days"].value) == ("not a number", None)
    path.unlink()  # then as numbers are written
    assert detect(found.table).findings


def test_an_accepted_correction_is_written_in_the_notation_of_its_column(found, path, tmp_path):
    target = tmp_path / "cells.csv"
    write_cells(found, target)
    cells = pd.read_csv(target, dtype=str, keep_default_na=False)
    cells.loc[cells["suggestion"] != "", "accept"] = "yes"
    cells.to_csv(target, index=False)
    write_corrected(found.table, read_corrections(target), tmp_path / "fixed.csv")
    before, after = (
        path.read_text("utf-8").splitlines(),
        (tmp_path / "fixed.csv").read_text("utf-8"),
    )
    assert after.splitlines()[81] == before[81].replace("1.250,0 %", "12,5 %")
    assert after.splitlines()[121] == before[121].replace("214,0", "21,4")
    assert (
        read_table(tmp_path / "fixed.csv").frame.dtypes.tolist()
        == found.table.frame.dtypes.tolist()
    )


def test_reasons_are_written_as_the_file_has_them(found, path, tmp_path):
    [margin] = found.explain([80])
    assert str(margin.reasons[0]).startswith("Marge 1.250,0 % (usually ")
    assert re.fullmatch(r"usually [0-9]+,[0-9] % to [0-9]+,[0-9] %", margin.reasons[0].usual)
    found.model.save(tmp_path / "pick.mod")
    later = metaod.load(tmp_path / "pick.mod").explain_rows(read_table(path).take(np.array([80])))
    assert str(later[0].reasons[0]) == str(margin.reasons[0])


def test_drift_is_written_as_the_file_has_its_values(found, path):
    later = read_table(path)
    frame = later.frame.assign(Marge=3 * later.frame["Marge"])
    [drift] = found.model.preparation_.transform(replace(later, frame=frame)).record.drift
    assert re.search(r"outside [0-9]+,[0-9] % to [0-9]+,[0-9] % ", drift.sentence())
    assert drift.high < 1
