"""Makes `explanation/life-of-a-request.md` by living through two requests.

    python docs/make_life_of_a_request.py

The exchange and the simulated Horde are both pure, so this file is all the driver that they need: a
clock that jumps, calls handed over as values.  What the page shows is what happened.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import attrs

from horde_core import events, native
from horde_core.exchange import Exchange
from horde_core.job import submit_body
from horde_core.lifecycle import mermaid
from horde_core.native import HordeAnswer
from horde_core.request import read_request
from horde_core.timing import Timing
from horde_core.workers import read_pool
from horde_simulator.call import Answer, Call
from horde_simulator.document import shipped_scenario
from horde_simulator.world import World

PAGE = Path(__file__).parent / "explanation" / "life-of-a-request.md"
MADE = "<!-- Made by docs/make_life_of_a_request.py, which runs what it shows. -->"
LATENCY = 0.05
"""Seconds that each call takes here."""
HEADERS = (("apikey", "rich-key"), ("client-agent", "docs:1:docs"))
BODY = {
    "model": "koboldcpp/Qwen3-8B",
    "messages": [{"role": "user", "content": "Why is the sky blue?"}],
    "max_tokens": 96,
    "reasoning_effort": "none",
    "stream": True,
}


@attrs.frozen
class Step:
    """One line of the trace."""

    at: float
    event: str
    state: str
    effects: str


class Life:
    """One request, driven over a world."""

    def __init__(self, *, leaves_at: float | None = None) -> None:
        self.steps: list[Step] = []
        self._world = World(shipped_scenario("default"))
        request = read_request(BODY)
        self._exchange = Exchange(
            request,
            submit=submit_body(request, operation_key="docs", context_length=4096),
            quote=b"",
            created=0,
            trace_id="0" * 32,
            timing=Timing(),
        )
        self._due: list[tuple[float, events.Event]] = [(0.0, events.Arrived())]
        if leaves_at is not None:
            self._due.append((leaves_at, events.ClientGone()))

    def run(self) -> list[Step]:
        """Lives it to the end."""
        while not self._exchange.ended:
            wake = self._exchange.wake_at
            self._due.sort(key=lambda due: due[0])
            if self._due and self._due[0][0] <= wake:
                at, event = self._due.pop(0)
            else:
                at, event = wake, events.TimePassed()
            self._world.advance(max(self._world.now, at))
            before = self._exchange.state
            effects = self._exchange.handle(event, at)
            if effects or before is not self._exchange.state:
                self._note(at, event, effects)
            for effect in effects:
                self._due += [(at + LATENCY, answer) for answer in self._perform(effect)]
        return self.steps

    def _perform(self, effect: events.Effect) -> Iterator[events.Event]:
        """The answer that an effect brings, if it asks the Horde."""
        match effect:
            case events.ReadPool(fresh):
                workers = self._call("GET", native.WORKERS, "type=text")
                models = self._call("GET", native.MODELS, "type=text&model_state=all")
                yield events.PoolRead(read_pool(workers.body, models.body), fresh)
            case events.Submit(body):
                yield events.SubmitAnswered(self._call("POST", native.SUBMIT, body=body))
            case events.ReadStatus(request_id, query):
                answer = self._call("GET", f"{native.STATUS}/{request_id}", query)
                yield events.StatusAnswered(answer, 1)
            case events.Cancel(request_id):
                yield events.CancelAnswered(self._call("DELETE", f"{native.STATUS}/{request_id}"))

    def _call(self, method: str, path: str, query: str = "", body: bytes = b"") -> HordeAnswer:
        answer = self._world.handle(Call(method, path, query, HEADERS, body))
        assert isinstance(answer, Answer)
        return HordeAnswer(answer.status, dict(answer.headers), answer.body)

    def _note(self, at: float, event: events.Event, effects: list[events.Effect]) -> None:
        shown = "; ".join(told(effect) for effect in effects)
        self.steps.append(Step(at, self._told_event(event), self._exchange.state.value, shown))

    def _told_event(self, event: events.Event) -> str:
        if isinstance(event, events.StatusAnswered) and event.answer.status == 200:
            status = native.read_status(event.answer.body)
            if status.done:
                return "status: done"
            if status.progress:
                return f"status: generating, {len(status.progress[0].content)} more characters"
            place = "generating" if status.processing else f"place {status.queue_position} in line"
            return f"status: {place}"
        return {
            events.Arrived: "the request is whole and checked",
            events.PoolRead: "models and workers are known",
            events.SubmitAnswered: "the Horde accepts the job",
            events.TimePassed: "time passes",
            events.ClientGone: "the client leaves",
            events.CancelAnswered: "the Horde confirms",
        }[type(event)]


def told(effect: events.Effect) -> str:
    """An effect in words."""
    match effect:
        case events.ReadPool():
            return "look at models and workers"
        case events.Submit():
            return "submit the job"
        case events.ReadStatus():
            return "read its status"
        case events.Cancel():
            return "cancel the job"
        case events.SendHead(status):
            return f"send headers, {status}"
        case events.SendBytes(data, last):
            if data.startswith(b":"):
                return "send a keepalive"
            return f"send {data.count(b'data: ')} events" + (", the last ones" if last else "")
    return type(effect).__name__


def table(steps: list[Step]) -> str:
    """A trace; runs of text sent on time are one line."""
    lines = ["| seconds | what happens | the front then | state |", "| ---: | --- | --- | --- |"]
    paced = 0
    for number, step in enumerate(steps):
        following = steps[number + 1] if number + 1 < len(steps) else None
        is_paced = step.event == "time passes" and step.effects == "send 1 events"
        if is_paced:
            paced += 1
            if following and following.event == step.event and following.effects == step.effects:
                continue
            effects = f"sends the text evenly: {paced} chunks, to here"
            lines.append(f"| {step.at:.2f} | time passes | {effects} | {step.state} |")
            paced = 0
            continue
        lines.append(f"| {step.at:.2f} | {step.event} | {step.effects} | {step.state} |")
    return "\n".join(lines)


def page() -> str:
    """The page."""
    return f"""{MADE}

