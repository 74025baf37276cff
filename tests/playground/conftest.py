"""Debian's Chromium, for the tests that need a browser."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage

    from playground.chat_page import ChatPage

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
EXPECTED = "Failed to load resource"  # what Chromium says of each refused request


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all tests; each has a context of its own in it."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("Chromium isn't installed: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def new_chat(chromium: Browser) -> Iterator[Callable[..., ChatPage]]:
    """Opens chat pages, each in a context of its own; fails for an error in any of them."""
    from playground.chat_page import ChatPage

    faults: list[str] = []
    contexts = []

    def told(message: ConsoleMessage) -> None:
        if message.type == "error" and EXPECTED not in message.text:
            faults.append(message.text)

    def open_page(**options: Any) -> ChatPage:
        context = chromium.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", told)
        return ChatPage(page)

    yield open_page
    for context in contexts:
        context.close()
    assert faults == []


@pytest.fixture
def chat(new_chat: Callable[..., ChatPage]) -> ChatPage:
    """One chat page, not yet opened."""
    return new_chat()
