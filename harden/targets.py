"""What damaged input is given to: each target makes its samples, and a function that tries one.

The function may raise a UserError, which the caller checks; other exceptions are failures.
"""

import asyncio
import contextlib
import io
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np

from harden.mutating import VALUES, WORDS, sealed

MOST_BYTES = 2**22  # that a reader may decode
N_BYTES = 2**16  # of one input


@dataclass(frozen=True)
class Target:
    """Samples, what tries an input, and how many first bytes of one choose options."""

    samples: list[bytes]
    attempt: Callable[[bytes], object]
    head: int = 0


def made_table(n_rows: int = 24) -> bytes:
    """Delimited text with every kind of column."""
    rng = np.random.default_rng(3)
    rows = [
        f"A-{i},{rng.normal():.3f},{i * 3},{'xyz'[i % 3]},2024-01-{1 + i % 28:02d},{i}.50 €,{i % 2}"
        for i in range(n_rows)
    ]
    return "\n".join(["order,size,count,kind,day,price,y", *rows, ""]).encode()


def readers(folder: Path) -> Target:
    """Every reader, from a path and from a stream, with and without options."""
    from sample_files import SAMPLES

    from metaod.tables import read_table

    endings = sorted({ending for ending, _ in SAMPLES.values()})
    options = [{}, {"label": "y"}, {"header": False}, {"na": ["1", "x"]}, {"bad_values": "error"},
               {"bad_values": "missing", "label": "y"}]  # fmt: skip

    def attempt(data: bytes) -> None:
        head, body = data[:2].ljust(2, b"\0"), data[2:]
        given = {"max_bytes": MOST_BYTES, **options[head[1] % len(options)]}
        path = folder / f"t{endings[head[0] % len(endings)]}"
        path.write_bytes(body)
        try:
            table = read_table(path if head[1] < 128 else io.BytesIO(body), **given)
        finally:
            assert path.read_bytes() == body, "the input was changed"
        assert table.n_rows > 0
        assert table.n_columns > 0

    samples = [
        bytes([endings.index(ending), mode]) + data
        for mode, (ending, data) in enumerate(SAMPLES.values())
    ]
    return Target(samples, attempt, head=2)


def preparation(_: Path) -> Target:
    """Preparation: a finite matrix, and the same one for the same rows later."""
    from metaod.tables import Preparation, read_table

    def attempt(data: bytes) -> None:
        table = read_table(io.BytesIO(data), max_bytes=MOST_BYTES)
        preparation = Preparation()
        X = preparation.fit_transform(table).X
        assert X.shape[0] == table.n_rows
        assert np.isfinite(X).all()
        later = preparation.transform(table)
        assert np.isfinite(later.X).all()
        again = Preparation.from_dict(preparation.to_dict()).transform(table)
        np.testing.assert_array_equal(later.X, again.X)

    return Target([made_table(), made_table(3), b"a,b\n1,2\n3,5\n"], attempt)


def cells(_: Path) -> Target:
    """The search for wrong cells, of a table and of later rows."""
    from metaod.tables import read_table
    from metaod.wrong_cells import WrongCellFinder

    def attempt(data: bytes) -> None:
        table = read_table(io.BytesIO(data), max_bytes=MOST_BYTES)
        finder = WrongCellFinder().fit(table)
        found = finder.found_
        assert len(found.row_scores) == table.n_rows
        assert ((found.row_scores >= 0) & (found.row_scores <= 1)).all()
        for finding in found.findings(0.0):
            assert 0 <= finding.row < table.n_rows
        finder.find(table.take(np.arange(table.n_rows)[::-1]))

    return Target([made_table(), made_table(60)], attempt)


def marks(folder: Path) -> Target:
    """Marks files: read, and answers added; what was answered before stays."""
    from metaod.review import TableMarks, read_marks
    from metaod.tables import read_table

    table, path = read_table(io.BytesIO(made_table())), folder / "t.marks.csv"

    def attempt(data: bytes) -> None:
        path.write_bytes(data)
        before = read_marks(path, table, "order").answers
        row = next(row for row in range(table.n_rows) if row not in before)
        with TableMarks(path, table, "order") as file:
            file.add({row: True})
        assert read_marks(path, table, "order").answers == before | {row: True}
        assert path.read_bytes().startswith(data.rstrip(b"\r\n").rpartition(b"\n")[0])

    with TableMarks(path, table, "order") as file:
        file.add({3: True, 5: False})
        file.add({7: None})
    whole = path.read_bytes()
    return Target([whole, whole.replace(b",", b";"), b"row,answer\n1,y\n2,n\n4,?\n"], attempt)


