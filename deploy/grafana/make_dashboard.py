"""Makes `dashboard.json` with Grafana's own builders, so that it has the shape Grafana reads.

python deploy/grafana/make_dashboard.py
"""

import json
import sys
from itertools import count
from pathlib import Path

import attrs
from grafana_foundation_sdk.builders import dashboard, prometheus, timeseries
from grafana_foundation_sdk.builders.common import (
    StackingConfig,
    VizLegendOptions,
    VizTooltipOptions,
)
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import (
    LegendDisplayMode,
    LegendPlacement,
    StackingMode,
    TooltipDisplayMode,
)
from grafana_foundation_sdk.models.dashboard import DataSourceRef

FILE = Path(__file__).with_name("dashboard.json")
SOURCE = DataSourceRef(type_val="prometheus", uid="${source}")
ONE = 'instance=~"$instance"'


@attrs.frozen
class Panel:
    """A graph: its queries by legend."""

    title: str
    unit: str
    queries: dict[str, str]
    description: str = ""
    stacked: bool = False


def quantiles(metric: str, extra: str = "") -> dict[str, str]:
    """The median, 90th and 99th percentile of a histogram."""
    chosen = f"{ONE}{extra}"
    return {
        name: f"histogram_quantile({share}, sum by (le) (rate("
        f"horde_front_{metric}_bucket{{{chosen}}}[$__rate_interval])))"
        for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99))
    }


def rate_by(label: str, metric: str, extra: str = "") -> dict[str, str]:
    """A counter's rate for each value of a label."""
    chosen = f"{ONE}{extra}"
    query = f"sum by ({label}) (rate(horde_front_{metric}{{{chosen}}}[$__rate_interval]))"
    return {f"{{{{{label}}}}}": query}


ROWS: dict[str, tuple[Panel, ...]] = {
    "Requests": (
        Panel(
            "Chat requests by outcome",
            "reqps",
            rate_by("code", "requests_total", ', route="chat"'),
            "ok, left by the client, or the error's code.",
            stacked=True,
        ),
        Panel(
            "Open chat requests by phase",
            "short",
            {"{{phase}}": f"sum by (phase) (horde_front_chat_in_flight{{{ONE}}})"},
            "queued waits for a worker, generating is being worked on.",
            stacked=True,
        ),
        Panel(
            "Open streams by front",
            "short",
            {"{{instance}}": f"horde_front_streams_in_flight{{{ONE}}}"},
        ),
    ),
    "What users wait for": (
        Panel("Queue wait", "s", quantiles("phase_seconds", ', phase="queued"')),
        Panel(
            "Time to first byte, streams", "s", quantiles("first_byte_seconds", ', stream="true"')
        ),
        Panel("Whole request", "s", quantiles("chat_seconds")),
    ),
    "The Horde": (
        Panel("Calls", "reqps", rate_by("call", "horde_calls_total")),
        Panel(
            "Failures",
            "reqps",
            {
                "{{call}} {{outcome}}": "sum by (call, outcome) (rate(horde_front_horde_calls_total"
                f'{{{ONE}, outcome!="2xx"}}[$__rate_interval]))'
            },
            "429 is a rate limit, unopened no connection, lost no whole answer.",
        ),
        Panel("Polls take", "s", quantiles("horde_call_seconds", ', call="status"')),
    ),
    "Work": (
        Panel(
            "Stream events",
            "ops",
            {
                "{{instance}}": "sum by (instance) (rate(horde_front_stream_chunks_total"
                f"{{{ONE}}}[$__rate_interval]))"
            },
        ),
        Panel(
            "Kudos charged an hour",
            "short",
            {"kudos": f"3600 * sum(rate(horde_front_kudos_total{{{ONE}}}[$__rate_interval]))"},
        ),
        Panel(
            "Dropped parameters",
            "ops",
            rate_by("parameter", "dropped_parameters_total"),
            "Keys that the deployment drops instead of refusing.",
        ),
    ),
    "Processes": (
        Panel(
            "CPU",
            "percentunit",
            {"{{instance}}": f"rate(process_cpu_seconds_total{{{ONE}}}[$__rate_interval])"},
        ),
        Panel("Memory", "bytes", {"{{instance}}": f"process_resident_memory_bytes{{{ONE}}}"}),
        Panel("Descriptors", "short", {"{{instance}}": f"process_open_fds{{{ONE}}}"}),
    ),
}


def graph(panel: Panel) -> timeseries.Panel:
    """One third of a row."""
    built = (
        timeseries.Panel()
        .title(panel.title)
        .description(panel.description)
        .datasource(SOURCE)
        .unit(panel.unit)
        .min(0)
        .span(8)
        .height(8)
        .fill_opacity(12)
        .tooltip(VizTooltipOptions().mode(TooltipDisplayMode.MULTI))
        .legend(
            VizLegendOptions()
            .display_mode(LegendDisplayMode.LIST)
            .placement(LegendPlacement.BOTTOM)
            .show_legend(True)
        )
    )
    if panel.stacked:
        built.stacking(StackingConfig().mode(StackingMode.NORMAL))
    for number, (legend, query) in enumerate(panel.queries.items()):
        built.with_target(
            prometheus.Dataquery().expr(query).legend_format(legend).ref_id(chr(65 + number))
        )
    return built


def text() -> str:
    """The file's."""
    board = (
        dashboard.Dashboard("AI Horde front")
        .uid("horde-oai-front")
        .tags(["horde-oai-front"])
        .refresh("30s")
        .time("now-3h", "now")
        .with_variable(dashboard.DatasourceVariable("source").label("Source").type("prometheus"))
        .with_variable(
            dashboard.QueryVariable("instance")
            .label("Front")
            .datasource(SOURCE)
            .query("label_values(horde_front_build_info, instance)")
            .multi(True)
            .include_all(True)
        )
    )
    identity = count(1)
    for title, panels in ROWS.items():
        board.with_row(dashboard.Row(title).id(next(identity)))
        for panel in panels:
            board.with_panel(graph(panel).id(next(identity)))
    encoded = JSONEncoder(sort_keys=True, indent=1).encode(board.build())
    return json.dumps(json.loads(encoded), indent=1, sort_keys=True) + "\n"


def main() -> int:
    """Writes the file."""
    FILE.write_text(text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
