"""One server for each module of clients; at its end the Horde says what it thinks of the front."""

from collections.abc import Iterator

import pytest

from clients.dev_server import DevServer, running


@pytest.fixture(scope="module")
def dev() -> Iterator[DevServer]:
    """A server whose verdict is good and whose Horde is idle when the module is through."""
    with running() as server:
        server.hurry()
        yield server
        assert server.look("verdict") == {"ok": True, "findings": []}
        assert server.unfinished() == []
