"""The Horde's client: one method a call, each a bounded wait for an answer or a `Lost`.

It goes beneath `httpx.AsyncClient`, to a transport: nothing here follows redirects, keeps cookies
(users would share them) or reads proxies from the environment, and a poll costs a third less.
"""

import ssl
from collections.abc import AsyncIterable, Callable, Mapping

import attrs
import httpx
import trio

from horde_adapters.transport import LifoTransport
from horde_core import native
from horde_core.native import HordeAnswer
from horde_core.workers import PoolView, read_pool

LARGEST_ANSWER = 16 * 1024 * 1024
"""Bytes: twenty replies of 16,384 tokens take some 2 MiB, a list of all workers less."""

SHORTEST_SECRET = 8
"""Characters: the AI Horde's keys have 22, and what is shorter may be a word of any message."""

_NOT_OPENED = (httpx.ConnectError, httpx.ConnectTimeout, httpx.UnsupportedProtocol)


@attrs.frozen
class Caller:
    """On whose behalf a call is made."""

    key: str
    agent: str
    address: str | None = None
    """Whose, for a Horde that takes the front's word for it."""


@attrs.define
class Lost(Exception):  # noqa: N818 - what became of the answer
    """A call got no whole answer; `opened` False proves that nothing reached the Horde."""

    opened: bool
    reason: str

    def __str__(self) -> str:
        return self.reason


@attrs.frozen
class Wait:
    """Longest waits of one call in seconds: for a connection, and for all of it.

    None for single reads and writes: the whole bounds them, and each would be a deadline to keep.
    """

    connect: float
    whole: float

    def extensions(self) -> Mapping[str, Mapping[str, float]]:
        """As transports take them."""
        return {"timeout": {"connect": self.connect}}


SUBMIT_WAIT = Wait(5.0, 75.0)
"""The Horde fetches a request's images within the submit, each up to some seconds."""
STATUS_WAIT = Wait(5.0, 20.0)
CANCEL_WAIT = Wait(5.0, 12.0)
POOL_WAIT = Wait(3.0, 10.0)


class InvalidUrl(ValueError):  # noqa: N818 - what the operator gave
    """Not the URL of a Horde."""


def horde_origin(url: str) -> httpx.URL:
    """The Horde's URL without `/api/v2` and slashes. Raises InvalidUrl."""
    try:
        parsed = httpx.URL(url.strip().rstrip("/").removesuffix(native.BASE).rstrip("/"))
    except httpx.InvalidURL as error:
        raise InvalidUrl(f"{url!r} is no URL: {error}") from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise InvalidUrl(f"{url!r} is no URL of a Horde, such as https://aihorde.net/api/v2")
    return parsed


Called = Callable[[str, str, float], None]
"""Told of each call: what it asked, how it ended (`2xx`, `429`, `unopened`, `lost` …), seconds."""


