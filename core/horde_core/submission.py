"""The submit of one request: at most one job, whatever fails on the way (contract section 9).

The body has an operation key, by which the Horde knows a repeated submit: a lost answer may be
asked for once more without a second charge, also when only to learn what to delete.
"""

import attrs

from horde_core import endings
from horde_core.chat import ChatRequest, ResponseFormat, Tool
from horde_core.errors import Refusal
from horde_core.events import Submit
from horde_core.horde_errors import refused_submit
from horde_core.native import HordeAnswer, Receipt, UnreadableAnswer, read_receipt


class Submission:
    """What has been sent, and what an answer, or none, means: a receipt, one more try, the end."""

    def __init__(self, request: ChatRequest, body: bytes) -> None:
        self._request = request
        self._body = body
        self._sent = 0

    def send(self) -> Submit:
        """The submit as an effect."""
        self._sent += 1
        return Submit(self._body)

    def answered(self, answer: HordeAnswer) -> Receipt | Submit | Refusal:
        """Reads the Horde's answer."""
        if answer.status in (200, 202):
            try:
                return read_receipt(answer.body)
            except UnreadableAnswer:
                return self._again() or endings.submit_unknown()
        refusal = refused_submit(self._request, answer, held=self._sent > 1)
        if refusal.held and answer.retry_after() is None:
            return self._again() or refusal
        return refusal

    def lost(self, *, opened: bool) -> Submit | Refusal:
        """No whole answer came; a connection that never opened has held nothing."""
        if not opened and self._sent == 1:
            return endings.horde_unreachable()
        return self._again() or endings.submit_unknown()

    def _again(self) -> Submit | None:
        return self.send() if self._sent == 1 else None


def without_contents(request: ChatRequest) -> ChatRequest:
    """What of a request still counts once it is submitted: no images, no text, no schemas."""
    chosen = request.response_format
    return attrs.evolve(
        request,
        messages=(),
        tools=tuple([Tool(tool.name) for tool in request.tools]),
        response_format=None if chosen is None else ResponseFormat(chosen.kind),
    )
