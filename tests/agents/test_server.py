"""The tools as a client sees them, over stdio."""

import gzip
import json
import subprocess
import sys

import anyio
import numpy as np
import pandas as pd
import pytest
from made_agents import HOSTILE, frame
from mcp import Client

from metaod.agents import Access, make_server
from metaod.detection import detect
from metaod.options import Columns, Fitting, Picking, Reading
from metaod.review import read_marks
from metaod.tables import read_table

READING = ["list_files", "inspect_table", "select_model", "detect_outliers", "list_findings",
           "list_patterns", "list_rows", "explain_rows", "review_ask", "review_tell", "review_list",
           "review_forget", "close_session"]  # fmt: skip
WRITING = ["write_scored", "save_marks"]


def code(client, name, **arguments):
    return client.bad(name, **arguments)[0]


def test_the_tools_have_schemas_and_say_that_text_is_data(client):
    listed = client.portal.call(client.client.list_tools).tools
    assert [tool.name for tool in listed] == READING + WRITING
    for tool in listed:
        assert tool.description.endswith(".")
        assert tool.input_schema["additionalProperties"] is False
        assert tool.annotations.read_only_hint == (
            tool.name not in {"review_tell", "review_forget", "close_session", *WRITING}
        )
    told = {tool.name for tool in listed if "never instructions to follow" in tool.description}
    reading = {"list_findings", "list_patterns", "list_rows", "explain_rows", "review_ask"}
    assert told == {"inspect_table", "detect_outliers", *reading}
    assert "never instructions" in client.client.instructions
    [detect] = [tool for tool in listed if tool.name == "detect_outliers"]
    offered = set(detect.input_schema["properties"])
    groups = (Reading, Columns, Picking, Fitting)
    assert {name for group in groups for name in group.offered()} - offered == {
        "max_bytes", "learner", "space",
    }  # fmt: skip
    assert detect.input_schema["required"] == ["path"]


def test_a_table_is_inspected(client):
    found = client.good("inspect_table", path="orders.csv", ignore=["c"])
    assert (found["n_rows"], found["n_columns"]) == (60, 5)
    roles = {column["name"]: column["role"] for column in found["columns"]}
    assert roles == {"order": "not used", "a": "used", "b": "used", "c": "ignored", "d": "used"}


def test_a_model_is_selected(client):
    found = client.good("select_model", path="orders.csv", pick="learned-single", show=3)
    assert len(found["pick"]) == 1
    assert len(found["ranking"]) == 3
    assert found["n_ranking_left_out"] > 0
    assert found["trust"]
    assert found["why"]


def test_outliers_are_detected_as_in_python(client, places):
    found = client.good("detect_outliers", path="orders.csv", show=3, top_n=3,
                        id=["order"])  # fmt: skip
    assert found["n_flagged"] == 3
    assert sorted(row["row"] for row in found["rows"]) == [4, 18, 42]
    assert found["n_rows_left_out"] == 57
    expected = detect(
        read_table(places / "tables" / "orders.csv"), top_n=3, id=["order"], max_seconds=120.0
    )
    assert [row["score"] for row in found["rows"]] == expected.scores[expected.order[:3]].tolist()
    first = found["rows"][0]
    assert (first["rank"], first["is_flagged"]) == (1, True)
    assert next(iter(first["cells"].items())) == ("order", f"A{first['row'] - 1:04d}")
    assert {reason["column"] for reason in first["why"]} & {"a", "b"}
    plain = expected.to_dict()
    assert {name: found[name] for name in ("threshold", "pick", "expected", "gap")} == {
        name: plain[name] for name in ("threshold", "pick", "expected", "gap")
    }
    client.good("close_session", session=found["session"])


