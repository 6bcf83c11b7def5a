"""``metaod.plot``: the figures on matplotlib axes."""

import subprocess
import sys
from copy import copy

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError

import metaod
from metaod import plot
from metaod.errors import BadParameter


@pytest.fixture(scope="module")
def detector():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(120, 3)), columns=["a", "b", "c$d"])
    frame.loc[7, "c$d"] = 30.0
    return metaod.MetaOD(space="HBOS", pick="learned-single").fit(frame)


@pytest.fixture
def ax():
    return Figure().subplots()


def drawn(ax):
    ax.figure.canvas.draw()
    return ax


def test_the_bars_hold_every_row_and_the_line_is_the_threshold(detector, ax):
    assert plot.scores(detector, ax) is ax
    drawn(ax)
    assert sum(bar.get_height() for bar in ax.patches) == pytest.approx(120)
    line = ax.lines[0].get_xdata()
    assert line[0] == pytest.approx(detector.threshold_)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert f"{detector.labels_.sum()} flagged rows" in texts


def test_the_map_shows_every_row_once(detector, ax):
    assert plot.map(detector, ax=ax) is ax
    drawn(ax)
    others, flagged = (len(points.get_offsets()) for points in ax.collections)
    assert (others, flagged) == (120 - detector.labels_.sum(), detector.labels_.sum())


def test_reasons_are_bars_with_their_shares(detector, ax):
    assert plot.reasons(detector, 7, ax=ax) is ax
    drawn(ax)
    expected = detector.explain_rows([7])[0].reasons
    assert [bar.get_width() for bar in ax.patches] == [reason.share for reason in expected]
    assert ax.get_yticklabels()[0].get_text().startswith("c\\$d 30\n(usually ")
    assert ax.get_title().startswith("row 8, score ")


def test_a_new_row_can_be_explained(detector, ax):
    new = pd.DataFrame({"a": [0.0], "b": [50.0], "c$d": [0.0]})
    [label] = plot.reasons(detector, new, ax=ax, top=1).get_yticklabels()
    assert label.get_text().startswith("b 50\n(usually ")
    with pytest.raises(BadParameter, match="one row"):
        plot.reasons(detector, [1, 2], ax=ax)


def test_axes_are_made_if_none_are_given(detector):
    with mpl.rc_context({"backend": "Agg"}):
        assert isinstance(plot.map(detector).figure, Figure)
        mpl.pyplot.close("all")


def with_scores(detector, scores):
    changed = copy(detector)
    changed.decision_scores_ = np.asarray(scores)
    return changed


def test_scores_that_are_all_the_same_can_be_drawn(detector, ax):
    drawn(plot.scores(with_scores(detector, np.ones(40)), ax))
    assert sum(bar.get_height() for bar in ax.patches) == 40


def test_far_scores_are_compressed(detector, ax):
    scores = np.append(np.random.default_rng(0).normal(size=99), 1e9)
    drawn(plot.scores(with_scores(detector, scores), ax))
    assert ax.get_xscale() == "function"
    assert sum(bar.get_height() for bar in ax.patches) == 100


def test_an_estimator_that_is_not_fitted_is_refused(ax):
    with pytest.raises(NotFittedError):
        plot.scores(metaod.MetaOD(), ax)


def test_without_matplotlib_the_extra_is_named():
    code = (
        "import sys; sys.modules['matplotlib'] = None; import metaod\n"
        "try: metaod.plot.scores(None)\nexcept ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().startswith("drawing figures needs matplotlib; install it with")
    assert done.stdout.strip().endswith('[plot]"')
