"""The words of our pages, explained: what a column's head says when one points at it, and the glossary at the end."""

from __future__ import annotations

from needlework.haystack_fixtures.grid.cells import slug
from needlework.results.tables.retrieval import MEANINGS as RETRIEVAL
from needlework.results.tables.tasks import MEANINGS as TASKS

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
    "A %": "The score of the first run, over the questions that both answered",
    "B %": "The score of the second run, over the questions that both answered",
    "B − A": "The second run's score minus the first's, in points, over the same questions",
    "pairs": "Questions that have a score in both runs",
    "no pair": "Questions that have a score in one run only, or in none",
    "p": "How often chance alone gives a difference as large, if there is none",
    "p (Holm)": "The same, corrected for the number of rows",
    "task and needle": "What kind of question, and what it is about",
    **{name: f"{meaning[0].upper()}{meaning[1:]}" for name, meaning in {**RETRIEVAL, **TASKS}.items()},
}


def word_id(name: str) -> str:
    """The id of a word's entry in the glossary."""
    return f"word-{slug(name)}-{sorted(WORDS).index(name)}"
