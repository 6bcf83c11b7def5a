"""Jobs and processes of tables end, and none is left behind."""

import asyncio
import os
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest
from made_server import made_csv

from metaod.web import Limits, _process
from metaod.web._held_tables import HeldTables
from metaod.web._problems import Problem

NOTHING = {"reading": {}, "roles": {}}
FAILS_TO_PREPARE = (
    "from metaod.web import _worker\n"
    "def fail(self): raise OSError('not this time')\n"
    "_worker._Commands.prepare = fail\n"
    "_worker.main()"
)


def with_table(tmp_path, work, data=None):
    """Run on a new table, in a thread of its own: the browser has a loop in this one."""

    async def chunks():
        yield made_csv() if data is None else data

    async def run():
        tables = HeldTables(tmp_path, Limits())
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
        assert [error.status for error in found] == [404] * 3
        assert not table._worker.is_alive
        with pytest.raises(Problem) as caught:
            await table._worker.call("inspection", NOTHING)
        assert caught.value.status == 404
        assert not table._worker.is_alive

    with_table(tmp_path, work)


def test_a_process_that_dies_leaves_a_table_that_is_not_scored(tmp_path):
    async def work(tables, table):
        asked = await waiting(tables, table)
        os.kill(table._worker._process.pid, signal.SIGKILL)
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert [error.status for error in found] == [500, 409, 409]
        assert not table.document()["is_scored"]
        with pytest.raises(Problem, match="not scored"):
            await table.ask("result")
        assert (await done(tables, table)).state == "done"

    with_table(tmp_path, work)


def test_a_job_that_is_cancelled_before_it_begins_is_cancelled(tmp_path):
    async def work(tables, table):
        tables.start(table, "inspection", NOTHING)
        await table.cancel()
        assert table.job.state == "cancelled"
        assert (await done(tables, table)).state == "done"

    with_table(tmp_path, work)


def test_a_job_whose_process_cannot_start_fails(tmp_path, capfd):
    async def work(tables, table):
        shutil.rmtree(table.folder)
        job = await done(tables, table)
        assert job.state == "failed"
        assert job.problem.status == 500

    with_table(tmp_path, work)
    assert "FileNotFoundError" in capfd.readouterr().err


def test_an_answer_that_is_too_long_is_a_problem(tmp_path, monkeypatch):
    monkeypatch.setattr(_process, "_LONGEST_LINE", 500)

    async def work(tables, table):
        job = await done(tables, table)
        assert job.state == "failed"
        assert "names too long" in job.problem.what

    with_table(tmp_path, work)


def test_what_fails_after_an_answer_is_no_second_answer(tmp_path, monkeypatch):
    monkeypatch.setattr(_process, "_COMMAND", FAILS_TO_PREPARE)

    async def work(tables, table):
        for _ in range(2):
            assert (await done(tables, table)).state == "done"

    with_table(tmp_path, work)
