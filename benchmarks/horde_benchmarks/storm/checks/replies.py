"""3: every answer is well-formed, and what is relayed and what follows are the worker's reply."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import orjson
import regex

from horde_benchmarks.storm.event_stream import Malformed
from horde_benchmarks.storm.record import Finding, Record, Storm, json_of
from horde_benchmarks.storm.sentence import Accumulated, Heard, Ungrammatical, hear
from horde_simulator.job import JobState

FAMILY = 3
_ERROR_KEYS = {"message", "type", "param", "code", "metadata"}
_CLUSTER = regex.compile(r"\X")
_STREAM_HEADERS = {
    b"content-type": "text/event-stream; charset=utf-8",
    b"cache-control": "no-cache",
    b"x-accel-buffering": "no",
    b"x-should-retry": "false",
}
_SLACK = 1e-6


def check(storm: Storm) -> Iterator[Finding]:
    """The findings of this family."""
    for record in storm.records:
        if record.misdeeds or record.head is None or record.request is None:
            continue
        for rule, detail in _faults(storm, record):
            yield Finding(FAMILY, rule, record.client.number, detail)


def _faults(storm: Storm, record: Record) -> Iterator[tuple[str, str]]:
    assert record.head is not None
    assert record.request is not None
    if record.head.status == 200 and record.request.stream:
        yield from _stream_faults(storm, record)
        return
    if record.header(b"content-length") != str(len(record.body)):
        yield "a whole body", "its length isn't what its header says"
    document = orjson.loads(record.body)
    if record.head.status != 200:
        yield from _envelope_faults(record, document)
        return
    said = {choice["index"]: _whole_choice(choice) for choice in document["choices"]}
    yield from _compare(record, said, document)


def _envelope_faults(record: Record, document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    error = document.get("error")
    if not isinstance(error, dict) or set(error) != _ERROR_KEYS or not error["message"]:
        yield "the error envelope", f"{document}"
        return
    is_held = record.known_at is not None and record.known_at < (record.complete_at or 0.0)
    if is_held and error["metadata"].get("request_id") != record.jobs[0].id:
        yield "the error envelope", "no request_id though the Horde holds the request"


def _stream_faults(storm: Storm, record: Record) -> Iterator[tuple[str, str]]:
    assert record.request is not None
    for name, value in _STREAM_HEADERS.items():
        if record.header(name) != value:
            yield "a stream's headers", f"{name.decode()}: {record.header(name)}"
    try:
        heard = hear(_whole_events(record), record.request, storm.timing)
    except (Malformed, Ungrammatical) as error:
        yield "the stream grammar", str(error)
        return
    if heard.is_over != (record.complete_at is not None):
        yield "the stream grammar", "[DONE] and the end of the body don't go together"
    yield from _silences(storm, record)
    yield from _after_restart(storm, record)
    if heard.is_over and heard.error is None:
        document = {**(heard.constant or {}), "x_horde": heard.x_horde, "usage": heard.usage}
        yield from _compare(record, heard.choices, document)
        yield from _cut_clusters(heard)


def _whole_events(record: Record) -> bytes:
    """The body; for a client that has left without what the leaving may have cut off."""
    if record.complete_at is not None:
        return record.body
    head, end, _ = record.body.rpartition(b"\n\n")
    return head + end


def _silences(storm: Storm, record: Record) -> Iterator[tuple[str, str]]:
    """A stream is never silent for longer than the interval, except by the deployment's wish."""
    if storm.timing.keepalive_style == "off":
        return
    times = [at for at, _ in record.sent]
    for before, after in pairwise(times):
        silent = after - before - storm.stalled(before, after)
        if silent > storm.timing.keepalive_interval + _SLACK + storm.late:
            yield "no silence in a stream", f"{silent:.3f} s from {before:.3f} on"
            return


def _after_restart(storm: Storm, record: Record) -> Iterator[tuple[str, str]]:
    """Once the Horde tells that a shown reply starts over, not a word more goes out."""
    request = record.request
    if request is None or request.n > 1 or not any(job.strikes for job in record.jobs):
        return
    first_word = next((at for at, data in record.sent if b'"content":"' in data), None)
    restarts: int | None = None
    for made in record.calls:
        told = json_of(made.answer.body) if made.name == "status" and made.answer else None
        if not isinstance(told, dict) or "restarted" not in told or made.over_at is None:
            continue
        rose = restarts is not None and told["restarted"] > restarts
        restarts = told["restarted"]
        until = made.over_at + storm.late
        if rose and first_word is not None and first_word < made.over_at:
            if any(b'"content":"' in data for at, data in record.sent if at > until):
                yield "nothing after a restart", f"text went on after {made.over_at:.3f}"
            return


def _whole_choice(choice: dict[str, Any]) -> Accumulated:
    message = choice["message"]
    said = Accumulated(calls=message.get("tool_calls", []), finish_reason=choice["finish_reason"])
    said.pieces["content"] = [message["content"] or ""]
    said.pieces["reasoning_content"] = [message.get("reasoning_content", "")]
    return said


def _compare(
    record: Record, said: dict[int, Accumulated], document: dict[str, Any]
) -> Iterator[tuple[str, str]]:
    """What the client has against what the Horde accepted from the workers."""
    if not record.jobs:
        yield "the worker's reply", "there is no job"
        return
    request = record.request
    assert request is not None
    settled = [job for job in record.jobs[0].jobs or () if job.state is JobState.SETTLED]
    accepted = {job.index: orjson.loads(job.generation) for job in settled}
    if set(accepted) != set(said):
        yield "the worker's reply", f"choices {sorted(said)} of {sorted(accepted)}"
        return
    for index, generation in accepted.items():
        message, choice = generation["message"], said[index]
        wanted = {
            "content": message["content"] or "",
            "reasoning_content": message.get("reasoning_content", "")
            if request.horde.include_reasoning
            else "",
        }
        for channel, text in wanted.items():
            if choice.text(channel) != text:
                yield "the worker's reply", f"{channel}: {choice.text(channel)!r} is not {text!r}"
        if _plain(choice.calls) != _plain(message.get("tool_calls", [])):
            yield "the worker's reply", f"calls {choice.calls}"
    model = next(job.model for job in settled if job.index == 0)
    if (document["id"], document["model"]) != (f"chatcmpl-{record.jobs[0].id}", model):
        yield "the reply's id and model", f"{document['id']}, {document['model']}"
    if document["x_horde"]["worker_id"] != accepted[0].get("worker_id"):
        yield "the reply's worker", f"{document['x_horde']['worker_id']}"


def _plain(calls: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(call["function"]["name"], call["function"]["arguments"] or "{}") for call in calls]


def _cut_clusters(heard: Heard) -> Iterator[tuple[str, str]]:
    """No relayed chunk ends inside a grapheme cluster of the whole text."""
    for choice in heard.choices.values():
        for channel, pieces in choice.pieces.items():
            text = "".join(pieces)
            if len(pieces) < 2 or (text.isascii() and "\r" not in text):
                continue
            ends = {cluster.end() for cluster in _CLUSTER.finditer(text)}
            at = 0
            for piece in pieces:
                at += len(piece)
                if at not in ends:
                    yield (
                        "whole grapheme clusters",
                        f"{channel} cut after {text[max(0, at - 8) : at]!r}",
                    )
                    return
