"""Makes the reference pages that say what the code's own tables say.

    python docs/make_reference.py

The pages are functions of those tables alone, and a test compares them with the files, so a key or
a code can't change without its page.
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import attrs

from horde_core import images, keys, messages, request, response_format, schemas, tools
from horde_core.chat import HordeOptions
from horde_core.errors import FRONT_CODES
from horde_core.options import OPTIONS

REFERENCE = Path(__file__).parent / "reference"
MADE = "<!-- Made by docs/make_reference.py from the code's tables; change them, not this page. -->"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def errors_page() -> str:
    """`errors.md`, from `horde_core.errors.FRONT_CODES`."""
    rows = [
        (
            f"`{row.code}`",
            str(row.status),
            f"`{row.type}`",
            "yes" if row.held else "no",
            f"{row.retry_after} s" if row.retry_after is not None else "",
            row.when,
        )
        for row in FRONT_CODES.values()
    ]
    header = ("code", "status", "type", "`x-should-retry: false`", "`Retry-After`", "when")
    return f"""{MADE}

# Errors

Every error is `{{"error": {{"message", "type", "param", "code", "metadata"}}}}`: as the body of an
answer with the status below, or as one `data:` event when the stream has already begun. `param` is
null when no key is at fault. `metadata` is always an object, with the Horde's `request_id` and
return code (`rc`) where they are known.

{table(header, rows)}

`x-should-retry: false` says that the Horde held the request, or may have: another try is a new
request, which may be charged as well. `Retry-After` is what the front says by itself; where the
Horde names a time, that is passed on.

A refusal of the Horde at the submit keeps the Horde's status, has its return code as `code`, and
its type follows the status: 401 `authentication_error`, 403 `permission_error`, 429
`rate_limit_error`, other 4xx `invalid_request_error`, 5xx `api_error`.
"""


def requests_page() -> str:
    """`requests.md`, from the tables of `horde_core.keys`, `.options` and their neighbours."""
    sections = (_taken, _dropped, _unserved, _messages, _tooling, _horde)
    return "\n\n".join((f"{MADE}\n\n{_OPENING}", *(section() for section in sections))) + "\n"


_OPENING = """# Chat requests

`POST /v1/chat/completions` takes a JSON object. One request gets one error, the first in this
order: a missing `model`, missing `messages`, keys that the front doesn't take (the first that the
client sent), then each key's value in the order of the table, then keys against one another,
missing contents, and whether the model exists."""


def _taken() -> str:
    rows = [(f"`{name}`", key.values, key.sent_as) for name, key in keys.KEYS.items()]
    return f"""## Keys that the front uses

Defaults are in parentheses. Null is an omission for every key but `messages`.

{table(("key", "values", "sent to the Horde as"), rows)}

`rep_pen: 1.0`, `top_k: 0` and `min_p: 0.0` are sent with every request, so that no worker's own
defaults apply. Both token limits may be sent when they agree."""


def _dropped() -> str:
    rows = [(f"`{name}`", default.values) for name, default in keys.CLIENT_DEFAULTS.items()]
    return f"""## Client defaults that are dropped

At another value these are refused. A deployment may list further keys to drop.

{table(("key", "dropped at"), rows)}

So are null for any key on this page, `user`, and `include_obfuscation: false` in
`stream_options`."""


def _unserved() -> str:
    rows = [(f"`{name}`", instead.replace("'", "`")) for name, instead in keys.UNSERVED.items()]
    return f"""## Keys of OpenAI's that are refused

The Horde has nothing for them: 400 `UnsupportedChatParameter` with the key as `param`, as for a
key that nobody knows.

{table(("key", "in its place"), rows)}"""


def _messages() -> str:
    roles = ", ".join(f"`{role}`" for role in messages.ROLES)
    return f"""## Messages

Roles are {roles}; `developer` is sent as `system`. `content` is a string or an array of `text`
parts, joined with nothing between them; a `user` message may have `image_url` parts as well. An
`assistant` message with `tool_calls`, at most {messages.MOST_CALLS}, needs no content. A `tool`
message has a `tool_call_id`. `name` is kept on all but `tool` messages. Any other key on a
message, a part or a call is dropped.

The tool messages come right after the assistant message and answer each of its calls once, in any
order.

An image is a `data:image/<type>;base64,` URL of type {_words(images.IMAGE_TYPES)}, or an http(s)
URL whose host is no private, loopback or link-local address. `detail` is
{_words(images.DETAILS)}."""


def _tooling() -> str:
    return f"""## Tools and structured output

At most {tools.MOST_TOOLS} tools of type `function`, each name 1 to 64 characters of
`A-Z a-z 0-9 _ -`. `tool_choice` is {_words(tools.MODES)}, or the one function that is forced.
`response_format` has type {_words(response_format.KINDS)}; a `json_schema` has
{_words(response_format.SCHEMA_KEYS)}.

A schema nests at most {schemas.DEEPEST} levels below its root. With `strict: true` every object in
it, behind local references too, has `additionalProperties: false` and all its properties in
`required`. The compact JSON of `tools`, `tool_choice` and `response_format` together has at most
{request.LARGEST_TOOLING // 1024} KiB."""


def _horde() -> str:
    defaults = attrs.asdict(HordeOptions())
    rows = [
        (f"`{name}`", option.values, _default(defaults[name]), option.meaning)
        for name, option in OPTIONS.items()
    ]
    return f"""## The horde object

{table(("key", "values", "default", "meaning"), rows)}

`only` and `ignore` exclude one another. The default `context_length` is the deployment's."""


def _default(value: object) -> str:
    if value is None or value == ():
        return ""
    return f"`{value}`" if isinstance(value, str) else str(value).lower()


def _words(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


PAGES = {"errors.md": errors_page, "requests.md": requests_page}


def main() -> int:
    for name, page in PAGES.items():
        (REFERENCE / name).write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
