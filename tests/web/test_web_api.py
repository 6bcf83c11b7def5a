"""The API as a client uses it: from an upload to downloads."""

import csv
import io
import time

from made_server import made_csv

from metaod.review import read_marks
from metaod.tables import read_table


def is_problem(answer, status):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found = answer.json()
    assert found["status"] == status
    assert found["detail"]
    return found


def rows_of(content):
    return list(csv.DictReader(io.StringIO(content.decode())))


def test_a_review_changes_the_ranking_and_the_number_left(client):
    table = client.scored(made_csv())
    first = client.get(f"{table}/review").json()
    assert first["n_answered"] == 0
    assert {cell["name"] for cell in first["cells"]} == {"name", "size", "weight", "colour"}
    given = {"row": first["row"], "answer": "no"}
    second = client.post(f"{table}/review/answers", json=given).json()
    assert (second["n_answered"], second["n_found"]) == (1, 0)
    assert second["row"] != first["row"]
    ranks = {row["row"]: row["rank"] for row in second["ranking"]}
    assert first["row"] not in ranks  # a row that is none comes last
    assert second["left"] != first["left"]
    third = client.post(
        f"{table}/review/answers", json={"row": second["row"], "answer": "yes"}
    ).json()
    assert third["n_found"] == 1
    assert third["ranking"][0]["row"] == second["row"]
    taken = client.delete(f"{table}/review/answers/last").json()
    assert taken["row"] == second["row"]
    assert taken["n_found"] == 0
    assert taken["ranking"] == second["ranking"]
    # another tab
    twice = client.post(f"{table}/review/answers", json={"row": first["row"], "answer": "yes"})
    assert is_problem(twice, 409)["code"] == "answered"
    assert client.get(f"{table}/review").json()["n_answered"] == 1
    assert client.delete(f"{table}/review/answers/last").is_success
    is_problem(client.delete(f"{table}/review/answers/last"), 409)


def test_answers_are_a_marks_file_of_the_command_line(client, tmp_path):
    data = made_csv()
    table = client.scored(data, roles={"id": ["name"]})
    is_problem(client.get(f"{table}/marks"), 409)
    for row, answer in ((8, "yes"), (5, "no"), (6, "unsure")):
        client.post(f"{table}/review/answers", json={"row": row, "answer": answer})
    (tmp_path / "marks.csv").write_bytes(client.get(f"{table}/marks").content)
    (tmp_path / "table.csv").write_bytes(data)
    used = read_marks(tmp_path / "marks.csv", read_table(str(tmp_path / "table.csv")), ["name"])
    assert used.answers == {7: True, 4: False, 5: None}
    scored = rows_of(client.get(f"{table}/scored").content)
    assert scored[7]["rank"] == "1"
    assert scored[4]["rank"] == "60"


def test_what_needs_scores_is_refused_before_there_are_any(client):
    table = client.opened(made_csv())
    for path in ("result", "review", "scored", "marks", "report", "inspection"):
        is_problem(client.get(f"{table}/{path}"), 409)


def test_a_job_can_be_cancelled_and_the_table_used_again(client):
    table = client.opened(made_csv())
    client.post(f"{table}/detection", json={})
    is_problem(client.post(f"{table}/detection", json={}), 409)
    is_problem(client.get(f"{table}/review"), 409)
    assert client.delete(f"{table}/job").json()["job"]["state"] == "cancelled"
    is_problem(client.get(f"{table}/result"), 409)
    client.post(f"{table}/detection", json={})
    stages = set()
    while (job := client.get(table).json()["job"])["state"] == "running":
        stages.add(job["stage"])
        time.sleep(0.005)
    assert job["state"] == "done"
    assert "starting" in stages
    assert any(stage.startswith("fitting ") for stage in stages)
    assert job["done"] == 1.0
    client.delete(table)


def test_a_deleted_table_is_gone_with_its_file(client, uploads):
    table = client.opened(made_csv())
    name = table.rpartition("/")[2]
    assert list(uploads.rglob(name))
    assert client.delete(table).status_code == 204
    assert not list(uploads.rglob(name))
    is_problem(client.get(table), 404)
    is_problem(client.delete(table), 404)