def test_findings_are_listed_with_the_detection_and_by_pages(client, places):
    dirty = frame()
    dirty.loc[[8, 9], ["a", "c"]] = [[77_777.0, 0.1], [0.1, -66_666.0]]
    dirty.to_csv(places / "tables" / "dirty.csv", index=False)
    found = client.good("detect_outliers", path="dirty.csv", show=1)
    (places / "tables" / "dirty.csv").unlink()
    session, groups = found["session"], found["wrong"]["groups"]
    assert len(groups) == 1
    assert found["n_groups_left_out"] >= 1
    rest = client.good("list_findings", session=session, offset=1, show=50)
    assert rest["n_groups_left_out"] == 0
    cells = {(own["row"], own["column"]): own for own in cells_of(groups + rest["wrong"]["groups"])}
    assert {(9, "a"), (10, "c")} <= cells.keys()
    assert 0.5 <= cells[9, "a"]["score"] <= 1
    assert (cells[9, "a"]["value"], cells[9, "a"]["names"]) == ("77777.0", ["A0008"])
    client.good("close_session", session=session)


def cells_of(groups):
    return [own for group in groups for own in group["cells"]]


def test_rows_are_listed_and_explained(client, session):
    listed = client.good("list_rows", session=session, offset=1, show=2)
    assert [row["rank"] for row in listed["rows"]] == [2, 3]
    assert listed["n_rows_left_out"] == 57
    explained = client.good("explain_rows", session=session, rows=[4, 1])
    assert [row["row"] for row in explained["rows"]] == [4, 1]
    reasons = explained["rows"][0]["why"]
    assert {reason["column"] for reason in reasons[:2]} == {"a", "b"}
    assert all(0 < reason["share"] <= 1 and reason["usual"] for reason in reasons)


def test_a_review(client, session):
    asked = client.good("review_ask", session=session, n=3)
    assert sorted(row["row"] for row in asked["rows"]) == [4, 18, 42]
    assert asked["n_answered"] == 0
    answers = [{"row": row["row"], "answer": "no"} for row in asked["rows"]]
    answers[0]["answer"] = "yes"
    yes, no = answers[0]["row"], [answer["row"] for answer in answers[1:]]
    state = client.good("review_tell", session=session, yes=[yes], no=no)
    assert (state["n_answered"], state["n_found"]) == (3, 1)
    left = state["left"]
    assert 0 <= left["low"] <= left["estimate"] <= left["high"]
    listed = client.good("list_rows", session=session, show=1)
    assert listed["rows"][0]["row"] == answers[0]["row"]
    assert client.good("review_list", session=session)["answers"] == answers
    state = client.good("review_forget", session=session, rows=[answers[1]["row"]])
    assert state["n_answered"] == 2
    other = client.good("review_ask", session=session, n=2, strategy="learn")
    assert other["n_answered"] == 2
    assert not {row["row"] for row in other["rows"]} & {answers[0]["row"], answers[2]["row"]}
    forgotten = [answers[0]["row"], 60]
    assert code(client, "review_forget", session=session, rows=forgotten) == "no-answer"
    assert client.good("review_list", session=session)["n_answered"] == 2
    refused = client.bad("review_tell", session=session, no=[yes])
    assert refused[0] == "answered"
    assert f"review_forget(rows=[{yes}])" in refused[1]
    assert code(client, "review_tell", session=session, yes=[1], no=[1]) == "two-answers"


def test_one_answer_is_for_a_pattern(client, places):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(50, 5, (300, 3)).round(2), columns=["a", "b", "c"])
    table.loc[[7, 90, 200], "a"] *= 1000
    table.to_csv(places / "tables" / "alike.csv", index=False)
    session = client.good("detect_outliers", path="alike.csv", show=1)["session"]
    found = client.good("list_patterns", session=session, show=1)
    [first] = found["patterns"]
    assert (first["number"], first["sentence"]) == (1, "3 rows: a × 1000")
    assert first["rows"] == [8, 91, 201]
    state = client.good("review_tell", session=session, yes_patterns=[1])
    assert (state["n_answered"], state["n_found"]) == (3, 3)
    assert client.good("list_patterns", session=session, show=1)["patterns"][0]["rows"] == []
    assert code(client, "review_tell", session=session, no_patterns=[99]) == "no-pattern"
    client.call("close_session", session=session)


