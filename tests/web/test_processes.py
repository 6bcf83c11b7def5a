"""Jobs and processes of tables end, none is left behind, and every end is one clear problem."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from made_server import made_csv

from metaod.web import Limits
from metaod.web._held_tables import HeldTables
from metaod.web._problems import Problem

NOTHING = {"reading": {}, "roles": {}}
FAILS_TO_PREPARE = (
    "from metaod.web import _worker\n"
    "def fail(self): raise OSError('not this time')\n"
    "_worker._Commands.prepare = fail\n"
    "_worker.main()"
)


async def chunks():
    yield made_csv()


def with_table(tmp_path, work, **limits):
    """Run on a new table, in a thread of its own: the browser has a loop in this one."""

    async def run():
        tables = HeldTables(tmp_path, Limits(**limits))
        try:
            await work(tables, await tables.add("items.csv", chunks()))
        finally:
            await tables.delete_all()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, run()).result(60)


async def done(tables, table):
    tables.start(table, "inspection", NOTHING)
    await table._task
    return table.job


async def waiting(tables, table):
    """Three requests that wait for the process of a table that counts as scored."""
    assert (await done(tables, table)).state == "done"
    table.found["detection"] = {}
    os.kill(table._worker._process.pid, signal.SIGSTOP)
    asked = [asyncio.create_task(table.ask("result")) for _ in range(3)]
    await asyncio.sleep(0.05)
    return asked


def test_requests_that_wait_do_not_start_a_process_of_a_deleted_table(tmp_path):
    async def work(tables, table):
        asked = await waiting(tables, table)
        await tables.delete(table)
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert [error.code for error in found] == ["no-table"] * 3
        with pytest.raises(Problem) as caught:
            await table._worker.call("inspection", NOTHING)
        assert caught.value.status == 404
        assert not table._worker.is_alive

    with_table(tmp_path, work)


def test_a_process_that_dies_leaves_a_table_that_is_not_scored_and_is_started_again(tmp_path):
    async def work(tables, table):
        asked = await waiting(tables, table)
        before = table.found["inspection"]
        os.kill(table._worker._process.pid, signal.SIGKILL)
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert [error.code for error in found] == ["process-ended", "not-scored", "not-scored"]
        assert [error.status for error in found] == [500, 409, 409]
        assert not table.document()["is_scored"]
        assert (await done(tables, table)).state == "done"
        assert table.found["inspection"] == before

    with_table(tmp_path, work)


def test_a_defect_is_one_problem_and_the_process_lives(tmp_path, capfd):
    async def work(tables, table):
        with pytest.raises(Problem) as caught:
            await table._worker.call("nothing", {})
        assert (caught.value.status, caught.value.code) == (500, "defect")
        assert table._worker.is_alive

    with_table(tmp_path, work)
    assert "AttributeError" in capfd.readouterr().err


@pytest.mark.parametrize("begun", [False, True])
def test_a_job_that_is_cancelled_ends_its_process(tmp_path, begun):
    async def work(tables, table):
        tables.start(table, "inspection", NOTHING)
        while begun and not table._worker.is_alive:
            await asyncio.sleep(0.01)
        process = table._worker._process
        await table.cancel()
        assert table.job.state == "cancelled"
        assert process is None or process.returncode is not None
        assert (await done(tables, table)).state == "done"

    with_table(tmp_path, work)


def test_a_table_expires_when_its_job_has_ended(tmp_path):
    async def work(tables, table):
        for is_running in (True, False):
            if is_running:
                tables.start(table, "inspection", NOTHING)
            table.used -= 10**6
            await tables.delete_expired()
            assert (table.id in tables._tables) == is_running
            await table._task

    with_table(tmp_path, work)


def test_a_table_with_answers_does_not_give_way_to_a_new_one(tmp_path):
    async def work(tables, table):
        marks = table.folder / "marks.csv"
        marks.touch()
        table.used -= 1000
        with pytest.raises(Problem) as caught:
            await tables.add("more.csv", chunks())
        assert caught.value.code == "busy"
        marks.unlink()
        assert tables.get((await tables.add("more.csv", chunks())).id) is not table
        assert table.id not in tables._tables

    with_table(tmp_path, work, max_tables=1)


def test_a_job_whose_process_cannot_start_fails(tmp_path, capfd):
    async def work(tables, table):
        shutil.rmtree(table.folder)
        job = await done(tables, table)
        assert job.state == "failed"
        assert job.problem.status == 500

    with_table(tmp_path, work)
    assert "FileNotFoundError" in capfd.readouterr().err


def test_an_answer_that_is_too_long_is_a_problem(tmp_path, monkeypatch):
    monkeypatch.setattr("metaod.web._process._LONGEST_LINE", 500)

    async def work(tables, table):
        job = await done(tables, table)
        assert job.state == "failed"
        assert job.problem.code == "long-answer"

    with_table(tmp_path, work)


def test_what_fails_after_an_answer_is_no_second_answer(tmp_path, monkeypatch):
    monkeypatch.setattr("metaod.web._process._COMMAND", FAILS_TO_PREPARE)

    async def work(tables, table):
        for _ in range(2):
            assert (await done(tables, table)).state == "done"

    with_table(tmp_path, work)


@pytest.mark.skipif(sys.platform != "linux", reason="the limit needs Linux")
def test_a_process_cannot_take_more_memory_than_allowed():
    code = (
        "from metaod.web._worker import _limit_memory; _limit_memory(2**28, 1)\n"
        "try:\n    bytearray(2**29)\nexcept MemoryError:\n    print('refused')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "refused\n"
