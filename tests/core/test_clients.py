"""What real clients send, recorded with their newest releases: accepted, or refused by the key.

`client_requests/` has the recordings as they were made, with some of their text shortened. What
was cut inside an array or an id is put back here in the simplest legal form.
"""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from core.chat_bodies import answer
from horde_core.body import read_body
from horde_core.errors import Refusal
from horde_core.identity import client_agent, read_key
from horde_core.job import submit_body
from horde_core.request import read_request

RECORDINGS = sorted((Path(__file__).parent / "client_requests").glob("*.json"))

REFUSED = {
    ("ai-sdk", "error.bad_request"): ["min_p"],
    ("langchain", "errors"): ["logit_bias"],
    ("langchain-js", "errors"): ["top_k"],
    ("lite", "nonstandard.refused"): ["max_context_length"],
    ("litellm", "error.classes"): ["logit_bias"],
    ("llm", "errors"): ["logit_bias"],
    ("openai", "error.bad_request_param"): ["logit_bias", "min_p"],
    ("openai-js", "error.bad_request_param"): ["top_k"],
    ("pydantic_ai", "errors"): ["logit_bias"],
}
"""By client and check, the param of each of its requests: options that a user switched on."""


def requests() -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (path.stem, request["check"], request)
        for path in RECORDINGS
        for request in json.loads(path.read_text())["requests"]
    ]


def restored(body: dict[str, Any]) -> dict[str, Any]:
    """A body with ids of its own for the calls, whole arrays and every call answered."""
    whole: dict[str, Any] = json.loads(json.dumps(body).replace("<bytes>", "aW1n"))
    for key in whole.keys() & {"messages", "tools"}:
        whole[key] = [item for item in whole[key] if not isinstance(item, str)]
    waiting: list[str] = []
    for index, message in enumerate(whole["messages"]):
        for number, call in enumerate(message.get("tool_calls") or ()):
            call["id"] = f"call_{index}_{number}"
            waiting.append(call["id"])
        if message["role"] == "tool":
            message["tool_call_id"] = waiting.pop(0)
    whole["messages"] += [answer(call_id) for call_id in waiting]
    return whole


CHATS = [row for row in requests() if row[2]["body"] is not None]


def outcomes() -> dict[tuple[str, str], list[str | None]]:
    """For each client's check the param of its refusals, None for what is accepted."""
    found: dict[tuple[str, str], list[str | None]] = defaultdict(list)
    for client, check, request in CHATS:
        try:
            read_request(restored(request["body"]))
        except Refusal as refusal:
            found[client, check].append(refusal.param)
        else:
            found[client, check].append(None)
    return found


def test_only_what_a_user_switched_on_is_refused_and_by_its_key() -> None:
    refused = {key: params for key, params in outcomes().items() if any(params)}
    assert refused == REFUSED


def test_the_recordings_are_those_of_every_client() -> None:
    assert len(RECORDINGS) == 20
    assert len(CHATS) > 100


@pytest.mark.parametrize("client, check, request_", CHATS)
def test_a_recorded_body_is_read_from_its_bytes_as_it_is(
    client: str, check: str, request_: dict[str, Any]
) -> None:
    body = request_["body"]
    for separators in ((",", ":"), (", ", ": ")):
        raw = json.dumps(body, separators=separators, ensure_ascii=False).encode()
        assert read_body(raw, None, cap=1_000_000) == body


@pytest.mark.parametrize(
    "client, check, request_", [row for row in CHATS if row[:2] not in REFUSED]
)
def test_an_accepted_body_becomes_a_job_with_all_its_messages(
    client: str, check: str, request_: dict[str, Any]
) -> None:
    body = restored(request_["body"])
    job = json.loads(submit_body(read_request(body), operation_key="k", context_length=4096))
    assert job["models"] == body.get("models", [body.get("model")])
    assert [message["role"] for message in job["messages"]] == [
        message["role"].replace("developer", "system") for message in body["messages"]
    ]
    assert [tool["function"]["name"] for tool in job.get("tools", [])] == [
        tool["function"]["name"] for tool in body.get("tools") or []
    ]


@pytest.mark.parametrize("client, check, request_", requests())
def test_recorded_headers_name_the_key_and_the_user_agent(
    client: str, check: str, request_: dict[str, Any]
) -> None:
    headers = [(name.encode(), value.encode()) for name, value in request_["headers"].items()]
    authorization = [value for name, value in headers if name == b"authorization"]
    expected = "<HORDE_API_KEY>" if authorization else "0000000000"
    assert read_key(authorization) == expected
    user_agent = request_["headers"].get("user-agent", "unknown")
    assert client_agent(headers, "1").endswith(f":1:{user_agent} via horde-oai-front")


def test_sillytavern_without_a_key_is_told_the_way_out() -> None:
    with pytest.raises(Refusal) as caught:
        read_key([b"Bearer "])
    assert "0000000000" in caught.value.message


EXTRA_KEYS = {
    "langchain-js": {"name"},
    "openai-js": {"parsed", "refusal"},
    "openai": {"audio", "refusal", "annotations", "parsed", "function_call"},
    "litellm": {"name"},
    "lite": {"name"},
    "pydantic_ai": {"reasoning_content"},
}


def test_keys_that_clients_replay_in_messages_are_dropped() -> None:
    """Messages that come back with a client's own fields lose those alone."""
    kept = {"role", "content", "tool_calls", "tool_call_id"}
    dropped: dict[str, set[str]] = defaultdict(set)
    for client, check, request in CHATS:
        if (client, check) in REFUSED:
            continue
        body = restored(request["body"])
        job = json.loads(submit_body(read_request(body), operation_key=None, context_length=4096))
        for sent, forwarded in zip(body["messages"], job["messages"], strict=True):
            assert forwarded.keys() <= kept
            dropped[client] |= sent.keys() - forwarded.keys()
    assert {client: keys - {"content"} for client, keys in dropped.items() if keys} == EXTRA_KEYS
