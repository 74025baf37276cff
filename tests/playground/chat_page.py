"""The page as a user has it before them: what can be done there, and what can be read."""

import json
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Locator, Page, Route, expect

PATIENCE = 60_000
"""Milliseconds that a reply may take on a busy machine; nothing waits for so long."""

expect.set_options(timeout=PATIENCE)


class ChatPage:
    """One open page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.sent: list[dict[str, Any]] = []
        page.set_default_timeout(PATIENCE)
        page.on("request", self._keep)

    def open(self, url: str, *, base_url: str | None = None) -> "ChatPage":
        """Opens the page and waits for its models."""
        self.page.goto(url)
        if base_url is not None:
            self.fill("base_url", base_url)
        expect(self.page.locator("#model option").nth(1)).to_be_attached()
        return self

    def choose(self, model: str) -> None:
        """Picks a model; one that isn't listed is typed."""
        if self.page.locator(f'#model option[value="{model}"]').count():
            self.page.locator("#model").select_option(model)
        else:
            self.page.locator("#model").select_option("")
            self.page.locator("[name=other_model]").fill(model)

    def fill(self, name: str, value: str) -> None:
        """Sets a field of the settings, opening its section."""
        self.unfold(name)
        field = self.page.locator(f'#settings [name="{name}"]')
        if field.evaluate("field => field.tagName") == "SELECT":
            field.select_option(value)
        else:
            field.fill(value)
            field.dispatch_event("change")

    def check(self, name: str) -> None:
        """Ticks a box of the settings."""
        self.unfold(name)
        self.page.locator(f'#settings [name="{name}"]').check()

    def unfold(self, name: str) -> None:
        """Opens the section that a field is in."""
        script = """name => {
            const details = document.querySelector(`#settings [name="${name}"]`).closest("details");
            if (details) details.open = true;
        }"""
        self.page.evaluate(script, name)

    def offer_tool(self, name: str) -> None:
        """Ticks a tool's box."""
        self.unfold("rounds")
        self.page.locator(f'#tools-section input[value="{name}"]').check()

    def ask(self, text: str) -> None:
        """Sends a message."""
        self.page.locator("#draft").fill(text)
        self.page.locator("#draft").press("Enter")

    def answered(self) -> Locator:
        """Waits for the turn's end; the last reply."""
        expect(self.page.locator("#send")).to_be_visible()
        reply = self.page.locator(".reply").last
        expect(reply).to_have_attribute("aria-busy", "false")
        return reply

    def say(self, text: str) -> Locator:
        """Sends a message and waits for the turn's end; the last reply."""
        turns = self.page.locator(".user").count()
        self.ask(text)
        expect(self.page.locator(".user")).to_have_count(turns + 1)  # the reply is under way then
        return self.answered()

    @property
    def text(self) -> str:
        """What the last reply says."""
        return self.page.locator(".reply .markdown").last.inner_text()

    @property
    def served(self) -> str:
        """The status line of the last reply."""
        return self.page.locator(".reply .served").last.inner_text()

    @property
    def error(self) -> str:
        """The error of the last reply."""
        return self.page.locator(".reply .error").last.inner_text()

    def notices(self) -> list[str]:
        """The notices below the last reply."""
        return self.page.locator(".reply").last.locator(".notice").all_inner_texts()

    def spoil(self, change: Callable[[Route], None]) -> None:
        """Has a function answer chat requests in the network's place."""
        self.page.route("**/chat/completions", change)

    def until(self, happened: Callable[[], object]) -> None:
        """Waits, frame by frame, for something outside of the page."""
        frames = PATIENCE // 16
        while not happened():
            frames -= 1
            assert frames, "it didn't happen"
            self.page.evaluate("() => new Promise(requestAnimationFrame)")

    def _keep(self, request: Any) -> None:
        if request.method == "POST" and request.url.endswith("/chat/completions"):
            self.sent.append(json.loads(request.post_data))
