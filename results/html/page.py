"""One page of HTML: templates, styles, words."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from needlework.core.grid import slug
from needlework.results.html.text import on_one_line, script_json, trusted
from needlework.results.report.boards import MEANINGS as BOARDS
from needlework.results.report.documents import MEANINGS as RETRIEVAL
from needlework.results.report.tasks import MEANINGS as TASKS
from needlework.results.style import COLORS, DIFFERENCES, ColorsName, color_of, dark, difference_color


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
    style = asset("page.css") + palette_css(colors)
    if template == "comparison":
        style += asset("comparison.css") + differences_css()
    script = f'"use strict";\n(() => {{\n{asset("page.js")}{asset(f"{template}.js")}}})();\n'
    return (
        environment()
        .get_template(f"{template}.html.j2")
        .render(
            policy=policy(style, script, images=template == "comparison"),
            style=trusted(style),
            script=trusted(script),
            data=trusted(script_json(data)),
            details=details,
            title=on_one_line(title) or "Needlework",
            notice=notice,
            **fields,
        )
    )


def policy(style: str, script: str, *, images: bool = False) -> str:
    """Return the Content-Security-Policy: nothing is loaded, and nothing runs but exactly our script.

    `images`: whether the page has pictures in itself.
    """
    return (
        f"default-src 'none'; script-src '{digest(script)}'; style-src '{digest(style)}'; "
        f"{'img-src data:; ' if images else ''}base-uri 'none'; form-action 'none'"
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
    """Return a text's hash as a Content-Security-Policy names it."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


@cache  # with it the compiled templates, of which a run fills each twice
def environment() -> Environment:
    """Return the jinja2 environment of our templates."""
    made = Environment(
        loader=FunctionLoader(asset), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.globals |= {"words": WORDS, "word_id": word_id}
    return made


@cache
def asset(name: str) -> str:
    """Return the text of a file beside this module."""
    return files("needlework.results.html").joinpath(name).read_text(encoding="utf-8")


WORDS: dict[str, str] = {
    "score %": "How right the answers are, 0 to 100. The mean over all trials that have a score",
    "95 % interval": "Where the score of other questions of the same kind would be, 95 times of 100",
    "95 %": "Where the score of other questions of the same kind would be, 95 times of 100",
    "n": "How many trials the score is made of",
    "trial": "One question, asked once",
    "sample": "Trials that share a needle or a question. They are no independent evidence: intervals count samples",
    "task": "What kind of question was asked",
    "asked about": "What the question is about: a hidden fact (a needle), or your documents",
    "model": "Which model answered",
    "length": "Tokens of the whole prompt with the room for its answer",
    "context length": "Tokens of the whole prompt with the room for its answer",
    "depth %": "How much of the text stands before the answer, in percent: 0 is the very start, 100 the very end",
    "effective length": "The longest length up to which every length holds the bar. RULER's, 85.6 %, is what"
    " Llama-2-7B scores there at 4k tokens",
    "unscored": "Trials that are in no score, by what became of them",
    "censored": "Cut off by the token limit before an answer came. It may have been right: the score is a range",
    "unclear": "The rule cannot tell whether the answer is right. The score is a range",
    "invalid": "What the server read is not the prompt that was built. Never a score",
    "skipped": "Longer than the model's window",
    "error": "No answer came, or none that could be scored",
    "refused": "The model would not answer, or said that it does not know. Score 0 where the answer is there",
    "empty": "The model answered nothing. Score 0",
    "found": "The answer is right",
    "partial": "Some of what was asked for is right",
    "wrong": "The answer is not right",
    "distractor": "The answer is one of the false ones that were hidden beside the right one",
    "gate": "A condition that was set for this run; it decides the exit code",
    "cells": "Which questions the gate looks at",
    "verdict": "pass: shown to hold. fail: shown not to hold. inconclusive: more trials are needed",
    "value": "What the gate measured, 0 to 1",
    "interval": "Where that value would be with other questions, at the level in brackets",
    "context": "What the model read: all documents, the best parts that a search found, or the right document alone",
    "tokens": "Tokens of the context, on average",
    "abstains % (95 %)": "Of the answers, those that say that the documents do not tell",
    "wrong content % (95 %)": "Of the answers, those that state something that is not right",
    "answer document": "What was done with the document that has the answer",
    "abstains needlessly %": "Of questions whose answer is there, those that got none",
    "balanced %": "The mean of right answers where there is one and of abstentions where there is none",
    "right in both %": "Of questions asked with and without their document, those right both times",
    "retriever": "What found the parts of the documents that the model read",
    "trials at depth": "How often each length was asked at this depth",
    "A % (95 %)": "The score of the first run, over the questions that both answered",
    "B % (95 %)": "The score of the second run, over the questions that both answered",
    "B - A": "The second run's score minus the first's, in points, over the same questions",
    "pairs": "Questions that have a score in both runs",
    "no pair": "Questions that have a score in one run only, or in none",
    "p": "How often chance alone gives a difference as large, if there is none",
    "p (Holm)": "The same, corrected for the number of rows",
    "needle": "What the question is about: a hidden fact",
    **{name: f"{meaning[0].upper()}{meaning[1:]}" for name, meaning in {**RETRIEVAL, **TASKS, **BOARDS}.items()},
}


def word_id(name: str) -> str:
    """Return the id of a word's entry in the glossary."""
    return f"word-{slug(name)}-{sorted(WORDS).index(name)}"
