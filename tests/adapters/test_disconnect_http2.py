"""HTTP/2 with prior knowledge: a client that leaves, by resetting its stream or by closing."""

import json
import socket
from collections.abc import Callable

import h2.config
import h2.connection
import h2.events
import pytest

from adapters.raw import cancels, connect, post, read_until, submits, wait_for
from adapters.stack import PLAIN, SLOW, chat_body
from horde_adapters.background import FrontServer, SimulatedHordeServer
from horde_adapters.settings import Settings


class Http2Client:
    """One connection that sends one request."""

    def __init__(self, url: str) -> None:
        self.socket = connect(url)
        config = h2.config.H2Configuration(client_side=True, header_encoding="utf-8")
        self.connection = h2.connection.H2Connection(config)
        self.connection.initiate_connection()

    def post(self, body: bytes, *, end: bool = True) -> int:
        """Sends a chat request; returns the stream's number."""
        stream = self.connection.get_next_available_stream_id()
        self.connection.send_headers(
            stream,
            [
                (":method", "POST"),
                (":path", "/v1/chat/completions"),
                (":scheme", "http"),
                (":authority", "front"),
            ],
        )
        self.connection.send_data(stream, body, end_stream=end)
        self.flush()
        return stream

    def flush(self) -> None:
        """Sends what is due."""
        self.socket.sendall(self.connection.data_to_send())

    def read_until(self, marker: bytes) -> tuple[str, bytes]:
        """Reads the answer up to a marker: its status and what came of its body."""
        status, body = "", b""
        while marker not in body:
            data = self.socket.recv(65536)
            assert data, "closed"
            for event in self.connection.receive_data(data):
                if isinstance(event, h2.events.ResponseReceived):
                    status = next(str(v) for k, v in event.headers if str(k) == ":status")
                elif isinstance(event, h2.events.DataReceived):
                    body += event.data
                    self.connection.acknowledge_received_data(
                        event.flow_controlled_length, event.stream_id
                    )
            self.flush()
        return status, body


def reset(client: Http2Client, stream: int) -> None:
    """Leaves the stream alone; the connection lives on."""
    client.connection.reset_stream(stream, error_code=8)
    client.flush()


def close(client: Http2Client, stream: int) -> None:
    """Leaves with the whole connection."""
    client.socket.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("leave", [reset, close])
def test_leaving_mid_stream(
    leave: Callable[[Http2Client, int], None],
    simulated_horde: SimulatedHordeServer,
    horde_front: FrontServer,
) -> None:
    """The job is deleted once, at once."""
    client = Http2Client(horde_front.base_url)
    body = json.dumps(chat_body(model=PLAIN, max_tokens=1024, stream=True)).encode()
    stream = client.post(body)
    status, _ = client.read_until(b'"content"')
    leave(client, stream)
    wait_for(lambda: cancels(simulated_horde) == 1)
    assert status == "200"
    assert simulated_horde.verdict()["ok"]
    client.socket.close()


def test_stream_to_its_end(horde_front: FrontServer) -> None:
    """A stream over HTTP/2 is the one over HTTP/1.1."""
    client = Http2Client(horde_front.base_url)
    client.post(json.dumps(chat_body(max_tokens=16, stream=True)).encode())
    status, body = client.read_until(b"data: [DONE]\n\n")
    assert status == "200"
    assert b'"finish_reason":"' in body
    client.socket.close()


def test_body_after_the_answer_harms_nobody(simulated_horde: SimulatedHordeServer) -> None:
    """A client that goes on sending after it was answered doesn't take the server down."""
    settings = Settings(body_pause=0.1)
    with FrontServer(simulated_horde.url, settings=settings) as front:
        client = Http2Client(front.base_url)
        stream = client.post(b"{", end=False)
        status, _ = client.read_until(b"took too long")
        client.connection.send_data(stream, b"}", end_stream=True)
        client.flush()
        with connect(front.base_url) as other:
            for _ in range(3):
                other.sendall(b"GET /healthz HTTP/1.1\r\nHost: front\r\n\r\n")
                assert b"HTTP/1.1 200" in read_until(other, b'{"status":"ok"}')
        client.socket.close()
    assert status == "400"


def test_draining_is_told_over_http2(simulated_horde: SimulatedHordeServer) -> None:
    """`Connection: close`, which HTTP/1.1 clients are told then, is no header of HTTP/2."""
    with FrontServer(simulated_horde.url, settings=Settings(grace=2.0)) as front:
        waiting = connect(front.base_url)
        waiting.sendall(post(model=SLOW))
        wait_for(lambda: submits(simulated_horde) == 1)
        front.call(front._stop.set)
        client = Http2Client(front.base_url)
        client.post(json.dumps(chat_body()).encode())
        status, _ = client.read_until(b'"code":"draining"')
    assert status == "503"
    client.socket.close()
    waiting.close()
