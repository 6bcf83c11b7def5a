import json
import subprocess
import sys

import numpy as np

from metaod.history import fingerprint


def test_fills_in_figures_and_keeps_what_was_written_by_hand(tmp_path):
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10) == 3
    folder = tmp_path / "datasets"
    (folder / "toys").mkdir(parents=True)
    (folder / "other").mkdir()
    for name in ("toys/known", "toys/Fresh", "other/ignored"):
        np.savez(folder / f"{name}.npz", X=X, y=y)
    (folder / "catalog.csv").write_text(
        "collection,name,samples,features,origin,file\n"
        "toys,known,10,2,here,toys/known.npz\n"
        "toys,Fresh,10,2,there,toys/Fresh.npz\n"
        "other,ignored,10,2,nowhere,other/ignored.npz\n"
    )
    sources = [{"address": "https://example.org/known.npz", "kind": "npz", "status": "untested"}]
    known = {"collection": "toys", "name": "known", "rows": 0, "in_st": True, "sources": sources}
    known["note"] = "kept"
    lost = {"collection": "toys", "name": "lost", "rows": 5, "columns": 1, "outliers": 1}
    path = tmp_path / "catalogue.json"
    path.write_text(json.dumps({"collections": {"toys": {}}, "datasets": [lost, known]}))

    command = [
        sys.executable,
        "-m",
        "research",
        "make-catalogue",
        str(folder),
        "--catalogue",
        str(path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    figures = {"rows": 10, "columns": 2, "outliers": 1, "fingerprint": fingerprint(X, y)}
    document = json.loads(path.read_text())
    assert [record["name"] for record in document["datasets"]] == ["Fresh", "known", "lost"]
    fresh, filled, kept = document["datasets"]
    assert fresh.items() >= {**figures, "origin": "there", "in_st": False, "sources": []}.items()
    assert filled.items() >= {**figures, "origin": "here", "in_st": True, "note": "kept"}.items()
    assert filled["sources"] == sources
    assert kept == lost
    assert "toys/lost: not in the folder" in done.stdout

    subprocess.run(command, capture_output=True, check=True)
    assert json.loads(path.read_text()) == document
