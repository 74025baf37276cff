"""Where external workers call: checking in with a pop, posting progress, handing in replies."""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from horde_core.native import FEATURES, GUARANTEES, IMAGE, LIMITS
from horde_simulator import work
from horde_simulator.accounts import Account
from horde_simulator.job import Job
from horde_simulator.payload import MISSING, Reader
from horde_simulator.pricing import kudos
from horde_simulator.refusals import invalid_payload, refuse
from horde_simulator.request import Request
from horde_simulator.state import State
from horde_simulator.workers import ONLINE_FOR, Worker

STATES: Final = ("ok", "censored", "csam", "faulted")
_LONGEST_ID: Final = 100


def owner_of(state: State, key: str) -> Account:
    """The account that a worker earns for.

    Raises:
        HordeError: `InvalidAPIKey`.
    """
    account = state.accounts.get(key)
    if account is None:
        raise refuse("InvalidAPIKey", "No user matching sent API Key.")
    return account


def pop(state: State, body: Mapping[str, Any], key: str, host: str | None) -> dict[str, Any]:
    """Checks a worker in, and hands it a job if there is one for it.

    Args:
        state: the Horde.
        body: what the worker declares.
        key: its owner's.
        host: the host that the worker called, for the URLs of pictures.

    Raises:
        HordeError: the schema's refusal, `InvalidAPIKey`, `WrongCredentials` for another's name.
    """
    worker = _check_in(state, body, key)
    job, skipped = work.pop(state, worker)
    if job is None:
        nothing: dict[str, Any] = {"id": None, "ids": [], "ttl": int(work.LEASE), "model": None}
        return nothing | {"messages": [], "skipped": skipped, "payload": {}}
    return {
        "id": job.id,
        "ids": [job.id],
        "ttl": int(work.LEASE),
        "model": job.model,
        "messages": [],
        "skipped": skipped,
        "payload": orjson.Fragment(_with_host(job.payload, job.request, host)),
    }


def _with_host(payload: bytes, request: Request, host: str | None) -> bytes:
    """Makes the pictures' URLs absolute; their tokens can't be guessed, so no text has them."""
    if host is not None:
        for token in request.image_tokens:
            path = f"{IMAGE}/{token}"
            payload = payload.replace(orjson.dumps(path), orjson.dumps(f"http://{host}{path}"))
    return payload


def _check_in(state: State, body: Mapping[str, Any], key: str) -> Worker:
    worker = state.registry.named(body["name"]) if type(body.get("name")) is str else None
    if worker is None or worker.declared != body:
        worker = _declare(state, body, key, worker)
    elif owner_of(state, key) is not worker.owner:
        raise refuse("WrongCredentials", "This worker name is another user's.")
    _seen(state, worker)
    return worker


def _seen(state: State, worker: Worker) -> None:
    """Notes a call of an external worker: it is online for a while from now."""
    worker.last_seen = state.now
    if worker.online:
        return
    state.registry.set_online(worker, True, state.now)

    def look(worker: Worker) -> None:
        if worker.last_seen + ONLINE_FOR > state.now:
            state.timeline.at(worker.last_seen + ONLINE_FOR, look, worker)
        else:
            state.registry.set_online(worker, False, state.now)

    state.timeline.at(state.now + ONLINE_FOR, look, worker)


def _declare(state: State, body: Mapping[str, Any], key: str, worker: Worker | None) -> Worker:
    """Reads what a worker declares, and registers it or changes what it had declared."""
    errors: dict[str, str] = {}
    reader = Reader(body, errors)
    chat = Reader(reader.object("chat"), errors, "chat.")
    name = reader.required_text("name")
    models = reader.texts("models", 1000, least=1)
    threads = reader.integer("threads", 1, 1, 1000)
    max_length = reader.integer("max_length", 512, 16, 16384)
    max_context_length = reader.integer("max_context_length", 4096, 80, 1048576)
    bridge_agent = reader.text("bridge_agent", "unknown:0:unknown", 1000)
    features = _known(chat, "features", FEATURES)
    guarantees = _known(chat, "guarantees", GUARANTEES)
    limits = _limits(chat)
    if not name.strip() or len(name) > _LONGEST_ID:
        reader.wrong("name", f"is empty or longer than {_LONGEST_ID} characters")
    if errors:
        raise invalid_payload(errors)
    owner = owner_of(state, key)
    if worker is None:
        worker = Worker(
            id=state.new_id(),
            name=name,
            owner=owner,
            models=(),
            threads=threads,
            max_length=max_length,
            max_context_length=max_context_length,
            features=features,
            guarantees=guarantees,
            limits=limits,
            trusted=owner.trusted,
            born_at=state.now,
        )
        owner.workers += 1
        state.registry.add(worker)
    elif worker.owner is not owner:
        raise refuse("WrongCredentials", "This worker name is another user's.")
    worker.threads = threads
    worker.max_length = max_length
    worker.max_context_length = max_context_length
    worker.features = features
    worker.guarantees = guarantees
    worker.limits = limits
    worker.bridge_agent = bridge_agent or ""
    worker.declared = body
    state.registry.serve_models(worker, models)
    return worker