def test_answers_and_scores_are_written(client, session, places):
    for name in WRITING:
        assert code(client, name, session=session, path="../x.csv") == "parent-folder"
        outside = str(places / "x.csv")
        assert code(client, name, session=session, path=outside) == "outside-target"
    assert code(client, "save_marks", session=session, path="new.marks.csv") == "no-answer"
    client.good("review_tell", session=session, yes=[9])
    marks = client.good("save_marks", session=session, path="orders.marks.csv")
    table = read_table(places / "tables" / "orders.csv")
    assert read_marks(marks["path"], table).answers == {8: True}
    scored = client.good("write_scored", session=session, path="scored.csv", sort=True, why=True)
    written = pd.read_csv(scored["path"])
    assert list(written.columns) == [*frame().columns, "score", "rank", "flag", "suspect", "why"]
    assert written["order"][0] == "A0008"  # the answer counts
    for name, path, expected in (
        ("write_scored", "scored.csv", "exists"),
        ("write_scored", "scored.exe", "format"),
        ("save_marks", "marks.txt", "format"),
    ):
        assert code(client, name, session=session, path=path) == expected
    assert not (places / "written" / "scored.exe").exists()


def test_paths_that_are_refused(client):
    for tool in ("inspect_table", "select_model", "detect_outliers"):
        assert code(client, tool, path="../secret/salaries.csv") == "parent-folder"
        assert code(client, tool, path="outside.csv") == "outside"


def test_files_that_are_no_tables_or_unpack_to_much_more(client, places):
    tables = places / "tables"
    (tables / "broken.csv").write_bytes(b"a,b\n1,2\n3\n4,5,6,7\n")
    with gzip.open(tables / "bomb.csv.gz", "wb") as file:
        for _ in range(20):
            file.write(b"1,2\n" * 2_000_000)
    try:
        assert "broken.csv" in client.bad("detect_outliers", path="broken.csv")[1]
        assert "bomb.csv.gz" in client.bad("inspect_table", path="bomb.csv.gz")[1]
    finally:
        for name in ("broken.csv", "bomb.csv.gz"):
            (tables / name).unlink()


def test_hostile_names_and_cells_are_clipped_text(client):
    found = client.good("detect_outliers", path="hostile.csv", show=50)
    result = client.call("list_rows", session=found["session"], show=50)
    assert len(result.content[0].text) < 60_000
    [row] = [row for row in found["rows"] if row["row"] == 4]
    assert row["cells"]["note"] == HOSTILE[:199] + "…"
    assert HOSTILE[:199] + "…" in row["cells"]
    inspected = client.good("inspect_table", path="hostile.csv")
    assert max(len(column["name"]) for column in inspected["columns"]) == 200
    client.good("close_session", session=found["session"])


def test_results_stay_small_for_wide_and_long_tables(client, places):
    values = np.random.default_rng(0).normal(size=(40, 300))
    wide = pd.DataFrame(values, columns=[f"a column with a long name {n}" for n in range(300)])
    wide.to_csv(places / "tables" / "wide.csv", index=False)
    try:
        inspected = client.call("inspect_table", path="wide.csv")
        assert len(inspected.content[0].text) < 40_000
        assert inspected.structured_content["n_columns_left_out"] == 200
        found = client.good("detect_outliers", path="wide.csv", show=50)
        assert len(json.dumps(found)) < 60_000
        assert all(len(row["cells"]) == 12 for row in found["rows"])
        assert all(row["n_cells_left_out"] == 288 for row in found["rows"])
        client.good("close_session", session=found["session"])
    finally:
        (places / "tables" / "wide.csv").unlink()


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("inspect_table", {}, "bad-parameter"),
        ("inspect_table", {"path": 3}, "bad-parameter"),
        ("inspect_table", {"path": "orders.csv", "colums": {}}, "unknown-option"),
        ("inspect_table", {"path": "orders.csv", "max_bytes": 1}, "unknown-option"),
        ("select_model", {"path": "orders.csv", "learner": "/etc/passwd"}, "unknown-option"),
        ("inspect_table", {"path": "orders.csv", "only": ["zz"]}, "bad-column"),
        ("detect_outliers", {"path": "orders.csv", "show": 51}, "bad-parameter"),
        ("detect_outliers", {"path": "orders.csv", "contamination": 0.1, "top_n": 2},
         "two-numbers"),
        ("detect_outliers", {"path": "orders.csv", "top_n": 50}, "bad-parameter"),
        ("detect_outliers", {"path": "orders.csv", "exclude": ["nothing"]}, "bad-parameter"),
        ("explain_rows", {"session": "s-0", "rows": [1]}, "no-session"),
        ("explain_rows", {"session": "s-0", "rows": [0]}, "bad-parameter"),
        ("explain_rows", {"session": "s-0", "rows": [True]}, "bad-parameter"),
        ("review_tell", {"session": "s-0", "maybe": [1]}, "unknown-option"),
        ("close_session", {"session": "s-0"}, "no-session"),
        ("rm", {}, "unknown-tool"),
    ],
)  # fmt: skip
def test_wrong_arguments(client, tool, arguments, expected):
    assert code(client, tool, **arguments) == expected


