"""The page itself: template, style sheet, script and data in one text that needs nothing else."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files

from jinja2 import Environment, StrictUndefined

from results.html.panels import PanelView
from results.html.texts import trusted
from results.palette import COLORS, color_of, dark
from results.records import UNSCORED


def page(title: str, panels: Sequence[PanelView], statistics: Sequence[str], notice: Sequence[str], data: str) -> str:
    """Return the page. `notice`: what was left out of it; `data`: JSON that `script_json` wrote."""
    style, script = _asset("report.css") + palette_css(), _asset("report.js")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(_asset("report.html.j2")).render(
        policy=policy(style, script),
        style=trusted(style),
        script=trusted(script),
        data=trusted(data),
        title=title,
        panels=panels,
        statistics=statistics,
        notice=notice,
        unscored=UNSCORED,
        trials=sum(_trials(panel) for panel in panels),
    )


def policy(style: str, script: str) -> str:
    """Return the Content-Security-Policy: nothing is loaded, and nothing runs but exactly our script."""
    return (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def palette_css() -> str:
    """Return a class for each whole percent, `c0` to `c100`, and the colour bar: the colours of the pictures."""
    lines = []
    for value in range(101):
        color = color_of(value / 100)
        ink = "fff" if dark(color) else "1a1a1a"
        lines.append(f".c{value}{{background-color:#{bytes(color).hex()};color:#{ink}}}")
    return "\n".join([*lines, f".bar{{background:linear-gradient(to right,{','.join(COLORS['safe'])})}}", ""])


def _trials(panel: PanelView) -> int:
    return panel.overall.n + sum(count for _, count in panel.overall.counts)


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


@cache
def _asset(name: str) -> str:
    return files("results.html").joinpath(name).read_text(encoding="utf-8")
