"""The page itself: template, style sheets, scripts and data in one text that needs nothing else."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from needlework.results.html.details import OWN, SHARED
from needlework.results.html.texts import on_one_line, script_json, trusted
from needlework.results.html.words import WORDS, word_id
from needlework.results.style.palette import COLORS, DIFFERENCES, ColorsName, color_of, dark, difference_color

# In this order they are one script. The functions of one may be called from any other.
_SCRIPTS = ("base.js", "tip.js", "grid.js", "pane.js", "trial.js", "curves.js", "links.js")
SCRIPTS = {
    "report": (*_SCRIPTS, "cells.js", "filters.js", "report.js"),
    "comparison": (*_SCRIPTS, "pairs.js", "comparison.js"),
}


def page(
    template: str,
    title: str,
    data: Mapping[str, Any],
    *,
    details: str = "",
    colors: ColorsName,
    notice: Sequence[str],
    fields: Mapping[str, Any],
) -> str:
    """Return the page of a template, `report` or `comparison`.

    `data`: what the script reads; `details`: the trials, packed; `notice`: what was left out of them; `fields`: what
    else the template asks for.
    """
    style = "".join(map(asset, ("page.css", "first.css", "heat.css", "details.css", "print.css"))) + palette_css(colors)
    if template == "comparison":
        style += asset("comparison.css") + differences_css()
    script = f'"use strict";\n(() => {{\n{"".join(map(asset, SCRIPTS[template]))}}})();\n'
    return (
        environment()
        .get_template(f"{template}.html.j2")
        .render(
            policy=policy(style, script),
            style=trusted(style),
            script=trusted(script),
            data=trusted(script_json({**data, "shared": SHARED, "own": OWN})),
            details=details,
            title=on_one_line(title) or "Needlework",
            notice=notice,
            **fields,
        )
    )


def policy(style: str, script: str) -> str:
    """Return the Content-Security-Policy: nothing is loaded, and nothing runs but exactly our script."""
    return (
        f"default-src 'none'; script-src '{digest(script)}'; style-src '{digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def palette_css(colors: ColorsName) -> str:
    """Return a class for each whole percent, `c0` to `c100`, and the colour bar: the colours of the pictures."""
    lines = [_color_class(f"c{value}", color_of(value / 100, colors)) for value in range(101)]
    return "\n".join([*lines, f".bar{{background:linear-gradient(to right,{','.join(COLORS[colors])})}}", ""])


@cache
def differences_css() -> str:
    """Return a class for each whole point of B - A, `by-100` to `by100`, and their colour bar."""
    lines = [_color_class(f"by{value}", difference_color(value / 100)) for value in range(-100, 101)]
    return "\n".join([*lines, f".bar.differences{{background:linear-gradient(to right,{','.join(DIFFERENCES)})}}", ""])


def _color_class(name: str, color: tuple[int, int, int]) -> str:
    return f".{name}{{background-color:#{bytes(color).hex()};color:#{'fff' if dark(color) else '000'}}}"


def digest(text: str) -> str:
    """What a Content-Security-Policy calls a text."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


@cache  # with it the compiled templates, of which a run fills each twice
def environment() -> Environment:
    """What fills our templates."""
    found = Environment(
        loader=FunctionLoader(asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals |= {"words": WORDS, "word_id": word_id}
    return found


@cache
def asset(name: str) -> str:
    """The text of a file beside this module."""
    return files("needlework.results.html").joinpath(name).read_text(encoding="utf-8")
