"""What an operator is told: figures with bounded labels, and one line a request."""

import json
import logging
import re
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import trio
from prometheus_client.parser import text_string_to_metric_families

from adapters.process import serving
from adapters.stack import OFFLINE, PLAIN, SLOW, Stack, running
from horde_adapters import log
from horde_adapters.metrics import Metrics
from horde_adapters.settings import Settings
from horde_core.errors import FRONT_CODES

CANARY = "sk-canary-7f3a"
PROMPT = "the prompt is nobody's business"

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def parse(text: str) -> Samples:
    """Every sample of an exposition; histograms' buckets left out."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if not sample.name.endswith(("_bucket", "_created"))
    }


async def scrape(stack: Stack) -> Samples:
    """What Prometheus reads."""
    answer = await stack.client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return parse(answer.text)


def value(samples: Samples, name: str, **labels: str) -> float:
    """One sample; 0 when there is none."""
    return samples.get((f"horde_front_{name}", frozenset(labels.items())), 0.0)


class Lines(logging.Handler):
    """Keeps what is logged, as both forms write it."""

    def __init__(self) -> None:
        super().__init__()
        self.json: list[dict[str, Any]] = []
        self.console: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.json.append(json.loads(log.form_of("json").format(record)))
        self.console.append(log.form_of("console").format(record))

    def requests(self) -> list[dict[str, Any]]:
        return [line for line in self.json if line["event"] == "request"]


@pytest.fixture
def lines() -> Iterator[Lines]:
    """All log lines of the test."""
    handler = Lines()
    level = log.LOGGER.level
    log.LOGGER.addHandler(handler)
    log.LOGGER.setLevel(logging.INFO)
    yield handler
    log.LOGGER.removeHandler(handler)
    log.LOGGER.setLevel(level)


async def test_a_stream_is_counted(autojump_clock: Any, lines: Lines) -> None:
    """Chunks, polls, phases, kudos; the line has the reply's own id and worker."""
    async with running() as stack:
        answer = await stack.chat(stream=True, max_tokens=60)
        found = await scrape(stack)
        polls = len(stack.calls("GET", "/chat/status/"))
    chunks = answer.text.count("data: ")
    last = json.loads(answer.text.split("data: ")[-2])
    assert value(found, "requests_total", route="chat", code="ok") == 1
    assert value(found, "stream_chunks_total") == chunks
    assert value(found, "horde_calls_total", call="submit", outcome="2xx") == 1
    assert value(found, "horde_calls_total", call="status", outcome="2xx") == polls
    assert value(found, "horde_calls_total", call="workers", outcome="2xx") == 1
    assert value(found, "horde_call_seconds_count", call="status") == polls
    assert value(found, "kudos_total") == pytest.approx(last["x_horde"]["kudos"])
    assert value(found, "phase_seconds_count", phase="generating") == 1
    assert value(found, "first_byte_seconds_count", stream="true") == 1
    assert value(found, "chat_seconds_count", stream="true") == 1
    for phase in ("looking_up", "submitting", "queued", "generating", "cancelling"):
        assert value(found, "chat_in_flight", phase=phase) == 0
    (line,) = lines.requests()
    assert line["id"] == answer.headers["x-request-id"] == last["x_horde"]["request_id"]
    assert line["worker"] == last["x_horde"]["worker_name"]
    assert line["kudos"] == pytest.approx(last["x_horde"]["kudos"], abs=0.001)
    assert (line["route"], line["code"], line["stream"]) == ("chat", "ok", True)
    assert line["total"] >= line["generating"] > 0
    assert line["total"] >= line["first_byte"] >= 0


async def test_what_is_open_is_seen_by_phase(autojump_clock: Any) -> None:
    """Two of three wait while the one thread of the model works."""
    async with running() as stack, trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(
                partial(
                    stack.chat,
                    model=PLAIN,
                    stream=True,
                    max_tokens=400,
                    horde={"availability_mode": "wait"},
                )
            )
        await trio.sleep(1.5)
        found = await scrape(stack)
        assert value(found, "streams_in_flight") == 3
        assert value(found, "chat_in_flight", phase="generating") == 1
        assert value(found, "chat_in_flight", phase="queued") == 2
        nursery.cancel_scope.cancel()


