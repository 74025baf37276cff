"""Every setting of the command `serve`; flags, variables, file keys and the reference come from it.

Defaults stand where the values live (`settings`, `horde_core.timing`), and so do their reasons.
"""

from collections.abc import Mapping
from operator import attrgetter

from horde_adapters.client_address import FORWARDED, X_FORWARDED_FOR
from horde_adapters.setting import (
    FLAG,
    HORDE,
    HOST,
    NETWORKS,
    PLACE,
    SECRET,
    Setting,
    integer,
    names,
    number,
    word,
)
from horde_adapters.settings import Deployment

_SECONDS = "seconds"
_BYTES = "bytes"
_KEY_NAMES = names(
    "a list of request keys, none of them one that the front uses or needs",
    r"(?!(?:model|models|messages|stream|n|horde)$)[A-Za-z_][A-Za-z0-9_.-]{0,63}",
)

SECTIONS: Mapping[str, tuple[Setting, ...]] = {
    "Listening": (
        Setting("host", HOST, "host", "The address to listen on."),
        Setting("port", integer(0, 65535), "port", "The port; 0 takes a free one."),
        Setting(
            "grace",
            number(0, 3600, _SECONDS),
            "settings.grace",
            "After SIGTERM: how long open requests may go on, before each is cancelled and told.",
        ),
        Setting(
            "workers",
            integer(1, 64),
            "settings.workers",
            "Processes that serve the address together: one for each core. `most_requests` is for "
            "all of them, and metrics are summed.",
        ),
        Setting(
            "playground", FLAG, "settings.playground", "Serve the chat page at `/` and its files."
        ),
    ),
    "The Horde": (
        Setting("horde", HORDE, "settings.horde_url", "The Horde that is spoken to."),
        Setting(
            "service_authorization",
            SECRET,
            "settings.service_authorization",
            "What the Horde knows this service by: the whole value of `Proxy-Authorization`, sent "
            "with a client's address in `Proxied-For`. Empty sends neither.",
            secret=True,
        ),
        Setting(
            "trusted_proxies",
            NETWORKS,
            "settings.trusted_proxies",
            "Proxies before the front that tell a client's address. Anyone else's word is not "
            "looked at.",
        ),
        Setting(
            "address_header",
            word((X_FORWARDED_FOR, FORWARDED)),
            "settings.address_header",
            "The header in which those proxies add the address that called them. The other one is "
            "not looked at: most proxies pass it on as the client sent it.",
        ),
        Setting(
            "pool_age",
            number(1, 300, _SECONDS),
            "settings.pool_age",
            "How old the view of models and workers may be before it is read anew.",
        ),
        Setting(
            "ready_age",
            number(1, 86400, _SECONDS),
            "settings.ready_age",
            "How old the Horde's last answer may be for `/readyz`.",
        ),
    ),
    "Requests": (
        Setting(
            "context_length",
            integer(256, 1048576, "tokens"),
            "settings.context_length",
            "The context, prompt and reply together, of a request that names none.",
        ),
        Setting(
            "drop_parameters",
            _KEY_NAMES,
            "settings.drop_parameters",
            "Request keys dropped at any value instead of refused, each drop counted in the "
            "metrics.",
        ),
        Setting(
            "most_requests",
            integer(1, 1000000),
            "settings.most_requests",
            "Open chat requests, shared out among `workers`; beyond, `overloaded`.",
        ),
        Setting(
            "body_cap",
            integer(1024, 1 << 30, _BYTES),
            "settings.body_cap",
            "The largest request body, as sent and as decoded.",
        ),
        Setting(
            "body_pause",
            number(1, 600, _SECONDS),
            "settings.body_pause",
            "The longest silence within a request's body.",
        ),
        Setting(
            "body_time",
            number(1, 3600, _SECONDS),
            "settings.body_time",
            "The longest time for a whole body.",
        ),
        Setting(
            "stream_budget",
            number(10, 86400, _SECONDS),
            "settings.timing.stream_budget",
            "How long a streamed request may take in all.",
        ),
        Setting(
            "whole_budget",
            number(10, 86400, _SECONDS),
            "settings.timing.whole_budget",
            "How long any other may take. Above 300, Node's `fetch` gives up first and asks again.",
        ),
        Setting(
            "eligibility_grace",
            number(0, 600, _SECONDS),
            "settings.timing.grace",
            "How long a request may have no eligible worker.",
        ),
    ),
    "Polling": (
        Setting(
            "poll_interval",
            number(0.05, 60, _SECONDS),
            "settings.timing.poll_interval",
            "Between two reads of one job; the AI Horde allows 60 a minute.",
        ),
        Setting(
            "slowest_poll",
            number(0.05, 60, _SECONDS),
            "settings.timing.slowest_poll",
            "The same for a job far back in the queue.",
        ),
        Setting(
            "read_failure_limit",
            number(0, 3600, _SECONDS),
            "settings.timing.read_failure_limit",
            "How long reads of a job may fail in a row before it is given up and cancelled.",
        ),
        Setting(
            "slowest_retry",
            number(0.1, 300, _SECONDS),
            "settings.timing.slowest_retry",
            "The longest pause between reads that fail.",
        ),
        Setting(
            "cancel_tries",
            integer(1, 20),
            "settings.timing.cancel_tries",
            "How often a job's cancelling is tried.",
        ),
    ),
    "Streams": (
        Setting(
            "keepalive_interval",
            number(0.5, 60, _SECONDS),
            "settings.timing.keepalive_interval",
            "The longest silence within a stream.",
        ),
        Setting(
            "keepalive_style",
            word(("comment", "chunk", "off")),
            "settings.timing.keepalive_style",
            "What breaks a silence: an SSE comment, an empty chunk (for clients whose parser "
            "rejects comments), or nothing.",
        ),
        Setting(
            "fast_pace",
            number(1, 100, "chunks a second"),
            "settings.timing.pace.fast",
            "How fast a stream's text is sent while few streams are open.",
        ),
        Setting(
            "slow_pace",
            number(1, 100, "chunks a second"),
            "settings.timing.pace.slow",
            "The same at the least, however many are open.",
        ),
        Setting(
            "fast_streams",
            integer(1, 100000, "streams"),
            "settings.timing.pace.fast_streams",
            "How many of one process may run at the fast pace; beyond, each is slower.",
        ),
    ),
    "Connections": (
        Setting(
            "header_time",
            number(0.5, 600, _SECONDS),
            "limits.header_time",
            "From a request's first byte to the end of its headers.",
        ),
        Setting(
            "idle_time",
            number(1, 3600, _SECONDS),
            "limits.idle_time",
            "Between requests of a connection: longer than a proxy before the front keeps it.",
        ),
        Setting(
            "stall_time",
            number(1, 3600, _SECONDS),
            "limits.stall_time",
            "How long sent bytes may stay unread until the client counts as gone.",
        ),
        Setting(
            "send_buffer",
            integer(4096, 1 << 26, _BYTES),
            "limits.send_buffer",
            "What the kernel holds for a client that reads slowly.",
        ),
        Setting(
            "pipelined",
            integer(1024, 1 << 24, _BYTES),
            "limits.pipelined",
            "What is kept of requests that follow one still being answered.",
        ),
    ),
    "What it tells": (
        Setting(
            "metrics",
            PLACE,
            "metrics",
            "Prometheus metrics: at `/metrics` of the front itself, nowhere, or at `/metrics` of "
            "an address of their own.",
        ),
        Setting(
            "log_format",
            word(("console", "json")),
            "log_format",
            "One line of `key=value` or one JSON object for each request, on stderr.",
        ),
        Setting(
            "log_level",
            word(("info", "warning", "error")),
            "log_level",
            "The least that is logged.",
        ),
    ),
}

SETTINGS: Mapping[str, Setting] = {
    setting.name: setting for section in SECTIONS.values() for setting in section
}


def default(setting: Setting) -> object:
    """What holds when nobody says anything."""
    value: object = attrgetter(setting.target)(Deployment())
    return value
