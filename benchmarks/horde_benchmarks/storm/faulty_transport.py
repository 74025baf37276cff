"""The front's way to the Horde over the real stack, with a plan's link faults on it.

It wraps the transport that the front uses, so that a call really goes through httpx and a socket,
and notes each call as the pure storm does.
"""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Final

import httpx
import trio

from horde_benchmarks.storm.plan import HordeCallName, LinkFault
from horde_benchmarks.storm.record import Made, Record, json_of
from horde_core.native import STATUS, SUBMIT, HordeAnswer

NUMBER: Final = re.compile(rb"Question (\d+):")
"""By which a submit tells whose it is."""


class FaultyTransport(httpx.AsyncBaseTransport):
    """Carries calls by another transport, or loses them on the way."""

    def __init__(self, inner: httpx.AsyncBaseTransport, records: Mapping[int, Record]) -> None:
        self._inner = inner
        self._records = records
        self._owners: dict[str, Record] = {}
        self._made: Counter[tuple[int, HordeCallName]] = Counter()
        self.struck = 0
        self.calls = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answers one call. Raises httpx's transport errors."""
        self.calls += 1
        await request.aread()
        name, request_id, record = self._call_of(request)
        if record is None:
            return await self._inner.handle_async_request(request)
        made = Made(name, request_id, trio.current_time())
        record.calls.append(made)
        fault = self._next_fault(record, name)
        try:
            answer = await self._carried(request, fault, made)
        finally:
            made.over_at = trio.current_time()
        made.answer = HordeAnswer(answer.status_code, dict(answer.headers), answer.content)
        self._note_id(made, record)
        return answer

    async def aclose(self) -> None:
        """Closes what carries."""
        await self._inner.aclose()

    async def _carried(
        self, request: httpx.Request, fault: LinkFault | None, made: Made
    ) -> httpx.Response:
        kind, seconds = (None, 0.0) if fault is None else (fault.kind, fault.seconds)
        if kind in ("refused", "lost going", "late going"):
            await trio.sleep(min(seconds, 5.0) if kind == "refused" else seconds)
        if kind == "refused":
            raise httpx.ConnectError("the storm opens no connection", request=request)
        if kind == "lost going":
            raise httpx.ReadError("the storm lost the call", request=request)
        made.arrived = True
        response = await self._inner.handle_async_request(request)
        try:
            body = await response.aread()
        finally:
            await response.aclose()
        if kind in ("lost coming", "late coming"):
            await trio.sleep(seconds)
        if kind == "lost coming":
            raise httpx.ReadError("the storm lost the answer", request=request)
        return httpx.Response(response.status_code, headers=response.headers, content=body)

    def _next_fault(self, record: Record, name: HordeCallName) -> LinkFault | None:
        place = record.client.number, name
        nth = self._made[place]
        self._made[place] += 1
        for fault in record.client.faults:
            if (fault.call, fault.nth) == (name, nth):
                self.struck += 1
                return fault
        return None

    def _call_of(self, request: httpx.Request) -> tuple[HordeCallName, str | None, Record | None]:
        target = request.extensions["target"].decode("ascii").partition("?")[0]
        if target == SUBMIT:
            asked = NUMBER.findall(request.content)
            name: HordeCallName = "quote" if b'"dry_run":true' in request.content else "submit"
            return name, None, self._records.get(int(asked[-1])) if asked else None
        if target.startswith(STATUS + "/"):
            request_id = target.rpartition("/")[2]
            followed: HordeCallName = "cancel" if request.method == "DELETE" else "status"
            return followed, request_id, self._owners.get(request_id)
        return "pool", None, None

    def _note_id(self, made: Made, record: Record) -> None:
        if made.name != "submit" or made.answer is None or made.answer.status != 202:
            return
        document = json_of(made.answer.body)
        if isinstance(document, dict) and isinstance(document.get("id"), str):
            self._owners[document["id"]] = record
            record.known_at = record.known_at or made.over_at
