"""Settings for all tests."""

import os

import made_learners  # noqa: F401 - registers two learners for tests
import pytest
from hypothesis import HealthCheck, settings

# every run draws the same examples; with HYPOTHESIS_PROFILE=search it draws others
# nothing depends on how fast the machine is
PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("repeatable", derandomize=True, **PATIENT)
settings.register_profile("search", **PATIENT)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


@pytest.fixture(scope="session")
def postgres():
    """A real PostgreSQL server, which runs until the end of the tests."""
    from made_postgres import Server  # noqa: PLC0415 - few tests need it

    pytest.importorskip("psycopg", reason="the extra postgres is not installed")
    server = Server()
    yield server
    server.stop()
