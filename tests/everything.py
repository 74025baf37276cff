"""Whether this run is the whole one: CI's, which has every program and takes its time."""

import os

import pytest

TEST_EVERYTHING = os.environ.get("TEST_EVERYTHING") == "1"

takes_a_minute = pytest.mark.skipif(
    not TEST_EVERYTHING, reason="takes a minute: TEST_EVERYTHING=1 runs it, as CI does"
)