def artifacts(folder: Path) -> Target:
    """Learners in files: loaded, and asked for a prediction."""
    from made_artifact import Foresting, fitted
    from made_learners import NAMES
    from made_selecting import artifact, training_data

    from metaod.artifacts import Artifact
    from metaod.learners import _registry

    _registry._PATHS["foresting"] = f"{Foresting.__module__}:{Foresting.__name__}"
    path, samples = folder / "a.metaod", []
    for made in [fitted(), *(artifact(name) for name in NAMES if not name.startswith("metaod"))]:
        made.save(path)
        samples.append(path.read_bytes())
    M = next(iter(training_data().M.values())) if isinstance(training_data().M, dict) else None

    def attempt(data: bytes) -> None:
        path.write_bytes(data)
        learner = Artifact.load(path).learner
        rows = np.zeros((2, len(learner.features_))) if M is None else M.to_numpy()[:2]
        if rows.shape[1] == len(learner.features_):
            assert np.isfinite(np.asarray(learner.predict(rows), dtype=float)).all()

    return Target(samples, attempt)


def picks(folder: Path) -> Target:
    """Saved picks: loaded, which fits them again, and used."""
    from made_selection import selecting

    import metaod.detection._estimator as estimator
    from metaod.detection import MetaOD, load
    from metaod.tables import read_table

    table, path, samples = read_table(io.BytesIO(made_table(40))), folder / "p.mod", []
    real = estimator.make_selection
    for name in ("HBOS(n_bins=10, alpha=0.1)", "IForest(n_estimators=20, max_features=0.5)"):
        estimator.make_selection = selecting(name)
        MetaOD(rows_only=name[0] == "I", contamination=0.1).fit(table).save(path)
        samples.append(path.read_bytes())
    estimator.make_selection = real

    def attempt(data: bytes) -> None:
        path.write_bytes(data)
        model = load(path)
        assert np.isfinite(model.decision_scores_).all()
        assert np.isfinite(model.score_samples(table)).all()

    return Target(samples, attempt)


def stores(folder: Path) -> Target:
    """Stores: looked at, and merged into another, which stays whole."""
    from made_store import content, filled_store, new_store

    from metaod.store import Store, merge

    path = folder / "s.db"
    filled_store(path).close()
    sample = path.read_bytes()

    def attempt(data: bytes) -> None:
        for left in folder.glob("s.db*"):
            left.unlink()
        path.write_bytes(data)
        with Store(path, read_only=True) as source, new_store("sqlite://", (1,)) as target:
            before = content(target)
            try:
                content(source)
                merge(target, source)
            except BaseException:
                assert content(target) == before, "a failed merge changed its target"
                raise
            content(target)

    return Target([sample], attempt)


def exchange(folder: Path) -> Target:
    """Exported stores: imported into another, which stays whole, and exported again."""
    from made_store import content, filled_store, new_store

    from metaod.store import export_parquet, import_parquet

    exported, again = folder / "exported", folder / "again"
    with filled_store() as store:
        export_parquet(store, exported, evaluations=True)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for file in sorted(exported.iterdir()):
            archive.write(file, file.name)

    def attempt(data: bytes) -> None:
        for place in (exported, again):
            shutil.rmtree(place, ignore_errors=True)
        exported.mkdir()
        with contextlib.suppress(Exception):  # zipfile has an error for each kind of damage
            archive = zipfile.ZipFile(io.BytesIO(data))
            files = {Path(name).name: archive.read(name) for name in archive.namelist()}
            for name, member in sealed(files).items():
                (exported / name).write_bytes(member)
        with new_store() as store:
            before = content(store)
            try:
                import_parquet(store, exported)
            except BaseException:
                assert content(store) == before, "a failed import changed the store"
                raise
            export_parquet(store, again)

    return Target([packed.getvalue()], attempt)


def commands(folder: Path) -> Target:
    """Whole commands: exit code 0, or 2 with one line; the input stays as it is."""
    from metaod.cli.main import main

    lines = [
        ["inspect"], ["inspect", "--json"], ["detect", "--space", "HBOS", "-o", "o.csv"],
        ["detect", "--space", "HBOS", "-o", "o.xlsx", "--cells", "c.csv"],
        ["detect", "--space", "HBOS", "-o", "o.parquet", "--report", "r.html"],
        ["detect", "--rows-only", "--space", "HBOS", "--label", "y", "--json"],
        ["detect", "--space", "HBOS", "--save", "p.mod", "--cells", "c.json"],
        ["review", "--answers", "1", "--space", "HBOS", "--marks", "m.csv"],
    ]  # fmt: skip

    def attempt(data: bytes) -> None:
        for left in folder.iterdir():
            left.unlink()
        words, body = lines[data[0] % len(lines) if data else 0], data[1:]
        path, err = folder / "t.csv", io.StringIO()
        path.write_bytes(body)
        with contextlib.chdir(folder), redirect_stdout(io.StringIO()), redirect_stderr(err):
            try:
                main([words[0], "t.csv", *words[1:]])
            except SystemExit as stop:
                code = stop.code
        assert code in (0, 2), f"exit code {code}: {err.getvalue()}"
        if code == 2:
            assert err.getvalue().rpartition("metaod: error: ")[2].count("\n") == 1
        assert path.read_bytes() == body, "the input was changed"
        assert not list(folder.glob("*.new")), "a file is half written"

    return Target([bytes([n]) + made_table() for n in range(len(lines))], attempt, head=1)


