"""The client's side of a request: one JSON body, or a stream of events, or one error.

Whatever happens, what goes out is a sentence of the stream grammar (contract section 10): head,
keepalives, per choice a role chunk and its text, finish chunks, a usage chunk when asked for,
`[DONE]`; or, at any place, one error event and `[DONE]`.
"""

from collections.abc import Sequence
from enum import Enum

from horde_core import sse
from horde_core.chat import ChatRequest
from horde_core.errors import Refusal
from horde_core.events import Effect, SendBytes, SendHead
from horde_core.relay import Piece, Served
from horde_core.reply import Reply, completion_id, fingerprint
from horde_core.standing import Standing
from horde_core.timing import KeepaliveStyle


class Phase(Enum):
    """How much of the response has gone out."""

    UNOPENED = 0
    OPEN = 1
    COMPLETE = 2


class Response:
    """Builds one response; each call returns the effects that send it."""

    __slots__ = (
        "_chunks",
        "_created",
        "_is_stream",
        "_model_asked",
        "_roles_sent",
        "_shows_usage",
        "_style",
        "phase",
        "refusal",
        "trace_id",
    )

    def __init__(
        self, request: ChatRequest, *, created: int, trace_id: str, style: KeepaliveStyle
    ) -> None:
        # Not the request, whose messages may be megabytes.
        self._model_asked = request.models[0]
        self._is_stream = request.stream
        self._shows_usage = request.include_usage
        self._created = created
        self._style = style
        self._chunks: sse.Chunks | None = None
        self._roles_sent: tuple[int, ...] = ()
        self.trace_id = trace_id
        """What `x-request-id` says: the Horde's request id once there is one."""
        self.phase = Phase.UNOPENED
        self.refusal: Refusal | None = None
        """The error that the client was told, for the log."""

    def refuse(self, refusal: Refusal) -> list[Effect]:
        """The error as an answer, or as a stream's last event; nothing once all is said."""
        if self.phase is Phase.COMPLETE:
            return []
        self.refusal = refusal
        if self.phase is Phase.OPEN:
            self.phase = Phase.COMPLETE
            return [SendBytes(sse.event(refusal.envelope()) + sse.DONE, last=True)]
        return self._whole(refusal.status, refusal.answer_headers(), refusal.body())

    def abandon(self) -> None:
        """The client is gone: nothing more is sent."""
        self.phase = Phase.COMPLETE

    def open(self, at: Standing) -> list[Effect]:
        """A stream's headers with its first keepalive."""
        return [self._open(), *self.keepalive(at)]

    def keepalive(self, at: Standing) -> list[Effect]:
        """Something to see while nothing else flows, in the deployment's style."""
        if self._style == "comment":
            return [SendBytes(sse.comment(at.queue_position, at.wait_time))]
        if self._style == "chunk":
            return [SendBytes(self._waiting_chunks().empty(0))]
        return []

    def text(self, pieces: Sequence[Piece], served: Served) -> SendBytes:
        """Pieces of a live reply, all that are due in one send."""
        # Once the worker is known, this is the way of every chunk: nothing here is found out anew.
        chunks = self._chunks or self._served_chunks(
            served.model, fingerprint(served.worker_id, served.model)
        )
        return SendBytes(self._encode(chunks, pieces))

    def finish(self, reply: Reply, rest: Sequence[Piece]) -> list[Effect]:
        """The whole reply; or the rest of a stream, to its end, in one send."""
        if not self._is_stream:
            headers = ((b"content-type", b"application/json"),)
            return self._whole(200, headers, reply.body())
        chunks = self._served_chunks(reply.model, reply.fingerprint)
        data = [self._encode(chunks, rest)]
        for choice in reply.choices:
            if choice.index not in self._roles_sent:
                data.append(self._role(chunks, choice.index))
            if choice.tool_calls:
                data.append(chunks.calls(choice.index, choice.tool_calls))
        last = reply.choices[-1].index
        data += [
            chunks.finish(
                choice.index,
                choice.finish_reason,
                choice.native_finish_reason,
                reply.x_horde if choice.index == last else None,
            )
            for choice in reply.choices
        ]
        if self._shows_usage:
            data.append(chunks.usage(reply.usage))
        # A reply that was there at the first status read finds the stream unopened.
        opening = [self._open()] if self.phase is Phase.UNOPENED else []
        self.phase = Phase.COMPLETE
        return [*opening, SendBytes(b"".join((*data, sse.DONE)), last=True)]

    def _open(self) -> SendHead:
        self.phase = Phase.OPEN
        return SendHead(200, (*sse.STREAM_HEADERS, self._id_header()))

    def _whole(
        self, status: int, headers: tuple[tuple[bytes, bytes], ...], body: bytes
    ) -> list[Effect]:
        self.phase = Phase.COMPLETE
        length = (b"content-length", str(len(body)).encode())
        return [
            SendHead(status, (*headers, length, self._id_header())),
            SendBytes(body, last=True),
        ]

    def _encode(self, chunks: sse.Chunks, pieces: Sequence[Piece]) -> bytes:
        data: list[bytes] = []
        for index, channel, text in pieces:
            if index not in self._roles_sent:
                data.append(self._role(chunks, index))
            data.append(chunks.text(index, channel, text))
        return b"".join(data)

    def _role(self, chunks: sse.Chunks, index: int) -> bytes:
        self._roles_sent += (index,)
        return chunks.role(index)

    def _served_chunks(self, model: str, worker_print: str | None) -> sse.Chunks:
        """The encoder once the worker is known: id, model and fingerprint stay the same."""
        if self._chunks is None:
            self._chunks = self._new_chunks(model, worker_print)
        return self._chunks

    def _waiting_chunks(self) -> sse.Chunks:
        """The encoder of keepalive chunks: before the worker is known, the model asked for."""
        return self._chunks or self._new_chunks(self._model_asked, None)

    def _new_chunks(self, model: str, worker_print: str | None) -> sse.Chunks:
        return sse.Chunks(
            completion_id=completion_id(self.trace_id),
            created=self._created,
            model=model,
            fingerprint=worker_print,
            usage=self._shows_usage,
        )

    def _id_header(self) -> tuple[bytes, bytes]:
        return b"x-request-id", self.trace_id.encode()
