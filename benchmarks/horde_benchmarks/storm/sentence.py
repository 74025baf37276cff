"""The grammar of a stream, and what its chunks add up to, as OpenAI's clients add them up.

stream  = *keepalive ( chunks [usage] | *any error ) DONE
chunks  = per choice: role *(reasoning | content) [calls], then one finish for each choice
"""

from typing import Any

import attrs
import orjson

from horde_benchmarks.storm.event_stream import Comment, Event, read_events
from horde_core.chat import ChatRequest
from horde_core.timing import Timing

_CONSTANT = ("id", "object", "created", "model", "service_tier", "system_fingerprint")
_CHUNK_KEYS = frozenset((*_CONSTANT, "choices", "usage", "x_horde"))
_DELTAS = (
    {"role"},
    {"content"},
    {"reasoning_content"},
    {"tool_calls"},
)


class Ungrammatical(Exception):  # noqa: N818 - what was read
    """A stream that isn't a sentence of the grammar; the message says where it stops being one."""


@attrs.define(eq=False)
class Accumulated:
    """One choice, put together from its chunks."""

    pieces: dict[str, list[str]] = attrs.field(
        factory=lambda: {"content": [], "reasoning_content": []}
    )
    calls: list[dict[str, Any]] = attrs.field(factory=list)
    has_role: bool = False
    finish_reason: str | None = None

    def text(self, channel: str) -> str:
        """The whole text of `content` or `reasoning_content`."""
        return "".join(self.pieces[channel])


@attrs.define(eq=False)
class Heard:
    """What a client understands of a whole stream."""

    choices: dict[int, Accumulated] = attrs.field(factory=dict)
    error: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None
    x_horde: dict[str, Any] | None = None
    constant: dict[str, Any] | None = None
    is_over: bool = False
    comments: int = 0


def hear(data: bytes, request: ChatRequest, timing: Timing) -> Heard:
    """Reads a stream as far as it goes. Raises Malformed, Ungrammatical."""
    heard = Heard()
    for item in read_events(data):
        if heard.is_over:
            raise Ungrammatical("something after [DONE]")
        if isinstance(item, Comment):
            _hear_comment(heard, item, timing)
        elif item.data == "[DONE]":
            heard.is_over = True
        else:
            _hear_event(heard, item, request, timing)
    if heard.is_over and heard.error is None:
        _require_whole(heard, request)
    return heard


def _hear_comment(heard: Heard, comment: Comment, timing: Timing) -> None:
    if timing.keepalive_style != "comment" or not comment.text.startswith(" horde queue_position="):
        raise Ungrammatical(f"an unexpected comment: {comment.text[:60]!r}")
    heard.comments += 1


def _hear_event(heard: Heard, event: Event, request: ChatRequest, timing: Timing) -> None:
    try:
        chunk = orjson.loads(event.data)
    except orjson.JSONDecodeError as error:
        raise Ungrammatical(f"an event that is no JSON: {event.data[:80]!r}") from error
    if heard.error is not None:
        raise Ungrammatical("a chunk after the error")
    if "error" in chunk:
        heard.error = chunk["error"]
        return
    if not chunk.keys() <= _CHUNK_KEYS or chunk["object"] != "chat.completion.chunk":
        raise Ungrammatical(f"unexpected keys: {sorted(chunk)}")
    _require_usage_key(chunk, request)
    if not chunk["choices"]:
        _hear_usage(heard, chunk, request)
        return
    if heard.usage is not None:
        raise Ungrammatical("a choice after the usage")
    (choice,) = chunk["choices"]
    is_keepalive = choice["delta"] == {} and choice["finish_reason"] is None
    if is_keepalive:
        if timing.keepalive_style != "chunk":
            raise Ungrammatical("an empty delta")
        return
    _require_constant(heard, chunk)
    if heard.x_horde is not None:
        raise Ungrammatical("a chunk after the last finish")
    _hear_choice(heard, choice, chunk, request)


def _require_usage_key(chunk: dict[str, Any], request: ChatRequest) -> None:
    if chunk["choices"] and request.include_usage != ("usage" in chunk):
        raise Ungrammatical("a usage key where there should be none, or none where there should")
    if chunk["choices"] and chunk.get("usage") is not None:
        raise Ungrammatical("usage in a chunk with choices")


def _require_constant(heard: Heard, chunk: dict[str, Any]) -> None:
    constant = {key: chunk.get(key) for key in _CONSTANT}
    if heard.constant is None:
        heard.constant = constant
    elif constant != heard.constant:
        raise Ungrammatical(f"what is the same in every chunk changed: {constant}")


def _hear_usage(heard: Heard, chunk: dict[str, Any], request: ChatRequest) -> None:
    _require_constant(heard, chunk)
    if not request.include_usage or heard.usage is not None or heard.x_horde is None:
        raise Ungrammatical("a usage chunk out of place")
    heard.usage = chunk["usage"]


def _hear_choice(
    heard: Heard, choice: dict[str, Any], chunk: dict[str, Any], request: ChatRequest
) -> None:
    index, delta = choice["index"], choice["delta"]
    if not 0 <= index < request.n:
        raise Ungrammatical(f"a choice {index} of {request.n}")
    said = heard.choices.setdefault(index, Accumulated())
    if said.finish_reason is not None:
        raise Ungrammatical(f"choice {index} goes on after its finish")
    if choice["finish_reason"] is not None:
        if not said.has_role or delta:
            raise Ungrammatical("a finish chunk with a delta, or before the role")
        said.finish_reason = choice["finish_reason"]
        heard.x_horde = chunk.get("x_horde")
        return
    if any(other.finish_reason is not None for other in heard.choices.values()):
        raise Ungrammatical("text after the first finish")
    if "x_horde" in chunk or set(delta) not in _DELTAS:
        raise Ungrammatical(f"an unexpected delta: {sorted(delta)}")
    if said.has_role == ("role" in delta):
        raise Ungrammatical(f"the role of choice {index} comes once, and first")
    _add_up(said, delta)


def _add_up(said: Accumulated, delta: dict[str, Any]) -> None:
    """Adds a delta as OpenAI's clients do: texts are joined, calls merged by their index."""
    said.has_role = True
    for channel, pieces in said.pieces.items():
        if channel in delta:
            if not delta[channel] or said.calls:
                raise Ungrammatical("empty text, or text after the calls")
            pieces.append(delta[channel])
    for call in delta.get("tool_calls", ()):
        if call["index"] != len(said.calls):
            raise Ungrammatical("tool calls out of order")
        said.calls.append({key: value for key, value in call.items() if key != "index"})


def _require_whole(heard: Heard, request: ChatRequest) -> None:
    finished = [said for said in heard.choices.values() if said.finish_reason is not None]
    if len(finished) != request.n or heard.x_horde is None:
        raise Ungrammatical(f"[DONE] after {len(finished)} of {request.n} finish chunks")
    if request.include_usage != (heard.usage is not None):
        raise Ungrammatical("the usage chunk is missing")
