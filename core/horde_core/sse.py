"""Server-sent events: chunks as bytes, each made of a per-stream prefix, the text and a suffix.

`data:` lines only, one JSON object each, unescaped UTF-8 (contract section 10).  Encoding a text
chunk this way costs a tenth of dumping the whole object, and gives the same bytes.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import orjson

from horde_core.errors import to_json

DONE = b"data: [DONE]\n\n"

STREAM_HEADERS = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
    (b"x-should-retry", b"false"),
)

# Line separators that JSON may hold raw, but at which some clients' line readers break an event.
_LINE_BREAKS = (
    (b"\xc2\x85", b"\\u0085"),
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
)


def event(value: Mapping[str, Any]) -> bytes:
    """One event with a JSON object."""
    return b"data: " + on_one_line(to_json(value)) + b"\n\n"


def comment(queue_position: int, wait_time: int) -> bytes:
    """The keepalive comment of a waiting request; `wait_time` in seconds."""
    return b": horde queue_position=%d wait_time=%d\n\n" % (queue_position, wait_time)


def on_one_line(encoded: bytes) -> bytes:
    """JSON without the three separators that aren't ASCII yet end a line for some readers."""
    if encoded.isascii():
        return encoded
    for raw, escaped in _LINE_BREAKS:
        encoded = encoded.replace(raw, escaped)
    return encoded


_CLOSE = b'},"logprobs":null,"finish_reason":null}]'
# An event's end, and that of one with an open delta: the same two for all streams.
_WITHOUT_USAGE = b"}\n\n", _CLOSE + b"}\n\n"
_WITH_USAGE = b',"usage":null}\n\n', _CLOSE + b',"usage":null}\n\n'


def _delta(index: int) -> bytes:
    return b',"choices":[{"index":%d,"delta":' % index


@lru_cache(64)
def _text_delta(index: int, channel: str) -> bytes:
    return _delta(index) + b'{"%s":' % channel.encode()


class Chunks:
    """Encodes one stream's `chat.completion.chunk` events."""

    __slots__ = ("_close", "_end", "_head")

    def __init__(
        self, *, completion_id: str, created: int, model: str, fingerprint: str | None, usage: bool
    ) -> None:
        head = to_json(
            {
                "id": completion_id,
                "object": "chat.completion.chunk",
                "created": created,
                "model": model,
                "service_tier": "default",
                "system_fingerprint": fingerprint,
            }
        )
        self._head = b"data: " + on_one_line(head[:-1])
        self._end, self._close = _WITH_USAGE if usage else _WITHOUT_USAGE

    def role(self, index: int) -> bytes:
        """A choice's first chunk: only the role."""
        return self._head + _delta(index) + b'{"role":"assistant"' + self._close

    def empty(self, index: int) -> bytes:
        """A chunk with an empty delta, a keepalive for clients that reject comments."""
        return self._head + _delta(index) + b"{" + self._close

    def text(self, index: int, channel: str, text: str) -> bytes:
        """A chunk of `content` or `reasoning_content`."""
        try:
            encoded = orjson.dumps(text)
        except orjson.JSONEncodeError:
            encoded = to_json(text)
        if not encoded.isascii():
            encoded = on_one_line(encoded)
        return b"".join((self._head, _text_delta(index, channel), encoded, self._close))

    def calls(self, index: int, calls: Sequence[Mapping[str, Any]]) -> bytes:
        """All of a choice's tool calls, whole, each with its 0-based index."""
        numbered = [{"index": at, **call} for at, call in enumerate(calls)]
        encoded = on_one_line(to_json({"tool_calls": numbered}))
        return self._head + _delta(index) + encoded + self._close[1:]

    def finish(
        self, index: int, reason: str, native: str | None, x_horde: Mapping[str, Any] | None
    ) -> bytes:
        """A choice's last chunk; `x_horde` goes on the stream's last one."""
        choice = {
            "index": index,
            "delta": {},
            "logprobs": None,
            "finish_reason": reason,
            "native_finish_reason": native,
        }
        rest: dict[str, Any] = {"choices": [choice]}
        if x_horde is not None:
            rest["x_horde"] = x_horde
        return self._head + b"," + on_one_line(to_json(rest)[1:-1]) + self._end

    def usage(self, usage: Mapping[str, Any]) -> bytes:
        """The chunk after the finish chunks: no choices, the tokens."""
        rest = to_json({"choices": [], "usage": usage})
        return self._head + b"," + rest[1:] + b"\n\n"
