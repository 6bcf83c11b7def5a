"""The process of a table: it is started when needed, and its end is one clear problem."""

import asyncio
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from made_server import made_csv

from metaod.web import Limits
from metaod.web._problems import Problem
from metaod.web._process import WorkerProcess

NOTHING = {"reading": {}, "roles": {}}


def run(work):
    """Run in a thread of its own: the browser of other tests has a loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


def test_a_process_that_crashes_is_one_problem_and_is_started_again(tmp_path):
    (tmp_path / "uploaded-table.csv").write_bytes(made_csv())

    async def work():
        worker = WorkerProcess(tmp_path, "uploaded-table.csv", "own.csv", Limits())
        stages = []
        found = await worker.call("inspection", NOTHING, lambda made: stages.append(made["stage"]))
        assert stages == ["reading the table", "preparing the columns"]
        process = worker._process
        process.kill()
        await process.wait()
        assert not worker.is_alive
        with pytest.raises(Problem, match="a defect") as caught:
            await worker.call("nothing", {})
        assert caught.value.status == 500
        assert worker.is_alive
        worker._process.kill()  # in the middle of a call
        with pytest.raises(Problem, match="ended unexpectedly") as caught:
            await worker.call("inspection", NOTHING)
        assert caught.value.status == 500
        again = await worker.call("inspection", NOTHING)
        await worker.end()
        await worker.end()
        assert not worker.is_alive
        return found, again

    found, again = run(work())
    assert found == again
    assert found["name"] == "own.csv"


def test_a_call_that_is_cancelled_ends_the_process(tmp_path):
    (tmp_path / "uploaded-table.csv").write_bytes(made_csv())

    async def work():
        worker = WorkerProcess(tmp_path, "uploaded-table.csv", "own.csv", Limits())
        call = asyncio.create_task(worker.call("detection", NOTHING))
        while not worker.is_alive:
            await asyncio.sleep(0.01)
        process = worker._process
        call.cancel()
        await asyncio.wait([call])
        assert process.returncode is not None

    run(work())


@pytest.mark.skipif(sys.platform != "linux", reason="the limit needs Linux")
def test_a_process_cannot_take_more_memory_than_allowed():
    code = (
        "from metaod.web._worker import _limit_memory; _limit_memory(2**28)\n"
        "try:\n    bytearray(2**29)\nexcept MemoryError:\n    print('refused')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "refused\n"
