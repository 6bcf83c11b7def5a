"""The server's check of what it takes agrees with JSON Schema."""

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metaod.web._problems import Problem
from metaod.web._routes import ENDPOINTS
from metaod.web._schemas import check, parse_json

PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
BODIES = [endpoint.body for endpoint in ENDPOINTS if endpoint.body is not None]
WORDS = sorted({name for body in BODIES for name in body["properties"]} | {"label", "na", "ignore"})
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.floats(allow_nan=False)
    | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.mark.parametrize("body", BODIES, ids=lambda body: "-".join(body["properties"]))
@PATIENT
@given(value=VALUES)
def test_the_check_agrees_with_json_schema(body, value):
    expected = jsonschema.Draft202012Validator(body).is_valid(value)
    try:
        check(value, body)
    except Problem as problem:
        assert problem.status == 422
        assert not expected, value
    else:
        assert expected, value


@PATIENT
@given(st.binary(max_size=40))
def test_any_bytes_are_json_or_a_problem(data):
    try:
        parse_json(data)
    except Problem as problem:
        assert problem.status == 400