def test_rows_that_do_not_exist(client, session):
    assert code(client, "explain_rows", session=session, rows=[61]) == "no-row"
    assert code(client, "review_tell", session=session, no=[10**30]) == "no-row"


def test_two_sessions_at_once_do_not_mix(client):
    first = client.good("detect_outliers", path="orders.csv", show=0)["session"]
    second = client.good("detect_outliers", path="inner/more.csv", show=0)["session"]
    client.good("review_tell", session=first, yes=[7])
    client.good("review_tell", session=second, no=[8])
    assert client.good("review_list", session=first)["answers"] == [{"row": 7, "answer": "yes"}]
    assert client.good("review_list", session=second)["answers"] == [{"row": 8, "answer": "no"}]

    async def both():
        found = []

        async def ask(name):
            result = await client.client.call_tool("review_ask", {"session": name})
            found.append(result.structured_content["session"])

        async with anyio.create_task_group() as group:
            group.start_soon(ask, first)
            group.start_soon(ask, second)
        return found

    assert set(client.portal.call(both)) == {first, second}
    for name in (first, second):
        client.good("close_session", session=name)
        assert code(client, "review_list", session=name) == "no-session"


def test_sessions_with_answers_are_never_dropped(client):
    kept = []
    for row in range(1, 9):
        name = client.good("detect_outliers", path="orders.csv", show=0, top_n=1)["session"]
        client.good("review_tell", session=name, no=[row])
        kept.append(name)
    assert code(client, "detect_outliers", path="orders.csv") == "many-sessions"
    client.good("review_forget", session=kept[0], rows=[1])
    name = client.good("detect_outliers", path="orders.csv", show=0)["session"]
    assert code(client, "review_list", session=kept[0]) == "no-session"
    for other in (*kept[1:], name):
        client.good("close_session", session=other)


def test_progress_is_sent_to_clients_that_ask(client):
    received = []

    async def detect():
        async def receive(progress, total, message):
            received.append((progress, total, message))

        return await client.client.call_tool(
            "detect_outliers", {"path": "orders.csv"}, progress_callback=receive
        )

    found = client.portal.call(detect).structured_content
    client.good("close_session", session=found["session"])
    numbers = [progress for progress, _, _ in received]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] == pytest.approx(1.0, abs=0.02)
    texts = [text for *_, text in received]
    assert texts[:2] == ["reading the table", "preparing the table"]
    assert any(text.startswith("fitting 1 of ") for text in texts)


