"""Using the page: by keyboard and screen reader, on a phone, in the dark, and without waiting."""

from collections.abc import Callable

import pytest

pytest.importorskip("playwright", reason="playwright isn't installed: the extra `browser`")

from playwright.sync_api import Page, Route, expect

from playground.chat_page import ChatPage
from playground.site import OFFLINE, PLAIN, QUEUED, running_site, scripted

NewChat = Callable[..., ChatPage]
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}

UNNAMED = """() =>
    [...document.querySelectorAll("button, input:not([type=file]), select, textarea")]
    .filter((element) => !element.getAttribute("aria-label") && !element.labels?.length
        && !element.textContent.trim())
    .map((element) => element.outerHTML)"""

CONTRAST = """() => {
    const channel = (value) => value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    const read = (text) => text.match(/[\\d.]+/g).map(Number);
    const luminance = ([red, green, blue]) =>
        0.2126 * channel(red / 255) + 0.7152 * channel(green / 255) + 0.0722 * channel(blue / 255);
    const behind = (element) => {
        for (let at = element; at; at = at.parentElement) {
            const colour = read(getComputedStyle(at).backgroundColor);
            if (colour.length === 3 || colour[3] === 1) return colour;
        }
        return [255, 255, 255];
    };
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const low = [];
    while (texts.nextNode()) {
        const element = texts.currentNode.parentElement;
        if (!texts.currentNode.data.trim() || !element.checkVisibility()) continue;
        if (element.closest(":disabled, noscript, script, style")) continue;
        const [one, other] = [read(getComputedStyle(element).color), behind(element)]
            .map(luminance).sort((a, b) => b - a);
        const ratio = (one + 0.05) / (other + 0.05);
        if (ratio < 4.5) low.push([element.outerHTML.slice(0, 80), ratio.toFixed(2)]);
    }
    return low;
}"""


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.id || document.activeElement.name"))


def test_whole_turn_by_keyboard(chat: ChatPage) -> None:
    """From the first Tab to a sent message and a stopped reply, without a mouse."""
    with running_site(workers=[scripted({"match": ".", "text": "Once. " * 300})]) as site:
        chat.open(site.page_url)
        chat.choose(OFFLINE)
        chat.page.locator("body").evaluate("() => document.activeElement.blur()")
        chat.page.evaluate("() => getSelection().setPosition(document.body, 0)")
        chat.page.keyboard.press("Tab")
        assert chat.page.evaluate("document.activeElement.className") == "skip"
        chat.page.keyboard.press("Enter")
        assert focused(chat.page) == "draft"
        chat.page.keyboard.type("First line")
        chat.page.keyboard.press("Shift+Enter")
        chat.page.keyboard.type("second line")
        chat.page.keyboard.press("Enter")
        expect(chat.page.locator(".user .text")).to_have_text("First line\nsecond line")
        expect(chat.page.locator(".markdown")).to_contain_text("Once.")
        while focused(chat.page) != "stop":
            chat.page.keyboard.press("Tab")
        chat.page.keyboard.press("Enter")
        chat.answered()
        assert any("Stopped" in notice for notice in chat.notices())


def test_screen_reader_is_told(chat: ChatPage) -> None:
    """Everything to use has a name; a reply is announced when whole, not piece by piece."""
    with running_site(workers=[scripted({"match": ".", "text": "Forty-two. " * 30})]) as site:
        chat.open(site.page_url)
        chat.page.evaluate(
            "() => document.querySelectorAll('#settings details').forEach((at) => (at.open = true))"
        )
        assert chat.page.evaluate(UNNAMED) == []
        chat.page.evaluate(
            """() => {
                window.told = [];
                new MutationObserver(() => told.push(announcer.textContent))
                    .observe(announcer, { childList: true, characterData: true, subtree: true });
            }"""
        )
        chat.choose(OFFLINE)
        chat.say("Well?")
        told = chat.page.evaluate("window.told")
        assert told[-1].startswith("Forty-two.")
        assert len([text for text in told if "Forty-two." in text]) == 1
        assert chat.page.evaluate(UNNAMED) == []
        assert chat.page.locator("[role=region][aria-label=Conversation]").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(scheme: str, new_chat: NewChat) -> None:
    """All text has WCAG 2's contrast of 4.5 to what is behind it, light and dark."""
    chat = new_chat(color_scheme=scheme)
    link = "[link](https://example.org)"
    text = f"# Head\n\nText with `code`, a {link} and\n\n> a quote\n\n```\ncode\n```"
    workers = [scripted({"match": ".", "text": text, "reasoning": "Hm."})]
    with running_site(workers=workers) as site:
        chat.open(site.page_url)
        chat.page.evaluate(
            "() => document.querySelectorAll('#settings details').forEach((at) => (at.open = true))"
        )
        assert chat.page.evaluate(CONTRAST) == []
        chat.choose(OFFLINE)
        chat.fill("max_tokens", "4000")
        chat.say("Go")
        chat.page.locator(".reasoning summary").click()
        chat.choose("koboldcpp/Nobody")
        chat.say("Go")
        assert chat.page.locator(".error").count() == 1
        assert chat.page.evaluate(CONTRAST) == []


