"""What requests meet end to end: the order of checks, encodings, the `horde` object."""

import gzip
import json
import zlib
from typing import Any

import attrs
import httpx
import pytest
import trio

from adapters.stack import OFFLINE, PLAIN, QWEN, chat_body, events, running
from contract.test_verifications import ASKED, CELLAR, GARAGE, NEMO, WEATHER
from horde_adapters.settings import Settings
from horde_simulator.document import shipped_scenario
from horde_simulator.scenario import ModelSpec

CHAT = "/v1/chat/completions"
RICH = {"Authorization": "Bearer rich-key"}
LONG = "word " * 1500


async def post(stack: Any, body: bytes, **headers: str) -> httpx.Response:
    """Any bytes as a chat request."""
    answer: httpx.Response = await stack.client.post(CHAT, content=body, headers=headers)
    return answer


async def test_the_order_of_checks_from_the_header_to_the_hordes_own(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """One request with everything wrong: mended fault by fault, each is told in its turn."""
    big = b" " * 9000
    wrong: dict[str, Any] = {
        "horde": {"max_kudos": 1, "rep_pen": 1, "only": []},
        "stop": ["a"] * 5,
        "zeta": 1,
        "logit_bias": {"1": 1},
        "reasoning_effort": "much",
        "temperature": 3,
        "tools": [{"type": "plugin"}],
        "tool_choice": "sometimes",
    }
    steps: list[tuple[dict[str, Any], tuple[int, str, str | None]]] = [
        ({}, (400, "BadRequest", "model")),
        ({"model": f"{OFFLINE}:free"}, (400, "BadRequest", "messages")),
        ({"messages": []}, (400, "UnsupportedChatParameter", "zeta")),
        ({"zeta": ...}, (400, "UnsupportedChatParameter", "logit_bias")),
        ({"logit_bias": {}}, (400, "BadRequest", "messages")),
        (
            {"messages": [{"role": "user"}, {"role": "bard", "content": "x"}]},
            (400, "UnsupportedChatParameter", "messages[1].role"),
        ),
        (
            {"messages": [{"role": "user"}, {"role": "user", "content": "x"}]},
            (400, "UnsupportedChatParameter", "tools[0].type"),
        ),
        ({"tools": []}, (400, "UnsupportedChatParameter", "tool_choice")),
        ({"tool_choice": "auto"}, (400, "UnsupportedChatParameter", "temperature")),
        ({"temperature": 1}, (400, "BadRequest", "reasoning_effort")),
        ({"reasoning_effort": None}, (400, "UnsupportedChatParameter", "stop")),
        ({"stop": "a"}, (400, "UnsupportedChatParameter", "horde.rep_pen")),
        (
            {"horde": {"max_kudos": 1, "only": []}},
            (400, "UnsupportedChatParameter", "horde.only"),
        ),
        ({"horde": {"max_kudos": 1}}, (400, "ChatRequestConflict", "tool_choice")),
        ({"tool_choice": None}, (400, "BadRequest", "messages[0].content")),
        ({"messages": [{"role": "user", "content": "x"}]}, (404, "model_not_found", "model")),
        ({"model": OFFLINE}, (503, "no_eligible_worker", None)),
        ({"model": PLAIN}, (400, "max_kudos_exceeded", "horde.max_kudos")),
        ({"horde": {"only": ["nobody"]}}, (404, "WorkerNotFound", None)),
    ]
    async with running(settings=Settings(body_cap=8192)) as stack:
        transport = [
            (await post(stack, big, Authorization="Basic x"), 401, "InvalidAuthorizationHeader"),
            (await post(stack, big, **{"Content-Encoding": "br"}), 413, "request_too_large"),
            (await post(stack, b"{", **{"Content-Encoding": "br"}), 415, "unsupported_encoding"),
            (await post(stack, b"{"), 400, "BadRequest"),
            (await post(stack, b'{"zeta": 1, "zeta": 2}'), 400, "BadRequest"),
        ]
        for answer, status, code in transport:
            assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
        for change, told in steps:
            wrong = {key: value for key, value in {**wrong, **change}.items() if value is not ...}
            answer = await post(stack, json.dumps(wrong).encode())
            error = answer.json()["error"]
            assert (answer.status_code, error["code"], error["param"]) == told
        assert stack.states() == [], "nothing was queued by any of them"
        wrong.pop("horde")
        assert (await post(stack, json.dumps(wrong).encode())).status_code == 200


def raw_deflate(data: bytes) -> bytes:
    """The bare stream of RFC 1951."""
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    "encoding, pack",
    [
        ("gzip", gzip.compress),
        ("GZip", gzip.compress),
        ("x-gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", raw_deflate),
        ("identity", bytes),
    ],
)
async def test_an_encoded_body_is_read(
    encoding: str, pack: Any, autojump_clock: trio.testing.MockClock
) -> None:
    """Decoded under the cap; the same reply as to the plain body, whatever its content type."""
    plain = b"\xef\xbb\xbf" + json.dumps(chat_body(seed=1, max_tokens=32)).encode()
    async with running() as stack:
        answer = await post(
            stack, pack(plain), **{"Content-Encoding": encoding, "Content-Type": "text/plain"}
        )
        usual = await stack.chat(seed=1, max_tokens=32)
        refused = await post(stack, pack(plain), **{"Content-Encoding": f"{encoding}, br"})
    assert answer.status_code == 200
    assert answer.json()["choices"] == usual.json()["choices"]
    assert (refused.status_code, refused.json()["error"]["code"]) == (415, "unsupported_encoding")


