"""Takes the documentation's pictures of the playground.

    PYTHONPATH=tests python -m playground.screenshots     writes docs/images/playground/*.png

Each is a real page on a real front; the simulated worker says what looks like a chat.
"""

import io
import shutil
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, ViewportSize, sync_playwright

from playground.chat_page import ChatPage
from playground.conftest import FLAGS
from playground.site import OFFLINE, QUEUED, QWEN, Site, running_site, scripted

Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")

PICTURES = Path(__file__).parents[2] / "docs" / "images" / "playground"
DESKTOP: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 844}

ANSWER = """A **tide table** lists when the water is high and low at one place.

| Time | Height | |
|---|---:|---|
| 04:12 | 2.4 m | high |
| 10:31 | 0.6 m | low |

Work out the height between two of them with the rule of twelfths:

```python
def height(low, high, hours):
    twelfths = [0, 1, 3, 6, 9, 11, 12]
    return low + (high - low) * twelfths[hours] / 12
```
"""
WORKER = scripted(
    {
        "match": "tide table",
        "text": ANSWER,
        "reasoning": "They sail, it seems. A table, and the rule of twelfths in code.",
    },
    name="Harbour Light",
    max_length=2048,
)


def take(chat: ChatPage, name: str) -> None:
    """Writes one picture, with few colours: it is flat, and kept in the repository."""
    shot = Image.open(io.BytesIO(chat.page.screenshot()))
    PICTURES.mkdir(parents=True, exist_ok=True)
    shot.convert("RGB").quantize(96).save(PICTURES / f"{name}.png", optimize=True)


def chat_of(browser: Browser, site: Site, scheme: Scheme, size: ViewportSize) -> ChatPage:
    context = browser.new_context(viewport=size, color_scheme=scheme)
    return ChatPage(context.new_page()).open(site.page_url)


def conversation(
    browser: Browser, site: Site, scheme: Scheme, size: ViewportSize, name: str
) -> None:
    """A turn with thoughts, a table and code."""
    chat = chat_of(browser, site, scheme, size)
    if size is PHONE:
        chat.page.locator("#open-panel").click()
    chat.choose(OFFLINE)
    if size is PHONE:
        chat.page.locator("#close-panel").click()
    chat.say("How do I read a tide table?")
    chat.page.mouse.move(0, 0)
    take(chat, name)


def tool_round(browser: Browser, site: Site) -> None:
    """A call, its result and what the model makes of it."""
    chat = chat_of(browser, site, "light", DESKTOP)
    chat.choose(QWEN)
    chat.offer_tool("roll_dice")
    chat.say("Roll dice for me, please.")
    chat.page.locator("#tools-section").scroll_into_view_if_needed()
    take(chat, "tools-desktop-light")


def queue_and_error(browser: Browser, site: Site) -> None:
    """An error with its code, and a request that waits in the queue."""
    chat = chat_of(browser, site, "dark", DESKTOP)
    chat.choose("koboldcpp/Nobody-7B")
    chat.say("Is anybody there?")
    chat.choose(QUEUED)
    chat.fill("horde.availability_mode", "wait")
    chat.fill("max_tokens", "700")
    chat.ask("And here?")
    chat.page.locator(".state", has_text="In the queue").wait_for()
    take(chat, "queue-desktop-dark")


def settings(browser: Browser, site: Site) -> None:
    """The settings on a phone."""
    chat = chat_of(browser, site, "light", PHONE)
    chat.page.locator("#open-panel").click()
    chat.choose(QWEN)
    chat.page.wait_for_timeout(300)  # the panel slides in
    take(chat, "settings-phone-light")


def main() -> None:
    """Takes them all."""
    with sync_playwright() as playwright, running_site(workers=[WORKER]) as site:
        program = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        for scheme in SCHEMES:
            conversation(browser, site, scheme, DESKTOP, f"chat-desktop-{scheme}")
            conversation(browser, site, scheme, PHONE, f"chat-phone-{scheme}")
        tool_round(browser, site)
        queue_and_error(browser, site)
        settings(browser, site)
        browser.close()


if __name__ == "__main__":
    main()