def test_phone(new_chat: NewChat) -> None:
    """At a phone's width nothing is cut off, and the settings lie over the page when asked for."""
    chat = new_chat(**PHONE)
    table = (
        "| a | b | c | d | e | f |\n|---|---|---|---|---|---|\n" + "| some words here " * 6 + "|"
    )
    text = f"{table}\n\n```\n{'long ' * 60}\n```\n\n{'w' * 300}"
    with running_site(workers=[scripted({"match": ".", "text": text})]) as site:
        chat.open(site.page_url)
        page = chat.page
        assert not page.locator("#settings h1").is_visible()
        page.locator("#open-panel").click()
        expect(page.locator("#settings h1")).to_be_visible()
        assert page.evaluate("document.querySelector('main').inert")
        chat.choose(OFFLINE)
        page.keyboard.press("Escape")
        expect(page.locator("#settings h1")).to_be_hidden()
        assert focused(page) == "open-panel"
        chat.say("Go")
        for part in ("html", "#scroll", "#composer"):
            assert page.locator(part).evaluate("part => part.scrollWidth") <= 390
        for name in ("#send", "#draft", "#attach", "#open-panel", "#clear"):
            box = page.locator(name).bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 390 - 8


def test_end_stays_in_sight_unless_the_reader_scrolls_up(chat: ChatPage) -> None:
    """A growing reply scrolls along; a reader who looks further up is left alone."""
    text = "\n\n".join(f"Paragraph {number}." for number in range(120))
    at_end = """() => {
        const frame = document.querySelector("#scroll");
        return frame.scrollHeight - frame.scrollTop - frame.clientHeight < 48;
    }"""
    with running_site(workers=[scripted({"match": ".", "text": text})]) as site:
        chat.open(site.page_url)
        chat.choose(OFFLINE)
        chat.fill("max_tokens", "1024")
        chat.say("Go")
        chat.page.wait_for_function(at_end)
        chat.page.evaluate("() => { document.querySelector('#scroll').scrollTop = 0; }")
        chat.say("Go")
        assert not chat.page.evaluate(at_end)


def test_markdown_is_shown(chat: ChatPage) -> None:
    """Blocks of every kind come out as such, however the stream cuts them."""
    text = """# Title

A *line* with **bold**, `code`, ~~gone~~ and a [link](https://example.org).

5. five
6. six
   - inner

- [x] done

> quoted

| a | b |
|---|--:|
| 1 | 2 |

```python
print("<b>")

x = 1
```

Last."""
    with running_site(workers=[scripted({"match": ".", "text": text})]) as site:
        chat.open(site.page_url)
        chat.choose(OFFLINE)
        chat.say("Go")
        body = chat.page.locator(".reply .markdown")
        for selector, shown in {
            "h3": "Title",
            "em": "line",
            "strong": "bold",
            "del": "gone",
            "ol[start='5'] > li:first-child": "five",
            "ol ul li": "inner",
            "blockquote": "quoted",
            "td[align=right]": "2",
            "pre": 'print("<b>")\n\nx = 1',
            ":scope > p:last-child": "Last.",
        }.items():
            assert body.locator(selector).inner_text().strip() == shown
        assert "☑ done" in body.inner_text()


def test_model_card_is_shown(chat: ChatPage) -> None:
    """The picker tells context, limits, abilities, workers and waiting time."""

    def delay(route: Route) -> None:
        answer = route.fetch()
        cards = answer.json()
        for card in cards["data"]:
            card["x_horde"] |= {"eta": 200, "queued": 4096.5} if card["id"] == QUEUED else {}
        route.fulfill(response=answer, json=cards)

    chat.page.route("**/v1/models", delay)
    with running_site() as site:
        chat.open(site.page_url)
        chat.choose(PLAIN)
        facts = chat.page.locator("#card").inner_text()
        for fact in ("8,192 tokens", "1,024 tokens", "text only", "1 (1 at once)", "none"):
            assert fact in facts
        chat.choose(QUEUED)
        facts = chat.page.locator("#card").inner_text()
        for fact in ("about 3 min", "4,097 tokens"):
            assert fact in facts
