"""Makes the reference pages that say what the code's own tables say.

    python docs/make_reference.py

The pages are functions of those tables alone, and a test compares them with the files, so a key or
a code can't change without its page.
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import attrs
from prometheus_client.metrics import MetricWrapperBase

from horde_adapters.configuration import FILE_VARIABLE, toml
from horde_adapters.metrics import Metrics
from horde_adapters.phases import Phase
from horde_adapters.routes import Route
from horde_adapters.settings_table import SECTIONS, default
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


def settings_page() -> str:
    """`settings.md`, from `horde_adapters.settings_table`."""
    sections = []
    for name, settings in SECTIONS.items():
        rows = [
            (
                f"`{setting.name}`",
                f"`{toml(default(setting))}`" if default(setting) not in ((), "") else "",
                setting.kind.allowed,
                setting.meaning + (" A secret: no flag." if setting.secret else ""),
            )
            for setting in settings
        ]
        sections.append(
            f"## {name}\n\n{table(('setting', 'default', 'allowed', 'what it does'), rows)}"
        )
    return "\n\n".join((f"{MADE}\n\n{_SETTINGS_OPENING}", *sections)) + "\n"


_SETTINGS_OPENING = f"""# Settings

Every setting of `horde-front serve` can be said in three places; the first that says it counts:

1. a flag: `body_cap` is `--body-cap`,
2. the environment: `HORDE_FRONT_BODY_CAP`; lists have commas between their entries,
3. a TOML file, named by `--config` or by `{FILE_VARIABLE}`: `body_cap = 1048576`.

`horde-front serve --print-config` shows each value and where it was said, as a TOML file that can
be given back; secrets are hidden. A wrong value, or a name that is no setting, stops the start
with status 2 and one line that names the setting, its value and what is allowed. Secrets have no
flag, as anyone on a machine can read a process's arguments."""


def metrics_page() -> str:
    """`metrics.md`, from `horde_adapters.metrics`."""
    families = [value for value in vars(Metrics()).values() if isinstance(value, MetricWrapperBase)]
    rows = []
    for family in families:
        (described,) = family.describe()
        name = described.name + ("_total" if described.type == "counter" else "")
        labels = ", ".join(f"`{label}`" for label in family._labelnames)
        rows.append((f"`{name}`", described.type, labels, described.documentation))
    return f"""{MADE}

# Metrics

In Prometheus' text format at `GET /metrics`, or at an address of their own, or nowhere: the setting
`metrics`. Several processes of one command are summed.

{table(("metric", "type", "labels", "what it counts"), rows)}

Each label has a closed set of values, whatever clients send:

{table(("label", "values"), [(f"`{name}`", values) for name, values in _LABELS.items()])}

`deploy/grafana/dashboard.json` shows them, `deploy/prometheus/alerts.yaml` watches them.
"""


_LABELS = {
    "route": f"{', '.join(f'`{route.name.lower()}`' for route in Route)}; `none` for other paths, "
    "preflights and the page's files",
    "code": "`ok`, `left` (by the client), the codes of [errors](errors.md), and "
    "`horde_refusal` for any return code of the Horde's",
    "phase": ", ".join(f"`{phase.value}`" for phase in Phase),
    "stream": "`true`, `false`",
    "call": "`submit`, `quote`, `status` (a poll), `cancel`, `workers`, `models`",
    "outcome": "`2xx`, `3xx`, `4xx`, `429`, `5xx`, `unopened` (no connection), `lost` (no whole "
    "answer)",
    "parameter": "the deployment's `drop_parameters`",
    "version": "the front's",
}


PAGES = {
    "errors.md": errors_page,
    "metrics.md": metrics_page,
    "requests.md": requests_page,
    "settings.md": settings_page,
}


def main() -> int:
    for name, page in PAGES.items():
        (REFERENCE / name).write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
