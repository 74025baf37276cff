"""The peers' medians as an SVG: a panel for each figure, a bar for each front, in doublings."""

from collections.abc import Mapping
from math import log2

from horde_benchmarks.chart import KEPT, PALE, WIDTH, head, text_at

LEFT, RIGHT, ROW, GAP = 220, 110, 20, 40
OURS, THEIRS = KEPT, "#9aa5ae"


def draw(medians: Mapping[str, Mapping[str, float]], title: str) -> str:
    """The SVG's text; `medians` are a front's figures by name, less being better."""
    names = list(next(iter(medians.values())))
    height = 70 + len(names) * (ROW * len(medians) + GAP)
    parts = [
        *head(height),
        text_at(20, 32, title, size=17, weight=600),
        text_at(20, 54, "Less is better. Each doubling is as wide as the next.", PALE),
    ]
    y = 70
    for name in names:
        parts.append(text_at(20, y + 24, name, weight=600))
        y += 32
        values = {front: figures[name] for front, figures in medians.items()}
        least, most = min(values.values()), max(values.values())
        for front, value in values.items():
            share = (log2(value / least) + 1) / (log2(most / least) + 1)
            parts += _bar(front, value, share, y)
            y += ROW
        y += GAP - 32
    return "\n".join([*parts, "</svg>"]) + "\n"


def _bar(front: str, value: float, share: float, y: float) -> list[str]:
    width = (WIDTH - LEFT - RIGHT) * share
    colour = OURS if front == "horde-front" else THEIRS
    shown = f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
    place = f'x="{LEFT}" y="{y + 3}" width="{width:.1f}" height="{ROW - 6}"'
    return [
        text_at(LEFT - 12, y + 14, front, anchor="end"),
        f'<rect {place} rx="2" fill="{colour}"/>',
        text_at(round(LEFT + width + 8, 1), y + 14, shown, PALE),
    ]
