"""The headers by which a Horde knows a service and its users' addresses."""

import json
from ipaddress import ip_network
from typing import Any

import attrs
import httpx
import trio

from adapters.stack import PLAIN, running
from horde_adapters.settings import Settings
from horde_simulator.document import shipped_scenario

SECRET = "Basic c2VydmljZTpzZWNyZXQ="
SERVICE = Settings(service_authorization=SECRET)
BEHIND = attrs.evolve(SERVICE, trusted_proxies=(ip_network("127.0.0.1/32"),))


class Seen:
    """A Horde that notes the headers of each call and answers nothing of use."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, str]]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            while (message := await receive())["type"] != "lifespan.shutdown":
                await send({"type": f"{message['type']}.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        self.calls.append((scope["path"], headers))
        body: Any = {"message": "no", "rc": "MaintenanceMode"}
        status = 400
        if scope["path"].endswith("/workers"):
            worker = {"id": "w", "name": "w", "type": "text", "online": True, "models": [PLAIN]}
            chat: Any = {"features": [], "guarantees": [], "limits": {}}
            limits = {"threads": 1, "max_length": 512, "max_context_length": 4096}
            status, body = 200, [{**worker, **limits, "chat": chat}]
        elif scope["path"].endswith("/status/models"):
            status, body = 200, [{"name": PLAIN, "count": 1, "workers": 1, "type": "text"}]
        raw = json.dumps(body).encode()
        length = (b"content-length", str(len(raw)).encode())
        await send({"type": "http.response.start", "status": status, "headers": [length]})
        await send({"type": "http.response.body", "body": raw, "more_body": False})

    @property
    def submit(self) -> dict[str, str]:
        (headers,) = [headers for path, headers in self.calls if path.endswith("/chat/async")]
        return headers


async def seen(settings: Settings, **headers: str) -> Seen:
    """What a Horde sees of one chat request with further headers."""
    horde = Seen()
    async with running(settings=settings, horde=horde) as stack:
        body = {"model": PLAIN, "messages": [{"role": "user", "content": "Hi"}]}
        answer = await stack.client.post("/v1/chat/completions", json=body, headers=headers)
        assert answer.status_code == 400
    return horde


async def test_the_users_address_goes_with_each_call(autojump_clock: Any) -> None:
    """The peer's own, or what a trusted proxy says."""
    horde = await seen(SERVICE)
    assert horde.submit["proxy-authorization"] == SECRET
    assert horde.submit["proxied-for"] == "127.0.0.1"
    horde = await seen(BEHIND, **{"X-Forwarded-For": "6.6.6.6, 198.51.100.1"})
    assert horde.submit["proxied-for"] == "198.51.100.1"


async def test_calls_that_serve_no_user_are_the_services_own(autojump_clock: Any) -> None:
    """Reading the lists of workers and models."""
    horde = await seen(SERVICE)
    for path, headers in horde.calls:
        if not path.endswith("/chat/async"):
            assert "proxied-for" not in headers
            assert "proxy-authorization" not in headers


async def test_without_an_authorization_nothing_is_told(autojump_clock: Any) -> None:
    """A client's own headers of those names are never passed on."""
    horde = await seen(
        Settings(), **{"Proxied-For": "6.6.6.6", "Proxy-Authorization": "x", "Via": "y"}
    )
    for _, headers in horde.calls:
        assert not {"proxied-for", "proxy-authorization", "via"} & set(headers)


async def test_users_do_not_share_one_addresss_limits(autojump_clock: Any) -> None:
    """90 submits a minute and address: two users behind one front have that each.

    With limits for the public, as the Horde gives to an address that it doesn't know.
    """
    scenario = attrs.evolve(
        shipped_scenario("default"), limits="public", service_authorization=SECRET
    )
    for settings, allowed in ((BEHIND, 100), (attrs.evolve(BEHIND, service_authorization=""), 90)):
        refused: list[int] = []
        async with running(scenario, settings=settings) as stack:
            async with trio.open_nursery() as nursery:
                for number in range(100):
                    user = f"198.51.100.{1 + number % 2}"
                    nursery.start_soon(ask, stack.client, user, refused)
                    await trio.sleep(0.02)  # 60 submits a second are the anonymous key's
                nursery.cancel_scope.cancel()
            assert stack.submits == 100
        assert refused == [429] * (100 - allowed)


async def ask(client: httpx.AsyncClient, user: str, refused: list[int]) -> None:
    """A chat request as a proxy passes it on for a user, whose refusal is noted."""
    body = {
        "model": PLAIN,
        "messages": [{"role": "user", "content": "Hi"}],
        "horde": {"availability_mode": "wait"},
    }
    headers = {"X-Forwarded-For": user}
    answer = await client.post("/v1/chat/completions", json=body, headers=headers)
    if answer.status_code != 200:
        refused.append(answer.status_code)