def _known(chat: Reader, key: str, known: tuple[str, ...]) -> frozenset[str]:
    names = chat.texts(key, 100)
    for name in names:
        if name not in known:
            chat.wrong(key, f"{name[:80]!r} is not one of {list(known)}")
    return frozenset(names)


def _limits(chat: Reader) -> dict[str, float]:
    values = chat.object("limits")
    reader = Reader(values, chat.errors, f"{chat.at('limits')}.")
    for name in values:
        if name not in LIMITS:
            reader.wrong(name, f"is not one of {list(LIMITS)}")
    return {name: reader.number(name, 2.0, 0, 2) for name in LIMITS if name in values}


def _job(state: State, body: Mapping[str, Any], key: str) -> Job:
    """The job that a worker speaks about.

    Raises:
        HordeError: `InvalidAPIKey`, `InvalidJobID`, `WrongCredentials`.
    """
    owner = owner_of(state, key)
    job = state.jobs.get(body["id"])
    if job is None:
        raise refuse("InvalidJobID", f"Job with ID '{body['id'][:80]}' not found.")
    if job.worker.owner is not owner:
        raise refuse("WrongCredentials", "This job is with another user's worker.")
    _seen(state, job.worker)
    return job


def progress(state: State, body: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Takes a progress post.

    Raises:
        HordeError: the schema's refusal, one of `_job`'s or of `work.post`.
    """
    errors: dict[str, str] = {}
    reader = Reader(body, errors)
    reader.required_text("id")
    if "seq" not in body:
        reader.wrong("seq", MISSING)
    seq = reader.integer("seq", 0, 0, 2**53)
    content = reader.text("content") or ""
    reasoning = reader.text("reasoning_content") or ""
    if errors:
        raise invalid_payload(errors)
    cancelled = work.post(state, _job(state, body, key), seq, content, reasoning)
    return {"cancelled": cancelled, "ttl": int(work.LEASE)}


def submit(state: State, body: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Takes a reply.

    Raises:
        HordeError: the schema's refusal, one of `_job`'s or of `work.hand_in`.
    """
    handed = _handed(body)
    job = _job(state, body, key)
    return {"reward": kudos(work.hand_in(state, job, handed))}


def _handed(body: Mapping[str, Any]) -> work.Handed:
    errors: dict[str, str] = {}
    reader = Reader(body, errors)
    reader.required_text("id")
    state = reader.choice("state", STATES, "ok") or "ok"
    if state == "ok" and body.get("message") is None:
        reader.wrong("message", MISSING)
    message = Reader(reader.object("message"), errors, "message.")
    metadata = body.get("gen_metadata") or []
    if type(metadata) is not list:
        reader.wrong("gen_metadata", "is not of type 'array'")
        metadata = []
    handed = work.Handed(
        state=state,
        content=message.text("content"),
        reasoning=message.text("reasoning_content"),
        tool_calls=tuple(_calls(message)),
        finish_reason=reader.text("finish_reason", "stop") or "stop",
        native_finish_reason=reader.text("native_finish_reason"),
        usage=_usage(reader, body),
        seed=reader.optional_integer("seed", -(2**63), 2**63 - 1),
        gen_metadata=tuple(metadata),
        fault_reason=reader.text("fault_reason", longest=1000),
    )
    if errors:
        raise invalid_payload(errors)
    return handed


def _calls(message: Reader) -> list[dict[str, Any]]:
    calls = []
    for index, call in enumerate(message.objects("tool_calls", 1000)):
        path = f"{message.at('tool_calls')}.{index}."
        reader = Reader(call, message.errors, path)
        function = Reader(reader.object("function"), message.errors, f"{path}function.")
        calls.append(
            {
                "id": reader.text("id", "") or "",
                "type": "function",
                "function": {
                    "name": function.required_text("name"),
                    "arguments": function.required_text("arguments"),
                },
            }
        )
    return calls


def _usage(outer: Reader, body: Mapping[str, Any]) -> dict[str, int] | None:
    """The counts that a worker gave; those that it left out stay out."""
    if body.get("usage") is None:
        return None
    values = outer.object("usage")
    reader = Reader(values, outer.errors, "usage.")
    return {
        name: reader.integer(name, 0, 0, 2**31)
        for name in ("prompt_tokens", "completion_tokens", "reasoning_tokens")
        if values.get(name) is not None
    }