class HordeClient:
    """Calls one Horde. `agent` is the front's own Client-Agent, for calls that serve no user.

    With `service_authorization`, what the Horde knows this service by, each call for a user tells
    the user's address as well, so that the Horde's limits by address are theirs, each his own.
    """

    def __init__(
        self,
        url: str,
        *,
        agent: str,
        service_authorization: str = "",
        transport: httpx.AsyncBaseTransport | None = None,
        called: Called = lambda _call, _outcome, _seconds: None,
    ) -> None:
        self.url = horde_origin(url)
        self._authority = self.url.netloc
        self._service_authorization = service_authorization
        self._called = called
        self._own = Caller(native.ANONYMOUS_KEY, agent)
        if transport is None:
            context = ssl.create_default_context() if self.url.scheme == "https" else None
            transport = LifoTransport(self.url, ssl_context=context)
        self._transport = transport

    async def submit(self, body: bytes, caller: Caller) -> HordeAnswer:
        """Submits a job. Raises Lost."""
        return await self._call("submit", "POST", native.SUBMIT, caller, SUBMIT_WAIT, body)

    async def quote(self, body: bytes, caller: Caller) -> HordeAnswer:
        """Asks what a job would cost; the body says `dry_run`. Raises Lost."""
        return await self._call("quote", "POST", native.SUBMIT, caller, SUBMIT_WAIT, body)

    async def status(self, request_id: str, query: str, caller: Caller) -> HordeAnswer:
        """Reads a request's status; `query` asks for a tail. Raises Lost."""
        path = f"{native.STATUS}/{request_id}"
        target = f"{path}?{query}" if query else path
        return await self._call("status", "GET", target, caller, STATUS_WAIT)

    async def cancel(self, request_id: str, caller: Caller) -> HordeAnswer:
        """Deletes a request. Raises Lost."""
        path = f"{native.STATUS}/{request_id}"
        return await self._call("cancel", "DELETE", path, caller, CANCEL_WAIT)

    async def pool(self) -> PoolView:
        """Reads workers and models. Raises Lost for any answer that isn't the two lists."""
        try:
            with trio.fail_after(POOL_WAIT.whole):
                workers = await self._list("workers", f"{native.WORKERS}?type=text")
                models = await self._list("models", f"{native.MODELS}?type=text&model_state=all")
            return read_pool(workers, models)
        except native.UnreadableAnswer as error:
            raise Lost(True, str(error)) from error
        except trio.TooSlowError as error:
            raise Lost(True, f"no lists within {POOL_WAIT.whole:g} s") from error

    async def _list(self, call: str, target: str) -> bytes:
        try:
            answer = await self._call(call, "GET", target, self._own, POOL_WAIT)
        except Lost as lost:
            if not lost.opened:
                raise
            # A kept connection may be closed just as it is used; these reads may be repeated.
            answer = await self._call(call, "GET", target, self._own, POOL_WAIT)
        if answer.status != 200:
            raise Lost(True, f"{target} answered {answer.status}")
        return answer.body

    async def _call(
        self,
        call: str,
        method: str,
        target: str,
        caller: Caller,
        wait: Wait,
        body: bytes | None = None,
    ) -> HordeAnswer:
        began = trio.current_time()
        outcome = "lost"
        try:
            answer = await self._answer(method, target, caller, wait, body)
            outcome = "429" if answer.status == 429 else f"{answer.status // 100}xx"
        except Lost as lost:
            outcome = "lost" if lost.opened else "unopened"
            raise
        finally:
            self._called(call, outcome, trio.current_time() - began)
        return answer

    async def _answer(
        self, method: str, target: str, caller: Caller, wait: Wait, body: bytes | None
    ) -> HordeAnswer:
        # Parsing and joining URLs would be a quarter of a poll, and headers that httpx adds are all
        # of them made anew: the target goes as it is, and the headers are whole.
        request = httpx.Request(
            method,
            self.url,
            headers=self._headers(caller, body),
            stream=httpx.ByteStream(body or b""),
            extensions={**wait.extensions(), "target": target.encode("ascii")},
        )
        with trio.move_on_after(wait.whole):
            try:
                response = await self._transport.handle_async_request(request)
                try:
                    headers = {
                        name.decode("latin-1").lower(): value.decode("latin-1")
                        for name, value in response.headers.raw
                    }
                    content = await _read(response, is_coded="content-encoding" in headers)
                finally:
                    await response.aclose()
            except httpx.RequestError as error:
                raise Lost(
                    not isinstance(error, _NOT_OPENED), f"{type(error).__name__}: {error}"
                ) from error
            if response.status_code >= 400:
                content = _without_key(content, caller.key)
            return HordeAnswer(response.status_code, headers, content)
        raise Lost(True, f"no whole answer within {wait.whole:g} s")

    def _headers(self, caller: Caller, body: bytes | None) -> list[tuple[bytes, bytes]]:
        # Bytes, as all values are Latin-1 by then and httpx would encode text as it sees fit.
        headers = [
            (b"host", self._authority),
            (b"apikey", caller.key.encode("latin-1")),
            (b"client-agent", caller.agent.encode("latin-1")),
            (b"accept", b"application/json"),
        ]
        if self._service_authorization and caller.address is not None:
            headers += [
                (b"proxy-authorization", self._service_authorization.encode("latin-1")),
                (b"proxied-for", caller.address.encode("latin-1")),
            ]
        if body is not None:
            headers += [
                (b"content-type", b"application/json"),
                (b"content-length", b"%d" % len(body)),
            ]
        return headers

    async def aclose(self) -> None:
        """Closes idle connections."""
        await self._transport.aclose()


def _without_key(content: bytes, key: str) -> bytes:
    """A refusal may repeat what it refuses, and its message goes on to the client's own logs."""
    if len(key) < SHORTEST_SECRET or key == native.ANONYMOUS_KEY:
        return content
    return content.replace(key.encode("latin-1"), b"...")


async def _read(response: httpx.Response, *, is_coded: bool) -> bytes:
    stream = response.aiter_bytes() if is_coded else response.stream
    assert isinstance(stream, AsyncIterable)
    chunks: list[bytes] = []
    size = 0
    async for chunk in stream:
        size += len(chunk)
        if size > LARGEST_ANSWER:
            raise Lost(True, f"the answer is larger than {LARGEST_ANSWER} bytes")
        chunks.append(chunk)
    return b"".join(chunks)
