"""Every malformed call gets the Horde's own error shape, whatever is sent and wherever."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from horde_simulator.call import Answer, Call
from horde_simulator.world import World
from simulator.horde import API, MODEL, Caller, Program, body_of, empty_world

CHAT = f"{API}/generate/chat"
BODIES = [f"{CHAT}/async", f"{CHAT}/pop", f"{CHAT}/progress", f"{CHAT}/submit"]
OTHERS = [
    f"{CHAT}/status/x",
    f"{CHAT}/image/x",
    f"{API}/workers",
    f"{API}/status/models",
    f"{API}/status/models/x/y",
    f"{API}/find_user",
    f"{API}/status/heartbeat",
    f"{API}/status/performance",
    "/",
    API,
    f"{API}/generate/text/async",
    f"{CHAT}/status/",
]
METHODS = ["GET", "POST", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS", "BREW"]
SIM = ["state", "scenario", "workers", "workers/x", "faults", "advance", "ledger", "reset", "x", ""]

WORDS = """
messages models workers params tools tool_choice response_format conformance n id seq state name
chat features guarantees limits max_length threads message content tool_calls usage operation_key
dry_run progress context_fit role type function where times chance seconds
"""
KEYS = WORDS.split()
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(
        [MODEL, "user", "ok", "required", "faulted", "json_schema", "\x00", "\ud800"]
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=5), inner, max_size=5)
    ),
    max_leaves=12,
)
bodies = st.binary(max_size=60) | values.map(lambda value: json.dumps(value).encode())


def ask(world: World, method: str, path: str, body: bytes, key: str = "rich-key") -> Answer:
    answer = world.handle(Call(method, path, "", (("apikey", key),), body))
    assert isinstance(answer, Answer)
    return answer


def check(answer: Answer) -> Any:
    """No 5xx, and a refusal is an object with a message: with an `rc`, or `errors`, or neither."""
    assert answer.status < 500
    assert answer.cut is None
    content = orjson.loads(answer.body)
    if answer.status >= 400:
        assert isinstance(content["message"], str)
        assert content["message"]
        assert isinstance(content.get("rc", ""), str)
        errors = content.get("errors", {})
        assert all(isinstance(text, str) and text for text in errors.values())
    return content


@given(st.sampled_from(BODIES), bodies)
def test_any_body_at_any_call(path: str, body: bytes) -> None:
    """Bytes, JSON of any kind, and objects with the Horde's own keys at any value."""
    check(ask(empty_world(), "POST", path, body))


@given(st.sampled_from(SIM), st.sampled_from(["POST", "PUT", "PATCH", "DELETE"]), bodies)
def test_any_body_at_the_control_api(name: str, method: str, body: bytes) -> None:
    """A refusal there has the same shape, and changes nothing."""
    world = empty_world()
    before = ask(world, "GET", "/_sim/scenario", b"").body
    answer = ask(world, method, f"/_sim/{name}", body)
    check(answer)
    if answer.status >= 400:
        assert ask(world, "GET", "/_sim/scenario", b"").body == before


@given(st.sampled_from(sorted(body_of())), values)
def test_a_good_submit_with_one_wrong_key(key: str, value: Any) -> None:
    check(ask(empty_world(), "POST", BODIES[0], json.dumps(body_of(**{key: value})).encode()))


@given(st.sampled_from(["content", "reasoning_content", "tool_calls"]), values)
def test_a_good_reply_with_one_wrong_key(key: str, value: Any) -> None:
    """A refusal by the schema is no strike: the worker may submit again."""
    world = empty_world()
    caller, program = Caller(world), Program(world)
    request_id = caller.submit()["id"]
    job = program.pop()["id"]
    body = {"id": job, "message": {"content": "Hi", key: value}}
    answer = ask(world, "POST", BODIES[3], json.dumps(body).encode(), "owner-key")
    if "errors" in check(answer):
        assert caller.read(request_id)["processing"] == 1


@pytest.mark.parametrize("path", BODIES + OTHERS)
@pytest.mark.parametrize("method", METHODS)
def test_any_method_at_any_path(method: str, path: str) -> None:
    content = check(ask(empty_world(), method, path, b"{}"))
    if method in ("PUT", "PATCH", "HEAD", "OPTIONS", "BREW"):
        assert "message" in content


BAD_TEXTS = {
    "NulByteInPayload": r'"a\u0000b"',
    "InvalidPromptEncoding": r'"a\ud800b"',
}
PLACES = ['{{"{0}": [{1}]}}', '{{{1}: "x"}}', '{{"name": {{"deep": [[{1}]]}}}}']


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("rc", BAD_TEXTS)
def test_illegal_text_at_any_call(rc: str, place: str, path: str) -> None:
    """NUL and unpaired surrogates, as a value, as a key, and deep inside an unknown key."""
    body = place.format("messages", BAD_TEXTS[rc]).encode()
    answer = ask(empty_world(), "POST", path, body)
    assert answer.status == 400
    assert check(answer)["rc"] == rc


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b'{"a": NaN}',
        b"\xff\xfe{}",
        b"{}" * 2,
        b"[" * 100_000,
        b'{"a":1e999}',
    ],
)
def test_what_is_no_json_object(path: str, body: bytes) -> None:
    assert ask(empty_world(), "POST", path, body).status == 400


def test_headers_of_any_bytes() -> None:
    """A key of 100 KB, or with a NUL, is an unknown one."""
    for key in ("k" * 100_000, "\x00", "ключ", "%s%n", ""):
        answer = ask(empty_world(), "POST", BODIES[0], orjson.dumps(body_of()), key)
        assert (answer.status, check(answer)["rc"]) == (401, "InvalidAPIKey")


@pytest.mark.parametrize(
    "query",
    [
        "content_from=x",
        "content_from=-1",
        "from=0",
        "from=a:b:c",
        "from=0:-1:9",
        "%ff=%00",
        "from=9:0:0",
    ],
)
def test_a_status_with_a_strange_query(query: str) -> None:
    """An offset that isn't one is passed over: the tail is then the whole."""
    caller = Caller(empty_world())
    request_id = caller.submit()["id"]
    answer = caller.world.handle(Call("GET", f"{CHAT}/status/{request_id}", query))
    assert isinstance(answer, Answer)
    assert answer.status in (200, 400)
    check(answer)
