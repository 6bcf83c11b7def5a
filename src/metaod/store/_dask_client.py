"""The connection to a Dask cluster: one that is named, or one that is started on this machine."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from metaod.errors import UserError

_SECONDS_TO_CONNECT = 10.0
_REMEDY = "check --scheduler, or start one with: dask scheduler"


def check_scheduler(address: str) -> None:
    """Refuse an address at which no scheduler can be reached.

    The connection is tried without a client: one that fails while it is made cannot be closed.
    """
    from distributed import Security  # noqa: PLC0415 - an extra
    from distributed.comm.addressing import parse_host_port  # noqa: PLC0415 - as above
    from distributed.comm.core import connect  # noqa: PLC0415 - as above
    from distributed.utils import LoopRunner  # noqa: PLC0415 - as above

    remedy = "name it as tcp://HOST:PORT or tls://HOST:PORT, in --scheduler or Dask's settings"
    scheme, _, place = address.rpartition("://")
    try:
        host, _ = parse_host_port(place)
    except ValueError as error:
        what = f"is not the address of a Dask scheduler ({error})"
        raise UserError(what, where=repr(address), remedy=remedy) from error
    if not host or scheme == "inproc":
        what = "is not the address of a Dask scheduler"
        raise UserError(what, where=repr(address), remedy=remedy)

    async def try_it() -> None:
        settings = Security().get_connection_args("client")
        comm = await connect(address, timeout=_SECONDS_TO_CONNECT, **settings)
        await comm.close()

    runner = LoopRunner()
    runner.start()
    try:
        runner.run_sync(try_it)
    except (OSError, ValueError, TypeError, RuntimeError, ImportError) as error:
        raise _no_answer(address, error) from error
    finally:
        runner.stop()


@contextmanager
def connected(scheduler: str | None, n_jobs: int) -> Iterator[Any]:
    """Give a client of a scheduler, or of a new cluster of so many processes."""
    from distributed import Client, LocalCluster  # noqa: PLC0415 - an extra
    from distributed.utils import silence_logging_cmgr  # noqa: PLC0415 - as above

    with silence_logging_cmgr(logging.CRITICAL):
        if scheduler is None:
            with (
                LocalCluster(
                    n_workers=None if n_jobs == -1 else n_jobs,
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
                ) as cluster,
                Client(cluster, set_as_default=False) as client,
            ):
                yield client
            return
        try:
            client = Client(scheduler, timeout=_SECONDS_TO_CONNECT, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise _no_answer(scheduler, error) from error
        try:
            yield client
        finally:
            with suppress(Exception):  # the scheduler may be gone
                client.close(timeout=2)


def _no_answer(address: str, error: Exception) -> UserError:
    what = f"no Dask scheduler answers ({first_line(error)})"
    return UserError(what, where=address, remedy=_REMEDY)


def first_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
