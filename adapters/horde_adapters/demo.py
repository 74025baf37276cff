"""`horde-front demo`: one streamed chat and one tool round, with what the Horde says beside them.

Nothing here knows the front's insides: it is a client as any other, over a real socket.
"""

import json
import shutil
from collections.abc import AsyncIterator, Mapping
from typing import Any

import attrs
import httpx
import trio

from horde_adapters import log
from horde_adapters.serve import Address, CommandFailed, Running
from horde_adapters.settings import Limits, Settings
from horde_adapters.simulate import run_both
from horde_simulator.document import shipped_scenario
from horde_simulator.world import World

MODEL = "koboldcpp/Qwen3-8B"
KEY = "rich-key"
QUESTION = "Why is the sky blue? Two short paragraphs, please."
TOOL_QUESTION = "What is the weather in Bergen?"
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Current weather in a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
WEATHER = {"city": "Bergen", "sky": "light rain", "celsius": 9}

_MARGIN = 12
_LABELS = {"reasoning_content": "thinking", "content": "answer"}


class DemoFailed(CommandFailed):
    """The demo didn't come to a good end."""

    status = 1


async def show() -> None:
    """Runs a simulated Horde and a front on free ports, and chats. Raises DemoFailed."""
    log.LOGGER.disabled = True  # the demo is its own account of what happens
    done = trio.Event()
    running: list[Running] = []
    up = trio.Event()

    def ready(what: Running) -> None:
        running.append(what)
        up.set()

    async with trio.open_nursery() as nursery:

        async def run() -> None:
            world = World(shipped_scenario("default"))
            await run_both(
                Address(), Address(), world, Settings(), Limits(), until=done.wait, ready=ready
            )

        nursery.start_soon(run)
        await up.wait()
        await _chat_with(running[0])
        done.set()


async def _chat_with(where: Running) -> None:
    print("A simulated AI Horde and a front for it run on this machine:\n")
    _say("front", f"{where.front}   (an OpenAI base URL)")
    _say("horde", f"{where.horde}")
    headers = {"authorization": f"Bearer {KEY}", "x-title": "horde-front-demo"}
    timeout = httpx.Timeout(30.0)
    async with httpx.AsyncClient(headers=headers, timeout=timeout, trust_env=False) as client:
        print(f"\n1. A streamed chat with {MODEL}, which thinks first\n")
        await _streamed_chat(client, f"{where.front}/chat/completions")
        print("\n2. A tool round\n")
        await _tool_round(client, f"{where.front}/chat/completions")
        print("\n3. What the Horde thinks of the front as its client\n")
        await _verdict(client, str(where.horde).removesuffix("/api/v2"))
    print("\nNext: `horde-front dev` keeps both running for your own client.")