async def test_who_leaves_is_counted_and_the_job_cancelled(
    autojump_clock: Any, lines: Lines
) -> None:
    async with running() as stack:
        with trio.move_on_after(3):
            await stack.chat(model=SLOW, max_tokens=400)
        await trio.sleep(2)
        found = await scrape(stack)
    assert value(found, "requests_total", route="chat", code="left") == 1
    assert value(found, "horde_calls_total", call="cancel", outcome="2xx") == 1
    assert value(found, "phase_seconds_count", phase="cancelling") == 1
    (line,) = lines.requests()
    assert line["code"] == "left"
    assert "cancelling" in line


async def test_failures_of_the_horde_are_counted(autojump_clock: Any) -> None:
    """A server error, a rate limit, a cut connection: each by its kind."""
    async with running() as stack:
        stack.fail("status.error_500")
        stack.fail("status.rate_limited")
        stack.fail("status.cut_before")
        assert (await stack.chat()).status_code == 200
        found = await scrape(stack)
    for outcome in ("5xx", "429", "lost"):
        assert value(found, "horde_calls_total", call="status", outcome=outcome) == 1, outcome


async def test_refusals_by_their_codes_and_the_hordes_own_as_one(
    autojump_clock: Any, lines: Lines
) -> None:
    """A return code is the Horde's text: as a label it would be without bound."""
    async with running() as stack:
        for body in ({"logit_bias": {"1": 1}}, {"model": OFFLINE}, {"model": "no/such"}):
            await stack.chat(**body)
        answer = await stack.client.post(
            "/v1/chat/completions",
            json={"model": PLAIN, "messages": [{"role": "user", "content": "Hi"}]},
            headers={"Authorization": "Bearer nobodys-key"},
        )
        assert answer.json()["error"]["code"] == "InvalidAPIKey"
        await stack.client.get("/nowhere")
        await stack.client.get("/v1/models", headers={"Authorization": "Basic x"})
        found = await scrape(stack)
    for route, code in (
        ("chat", "UnsupportedChatParameter"),
        ("chat", "no_eligible_worker"),
        ("chat", "model_not_found"),
        ("chat", "horde_refusal"),
        ("none", "not_found"),
        ("models", "InvalidAuthorizationHeader"),
    ):
        assert value(found, "requests_total", route=route, code=code) == 1, code
    assert [line["code"] for line in lines.requests()][3] == "InvalidAPIKey"


async def test_dropped_parameters_are_counted(autojump_clock: Any) -> None:
    """Each drop, by its key; nothing for a key that nobody sent."""
    async with running(settings=Settings(drop_parameters=("top_k", "min_p"))) as stack:
        for _ in range(2):
            assert (await stack.chat(top_k=40)).status_code == 200
        found = await scrape(stack)
    assert value(found, "dropped_parameters_total", parameter="top_k") == 2
    assert value(found, "dropped_parameters_total", parameter="min_p") == 0


async def test_labels_have_no_value_that_a_client_chose(autojump_clock: Any) -> None:
    """Whatever is asked, the label values are words of the front's own tables."""
    async with running() as stack:
        for path in ("/a", "/v1/models/x/y/z", "/v1/models/%00", f"/{CANARY}"):
            await stack.client.get(path)
        await stack.client.request("BREW", "/v1/models")
        await stack.chat(model=CANARY, messages=[{"role": "user", "content": PROMPT}])
        await stack.chat(**{CANARY: 1})
        found = await scrape(stack)
    codes = {*FRONT_CODES, "ok", "left", "horde_refusal"}
    for name, labels in found:
        for label, word in labels:
            assert CANARY not in word
            if label == "code":
                assert word in codes, (name, word)


async def test_metrics_can_be_off(autojump_clock: Any) -> None:
    """Then there is no such path."""
    async with running(settings=Settings(serve_metrics=False)) as stack:
        answer = await stack.client.get("/metrics")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


async def test_probes_make_no_lines(autojump_clock: Any, lines: Lines) -> None:
    """They come every few seconds; refused ones are told."""
    async with running() as stack:
        for path in ("/healthz", "/readyz", "/metrics"):
            assert (await stack.client.get(path)).status_code == 200
        assert lines.requests() == []
        assert (await stack.client.post("/healthz")).status_code == 405
    assert [line["code"] for line in lines.requests()] == ["method_not_allowed"]