# The life of a request

One client request is one job at most. It is followed by reading the job's status, no more often
than once in 1.1 seconds, since the Horde allows 60 reads a minute; what is new in a status goes to
the client, spread over the time until the next one is expected.

All of it is decided by a state machine without a clock or a socket (`horde_core.exchange`). It is
told what happened and when, and says what to do; [what drives it](../reference/requests.md) only
performs that. The traces below were made by driving it by hand over a simulated Horde.

## A stream, poll by poll

{table(Life().run())}

The headers go out after the first status: what can be refused by then is refused with a status of
its own. From there on a failure is an event within the stream. The status that says `done` brings
the whole reply, so text that was still to be paced is sent at once with it.

## A client that leaves

{table(Life(leaves_at=2.0).run())}

Whoever closes the connection, at whatever moment, ends the job: the front deletes it and waits for
the Horde's word, trying three times. A disconnect between the submit and its answer waits for that
answer first, as the job's id is in it.

## Every state

```mermaid
{mermaid()}```

| state | what is awaited |
| --- | --- |
| looking up | the view of models and workers, read at most every ten seconds for all requests |
| quoting | the price, only for a request with `horde.max_kudos` |
| submitting | the submit's answer: from here on the Horde may hold a job |
| abandoned | the same, but nobody waits for the reply any more |
| reading | a status |
| waiting | the time of the next read |
| cancelling | the Horde's word that the job is deleted |

A submit whose answer was lost is sent once more with the same operation key, which the Horde
answers with the same job; it is never sent under another. A status that can't be read is read again
after a growing pause, for a minute in a row. The budget of the whole, 600 seconds for a stream and
280 otherwise, counts from the request's arrival.
"""


def main() -> int:
    """Writes it."""
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