# The horde object --------------------------------------------------------------------------------


async def ask(stack: Any, **keys: Any) -> httpx.Response:
    """A chat with a key that has kudos."""
    answer: httpx.Response = await stack.client.post(CHAT, json=chat_body(**keys), headers=RICH)
    return answer


@pytest.mark.parametrize(
    "options, served",
    [
        ({"only": [GARAGE]}, {GARAGE}),
        ({"only": [CELLAR, GARAGE]}, {CELLAR, GARAGE}),
        ({"ignore": [GARAGE]}, {CELLAR}),
        ({"trusted_workers": True}, {GARAGE}),
        ({"trusted_workers": True, "only": [GARAGE]}, {GARAGE}),
        ({"slow_workers": False}, {CELLAR, GARAGE}),
    ],
)
async def test_restrictions_choose_the_worker(
    options: dict[str, Any], served: set[str], autojump_clock: trio.testing.MockClock
) -> None:
    """Several times over: never another one."""
    async with running() as stack:
        for seed in range(4):
            answer = await ask(stack, model=QWEN, max_tokens=16, seed=seed, horde=options)
            assert answer.json()["x_horde"]["worker_id"] in served


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "model, options, names",
    [
        (PLAIN, {"trusted_workers": True}, "horde.trusted_workers"),
        (PLAIN, {"only": [GARAGE]}, "horde.only"),
        (QWEN, {"ignore": [GARAGE, CELLAR]}, "horde.ignore"),
        ("slow/model", {"slow_workers": False}, "horde.slow_workers"),
    ],
)
async def test_restrictions_that_leave_nobody(
    model: str,
    options: dict[str, Any],
    names: str,
    stream: bool,
    autojump_clock: trio.testing.MockClock,
) -> None:
    """`no_eligible_worker` at once, its job deleted; the message names what shut all out."""
    scenario = shipped_scenario("default")
    slow = attrs.evolve(
        scenario.workers[0], name="Snail", id="s", models=("slow/model",), slow=True
    )
    scenario = attrs.evolve(
        scenario,
        models=(*scenario.models, ModelSpec("slow/model", 3.0)),
        workers=(*scenario.workers, slow),
    )
    async with running(scenario) as stack:
        began = trio.current_time()
        answer = await ask(stack, model=model, horde=options, stream=stream)
        took = trio.current_time() - began
        states = stack.states()
        served = await ask(stack, model=model, max_tokens=16)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (503, "no_eligible_worker")
    assert names in error["message"]
    assert error["metadata"]["request_id"] == answer.headers["x-request-id"]
    assert answer.headers["x-should-retry"] == "false"
    assert states == ["cancelled"]
    assert took < 1
    assert served.status_code == 200


async def test_context_fitting(autojump_clock: trio.testing.MockClock) -> None:
    """`grow` and `reject` refuse what doesn't fit; what fits is served by all three."""
    turns = [
        {"role": "user", "content": LONG},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": "And?"},
    ]
    endless = [{"role": "user", "content": LONG * 10}]
    found: dict[str, list[Any]] = {}
    async with running() as stack:
        for fit in ("truncate_oldest", "grow", "reject"):
            small = {"context_fit": fit, "context_length": 1024}
            found[fit] = [
                await ask(stack, messages=turns[2:], horde=small),
                await ask(stack, messages=turns, horde=small),
                await ask(stack, messages=endless, horde=small),
            ]
    statuses = {fit: [answer.status_code for answer in all_] for fit, all_ in found.items()}
    assert statuses == {
        "truncate_oldest": [200, 200, 400],
        "grow": [200, 200, 400],
        "reject": [200, 400, 400],
    }
    for fit in ("truncate_oldest", "grow"):
        (entry,) = found[fit][1].json()["x_horde"]["context_adjustments"]
        assert entry == {"from": 1024, "to": 4096, "reason": "grow"}
    error = found["reject"][1].json()["error"]
    assert (error["code"], error["type"]) == ("PromptExceedsContext", "invalid_request_error")
    assert "x-should-retry" not in found["reject"][1].headers


