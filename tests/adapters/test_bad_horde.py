"""A Horde that misbehaves: what it sends is read again, or the request ends with the right code."""

from typing import Any

import pytest
import trio

from adapters.stack import PLAIN, events, running, text_of

STATUS_FAULTS = (
    "status.error_500",
    "status.html_502",
    "status.truncated_json",
    "status.wrong_json",
    "status.slow",
    "status.cut_before",
    "status.cut_after",
    "status.rate_limited",
    "status.rate_limited_with_rc",
    "fields_missing",
)


LONGEST_STATUS = 600
"""Bytes of a first status answer, head and body: some 570."""


def is_good(found: list[Any]) -> bool:
    """Whether a stream ended as it should, with text."""
    return bool(text_of(found)) and found[-1] == "[DONE]" and bool(found[-2]["x_horde"])


@pytest.mark.parametrize("fault", STATUS_FAULTS)
@pytest.mark.parametrize("times", [1, 3])
async def test_status_reads_that_fail(
    fault: str, times: int, autojump_clock: trio.testing.MockClock
) -> None:
    """Some failed reads in the midst of a stream are nothing that its client sees."""
    async with running() as stack:
        stack.fail(fault, times=times, after=1)
        answer = await stack.chat(stream=True, max_tokens=100)
    assert is_good(events(answer.text))
    assert stack.submits == 1
    assert stack.cancels == 0
    assert stack.verdict() == {"ok": True, "findings": []}


async def test_status_cut_at_every_byte(autojump_clock: trio.testing.MockClock) -> None:
    """Wherever the connection is cut in a status answer, the stream goes on to its end."""
    async with running() as stack:
        for cut in range(LONGEST_STATUS):
            stack.fail("status.cut_after", options={"bytes": float(cut)})
            answer = await stack.chat(stream=True, max_tokens=16)
            assert is_good(events(answer.text)), cut
    assert stack.cancels == 0
    assert stack.verdict() == {"ok": True, "findings": []}


@pytest.mark.parametrize("stream", [True, False])
async def test_status_lost_for_good(stream: bool, autojump_clock: trio.testing.MockClock) -> None:
    """After a minute of failed reads the request ends with `horde_status_lost`, cancelled."""
    async with running() as stack:
        stack.fail("status.html_502", times=None, after=1)
        began = trio.current_time()
        answer = await stack.chat(stream=stream, max_tokens=1024)
        took = trio.current_time() - began
    if stream:
        found = events(answer.text)
        assert found[-1] == "[DONE]"
        error = found[-2]["error"]
    else:
        assert answer.status_code == 502
        assert answer.headers["x-should-retry"] == "false"
        error = answer.json()["error"]
    assert error["code"] == "horde_status_lost"
    assert 60 <= took <= 75
    assert stack.cancels == 1