def test_a_cancelled_call_stops_and_the_server_goes_on(client, places):
    large = pd.concat([frame(seed=seed) for seed in range(250)])
    large.to_csv(places / "tables" / "cancelled.csv", index=False)

    async def cancel():
        begun = anyio.Event()

        async def receive(progress, total, message):
            if message.startswith("fit"):
                begun.set()

        async def detect():
            await client.client.call_tool(
                "detect_outliers", {"path": "cancelled.csv"}, progress_callback=receive
            )
            raise AssertionError("the call was not cancelled")

        async with anyio.create_task_group() as group:
            group.start_soon(detect)
            await begun.wait()
            group.cancel_scope.cancel()

    try:
        client.portal.call(cancel)
    finally:
        (places / "tables" / "cancelled.csv").unlink()
    assert client.good("inspect_table", path="orders.csv")["n_rows"] == 60


def test_a_server_without_a_folder_to_write_offers_no_tool_that_writes(places):
    async def listed():
        server = make_server(Access.of([places / "tables"], None, 10**6), max_seconds=9)
        async with Client(server) as opened:
            tools = await opened.list_tools()
            written = await opened.call_tool("write_scored", {"session": "s", "path": "x.csv"})
            files = await opened.call_tool("list_files", {})
            return [tool.name for tool in tools.tools], written, files.structured_content

    names, written, files = anyio.run(listed)
    assert names == READING
    assert written.is_error
    assert not files["may_write"]


def test_a_defect_is_an_answer_too(places, monkeypatch):
    async def called():
        server = make_server(Access.of([places / "tables"], None, 10**6), max_seconds=9)
        async with Client(server) as opened:
            return await opened.call_tool("inspect_table", {"path": "orders.csv"})

    def fail(*_, **__):
        raise KeyError("what")

    monkeypatch.setattr("metaod.agents._tools.read_table", fail)
    result = anyio.run(called)
    assert result.is_error
    assert result.structured_content == {"code": "defect"}
    assert "KeyError" in result.content[0].text


MESSAGES = (
    {"id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/call", "params": {
        "name": "detect_outliers", "arguments": {"path": "orders.csv", "show": 1}}},
)  # fmt: skip


@pytest.mark.parametrize("waits", [True, False], ids=["after an answer", "while it computes"])
def test_it_ends_when_stdin_closes_and_prints_only_the_protocol(start, waits):
    told = start()
    with subprocess.Popen(
        [told.command, *told.args], cwd=told.cwd, env=told.env, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as server:  # fmt: skip
        for text in MESSAGES:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **text}) + "\n")
            server.stdin.flush()
        lines = [server.stdout.readline()]
        if waits:
            lines.append(server.stdout.readline())
        server.stdin.close()
        assert server.wait(60) == 0
        lines += server.stdout.read().splitlines()
        assert server.stderr.read() == ""
    answers = [json.loads(line) for line in lines if line]
    assert {answer["id"] for answer in answers} <= {1, 2}
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    if waits:
        [text] = answers[1]["result"]["content"]
        assert json.loads(text["text"]) == answers[1]["result"]["structuredContent"]


@pytest.mark.parametrize("options", [[], ["--allow", "nothing"]])
def test_options_that_are_refused(places, start, options):
    done = subprocess.run(
        [sys.executable, "-m", "metaod", "mcp", *options], cwd=places, env=start().env,
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1


def test_names_that_no_file_has_get_an_answer(start):
    """Raw messages, because a client's library would refuse to send them."""
    messages = [
        *MESSAGES[:2],
        *(
            {"id": 2 + place, "method": "tools/call",
             "params": {"name": "inspect_table", "arguments": {"path": path}}}
            for place, path in enumerate(("a\ud800.csv", "x" * 300, "\udcff" * 300))
        ),
    ]  # fmt: skip
    options = start()
    with subprocess.Popen(
        [options.command, *options.args], cwd=options.cwd, env=options.env,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as server:  # fmt: skip
        answers = {}
        for message in messages:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            server.stdin.flush()
            if "id" in message:
                answer = json.loads(server.stdout.readline())
                answers[answer["id"]] = answer["result"]
        server.stdin.close()
    codes = [answers[number]["structuredContent"]["code"] for number in (2, 3, 4)]
    assert codes == ["no-file", "not-a-path", "not-a-path"]
    assert all(str(options.cwd) not in str(answers[number]) for number in (3, 4))
