"""Damage that keeps a file readable enough to reach the code behind its format's library."""

import gzip
import hashlib
import io
import json
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from random import Random

import pyarrow.parquet

Mutate = Callable[[bytes], bytes]
"""Changes bytes without knowing what they are."""

WORDS = [
    *("1e308", "-1e308", "5e-324", "nan", "-inf", "9" * 25, "-0", "007", "1.234,5", "1,234.5"),
    *("$ -", "12 %", "(3)", "12:60", "1 day 25:00:00", "0000-00-00", "9999-12-31", "0001-01-01"),
    *("31.02.2024", "2024-02-30T25:61", "13/13/2013", "٣", "１２", "İ", "ß", "\u202e", "\x07"),
    *("\x00", "\ufeff", "", " ", "?", "NA", "#REF!", "NaT", "True", "x" * 3000, "{x}", "{0.a}"),
    *(
        "=cmd|' /C calc'!A0",
        "<script>alert(1)</script>",
        "'",
        '"',
        '"a',
        ",",
        ";",
        "\t",
        "\r",
        "\n",
    ),
    *("../../etc/passwd", "os:system", "yes", "withdrawn", "%s", "\\", "é" * 40, "🙂"),
]
VALUES = [
    *(None, True, False, 0, -1, 1, 2**31, 2**63, -(2**70), 0.5, 1e308, -1e-300, "", "x", [], {}),
    *(
        [[]],
        [None],
        {"x": 1},
        "nan",
        "IForest(n_estimators=999999)",
        "KNN(n_neighbors=-1)",
        "\ud800",
    ),
]
_MARK = b"metaod\x00\n"


def plain(rng: Random) -> Mutate:
    """Return damage for where no fuzzer offers its own."""

    def mutate(data: bytes) -> bytes:
        found = bytearray(data)
        for _ in range(rng.randint(1, 4)):
            start = rng.randrange(len(found) + 1)
            new = rng.choice([rng.randbytes(rng.randint(1, 8)), b"\xff" * 8, bytes(8), b""])
            found[start : start + rng.choice([0, len(new), rng.randint(0, 20)])] = new
        return bytes(found)

    return mutate


def damaged(data: bytes, rng: Random, mutate: Mutate) -> bytes:
    """Damage a file: inside its package, in one cell, or anywhere."""
    ways = {b"\x1f\x8b": _gzipped, b"PK\x03\x04": _zipped, b"SQLite format 3\0": _database,
            b"PAR1": _parquet, _MARK: _container}  # fmt: skip
    way = next((way for magic, way in ways.items() if data.startswith(magic)), _cells)
    try:
        return way(data, rng, mutate) if rng.random() < 0.8 else mutate(data)
    except Exception:
        return mutate(data)


def _cells(data: bytes, rng: Random, _: Mutate) -> bytes:
    """Change cells of delimited text; other bytes get words among them."""
    lines = data.split(b"\n")
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(lines))
        cells = lines[place].split(b",")
        words = [rng.choice(WORDS).encode(errors="surrogatepass")]
        at = rng.randrange(len(cells))
        cells[at : at + rng.choice([1, 1, 1, 0])] = words * rng.choice([1, 1, 1, 30])
        lines[place : place + 1] = [b",".join(cells)] * rng.choice([1, 1, 1, 0, 3])
        lines = lines or [b""]
    return b"\n".join(lines)


def _gzipped(data: bytes, rng: Random, mutate: Mutate) -> bytes:
    return gzip.compress(damaged(gzip.decompress(data), rng, mutate), mtime=0)


def _zipped(data: bytes, rng: Random, mutate: Mutate) -> bytes:
    """Damage one member; some archives get an entry twice, or one that names another folder."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w") as new:
        names = old.namelist()
        chosen = rng.choice(names)
        for name in names:
            member = old.read(name)
            new.writestr(name, damaged(member, rng, mutate) if name == chosen else member)
        if rng.random() < 0.1:
            new.writestr(rng.choice([chosen, "../../outside", "/tmp/outside"]), b"x")
    return buffer.getvalue()


def _database(data: bytes, rng: Random, _: Mutate) -> bytes:
    """Change values of a table, as any program for SQLite can."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(data)
        names = [
            row[0]
            for row in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")
        ]
        table = rng.choice(names)
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        column, value = rng.choice(columns), rng.choice([*VALUES, *WORDS])
        value = rng.randbytes(9) if isinstance(value, list | dict) else value
        value = float(value) if isinstance(value, int) and abs(value) >= 2**63 else value
        for text in ("PRAGMA foreign_keys=OFF", "PRAGMA ignore_check_constraints=ON"):
            connection.execute(text)
        rows = f"SELECT {columns[0]} FROM {table} LIMIT 1 OFFSET {rng.randrange(4)}"
        where = rng.choice(["", f"WHERE {columns[0]} = ({rows})"])
        change = f"UPDATE {table} SET {column} = ? {where}"
        drop = f"DELETE FROM {table} {where}"
        connection.execute(*((drop,) if rng.random() < 0.1 else (change, (value,))))
        connection.commit()
        return connection.serialize()


def _parquet(data: bytes, rng: Random, _: Mutate) -> bytes:
    """Change one value, which may change the type of its column."""
    table = pyarrow.parquet.read_table(io.BytesIO(data))
    place = rng.randrange(table.num_columns)
    values = table.column(place).to_pylist()
    values[rng.randrange(len(values))] = rng.choice([*VALUES, *WORDS])
    values = values if rng.random() < 0.5 else [*map(str, values)]
    name = table.schema.names[place] if rng.random() < 0.8 else rng.choice(WORDS)
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(table.set_column(place, name, [values]), buffer)
    return buffer.getvalue()


def _container(data: bytes, rng: Random, mutate: Mutate) -> bytes:
    """Change the plain content of what metaod saved, or its arrays."""
    line, _, rest = gzip.decompress(data[len(_MARK) :]).partition(b"\n")
    if rng.random() < 0.2 and rest:
        rest = mutate(rest)[: len(rest)].ljust(len(rest), b"\0")
    else:
        line = _document(line, rng)
    return _MARK + gzip.compress(line + b"\n" + rest, mtime=0)


def _document(line: bytes, rng: Random) -> bytes:
    document = json.loads(line)
    for _ in range(rng.choice([1, 1, 2, 3])):
        owner, key = {"": document}, ""
        while rng.random() < 0.85 and (inner := owner[key]) and isinstance(inner, list | dict):
            owner, key = (
                inner,
                rng.choice([*inner] if isinstance(inner, dict) else range(len(inner))),
            )
        if owner is document and key in ("version", "kind") and rng.random() < 0.8:
            continue
        if key == "":
            continue
        way = rng.random()
        if way < 0.15:
            del owner[key]
        elif way < 0.3 and isinstance(owner, list):
            owner.insert(key, owner[key])
        elif way < 0.5 and isinstance(owner[key], int | float):
            owner[key] = owner[key] * rng.choice([-1, 2, 1000]) + rng.choice([0, 1, -1])
        else:
            owner[key] = rng.choice([*VALUES, *WORDS])
    return json.dumps(document).encode()


def sealed(folder: dict[str, bytes]) -> dict[str, bytes]:
    """Write the right checksums into the manifest of an exported store, so that they agree."""
    try:
        manifest = json.loads(folder["manifest.json"])
        for name, facts in manifest["files"].items():
            facts["sha256"] = hashlib.sha256(folder[name]).hexdigest()
    except (ValueError, KeyError, TypeError, AttributeError):
        return folder
    return folder | {"manifest.json": json.dumps(manifest).encode()}