_OPEN = ExitStack()  # servers and clients, which end with the process


def page(folder: Path) -> Target:
    """The page's API: every request is done, or refused with a problem document."""
    import httpx
    from made_server import client_of, made_csv, serving

    from metaod.web import Limits
    from metaod.web._routes import ROUTES

    limits = Limits(max_tables=4, max_jobs=1, max_mb=1, max_rows=500, max_columns=60)
    client = _OPEN.enter_context(client_of(_OPEN.enter_context(serving(folder, limits))))
    table = client.scored(made_csv())
    routes = [(method, path) for path, methods in ROUTES.items() for method in methods]

    def attempt(data: bytes) -> None:
        rng = Random(data[:8])
        method, path = rng.choice(routes)
        is_about_table = (method, path) != ("DELETE", "/api/tables/{table}")
        path = path.replace("/api/tables/{table}", table if is_about_table else "/api/tables/x")
        path = path if rng.random() < 0.9 else path + "/" + rng.choice(WORDS)[:200]
        query = {rng.choice(["name", "format", "row", "log"]): rng.choice(WORDS)[:200]}
        kind = rng.choice(["application/json", "application/octet-stream"])
        with contextlib.suppress(httpx.InvalidURL, UnicodeEncodeError):
            answer = client.request(
                method, path, params=query, content=data[8:], headers={"Content-Type": kind}
            )
            if answer.status_code == 202:
                client.wait(path.rpartition("/")[0])
            elif answer.status_code == 201:
                client.delete(answer.headers["location"])
            elif not answer.is_success:
                assert answer.status_code < 500 or answer.status_code == 503, answer.text
                assert {"title", "status", "code", "detail"} <= set(answer.json())

    bodies = [b'{"row": 3, "answer": "yes"}', b'{"n_flagged": 4}', b'{"reading": {"decimal": ","}}',
              b'{"row": 8, "column": "size", "answer": "wrong"}', made_csv()]  # fmt: skip
    return Target([bytes([n] * 8) + body for n, body in enumerate(bodies * 4)], attempt, head=8)


def agents(folder: Path) -> Target:
    """The agents' server: every call has an answer; an error is one short line with a code."""
    from mcp import Client

    from metaod.agents import Access, make_server

    for name in ("tables", "written"):
        (folder / name).mkdir()
    (folder / "tables" / "t.csv").write_bytes(made_table(40))
    (folder / "secret.csv").write_bytes(made_table(40).replace(b"A-", b"SECRET-"))
    (folder / "tables" / "link.csv").symlink_to(folder / "secret.csv")
    server = make_server(Access.of([folder / "tables"], folder / "written", 10**6), max_seconds=9)
    loop = asyncio.new_event_loop()
    client = loop.run_until_complete(Client(server).__aenter__())
    tools = loop.run_until_complete(client.list_tools()).tools
    session = loop.run_until_complete(
        client.call_tool("detect_outliers", {"path": "t.csv", "show": 1})
    ).structured_content["session"]

    words = [*VALUES, *WORDS, "../secret.csv", str(folder / "secret.csv"), "link.csv", "n.csv"]

    def attempt(data: bytes) -> None:
        rng = Random(data)
        tool = rng.choice(
            [tool for tool in tools if tool.name not in ("detect_outliers", "select_model")]
        )
        legal = {"path": "t.csv", "session": session, "rows": [1, 2], "yes": [3], "show": 2, "n": 1}
        given = {
            name: legal[name] if name in legal and rng.random() < 0.6 else rng.choice(words)
            for name in tool.input_schema["properties"]
            if name in ("path", "session") or rng.random() < 0.4
        }
        with contextlib.suppress(UnicodeEncodeError):  # the client cannot send it
            result = loop.run_until_complete(
                asyncio.wait_for(client.call_tool(tool.name, given), 30)
            )
            text = result.content[0].text
            assert "SECRET" not in text
            if result.is_error:
                assert "\n" not in text
                assert len(text) <= 1000
                assert result.structured_content["code"] not in ("defect", "internal"), text

    return Target([bytes([n, n + 1]) for n in range(16)], attempt, head=2)


TARGETS: dict[str, Callable[[Path], Target]] = {
    made.__name__: made
    for made in (
        readers,
        preparation,
        cells,
        marks,
        artifacts,
        picks,
        stores,
        exchange,
        commands,
        page,
        agents,
    )
}


def shares() -> Iterator[tuple[str, float]]:
    """Yield each target with its share of the time."""
    for name in TARGETS:
        yield name, 6.0 if name == "readers" else 1.0
