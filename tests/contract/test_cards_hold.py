"""What a model card claims is what requests then meet, for every model of the shipped scenario."""

from typing import Any

import pytest
import trio

from adapters.stack import OFFLINE, Stack, chat_body, running
from contract.test_verifications import ASKED, WEATHER, cards, red_square

MODELS = (
    "aphrodite/Qwen/Qwen2.5-VL-7B-Instruct",
    "koboldcpp/Llama-3.2-3B-Instruct",
    "koboldcpp/Mistral-Nemo-12B",
    "koboldcpp/Qwen3-8B",
    "tabbyAPI/Command-R-35B",
)
TOOLS: dict[str, Any] = {"tools": [WEATHER], "messages": [ASKED], "max_tokens": 300}
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}

# A request that uses the parameter, and what a pool without it is said to lack.
USES: dict[str, tuple[dict[str, Any], str]] = {
    "frequency_penalty": ({"frequency_penalty": 0.5}, ""),
    "max_completion_tokens": ({"max_completion_tokens": 32}, ""),
    "max_tokens": ({"max_tokens": 32}, ""),
    "n": ({"n": 2}, ""),
    "presence_penalty": ({"presence_penalty": -0.5}, ""),
    "seed": ({"seed": -5}, ""),
    "stop": ({"stop": ["\n\n", "END"]}, ""),
    "stream": ({"stream": True}, ""),
    "stream_options": ({"stream": True, "stream_options": {"include_usage": True}}, ""),
    "temperature": ({"temperature": 0.3}, ""),
    "top_p": ({"top_p": 0.5}, ""),
    "tools": (TOOLS, "tools"),
    "tool_choice": ({**TOOLS, "tool_choice": "required"}, "tool_choice"),
    "parallel_tool_calls": ({**TOOLS, "parallel_tool_calls": False}, "parallel_tool_calls"),
    "response_format": ({"response_format": {"type": "json_object"}}, "response_format"),
    "structured_outputs": (
        {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "a", "schema": SCHEMA},
            }
        },
        "response_format.json_schema",
    ),
    "reasoning_effort": ({"reasoning_effort": "low"}, "reasoning_effort"),
    # An option of the reply's form: harmless where no worker thinks, so never refused.
    "include_reasoning": ({"horde": {"include_reasoning": False}}, ""),
    "image": ({"messages": [{"role": "user", "content": [red_square()]}]}, "image_input"),
}


async def ask(stack: Stack, model: str, keys: dict[str, Any], conformance: str) -> Any:
    """A short chat; its answer."""
    options = {"conformance": conformance, "availability_mode": "wait", **keys.get("horde", {})}
    limit = {} if "max_completion_tokens" in keys else {"max_tokens": 48}
    body = chat_body(model=model, **{**limit, **keys, "horde": options})
    return await stack.client.post(
        "/v1/chat/completions", json=body, headers={"Authorization": "Bearer rich-key"}
    )


@pytest.mark.parametrize("model", MODELS)
async def test_what_is_listed_is_served_and_what_is_not_is_refused(
    model: str, autojump_clock: trio.testing.MockClock
) -> None:
    """Each parameter of the card, and each that another card has and this one hasn't."""
    async with running() as stack:
        card = (await cards(stack))[model]
        listed = set(card["supported_parameters"])
        if "image" in card["architecture"]["input_modalities"]:
            listed.add("image")
        trims = "no_prompt_trim" not in card["x_horde"]["guarantees"]
        for parameter, (keys, lack) in USES.items():
            if parameter in listed:
                answer = await ask(stack, model, keys, "best_effort" if trims else "strict")
                assert answer.status_code == 200, (parameter, answer.text)
            elif lack:
                answer = await ask(stack, model, keys, "strict")
                error = answer.json()["error"]
                assert (answer.status_code, error["code"]) == (404, "no_worker_supports_features")
                lacks = (
                    error["metadata"]["missing_features"],
                    error["metadata"]["missing_guarantees"],
                )
                assert any(lack in name for names in lacks for name in names), parameter
                assert lack in error["message"]
        assert stack.verdict() == {"ok": True, "findings": []}
    assert listed <= set(USES)


async def test_every_card_has_the_contracts_keys(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Shape, order of the list, figures of the scenario; no price, as kudos are no money."""
    async with running() as stack:
        found = (await stack.client.get("/v1/models")).json()
        one = (await stack.client.get("/v1/models/koboldcpp/Qwen3-8B")).json()
    listed = found["data"]
    assert found["object"] == "list"
    assert [card["id"] for card in listed] == [
        "koboldcpp/Qwen3-8B",
        *sorted(set(MODELS) - {"koboldcpp/Qwen3-8B"}),
    ]
    assert OFFLINE not in {card["id"] for card in listed}
    for card in listed:
        assert set(card) == {
            "id",
            "object",
            "created",
            "owned_by",
            "name",
            "context_length",
            "architecture",
            "top_provider",
            "supported_parameters",
            "x_horde",
        }
        assert set(card["architecture"]) == {"input_modalities", "output_modalities"}
        assert set(card["top_provider"]) == {
            "context_length",
            "max_completion_tokens",
            "is_moderated",
        }
        assert set(card["x_horde"]) == {
            "workers",
            "threads",
            "queued",
            "eta",
            "tokens_per_second",
            "features",
            "guarantees",
        }
        assert card["supported_parameters"] == sorted(card["supported_parameters"])
        assert card["top_provider"]["is_moderated"] is False
    assert one == listed[0]
    assert (one["context_length"], one["top_provider"]["max_completion_tokens"]) == (32768, 4096)
    assert (one["x_horde"]["workers"], one["x_horde"]["threads"]) == (2, 4)


async def test_a_temperature_above_every_workers_limit_with_tools(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """404 under either mode, naming the limit; lowered, the same request is served."""
    nemo = "koboldcpp/Mistral-Nemo-12B"
    async with running() as stack:
        for mode in ("strict", "best_effort"):
            refused = await ask(stack, nemo, {**TOOLS, "temperature": 1.1}, mode)
            error = refused.json()["error"]
            assert (refused.status_code, error["code"]) == (404, "no_worker_supports_features")
            assert "max_temperature_with_tools" in error["message"]
            assert "lower the temperature" in error["message"]
        served = await ask(stack, nemo, {**TOOLS, "temperature": 1.0}, "best_effort")
        plain = await ask(stack, nemo, {"temperature": 1.9}, "best_effort")
    assert served.status_code == plain.status_code == 200


@pytest.mark.parametrize("mode", ["strict", "best_effort"])
async def test_tools_with_a_format_need_their_own_feature(
    mode: str, autojump_clock: trio.testing.MockClock
) -> None:
    """Under either mode, though the model's card lists both."""
    keys = {**TOOLS, "response_format": {"type": "json_object"}}
    async with running() as stack:
        refused = await ask(stack, MODELS[0], keys, mode)
        served = await ask(stack, MODELS[3], keys, mode)
    error = refused.json()["error"]
    assert (refused.status_code, error["code"]) == (404, "no_worker_supports_features")
    assert "tools_with_response_format" in error["message"]
    assert refused.headers["x-should-retry"] == "false"
    assert served.status_code == 200


async def test_a_choice_of_none_needs_no_guarantee(autojump_clock: trio.testing.MockClock) -> None:
    """The worker gets no tools then: even a model without any feature serves it, with text."""
    async with running() as stack:
        answer = await ask(stack, MODELS[1], {**TOOLS, "tool_choice": "none"}, "strict")
    (choice,) = answer.json()["choices"]
    assert "tool_calls" not in choice["message"]
    assert choice["message"]["content"]
