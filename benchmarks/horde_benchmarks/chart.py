"""A run as an SVG: each target's figure as a bar against its goal, and the streams' throughput."""

from collections.abc import Iterable, Mapping
from html import escape
from math import log2

from horde_benchmarks.figures import Figure, shown

WIDTH, LEFT, RIGHT, ROW = 960, 400, 120, 26
SPAN = 3.0
"""Doublings that a bar can be away from its goal, either way."""
KEPT, MISSED, INK, PALE = "#2f7d5b", "#b5472f", "#1d2327", "#8a949b"


def draw(results: Mapping[str, Iterable[Figure]], title: str) -> str:
    """The SVG's text."""
    figures = [figure for subject in results.values() for figure in subject if figure.goal]
    figures.sort(key=lambda figure: figure.target or 99)
    height = 96 + ROW * len(figures) + 40
    middle = LEFT + (WIDTH - LEFT - RIGHT) / 2
    parts = [
        *head(height),
        text_at(20, 32, title, size=17, weight=600),
        text_at(20, 54, "Bars show how far each figure is from its goal, in doublings.", PALE),
    ]
    for doublings in (-2, -1, 0, 1, 2):
        x = _x(doublings)
        label = "goal" if doublings == 0 else f"{2.0**doublings:g} ×"
        colour = INK if doublings == 0 else "#e3e7ea"
        parts.append(
            f'<line x1="{x}" x2="{x}" y1="84" y2="{height - 36}" stroke="{colour}" '
            f'stroke-width="1"/>'
        )
        parts.append(text_at(x, 78, label, PALE, anchor="middle"))
    for row, figure in enumerate(figures):
        parts += _bar(figure, 88 + row * ROW, middle)
    parts.append(text_at(LEFT, height - 14, "← better", KEPT))
    parts.append(text_at(WIDTH - RIGHT, height - 14, "worse →", MISSED, anchor="end"))
    return "\n".join([*parts, "</svg>"]) + "\n"


def head(height: float) -> list[str]:
    """What a chart of that height begins with."""
    size = f'width="{WIDTH}" height="{height}"'
    look = 'font-family="system-ui, sans-serif" font-size="13"'
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" {size} {look}>',
        f'<rect {size} fill="#ffffff"/>',
    ]


def _bar(figure: Figure, y: float, middle: float) -> list[str]:
    assert figure.goal is not None
    away = log2(max(figure.value, 1e-9) / figure.goal)
    end = _x(max(-SPAN, min(SPAN, away)))
    colour = MISSED if figure.is_missed else KEPT
    value = f"{shown(figure.value)} of {shown(figure.goal)} {figure.unit}".replace(" ×", "")
    bar = (
        f'<rect x="{min(middle, end):.1f}" y="{y + 4}" width="{max(1.5, abs(end - middle)):.1f}" '
        f'height="{ROW - 10}" rx="2" fill="{colour}"/>'
    )
    return [
        text_at(20, y + 16, f"#{figure.target}" if figure.target else "", PALE),
        text_at(LEFT - 12, y + 16, figure.name, anchor="end"),
        bar,
        text_at(WIDTH - RIGHT + 8, y + 16, value, colour),
    ]


def _x(doublings: float) -> float:
    width = WIDTH - LEFT - RIGHT
    return round(LEFT + width * (doublings + SPAN) / (2 * SPAN), 1)


def text_at(
    x: float,
    y: float,
    text: str,
    colour: str = INK,
    *,
    anchor: str = "start",
    size: int = 13,
    weight: int = 400,
) -> str:
    """A text element; `anchor` is where in the text the point is."""
    return (
        f'<text x="{x}" y="{y}" fill="{colour}" text-anchor="{anchor}" font-size="{size}" '
        f'font-weight="{weight}">{escape(text)}</text>'
    )
