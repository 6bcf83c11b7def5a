"""``MetaOD.report``."""

import numpy as np
import pandas as pd
import pytest
from made_summary import Page

from metaod.detection import MetaOD, load
from metaod.errors import BadParameter, UserError

pytestmark = pytest.mark.usefixtures("quick_pick")


@pytest.fixture
def frame():
    return pd.DataFrame(np.random.default_rng(0).normal(size=(80, 3)), columns=list("abc"))


def test_it_returns_the_text_and_writes_it(frame, tmp_path):
    (tmp_path / "r.html").write_text("x" * 10**6)  # an earlier one, which is replaced whole
    model = MetaOD(contamination=0.1, n_jobs=2).fit(frame)
    page = model.report(tmp_path / "r.html")
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]
    assert (tmp_path / "r.html").read_text("utf-8") == page == model.report()
    texts = " ".join("".join(Page(page).texts).split())
    assert "8 of 80 rows are unusual (10.0%)" in texts
    assert "metaod.MetaOD(contamination=0.1).fit(table)" in texts
    assert "Outliers in DataFrame" in texts


def test_a_loaded_pick_has_no_rows(frame, tmp_path):
    MetaOD().fit(frame).save(tmp_path / "pick.mod")
    with pytest.raises(UserError, match="does not hold the rows"):
        load(tmp_path / "pick.mod").report()


@pytest.mark.parametrize(
    ("name", "error"),
    [("r.txt", BadParameter), ("no/r.html", UserError), ("\0.html", UserError), ("", BadParameter)],
)
def test_a_target_that_cannot_be_a_report_is_refused_first(frame, tmp_path, name, error):
    model = MetaOD().fit(frame)
    with pytest.raises(error):
        model.report(tmp_path / name)
