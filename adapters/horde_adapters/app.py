"""The front as an ASGI app: its routes, and everything that is the same for every answer."""

import math
import time
import uuid
from collections.abc import Callable
from typing import Any

import httpx
import trio

from horde_adapters import log
from horde_adapters.account import Account
from horde_adapters.admission import Admission
from horde_adapters.asgi import (
    ClientLeft,
    Headers,
    Incoming,
    Receive,
    Scope,
    Send,
    all_headers,
    declared_length,
    only_header,
    send_answer,
    send_early_answer,
)
from horde_adapters.client_address import client_address
from horde_adapters.cors import preflight_headers, with_cors
from horde_adapters.drive import Drive
from horde_adapters.horde import Caller, HordeClient, Lost
from horde_adapters.metrics import CONTENT_TYPE, Metrics
from horde_adapters.pool import SPACING, Pool
from horde_adapters.routes import Route, find_route
from horde_adapters.settings import Settings
from horde_adapters.ticker import Ticker
from horde_adapters.version import VERSION
from horde_adapters.web import page_files, send_page_file
from horde_core.body import read_body
from horde_core.cards import model_card, model_list
from horde_core.errors import Refusal, refuse, to_json
from horde_core.exchange import Exchange
from horde_core.identity import client_agent, read_key
from horde_core.job import submit_body
from horde_core.request import read_request

JSON: Headers = ((b"content-type", b"application/json"),)
DOCS = "https://github.com/Haidra-Org/AI-Horde"