async def test_no_key_and_no_text_is_logged_or_counted(autojump_clock: Any, lines: Lines) -> None:
    """Through good requests, refused ones, and a Horde that repeats the key in its refusal."""
    headers = {"Authorization": f"Bearer {CANARY}", "X-Title": "App"}
    bodies = [
        {"model": PLAIN, "messages": [{"role": "user", "content": PROMPT}]},
        {"model": PLAIN, "messages": [{"role": "user", "content": PROMPT}], "stream": True},
        {"model": PLAIN, "messages": [{"role": PROMPT, "content": PROMPT}]},
        {"model": PROMPT, "messages": [{"role": "user", "content": PROMPT}]},
    ]
    async with running() as stack:
        for body in bodies:
            await stack.client.post("/v1/chat/completions", json=body, headers=headers)
        await stack.client.post("/v1/chat/completions", content=PROMPT, headers=headers)
        await stack.client.get("/v1/models", headers={"Authorization": f"Bearer {CANARY} x"})
        exposition = (await stack.client.get("/metrics")).text
        answer = await stack.chat(messages=[{"role": "user", "content": PROMPT}])
        reply = answer.json()["choices"][0]["message"]["content"]
    said = "\n".join([exposition, *lines.console, *map(json.dumps, lines.json)])
    assert len(lines.requests()) == 7
    for secret in (CANARY, PROMPT, reply[:30]):
        assert secret not in said


def test_a_line_cannot_be_forged(lines: Lines) -> None:
    """A worker's name is a stranger's text."""
    log.line("request", worker='a b="c"\nrequest id=x \x1b[31m \ud800', kudos=1.23456, none=None)
    (console,) = lines.console
    assert console.count("\n") == 0
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00 INFO request worker='.*' kudos=1.235",
        console,
    )
    assert "\x1b" not in console
    assert lines.json[0]["kudos"] == 1.235
    assert "none" not in lines.json[0]


def test_a_fault_is_told_by_type_and_place_and_never_quoted(lines: Lines) -> None:
    try:
        raise ValueError(CANARY)
    except ValueError as error:
        log.fault("request failed", error, id="abc")
    (line,) = lines.json
    assert (line["level"], line["error"], line["id"]) == ("error", "ValueError", "abc")
    assert "test_metrics.py" in line["at"]
    assert CANARY not in lines.console[0] + json.dumps(line)


def test_all_metrics_have_the_prefix_or_are_the_processs_own() -> None:
    names = {sample for sample, _ in parse(Metrics().exposition().decode())}
    assert all(name.startswith(("horde_front_", "process_")) for name in names)


def test_metrics_at_an_address_of_their_own_and_json_lines() -> None:
    """A real process: the front has no `/metrics` then, and stderr is one object a line."""
    with serving("simulate", "--port", "0") as horde:
        url = horde.horde
        arguments = ("--horde", url, "--metrics", "127.0.0.1:0", "--log-format", "json")
        with serving("serve", "--port", "0", *arguments) as front:
            found = re.search(r" metrics=(\S+)$", front.line)
            assert found, front.line
            with urllib.request.urlopen(found[1]) as answer:
                assert b"horde_front_build_info" in answer.read()
            with urllib.request.urlopen(f"{front.front}/models") as answer:
                identity = answer.headers["x-request-id"]
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(front.front.removesuffix("/v1") + "/metrics")
            front.send(signal.SIGINT)
            ended = front.wait()
    told = [json.loads(line) for line in ended.err.splitlines()]
    # An answer is out before its line is: the second one's may come after the word of the drain.
    assert sorted(line["event"] for line in told[1:-1]) == ["draining", "request", "request"]
    assert (told[0]["event"], told[-1]["event"]) == ("started", "stopped")
    assert told[0]["horde"] == url.removesuffix("/api/v2")
    lines = [line for line in told if line["event"] == "request"]
    assert [(line["route"], line["code"]) for line in lines] == [
        ("models", "ok"),
        ("none", "not_found"),
    ]
    assert lines[0]["id"] == identity
