"""The view of workers, and the model cards made from it."""

import json
from typing import Any

import pytest

from horde_core.cards import ALWAYS_SUPPORTED, model_card, model_list
from horde_core.errors import Refusal
from horde_core.native import UnreadableAnswer
from horde_core.workers import PoolView, read_pool

ONE: dict[str, Any] = {
    "id": "w-1",
    "name": "one",
    "online": True,
    "models": ["a/b"],
    "threads": 2,
    "max_length": 512,
    "max_context_length": 16384,
    "chat": {"features": ["tools"], "guarantees": ["tool_choice"], "limits": {}},
}
TWO = ONE | {
    "id": "w-2",
    "threads": 3,
    "max_length": 1024,
    "max_context_length": 4096,
    "models": ["a/b", "c"],
    "chat": {
        "features": ["image_input", "response_format.json_schema", "reasoning_effort", "unheard"],
        "guarantees": ["no_prompt_trim"],
    },
}
MODELS = [
    {"name": "a/b", "queued": 512.0, "eta": 7, "performance": 79.6, "count": 5},
    {"name": "known-only", "queued": 0, "eta": 0, "count": 0},
    {"nameless": 1},
]


def pool(workers: list[dict[str, Any]], models: list[dict[str, Any]] | None = None) -> PoolView:
    return read_pool(json.dumps(workers).encode(), json.dumps(models or MODELS).encode())


def test_a_card_is_maxima_and_unions() -> None:
    """Of all the model's workers, though no single one has all of it."""
    assert model_card(pool([ONE, TWO]), "a/b", created=9) == {
        "id": "a/b",
        "object": "model",
        "created": 9,
        "owned_by": "ai-horde",
        "name": "a/b",
        "context_length": 16384,
        "architecture": {"input_modalities": ["text", "image"], "output_modalities": ["text"]},
        "top_provider": {
            "context_length": 16384,
            "max_completion_tokens": 1024,
            "is_moderated": False,
        },
        "supported_parameters": sorted(
            [
                *ALWAYS_SUPPORTED,
                "tools",
                "tool_choice",
                "response_format",
                "structured_outputs",
                "reasoning_effort",
                "include_reasoning",
            ]
        ),
        "x_horde": {
            "workers": 2,
            "threads": 5,
            "queued": 512.0,
            "eta": 7,
            "tokens_per_second": 79.6,
            "features": [
                "image_input",
                "reasoning_effort",
                "response_format.json_schema",
                "tools",
                "unheard",
            ],
            "guarantees": ["no_prompt_trim", "tool_choice"],
        },
    }


def test_a_plain_model_that_no_list_knows() -> None:
    """A worker serves it, so it has a card; its queue is taken for empty."""
    card = model_card(pool([TWO]), "c", created=9)
    assert card["x_horde"]["queued"] == 0.0
    text_only = model_card(pool([ONE]), "a/b", created=9)
    assert text_only["architecture"]["input_modalities"] == ["text"]


def test_the_list_is_sorted_by_workers_then_id() -> None:
    """And has only models with an online worker."""
    listed = model_list(
        pool([TWO, ONE | {"models": ["z", "a/b"]}, ONE | {"models": ["b"]}]), created=1
    )
    assert listed["object"] == "list"
    assert [card["id"] for card in listed["data"]] == ["a/b", "b", "c", "z"]


@pytest.mark.parametrize("model", ["known-only", "nobody", "a/b:free"])
def test_no_card_without_an_online_worker(model: str) -> None:
    """404 model_not_found, variants included."""
    with pytest.raises(Refusal) as refused:
        model_card(pool([ONE]), model, created=1)
    assert (refused.value.status, refused.value.code) == (404, "model_not_found")


def test_a_long_name_is_cut_in_the_message() -> None:
    """No error echoes a megabyte."""
    with pytest.raises(Refusal) as refused:
        model_card(pool([ONE]), "x" * 10_000, created=1)
    assert len(refused.value.message) < 400


@pytest.mark.parametrize(
    "change",
    [
        {"chat": None},
        {"online": False},
        {"maintenance_mode": True},
        {"paused": True},
        {"models": "a/b"},
    ],
)
def test_workers_that_serve_nobody_here(change: dict[str, Any]) -> None:
    """No chat, offline, in maintenance, paused: they don't count."""
    view = pool([ONE | change])
    assert view.online == {}
    assert view.knows("a/b")
    assert not view.knows("nobody")


def test_a_worker_with_few_fields() -> None:
    """Defaults: one thread, no length."""
    view = pool([{"models": ["m"], "chat": {}}], [{"name": "x"}])
    assert (view.workers[0].threads, view.workers[0].max_length) == (1, 0)
    assert view.knows("m")


@pytest.mark.parametrize("workers,models", [(b"{}", b"[]"), (b"[]", b"<html>")])
def test_lists_that_cant_be_read(workers: bytes, models: bytes) -> None:
    """No view, rather than an empty one."""
    with pytest.raises(UnreadableAnswer):
        read_pool(workers, models)