class Front:
    """One front. `transport` carries its calls to the Horde, `wall_clock` dates its replies."""

    def __init__(
        self,
        settings: Settings,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        wall_clock: Callable[[], float] = time.time,
        metrics: Metrics | None = None,
    ) -> None:
        self.settings = settings
        self.admission = Admission(most=math.ceil(settings.most_requests / settings.workers))
        self.metrics = metrics or Metrics()
        self.horde = HordeClient(
            settings.horde_url,
            agent=client_agent((), VERSION),
            service_authorization=settings.service_authorization,
            transport=transport,
            called=self.metrics.called,
        )
        self.pool: Pool
        self._page = page_files() if settings.playground else {}
        self._ticker = Ticker()
        self._wall_clock = wall_clock
        self._created = int(wall_clock())
        self._drop_parameters = frozenset(settings.drop_parameters)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one ASGI scope; lifespan has to come first, as its task owns all of the rest."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1003})

    async def drain(self) -> None:
        """Ends all open chat requests within the grace period and a moment."""
        log.line("draining", open=self.admission.open_requests, grace=self.settings.grace)
        await self.admission.drain(self.settings.grace)

    async def _live(self, receive: Receive, send: Send) -> None:
        async with trio.open_nursery() as nursery:
            self.pool = Pool(
                self.horde,
                nursery,
                longest_age=self.settings.pool_age,
                spacing=SPACING * self.settings.workers,
            )
            nursery.start_soon(self._ticker.run)
            nursery.start_soon(self.admission.keep_time)
            log.line("started", version=VERSION, horde=str(self.horde.url))
            while (message := await receive())["type"] != "lifespan.shutdown":
                await send({"type": f"{message['type']}.complete"})
            nursery.cancel_scope.cancel()
        await self.horde.aclose()
        log.line("stopped")
        await send({"type": "lifespan.shutdown.complete"})

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        settings = self.settings
        account = Account(self.metrics)
        answering = _Answering(
            send,
            account.id,
            closes=lambda: self.admission.is_draining and not _is_http2(scope),
            connection=_own_connection(scope),
        )
        incoming = Incoming(
            receive,
            pause=settings.body_pause,
            whole=settings.body_time,
            length=declared_length(scope),
        )
        try:
            try:
                await self._answer(scope, incoming, receive, answering, account)
            except Refusal as refusal:
                account.refused(refusal)
                headers = refusal.answer_headers()
                await send_early_answer(
                    answering, refusal.status, headers, refusal.body(), incoming
                )
        except ClientLeft:
            account.left()
        except Exception as error:
            log.fault("answer failed", error, id=account.id)
            fault = refuse("internal_error", "The front failed at this request.")
            account.refused(fault)
            if not answering.has_begun:
                await send_answer(answering, 500, fault.answer_headers(), fault.body())
        finally:
            account.end()

    async def _answer(
        self,
        scope: Scope,
        incoming: Incoming,
        receive: Receive,
        send: "_Answering",
        account: Account,
    ) -> None:
        if scope["method"] == "OPTIONS":
            await incoming.discard()
            await send_answer(send, 200, preflight_headers(scope), b"")
            return
        file = self._page.get(scope["path"])
        if file is not None:
            await incoming.discard()
            await send_page_file(scope, send, file)
            return
        route, model = find_route(
            scope["method"], scope["path"], metrics=self.settings.serve_metrics
        )
        account.route = route
        if route is Route.CHAT:
            await self._chat(scope, incoming, receive, send, account)
            return
        await incoming.discard()
        if route is Route.METRICS:
            headers = ((b"content-type", CONTENT_TYPE),)
            await send_answer(send, 200, headers, self.metrics.exposition())
            return
        if route in (Route.MODELS, Route.MODEL):
            read_key(all_headers(scope, b"authorization"))
            status, value = 200, await self._models(model)
        elif route is Route.READY:
            status, value = await self._readiness()
        elif route is Route.HEALTH:
            status, value = 200, {"status": "ok"}
        else:
            status, value = 200, {"name": "horde-oai-front", "version": VERSION, "docs": DOCS}
        await send_answer(send, status, JSON, to_json(value))

    async def _models(self, model: str | None) -> dict[str, Any]:
        try:
            view = await self.pool.view()
            if model is not None and ":" not in model and model not in view.online:
                view = await self.pool.view(fresh=True)  # a cached "no" is never final
        except Lost as lost:
            raise refuse(
                "horde_unreachable", "The AI Horde can't be reached at the moment."
            ) from lost
        if model is None:
            return model_list(view, created=self._created)
        return model_card(view, model, created=self._created)

    async def _readiness(self) -> tuple[int, dict[str, Any]]:
        if self.admission.is_draining:
            return 503, {"status": "not ready", "reason": "draining"}
        try:
            await self.pool.view()
        except Lost as lost:
            return 503, {"status": "not ready", "reason": f"the Horde: {lost.reason}"}
        age = self.pool.age
        if age > self.settings.ready_age:
            return 503, {"status": "not ready", "reason": f"no Horde read for {age:.0f} s"}
        return 200, {"status": "ready", "horde_read_age": round(age, 1)}

    async def _chat(
        self,
        scope: Scope,
        incoming: Incoming,
        receive: Receive,
        send: "_Answering",
        account: Account,
    ) -> None:
        key = read_key(all_headers(scope, b"authorization"))
        with self.admission.request():
            drive = Drive(
                # Made elsewhere, so that a body of megabytes isn't held as long as its reply takes.
                await self._read_exchange(scope, incoming, account),
                self._caller(scope, key),
                horde=self.horde,
                pool=self.pool,
                ticker=self._ticker,
                open_streams=self.admission.open_streams,
                metrics=self.metrics,
            )
            try:
                with self.admission.drive(drive):
                    connection = _own_connection(scope)
                    hang_up = connection.break_off if connection is not None else None
                    await drive.run(receive, send, hang_up)
            finally:
                account.chatted(drive)

    async def _read_exchange(self, scope: Scope, incoming: Incoming, account: Account) -> Exchange:
        cap, length = self.settings.body_cap, self.settings.context_length
        raw = await incoming.read(cap=cap)
        document = read_body(raw, only_header(scope, b"content-encoding"), cap=cap)
        request = read_request(document, drop_parameters=self._drop_parameters)
        self.metrics.dropped(request.dropped)
        quote = b""
        if request.horde.max_kudos is not None:
            quote = submit_body(request, operation_key=None, context_length=length, dry_run=True)
        return Exchange(
            request,
            submit=submit_body(request, operation_key=uuid.uuid4().hex, context_length=length),
            quote=quote,
            created=int(self._wall_clock()),
            trace_id=account.id,
            timing=self.settings.timing,
        )

    def _caller(self, scope: Scope, key: str) -> Caller:
        settings = self.settings
        address = None
        if settings.service_authorization:  # nobody else is told it
            address = client_address(scope, settings.trusted_proxies, settings.address_header)
        return Caller(key, client_agent(scope["headers"], VERSION), address)


def _is_http2(scope: Scope) -> bool:
    http_version: str = scope["http_version"]
    return http_version.startswith("2")


def _own_connection(scope: Scope) -> Any:
    """The request's connection in our server; None for HTTP/2's, which carry others' as well."""
    return None if _is_http2(scope) else scope.get("state", {}).get("connection")


class _Answering:
    """The `send` of one request: adds to its answer what every answer has.

    The head goes out with the first of the body, and the last of the body with the end, each as
    one packet.
    """

    def __init__(
        self, send: Send, trace_id: str, *, closes: Callable[[], bool], connection: Any
    ) -> None:
        self.has_begun = False
        self._connection = connection
        self._send = send
        self._trace_id = trace_id
        self._closes = closes

    async def __call__(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.has_begun = True
            headers = with_cors(tuple(message["headers"]))
            if all(name != b"x-request-id" for name, _ in headers):
                headers += ((b"x-request-id", self._trace_id.encode()),)
            if self._closes():
                headers += ((b"connection", b"close"),)
            message = {**message, "headers": headers}
        if self._connection is None:
            await self._send(message)
            return
        is_body = message["type"] == "http.response.body"
        if not (is_body and message["more_body"]):
            self._connection.hold()
        await self._send(message)
        if is_body:
            await self._connection.release()