@pytest.mark.parametrize(
    "fault, status, code, retry, kept",
    [
        ("submit.error_500", 502, "horde_error", False, {}),
        ("submit.html_502", 502, "horde_error", False, {}),
        ("submit.rate_limited", 429, "rate_limit_exceeded", True, {"retry-after": "2"}),
        ("submit.rate_limited_with_rc", 429, "TooManyPrompts", True, {"retry-after": "2"}),
        ("submit.maintenance", 400, "MaintenanceMode", True, {}),
        ("submit.key_revoked", 401, "InvalidAPIKey", True, {}),
    ],
)
async def test_submits_that_are_refused(
    fault: str,
    status: int,
    code: str,
    retry: bool,
    kept: dict[str, str],
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The Horde's refusal keeps its status and code; a server error may have queued a job."""
    async with running() as stack:
        stack.fail(fault, times=None)
        answer = await stack.chat()
    assert answer.status_code == status
    assert answer.json()["error"]["code"] == code
    assert ("x-should-retry" not in answer.headers) is retry
    for name, value in kept.items():
        assert answer.headers[name] == value
    assert stack.states() == []


@pytest.mark.parametrize(
    "fault", ["submit.cut_after", "submit.truncated_json", "submit.wrong_json", "submit.slow"]
)
async def test_submit_whose_answer_is_lost(
    fault: str, autojump_clock: trio.testing.MockClock
) -> None:
    """It is sent once more under its operation key: one job, one reply."""
    async with running() as stack:
        stack.fail(fault, options={"seconds": 100.0} if fault == "submit.slow" else {})
        answer = await stack.chat()
    assert answer.status_code == 200
    assert len(stack.states()) == 1
    assert stack.verdict() == {"ok": True, "findings": []}


async def test_submit_lost_twice(autojump_clock: trio.testing.MockClock) -> None:
    """Then nobody knows, and the client is told not to try by itself."""
    async with running() as stack:
        stack.fail("submit.cut_after", times=2)
        answer = await stack.chat()
    assert answer.status_code == 502
    assert answer.json()["error"]["code"] == "horde_submit_unknown"
    assert answer.headers["x-should-retry"] == "false"
    assert stack.submits == 2


@pytest.mark.parametrize("fault", ["workers.html_502", "models.truncated_json", "any.cut_before"])
async def test_pool_that_fails_is_served_stale(
    fault: str, autojump_clock: trio.testing.MockClock
) -> None:
    """Once seen, the models stay listed while the Horde fails; before that it is unreachable."""
    async with running() as stack:
        first = await stack.client.get("/v1/models")
        stack.fail(fault, times=None)
        await trio.sleep(60)
        stale = await stack.client.get("/v1/models")
    async with running() as stack:
        stack.fail(fault, times=None)
        never = await stack.client.get("/v1/models")
    assert stale.json() == first.json()
    assert never.status_code == 503
    assert never.json()["error"]["code"] == "horde_unreachable"


async def test_faulted_job(autojump_clock: trio.testing.MockClock) -> None:
    """A job that its workers give up is reported with the last reason."""
    async with running() as stack:
        stack.fail("faults_job", times=None, options={"reason": "No memory."})
        answer = await stack.chat()
    assert answer.status_code == 502
    error = answer.json()["error"]
    assert error["code"] == "ChatRequestFaulted"
    assert error["metadata"]["rc"] == "ChatWorkerFault"
    assert "No memory." in error["message"]


@pytest.mark.parametrize("fault, after", [("diverges", 0), ("restarts_with_other_text", 4)])
async def test_stream_that_diverges(
    fault: str, after: int, autojump_clock: trio.testing.MockClock
) -> None:
    """Text that doesn't go on as it began ends the stream with an error event."""
    async with running() as stack:
        stack.fail(fault, after=after)
        answer = await stack.chat(
            stream=True, messages=[{"role": "user", "content": "Write 200 words."}]
        )
    found = events(answer.text)
    assert found[-2]["error"]["code"] == "ChatStreamDiverged"
    assert found[-1] == "[DONE]"
    assert set(stack.states()) <= {"finished", "cancelled"}


async def test_expiry(autojump_clock: trio.testing.MockClock) -> None:
    """A request that the Horde forgets is `RequestNotFound`, and isn't deleted."""
    async with running() as stack:
        stack.fail("expiry", after=1)
        answer = await stack.chat(max_tokens=1024)
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "RequestNotFound"
    assert stack.cancels == 0


async def test_out_of_budget(autojump_clock: trio.testing.MockClock) -> None:
    """A whole reply has 280 s from its arrival, then it is a timeout and cancelled."""
    async with running() as stack:
        stack.fail("never_pops", times=None)
        began = trio.current_time()
        answer = await stack.chat(horde={"availability_mode": "wait"})
        took = trio.current_time() - began
    assert answer.status_code == 504
    assert answer.json()["error"]["code"] == "horde_timeout"
    assert took == pytest.approx(280, abs=0.01)
    assert stack.cancels == 1


async def test_other_models_are_not_touched(autojump_clock: trio.testing.MockClock) -> None:
    """A fault of one model leaves the next request as it is."""
    async with running() as stack:
        stack.fail("never_pops", times=None, model=PLAIN)
        answer = await stack.chat(model="koboldcpp/Qwen3-8B")
    assert answer.status_code == 200
