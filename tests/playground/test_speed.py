"""How fast the page is, measured in Chromium by its own observers.

Other work on the machine can only make these figures worse, so the best of a few tries is held
against the bound; a page that is too slow is so in each of them.
"""

from typing import Any

import pytest

pytest.importorskip("playwright", reason="playwright isn't installed: the extra `browser`")

from playground.chat_page import ChatPage
from playground.site import OFFLINE, Site, running_site, scripted

FIRST_PAINT = 500.0
"""Milliseconds to the first contentful paint on loopback."""
LONGEST_TASK = 50.0
"""Milliseconds: what browsers call a long task, from which on a page stutters."""
TOKENS = 10_000
TRIES = 4

OBSERVE = """
window.longTasks = [];
new PerformanceObserver((list) => longTasks.push(...list.getEntries().map((task) => task.duration)))
    .observe({ type: "longtask" });
"""
PAINT = """() => new Promise((done) => {
    new PerformanceObserver((list) => {
        for (const entry of list.getEntries())
            if (entry.name === "first-contentful-paint") done(entry.startTime);
    }).observe({ type: "paint", buffered: true });
})"""


def long_reply() -> str:
    """All that makes rendering dear: lists, code, tables, emphasis, long paragraphs."""
    line = "the tide comes in and the boats rise with it until evening " * 6
    sections = [
        f"## Section {number}\n\n{line} **bold {number}** and `code`, [a link](https://example.org).\n\n"
        + "".join(f"- item {item} of a list, *with emphasis*\n" for item in range(10))
        + "\n```python\n"
        + "".join(f"value_{item} = {item} * {number}\n" for item in range(12))
        + "```\n\n| name | value |\n|---|---:|\n"
        + "".join(f"| row {item} | {item * number} |\n" for item in range(8))
        + "\n"
        for number in range(20)
    ]
    return (
        "".join(sections) + "".join(f"{item}. point {line}\n" for item in range(1, 60)) + line * 20
    )


def streamed(chat: ChatPage, site: Site) -> tuple[int, list[float]]:
    """The tokens of a long reply, and the tasks above 50 ms while it came."""
    chat.page.add_init_script(OBSERVE)
    chat.open(site.page_url)
    chat.fill("api_key", "rich-key")
    chat.choose(OFFLINE)
    chat.fill("max_tokens", "16384")
    chat.page.evaluate("() => new Promise(requestIdleCallback)")
    chat.page.evaluate("() => { longTasks.length = 0; }")
    chat.say("Go")
    tokens = int(chat.served.rpartition("kudos · ")[2].split()[0].replace(",", ""))
    long: list[float] = chat.page.evaluate("() => longTasks")
    return tokens, long


def test_long_stream_does_not_stutter(new_chat: Any) -> None:
    """No task is over 50 ms while a reply of 10,000 tokens comes at 2,000 a second."""
    worker = scripted(
        {"match": ".", "text": long_reply()},
        tokens_per_second=2000,
        max_length=16384,
        max_context_length=32768,
    )
    found = []
    with running_site(workers=[worker]) as site:
        for _ in range(TRIES):
            tokens, long = streamed(new_chat(), site)
            assert tokens >= TOKENS
            found.append(max(long, default=0.0))
            if found[-1] <= LONGEST_TASK:
                break
    assert min(found) <= LONGEST_TASK, found


def test_first_paint_is_soon(chromium: Any) -> None:
    """The page shows itself within half a second, with nothing in the browser's cache."""
    found = []
    with running_site() as site:
        for _ in range(TRIES):
            context = chromium.new_context()
            page = context.new_page()
            page.goto(site.page_url)
            found.append(page.evaluate(PAINT))
            context.close()
            if found[-1] < FIRST_PAINT:
                break
    assert min(found) < FIRST_PAINT, found
