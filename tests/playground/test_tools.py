"""Tools on the page: a real MCP server's over streamable HTTP, consent, and the end of the loop."""

import json

import pytest

pytest.importorskip("playwright", reason="playwright isn't installed: the extra `browser`")
pytest.importorskip("mcp", reason="the MCP SDK isn't installed: the extra `browser`")

from playwright.sync_api import expect

from playground.chat_page import ChatPage
from playground.site import OFFLINE, PLAIN, QWEN, mcp_server, running_site, scripted

TOOLS = ["tools", "parallel_tool_calls", "progress"]


def call(name: str, **arguments: object) -> dict[str, object]:
    return {"name": name, "arguments": arguments}


def connect(chat: ChatPage, url: str) -> None:
    chat.fill("mcp_url", url)
    chat.page.locator("#connect-mcp").click()
    expect(chat.page.locator("#mcp-state")).to_have_text("Harbour: 3 tools")


def test_mcp_tools_map_one_to_one(chat: ChatPage) -> None:
    """The server's list is offered as it is; a name that no request can carry is shown as such."""
    with running_site(pace=4.0) as site, mcp_server() as url:
        chat.open(site.page_url)
        chat.choose(QWEN)
        connect(chat, url)
        chat.check("unasked")
        chat.say("How high is the tide in the harbour?")
        offered = {tool["function"]["name"]: tool["function"] for tool in chat.sent[0]["tools"]}
        assert set(offered) == {"tide_height", "close_gate"}
        assert offered["tide_height"]["description"] == "The height of the tide in a harbour"
        assert offered["tide_height"]["parameters"]["required"] == ["harbour"]
        assert chat.page.locator('#mcp-tools input[value="harbour/list"]').is_disabled()
        shown = chat.page.locator(".call").first
        assert shown.locator("code").inner_text() == "tide_height"
        arguments, result = shown.locator("pre").all_inner_texts()
        assert result == f"The tide at {json.loads(arguments)['harbour']} stands at 2.4 m."
        assert "2.4 m" in chat.text


def test_user_is_asked_before_a_servers_tool_runs(chat: ChatPage) -> None:
    """Declined, the call isn't made and the model is told; allowed, the tool's failure is told."""
    rules: list[dict[str, object]] = [
        {"match": "declined", "text": "As you wish."},
        {"match": "stuck", "text": "It is stuck."},
        {"match": ".", "calls": [call("close_gate", gate=3)]},
    ]
    with running_site(workers=[scripted(*rules, features=TOOLS)]) as site, mcp_server() as url:
        chat.open(site.page_url)
        chat.choose(OFFLINE)
        connect(chat, url)
        chat.ask("Close the gate.")
        chat.page.get_by_role("button", name="Decline").click()
        chat.answered()
        assert chat.text == "As you wish."
        assert chat.page.locator(".call pre").last.inner_text() == (
            "Error: The user declined this call."
        )
        chat.ask("Close the gate now.")
        chat.page.get_by_role("button", name="Run").click()
        chat.answered()
        assert "gate 3 is stuck" in chat.page.locator(".call pre").last.inner_text()
        assert chat.text == "It is stuck."


def test_loop_stops_at_the_stated_number_of_rounds(chat: ChatPage) -> None:
    """A model that never stops calling is stopped, and the conversation can go on."""
    rules: list[dict[str, object]] = [
        {"match": "^On$", "text": "At last."},
        {"match": ".", "calls": [call("roll_dice", count=1), call("calculate", expression="6*7")]},
    ]
    with running_site(workers=[scripted(*rules, features=TOOLS)]) as site:
        chat.open(site.page_url)
        chat.choose(OFFLINE)
        for name in ("roll_dice", "calculate"):
            chat.offer_tool(name)
        chat.fill("rounds", "2")
        chat.say("Go")
        assert len(chat.sent) == 3
        assert chat.page.locator(".call").count() == 6
        assert chat.notices() == ["Stopped after 2 tool rounds. Write on to continue."]
        results = chat.page.locator(".call").nth(1).locator("pre").last.inner_text()
        assert json.loads(results) == {"expression": "6*7", "value": 42}
        chat.say("On")
        assert chat.text == "At last."
        roles = [message["role"] for message in chat.sent[3]["messages"]]
        assert roles == ["user", *["assistant", "tool", "tool"] * 3, "user"]


def test_tools_are_not_sent_to_a_model_without_them(chat: ChatPage) -> None:
    """Tools go only to a model whose card lists them; the user is told before sending."""
    with running_site(pace=4.0) as site:
        chat.open(site.page_url)
        chat.choose(PLAIN)
        chat.offer_tool("roll_dice")
        expect(chat.page.locator("#hints")).to_have_text(
            "None of this model's workers takes tools, so none are sent."
        )
        chat.say("Roll dice.")
        assert "tools" not in chat.sent[0]
        assert chat.text


def test_server_that_is_not_there(chat: ChatPage) -> None:
    """A server that can't be reached is told of, and nothing of it is offered."""
    with running_site() as site:
        chat.open(site.page_url)
        chat.fill("mcp_url", f"{site.base_url}/mcp")
        chat.page.locator("#connect-mcp").click()
        expect(chat.page.locator("#mcp-state")).to_have_text(
            "Not connected: The tool server answered with status 404."
        )