async def test_max_kudos(autojump_clock: trio.testing.MockClock) -> None:
    """At the estimate it passes, one below it is refused with both figures; nothing is queued."""
    async with running() as stack:
        refused = await ask(stack, max_tokens=256, horde={"max_kudos": 1})
        estimate = refused.json()["error"]["metadata"]["kudos_estimate"]
        below = await ask(stack, max_tokens=256, horde={"max_kudos": estimate - 1})
        assert stack.states() == []
        passed = await ask(stack, max_tokens=256, horde={"max_kudos": estimate})
        cheaper = await ask(stack, max_tokens=128, horde={"max_kudos": estimate - 1})
    assert (refused.status_code, below.status_code) == (400, 400)
    error = below.json()["error"]
    assert error["code"] == "max_kudos_exceeded"
    assert error["metadata"] == {"kudos_estimate": estimate, "max_kudos": estimate - 1}
    assert passed.status_code == cheaper.status_code == 200
    assert passed.json()["x_horde"]["kudos"] <= estimate


@pytest.mark.parametrize("stream", [False, True])
async def test_a_full_queue(stream: bool, autojump_clock: trio.testing.MockClock) -> None:
    """`fail_fast` says the pool's state as an HTTP error; `wait` queues for the budget."""
    async with running("busy") as stack:
        began = trio.current_time()
        answer = await ask(stack, model=QWEN, stream=stream)
        took = trio.current_time() - began
        assert stack.states() == ["cancelled"]
        waited = await ask(stack, model=QWEN, stream=stream, horde={"availability_mode": "wait"})
        waiting = trio.current_time() - began - took
        assert stack.verdict()["ok"]
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (503, "queue_unavailable")
    assert set(error["metadata"]) == {
        "request_id",
        "eligible_worker_threads",
        "estimated_wait",
        "budget_left",
    }
    assert error["metadata"]["budget_left"] == (600 if stream else 280)
    assert 1 <= int(answer.headers["retry-after"]) <= 60
    assert answer.headers["x-should-retry"] == "false"
    assert took < 1
    assert waiting == pytest.approx(600 if stream else 280, abs=2)
    if stream:
        assert waited.status_code == 200
        *_, last, done = events(waited.text)
        assert (last["error"]["code"], done) == ("horde_timeout", "[DONE]")
    else:
        assert (waited.status_code, waited.json()["error"]["code"]) == (504, "horde_timeout")


async def test_kudos_upfront_and_unknown_keys(autojump_clock: trio.testing.MockClock) -> None:
    """The Horde's refusals keep status, code and message, under the type of their status."""
    async with running() as stack:
        found = {
            key: await stack.client.post(
                CHAT,
                json=chat_body(model=NEMO, max_tokens=1024),  # above what is free without a thread
                headers={"Authorization": f"Bearer {key}"},
            )
            for key in ("poor-key", "no-such-key")
        }
        states = stack.states()
    told = {key: (a.status_code, a.json()["error"]) for key, a in found.items()}
    assert told["poor-key"][0] == 403
    assert told["poor-key"][1]["code"] == "KudosUpfront"
    assert told["poor-key"][1]["type"] == "permission_error"
    assert told["no-such-key"][0] == 401
    assert told["no-such-key"][1]["code"] == "InvalidAPIKey"
    assert told["no-such-key"][1]["type"] == "authentication_error"
    for answer in found.values():
        assert "x-should-retry" not in answer.headers, "nothing was queued"
        assert "no-such-key" not in answer.text
    assert states == []


@pytest.mark.parametrize("role", ["system", "developer", "user", "assistant", "tool"])
async def test_unknown_members_are_dropped_in_messages_and_tools(
    role: str, autojump_clock: trio.testing.MockClock
) -> None:
    """As OpenAI ignores them; a developer is a system message to the worker."""
    call = {
        "id": "c1",
        "index": 0,
        "type": "function",
        "function": {"name": "get_weather", "arguments": "{}", "parsed_arguments": {}},
    }
    answered: list[dict[str, Any]] = [
        {"role": "assistant", "tool_calls": [call], "reasoning_content": "Hm.", "refusal": None},
        {"role": "tool", "tool_call_id": "c1", "content": "sunny", "name": "get_weather"},
    ]
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "Hi", "cache_control": {}}]},
        *(answered if role == "tool" else [{"role": role, "content": "Yes", "bogus": 1}]),
    ]
    offered: Any = WEATHER["function"]
    tool = {**WEATHER, "bogus": 1, "function": {**offered, "bogus": 1}}
    choice = {"type": "function", "function": {"name": "get_weather", "bogus": 1}, "bogus": 1}
    async with running() as stack:
        answer = await ask(stack, model=QWEN, messages=messages, tools=[tool])
        forced = await ask(
            stack, model=QWEN, messages=[ASKED], tools=[tool], tool_choice=choice, max_tokens=300
        )
        bogus_option = await ask(stack, model=NEMO, stream=True, stream_options={"bogus": 1})
    assert answer.status_code == 200
    assert forced.json()["choices"][0]["finish_reason"] == "stop"
    assert forced.json()["choices"][0]["message"]["tool_calls"]
    assert bogus_option.json()["error"]["param"] == "stream_options.bogus"
