"""The storm itself: sound seeds, the same bytes each time, and a failing one made small."""

import subprocess
import sys
from hashlib import sha256
from typing import Any

import pytest
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletionChunk

from horde_benchmarks.storm.checks import check
from horde_benchmarks.storm.event_stream import Event, read_events
from horde_benchmarks.storm.plan import Plan, plan_of
from horde_benchmarks.storm.record import Record, Storm
from horde_benchmarks.storm.replay import story
from horde_benchmarks.storm.run import run
from horde_benchmarks.storm.sentence import hear
from horde_benchmarks.storm.shrink import fewest, shrink
from horde_benchmarks.storm.summary import Summary, result_of
from horde_benchmarks.storm.told import error_of, outcome_of
from storm.mutants import prefix_not_checked

SEEDS = range(60)


def digest(storm: Storm) -> str:
    """Every byte that every client got, when, and what the Horde's book says."""
    told = [(at, data) for record in storm.records for at, data in record.sent]
    return sha256(repr((told, storm.world.state.ledger.totals())).encode()).hexdigest()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seed_of_the_fixed_set(seed: int) -> None:
    """Nothing is wrong with it."""
    assert [finding.line() for finding in check(run(plan_of(seed)))] == []


def test_the_storm_reaches_what_it_is_for() -> None:
    """A storm in which nothing happens would pass every check."""
    summary = Summary()
    for seed in SEEDS:
        summary.add(result_of(plan_of(seed)))
    assert {
        *("reply", "left", "draining", "horde_timeout", "ChatRequestFaulted", "horde_unreachable"),
        *("horde_submit_unknown", "horde_status_lost", "queue_unavailable", "max_kudos_exceeded"),
        *("no_eligible_worker", "no_worker_supports_features", "model_not_found", "InvalidAPIKey"),
        *("RequestNotFound", "ChatStreamDiverged", "rate_limit_exceeded", "KudosUpfront"),
    } <= set(summary.outcomes)
    assert summary.outcomes["reply"] > summary.requests / 4
    assert summary.horde_faults > 100
    assert summary.link_faults > 100


def test_the_same_seed_gives_the_same_bytes_in_another_process() -> None:
    """Whatever the hash seed is."""
    code = (
        "from storm.test_storm import digest;"
        "from horde_benchmarks.storm.plan import plan_of;"
        "from horde_benchmarks.storm.run import run;"
        "print(digest(run(plan_of(5))))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": "12345"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert printed.strip() == digest(run(plan_of(5)))


def whole_streams(seeds: range) -> list[tuple[Plan, Record]]:
    """Streams that came to a reply."""
    found = []
    for seed in seeds:
        plan = plan_of(seed)
        for record in run(plan).records:
            streamed = record.request is not None and record.request.stream
            if streamed and record.complete_at is not None and error_of(record) is None:
                found.append((plan, record))
    return found


def test_openais_own_accumulation_agrees() -> None:
    """The SDK's stream state puts together what the storm's own reader puts together."""
    streams = whole_streams(range(12))
    assert len(streams) > 50
    for plan, record in streams:
        state: Any = ChatCompletionStreamState()
        for item in read_events(record.body):
            if isinstance(item, Event) and item.data != "[DONE]":
                state.handle_chunk(ChatCompletionChunk.model_validate_json(item.data))
        completion = state.current_completion_snapshot
        assert record.request is not None
        heard = hear(record.body, record.request, plan.timing)
        for choice in completion.choices:
            said = heard.choices[choice.index]
            assert (choice.message.content or "") == said.text("content")
            assert choice.finish_reason == said.finish_reason
            calls = [call.model_dump() for call in choice.message.tool_calls or ()]
            assert [call["function"]["arguments"] for call in calls] == [
                call["function"]["arguments"] for call in said.calls
            ]


def test_fewest_leaves_nothing_out_that_matters() -> None:
    """3 and 7 are both needed; the rest goes."""
    assert fewest(tuple(range(20)), lambda some: {3, 7} <= set(some)) == (3, 7)
    assert fewest((1, 2), lambda some: True) == ()
    assert fewest((1, 2), lambda some: len(some) == 2) == (1, 2)


def test_a_failing_plan_is_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reply that doesn't continue the text needs one client and a fault, of sixty and eight."""
    prefix_not_checked(monkeypatch)

    def fails(plan: Plan) -> bool:
        return any(finding.family == 3 for finding in check(run(plan)))

    seed = next(seed for seed in range(400) if fails(plan_of(seed)))
    small = shrink(plan_of(seed), fails)
    assert fails(small)
    assert len(small.clients) <= 4
    assert 1 <= len(small.scenario.faults) <= 2
    told = list(story(run(small)))
    assert any("is told reply" in line for line in told)
    assert any(line.startswith("[3]") for line in told)


def test_outcomes_add_up() -> None:
    """Every client is counted once."""
    storm = run(plan_of(1))
    assert len([outcome_of(record) for record in storm.records]) == len(storm.plan.clients)
