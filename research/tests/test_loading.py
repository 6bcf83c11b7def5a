import io
import socket
import sys
import tarfile
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from loopback import Server, X, arff, npz, tar_gz, y
from scipy.io import savemat

from metaod.errors import (
    BadColumn,
    BadFile,
    BadParameter,
    MissingExtra,
    UserError,
)
from metaod.history import fingerprint
from research.catalogue import CatalogueEntry, Source
from research.loading import UnavailableDataset, default_cache_dir, load_dataset


@pytest.fixture
def server():
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.released.set()
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("METAOD_CACHE", str(folder))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return folder


def entry(*sources, **changes):
    values = {
        "rows": 30,
        "columns": 3,
        "outliers": 3,
        "origin": "made up",
        "fingerprint": fingerprint(X, y),
        "sources": sources,
        "homepage": "https://example.org/blobs",
    }
    return CatalogueEntry("toys/blobs", "toys", **values | changes)


def files_in(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.*"))


def assert_is_the_set(dataset):
    np.testing.assert_array_equal(dataset.X.to_numpy(), X)
    np.testing.assert_array_equal(dataset.y, y)
    assert dataset.y.dtype == np.int8
    assert dataset.fingerprint == fingerprint(X, y)
    assert dataset.verified
    assert dataset.origin == "made up"


class TestDownload:
    def test_downloads_and_caches_the_set(self, server, cache):
        source = server.gives("blobs.npz", npz())
        first = load_dataset(entry(source))
        assert_is_the_set(first)
        assert first.path == cache / "toys/blobs.npz"
        again = load_dataset(entry(source))
        assert_is_the_set(again)
        assert server.hits == ["/blobs.npz"]
        assert files_in(cache) == ["toys/blobs.npz"]

    def test_the_bytes_of_a_download_are_counted(self, server, cache):
        reports = []
        source = server.gives("blobs.npz", npz())
        load_dataset(entry(source), progress=lambda *report: reports.append(report))
        assert {(what, total) for what, _, total in reports} == {("bytes", len(npz()))}
        assert [done for _, done, _ in reports][-1] == len(npz())

    def test_downloads_to_the_given_folder(self, server, cache, tmp_path):
        source = server.gives("blobs.npz", npz())
        load_dataset(entry(source), cache_dir=tmp_path / "mine")
        assert files_in(tmp_path / "mine") == ["toys/blobs.npz"]
        assert not cache.exists()

    def test_another_content_is_refused_and_removed(self, server, cache):
        source = server.gives("blobs.npz", npz(X + 1))
        with pytest.raises(UnavailableDataset) as caught:
            load_dataset(entry(source))
        assert fingerprint(X, y) in str(caught.value)
        assert fingerprint(X + 1, y) in str(caught.value)
        assert files_in(cache) == []

    @pytest.mark.parametrize(
        "content", [npz()[:-40], b"<html>gone</html>", b""], ids=["cut short", "a page", "empty"]
    )
    def test_a_damaged_file_is_refused_and_removed(self, server, cache, content):
        source = server.gives("blobs.npz", content)
        with pytest.raises(UnavailableDataset, match=r"toys/blobs could not be downloaded"):
            load_dataset(entry(source))
        assert files_in(cache) == []

    def test_a_connection_that_breaks_off(self, server, cache):
        source = server.gives("blobs.npz", npz()[:100], promised=10_000)
        with pytest.raises(UnavailableDataset, match=r"toys/blobs could not be downloaded"):
            load_dataset(entry(source))
        assert files_in(cache) == []

    @pytest.mark.parametrize("status", [403, 404, 500])
    def test_no_such_file(self, server, status):
        source = server.gives("blobs.npz", b"no", status=status)
        with pytest.raises(UnavailableDataset, match=f"the server answered {status}") as caught:
            load_dataset(entry(source))
        message = str(caught.value)
        assert source.address in message
        assert "https://example.org/blobs" in message
        assert "toys/blobs.npz" in message
        assert "--data-dir" in message
        assert "\n" not in message

    def test_no_network(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
        source = Source(f"http://127.0.0.1:{port}/blobs.npz", "npz")
        with pytest.raises(UnavailableDataset, match=r"no connection.*get it by hand"):
            load_dataset(entry(source))

    @pytest.mark.parametrize("module", ["pooch", "requests"])
    def test_missing_library_names_the_extra(self, monkeypatch, module):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(MissingExtra, match=r"downloading datasets needs .*\[research\]"):
            load_dataset(entry(Source("http://127.0.0.1/blobs.npz", "npz")))

    def test_invalid_address(self):
        with pytest.raises(UnavailableDataset, match="get it by hand"):
            load_dataset(entry(Source("http://", "npz")))

    def test_a_silent_server_times_out(self, server):
        source = server.hangs_at("blobs.npz")
        with pytest.raises(UnavailableDataset, match=r"no answer within 0\.2 s"):
            load_dataset(entry(source), timeout=0.2)
        assert not server.released.is_set()

    def test_the_next_address_is_tried(self, server, cache):
        sources = (
            server.gives("gone.npz", b"", status=404),
            server.gives("other.npz", npz(X * 2)),
            server.gives("blobs.npz", npz()),
            server.gives("never.npz", npz()),
        )
        assert_is_the_set(load_dataset(entry(*sources)))
        assert server.hits == ["/gone.npz", "/other.npz", "/blobs.npz"]
        assert files_in(cache) == ["toys/blobs.npz"]

    def test_the_error_gives_every_reason(self, server):
        sources = (server.gives("a.npz", b"", status=404), server.gives("b.npz", npz(X * 2)))
        with pytest.raises(UnavailableDataset) as caught:
            load_dataset(entry(*sources))
        assert "answered 404" in str(caught.value)
        assert fingerprint(X * 2, y) in str(caught.value)

    def test_without_any_address(self):
        with pytest.raises(UnavailableDataset, match="no address"):
            load_dataset(entry())

    def test_download_false(self, server):
        source = server.gives("blobs.npz", npz())
        with pytest.raises(UnavailableDataset, match=r"not on this machine.*get it by hand"):
            load_dataset(entry(source), download=False)
        assert server.hits == []

    def test_a_damaged_cache_is_renewed(self, server, cache):
        source = server.gives("blobs.npz", npz())
        load_dataset(entry(source))
        (cache / "toys/blobs.npz").write_bytes(npz(X + 1))
        assert_is_the_set(load_dataset(entry(source)))
        assert server.hits == ["/blobs.npz"] * 2
        assert (cache / "toys/blobs.npz").read_bytes() == npz()

    def test_a_cache_that_cannot_be_written_to(self, server, cache):
        cache.write_text("a file where the folder should be")
        source = server.gives("blobs.npz", npz())
        with pytest.raises(UserError, match=r"cache.*METAOD_CACHE"):
            load_dataset(entry(source))


class TestArchive:
    def test_the_fingerprint_picks_the_member(self, server, cache):
        members = {
            "semantic/blobs/blobs_norm_10.arff": arff(X / 2),
            "semantic/blobs/blobs_10.arff": arff(),
            "semantic/blobs/notes.txt": b"nothing",
        }
        source = server.gives("blobs.tar.gz", tar_gz(members), "tar.gz", member="blobs*_10.arff")
        dataset = load_dataset(entry(source))
        assert_is_the_set(dataset)
        assert files_in(cache) == ["toys/blobs.arff"]
        assert_is_the_set(load_dataset(entry(source)))
        assert server.hits == ["/blobs.tar.gz"]

    def test_no_member_fits(self, server, cache):
        members = {f"blobs_{i}.arff": arff(X + i) for i in range(1, 5)}
        source = server.gives("blobs.tar.gz", tar_gz(members), "tar.gz", member="blobs_*.arff")
        with pytest.raises(UnavailableDataset, match=r"nor is any of the 3 others") as caught:
            load_dataset(entry(source))
        assert fingerprint(X + 1, y) in str(caught.value)
        assert files_in(cache) == []

    def test_members_cannot_leave_their_folder(self, server, cache, tmp_path):
        content = tar_gz({"../../../blobs_10.arff": arff(), "/blobs_20.arff": b"x"})
        source = server.gives("blobs.tar.gz", content, "tar.gz", member="blobs_*.arff")
        assert_is_the_set(load_dataset(entry(source)))
        assert files_in(tmp_path) == ["cache/toys/blobs.arff"]

    def test_links_in_archives_are_ignored(self, server):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
            link = tarfile.TarInfo("blobs.arff")
            link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(link)
        source = server.gives("blobs.tar.gz", buffer.getvalue(), "tar.gz", member="*.arff")
        with pytest.raises(UnavailableDataset, match=r"no \*\.arff in the archive"):
            load_dataset(entry(source))

    def test_a_damaged_archive(self, server, cache):
        content = tar_gz({"blobs.arff": arff()})[:-200]
        source = server.gives("blobs.tar.gz", content, "tar.gz", member="*.arff")
        with pytest.raises(UnavailableDataset, match="the archive is damaged"):
            load_dataset(entry(source))
        assert files_in(cache) == []

    def test_not_an_archive(self, server):
        source = server.gives("blobs.tar.gz", b"<html></html>", "tar.gz", member="*.arff")
        with pytest.raises(UnavailableDataset, match="the archive is damaged"):
            load_dataset(entry(source))


class TestFolder:
    @pytest.mark.parametrize("place", ["toys/blobs.npz", "blobs.npz", "7_blobs.npz", "Own/1.npz"])
    def test_finds_the_file(self, tmp_path, place):
        path = tmp_path / "data" / place
        path.parent.mkdir(parents=True)
        path.write_bytes(npz())
        found = entry(Source("https://example.org/x/1.npz", "npz"), folders=("Own",))
        dataset = load_dataset(found, data_dir=tmp_path / "data", download=False)
        assert_is_the_set(dataset)
        assert dataset.path == path

    def test_reads_any_kind(self, tmp_path):
        frame = pd.DataFrame(X, columns=["a", "b", "c"])
        labelled = frame.assign(y=y)
        writers = {
            "mat": lambda path: savemat(path, {"X": X, "y": y[:, None].astype(float)}),
            "arff": lambda path: path.write_bytes(arff()),
            "csv": lambda path: labelled.to_csv(path, index=False),
            "csv.gz": lambda path: labelled.to_csv(path, index=False),
            "tsv": lambda path: labelled.to_csv(path, index=False, sep="\t"),
            "parquet": labelled.to_parquet,
        }
        for kind, write in writers.items():
            folder = tmp_path / kind
            folder.mkdir()
            write(folder / f"blobs.{kind}")
            assert_is_the_set(load_dataset(entry(), data_dir=folder, download=False))

    def test_the_label_may_be_spelled_with_a_capital(self, tmp_path):
        text = arff().replace(b"@attribute outlier", b"@attribute Outlier")
        (tmp_path / "blobs.arff").write_bytes(text.replace(b"@attribute id", b"@attribute ID"))
        assert_is_the_set(load_dataset(entry(), data_dir=tmp_path, download=False))

    def test_a_column_that_is_not_a_label(self, tmp_path):
        frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(outlier=np.arange(30))
        frame.to_csv(tmp_path / "blobs.csv", index=False)
        with pytest.raises(BadColumn, match=r"'outlier': is not a label"):
            load_dataset(entry(), data_dir=tmp_path, download=False)

    def test_another_content_is_an_error_and_stays(self, tmp_path):
        path = tmp_path / "blobs.npz"
        path.write_bytes(npz(X + 1))
        with pytest.raises(BadFile) as caught:
            load_dataset(entry(), data_dir=tmp_path)
        assert str(path) in str(caught.value)
        assert fingerprint(X, y) in str(caught.value)
        assert fingerprint(X + 1, y) in str(caught.value)
        assert path.exists()

    def test_the_right_one_of_several_is_taken(self, tmp_path):
        (tmp_path / "blobs.npz").write_bytes(npz(X + 1))
        (tmp_path / "3_blobs.npz").write_bytes(npz())
        assert_is_the_set(load_dataset(entry(), data_dir=tmp_path))

    def test_file_names_are_case_sensitive(self, tmp_path):
        (tmp_path / "Blobs.npz").write_bytes(npz(X + 1))
        with pytest.raises(UnavailableDataset, match="toys/blobs is not on this machine"):
            load_dataset(entry(), data_dir=tmp_path, download=False)

    def test_missing_files_are_downloaded(self, server, tmp_path):
        source = server.gives("blobs.npz", npz())
        (tmp_path / "data").mkdir()
        assert_is_the_set(load_dataset(entry(source), data_dir=tmp_path / "data"))
        assert files_in(tmp_path / "data") == []

    def test_not_a_folder(self, tmp_path):
        with pytest.raises(BadFile, match="is not a folder"):
            load_dataset(entry(), data_dir=tmp_path / "nowhere")

    def test_without_a_fingerprint_the_shape_is_checked(self, tmp_path):
        (tmp_path / "blobs.npz").write_bytes(npz())
        dataset = load_dataset(entry(fingerprint=None), data_dir=tmp_path)
        assert not dataset.verified
        with pytest.raises(BadFile, match="3 outliers where the catalogue has 30 rows × 3 columns"):
            load_dataset(entry(fingerprint=None, outliers=4), data_dir=tmp_path)


@pytest.mark.parametrize("timeout", [0, -1])
def test_a_timeout_is_above_zero(timeout):
    with pytest.raises(BadParameter, match="'timeout' parameter of load_dataset"):
        load_dataset(entry(), timeout=timeout)


def test_an_unknown_name():
    with pytest.raises(BadParameter, match="odds/annthyroid"):
        load_dataset("odds/anthyroid", download=False)


def test_the_error_names_the_homepage():
    with pytest.raises(UnavailableDataset, match=r"get it by hand from https://.*odds/wine\.mat"):
        load_dataset("odds/wine", download=False)
    with pytest.raises(UnavailableDataset, match=r"dami/Glass\.arff"):
        load_dataset("dami/Glass", download=False)


def test_dataset_table_and_repr(tmp_path):
    (tmp_path / "blobs.npz").write_bytes(npz())
    dataset = load_dataset(entry(), data_dir=tmp_path)
    assert dataset.table.n_rows == 30
    assert dataset.table.label is dataset.y
    assert repr(dataset) == "LabelledDataset('toys/blobs': 30 rows × 3 columns, 3 outliers)"


def test_the_systems_cache_is_the_default(monkeypatch):
    monkeypatch.delenv("METAOD_CACHE")
    assert default_cache_dir().parts[-1].lower() in ("metaod", "cache")
    monkeypatch.setenv("METAOD_CACHE", str(Path("~", "sets")))
    assert default_cache_dir().is_absolute()


@pytest.mark.parametrize(
    "call",
    [
        lambda: load_dataset(5),
        lambda: load_dataset("odds/pima", timeout="x"),
        lambda: load_dataset("odds/pima", data_dir=5),
        lambda: load_dataset("odds/pima", cache_dir=5),
    ],
)
def test_arguments_of_a_wrong_kind_are_named(call):
    with pytest.raises(BadParameter):
        call()