async def _streamed_chat(client: httpx.AsyncClient, url: str) -> None:
    _say("you", QUESTION)
    body = {
        "model": MODEL,
        "messages": [{"role": "user", "content": QUESTION}],
        "max_tokens": 224,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    asked = trio.current_time()
    first_words: float | None = None
    shown = _Typewriter()
    served: Mapping[str, Any] = {}
    usage: Mapping[str, Any] = {}
    async with client.stream("POST", url, json=body) as response:
        if response.status_code != 200:
            raise DemoFailed(f"the chat was refused: {(await response.aread()).decode()}")
        async for event in _events(response):
            if isinstance(event, str):
                shown.end()
                _say("horde", event)
                continue
            for choice in event["choices"]:
                for channel, label in _LABELS.items():
                    if text := choice["delta"].get(channel):
                        first_words = first_words or trio.current_time() - asked
                        shown.type(label, text)
            served = event.get("x_horde") or served
            usage = event.get("usage") or usage
    shown.end()
    if not served or first_words is None:
        raise DemoFailed("the stream ended without a finish chunk")
    _say(
        "horde",
        f"served by worker {served['worker_name']} for {served['kudos']:g} kudos: "
        f"{usage['completion_tokens']} tokens",
    )
    _say(
        "front",
        f"first words after {first_words:.1f} s, the end after {trio.current_time() - asked:.1f} s",
    )


async def _events(response: httpx.Response) -> AsyncIterator[dict[str, Any] | str]:
    """The stream's JSON chunks, and its comments as text. Raises DemoFailed for an error event."""
    async for line in response.aiter_lines():
        if line.startswith(":"):
            position, wait = (part.partition("=")[2] for part in line.split()[-2:])
            yield f"queue position {position}, estimated wait {wait} s"
        elif line == "data: [DONE]":
            return
        elif line.startswith("data: "):
            event = json.loads(line.removeprefix("data: "))
            if "error" in event:
                raise DemoFailed(event["error"]["message"])
            yield event
    raise DemoFailed("the stream ended before [DONE]")


async def _tool_round(client: httpx.AsyncClient, url: str) -> None:
    _say("you", f"{TOOL_QUESTION} [offers get_weather(city)]")
    messages: list[dict[str, Any]] = [{"role": "user", "content": TOOL_QUESTION}]
    body = {
        "model": MODEL,
        "messages": messages,
        "tools": [TOOL],
        "parallel_tool_calls": False,
        "reasoning_effort": "none",
    }
    reply = await _reply(client, url, body)
    calls = reply["message"].get("tool_calls")
    if not calls:
        raise DemoFailed("the model called no tool")
    for call in calls:
        _say("model", f"calls {call['function']['name']}({call['function']['arguments']})")
    messages.append({"role": "assistant", "content": None, "tool_calls": calls})
    for call in calls:
        result = json.dumps(WEATHER)
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
        _say("you", f"answer the call with {result}")
    reply = await _reply(client, url, body)
    shown = _Typewriter()
    shown.type("answer", reply["message"]["content"])
    shown.end()


async def _reply(client: httpx.AsyncClient, url: str, body: Mapping[str, Any]) -> dict[str, Any]:
    response = await client.post(url, json=body)
    document = response.json()
    if response.status_code != 200:
        raise DemoFailed(document["error"]["message"])
    choice: dict[str, Any] = document["choices"][0]
    return choice


async def _verdict(client: httpx.AsyncClient, horde: str) -> None:
    verdict = (await client.get(f"{horde}/_sim/verdict")).json()
    calls = (await client.get(f"{horde}/_sim/journal")).json()["calls"]
    polls = sum(1 for call in calls if call["method"] == "GET" and "/chat/status/" in call["path"])
    submits = sum(1 for call in calls if call["path"].endswith("/chat/async"))
    _say("verdict", "ok" if verdict["ok"] else "not ok")
    if not verdict["ok"]:
        raise DemoFailed(f"the Horde complains: {verdict['findings']}")
    _say("calls", f"{submits} submits, {polls} status reads, none too early, no job left behind")


def _say(who: str, what: str) -> None:
    print(f"{who:>{_MARGIN - 2}}  {what}", flush=True)


@attrs.define
class _Typewriter:
    """Prints text as it comes, in a column, never breaking a word that is still coming."""

    _label: str | None = None
    _column: int = 0
    _word: str = ""

    def type(self, label: str, text: str) -> None:
        if label != self._label:
            self.end()
            self._label = label
            print(f"{label:>{_MARGIN - 2}}  ", end="", flush=True)
        for character in text:
            if character.isspace():
                self._put()
                if character == "\n":
                    self._new_line()
                elif self._column:
                    self._word = " "
            else:
                self._word += character

    def end(self) -> None:
        if self._label is not None:
            self._put()
            print(flush=True)
        self._label, self._column = None, 0

    def _put(self) -> None:
        if self._column + len(self._word) > _width():
            self._new_line()
            self._word = self._word.lstrip()
        print(self._word, end="", flush=True)
        self._column += len(self._word)
        self._word = ""

    def _new_line(self) -> None:
        print(f"\n{' ' * _MARGIN}", end="", flush=True)
        self._column = 0


def _width() -> int:
    return max(20, min(100, shutil.get_terminal_size().columns) - _MARGIN)
