"""One page of HTML: templates, styles, words."""

import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from needlework.core.grid import slug
from needlework.results import style
from needlework.results.report.section import GLOSSARY

# Whole, or its beginning, the number of characters left out, and its end. The number stands apart from the text, so
# that the mark on the page cannot be forged by a text that looks like one.
Shown = str | tuple[str, int, str]

_SURROGATES = re.compile(r"[\ud800-\udfff]")
# C0 but tab and newline, DEL, C1, noncharacters, and what reorders the text after it: embeddings, overrides, isolates.
# The marks U+200E, U+200F and U+061C stay: right-to-left languages need them, and they move only their neighbours.
_INVISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufdd0-\ufdef\ufffe\uffff]")
_NONCHARACTERS = re.compile(r"[\ufdd0-\ufdef]")
_LONGEST = 2_000  # columns of a text in a template
_ESCAPES = {ord(mark): f"\\u{ord(mark):04x}" for mark in "<>&\u2028\u2029"}  # what ends a script, or a line of it


def visible(text: str) -> str:
    """Show control characters as their code points, `⟨U+001B⟩`; half a surrogate pair becomes U+FFFD."""
    if text.isascii() and text.isprintable():
        return text
    text = _INVISIBLE.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _SURROGATES.sub("\ufffd", text)


def without_marks(text: str) -> str:
    """Remove noncharacters: some tokenizers set special tokens apart with them."""
    return _NONCHARACTERS.sub("", text)


def shown(text: str, limit: int) -> Shown:
    """Cut `text` to `limit` characters for the page: two thirds from its start, the rest from its end."""
    if len(text) <= limit:
        return visible(text)
    head = limit * 2 // 3
    return visible(text[:head]), len(text) - limit, visible(text[head - limit :])


def on_one_line(text: str, columns: int = 300) -> str:
    """Return a name or a sentence: one line, not endless, and nothing in it that moves the text after it."""
    return visible(style.fit(style.one_line(text), columns, "…"))


def percent_number(score: float) -> int | float:
    """Return a score in 0..1 as the percent that the page prints, rounded by the rule of `percent1`."""
    value = float(style.percent1(score))
    return int(value) if value.is_integer() else value


def script_json(value: object) -> str:
    """Return compact JSON that can stand in a `<script>` element, whatever is in it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _SURROGATES.sub("\ufffd", text.translate(_ESCAPES))


def trusted(text: str) -> Markup:
    """Mark our own style sheet, script, path, packed details or `script_json` text as ready for the template."""
    return Markup(text)  # noqa: S704 - never called with a text of a model or a user


def page(
    template: str,
    title: str,
    data: Mapping[str, Any],
    *,
    fields: Mapping[str, Any],
    colors: style.ColorsName = "viridis",
    details: str = "",
    notice: Sequence[str] = (),
) -> str:
    """Return the page of a template, `report` or `comparison`.

    `data`: what the script reads; `details`: the trials, packed; `notice`: what was left out of them; `fields`: what
    else the template asks for.
    """
    css = asset("page.css") + scale_css(style.COLORS[colors], ".bar", "c", 0)
    if template == "comparison":
        css += asset("comparison.css") + scale_css(style.DIFFERENCES, ".bar.differences", "by", -100)
    script = f'"use strict";\n(() => {{\n{asset("page.js")}{asset(f"{template}.js")}}})();\n'
    return (
        environment()
        .get_template(f"{template}.html.j2")
        .render(
            policy=policy(css, script),
            style=trusted(css),
            script=trusted(script),
            data=trusted(script_json(data)),
            details=trusted(details),
            title=on_one_line(title) or "Needlework",
            notice=notice,
            **fields,
        )
    )


def policy(css: str, script: str) -> str:
    """Return the Content-Security-Policy: nothing is loaded, and nothing runs but exactly our script."""
    return (
        f"default-src 'none'; script-src '{digest(script)}'; style-src '{digest(css)}'; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def scale_css(colors: tuple[str, ...], bar: str, name: str, low: int) -> str:
    """Return a class for each whole number from `low` to 100 (`c0`, `by-100`), and the colour bar."""
    lines = []
    for value in range(low, 101):
        color = style.between(colors, (value - low) / (100 - low))
        letters = "fff" if style.dark(color) else "000"
        lines.append(f".{name}{value}{{background-color:#{bytes(color).hex()};color:#{letters}}}")
    return "\n".join([*lines, f"{bar}{{background:linear-gradient(to right,{','.join(colors)})}}", ""])


def digest(text: str) -> str:
    """Return a text's hash as a Content-Security-Policy names it."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


@cache  # with it the compiled templates, of which a run fills each twice
def environment() -> Environment:
    """Return the jinja2 environment of our templates: whatever text they print is put on one line."""
    made = Environment(
        loader=FunctionLoader(asset),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printed,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"words": WORDS, "word_id": word_id}
    return made


def _printed(value: object) -> object:
    """What a template prints: its own words, `trusted` texts and numbers as they are."""
    if type(value) is not str or (value.isprintable() and len(value) <= _LONGEST):
        return value
    return on_one_line(value, _LONGEST)


@cache
def asset(name: str) -> str:
    """Return the text of a file beside this module."""
    return files("needlework.results.html").joinpath(name).read_text(encoding="utf-8")


WORDS: dict[str, str] = {
    name: f"{meaning[0].upper()}{meaning[1:]}"
    for part in GLOSSARY["columns"].values()
    for name, meaning in part.items()
}


def word_id(name: str) -> str:
    """Return the id of a word's entry in the glossary."""
    return f"word-{slug(name)}-{sorted(WORDS).index(name)}"
