"""From a cell to the prompt of its trial: corpus, haystack, needles, question, exact length."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from haystack_fixtures.cells import Cell
from haystack_fixtures.corpora.corpus import Corpus
from haystack_fixtures.corpora.load import load_corpus
from haystack_fixtures.errors import InputError
from haystack_fixtures.haystacks.build import build_prompt, verify_prompt
from haystack_fixtures.haystacks.source import HaystackSource, open_source
from haystack_fixtures.haystacks.splice import WindowMemo
from haystack_fixtures.haystacks.unique import occurs
from haystack_fixtures.prompts.prompt import Message, Prompt
from haystack_fixtures.prompts.shape import CONTEXT, Shape, guided, lay_out, load_shape, raw_text
from haystack_fixtures.settings import Settings, Suite, recipe_fields
from haystack_fixtures.tasks.load import task_named
from haystack_fixtures.tasks.task import Asked
from haystack_fixtures.tokenizers.tokenizer import Tokenizer

RECIPE_VERSION = 1
# Stands in for the context while the template is rendered; private-use characters, so no text holds it by chance.
_HOLE = "\ue000context\ue001"
# Characters of generated text per token, more than any tokenizer here packs into one on average.
_CHARS_PER_TOKEN = 6
_SOURCES_KEPT = 3


@dataclass(frozen=True)
class Trial:
    """A cell made concrete: what is asked, and the prompt that asks it."""

    cell: Cell
    suite: Suite
    asked: Asked
    prompt: Prompt


class TrialBuilder:
    """Builds the trials of one tokenizer; keeps corpora, shapes and encoded haystacks that cells share.

    Not thread-safe: callers that build from several threads take turns.
    """

    def __init__(self, settings: Settings, tokenizer: Tokenizer, cache_dir: Path) -> None:
        self._settings = settings
        self._tokenizer = tokenizer
        self._cache_dir = cache_dir
        self._corpora: dict[tuple[object, ...], Corpus] = {}
        self._shapes: dict[tuple[str, str], Shape] = {}
        self._windows = WindowMemo(tokenizer)
        self._sources: OrderedDict[tuple[object, ...], HaystackSource] = OrderedDict()

    @property
    def tokenizer(self) -> Tokenizer:
        """What counts the tokens of these trials."""
        return self._tokenizer

    def corpus(self, suite: Suite) -> Corpus:
        """The suite's corpus, long enough for the longest length of the run."""
        key = (suite.corpus, suite.language, suite.text_field, suite.file_list)
        if key not in self._corpora:
            longest = max(max(each.lengths) for each in self._settings.suites)
            self._corpora[key] = load_corpus(
                suite.corpus,
                language=suite.language,
                seed=self._settings.seed,
                min_chars=longest * _CHARS_PER_TOKEN,
                text_field=suite.text_field,
                file_list=suite.file_list,
                cache_dir=self._cache_dir,
            )
        return self._corpora[key]

    def shape(self, suite: Suite) -> Shape:
        """The suite's prompt shape."""
        key = (suite.prompt, suite.language)
        if key not in self._shapes:
            self._shapes[key] = load_shape(*key)
        return self._shapes[key]

    def source(self, suite: Suite, repeat: int) -> HaystackSource:
        """The encoded text that the haystacks of one repeat begin with, whatever their length and depth."""
        corpus = self.corpus(suite)
        key = (corpus.sha256, repeat)
        if key in self._sources:
            self._sources.move_to_end(key)
        else:
            longest = max(max(each.lengths) for each in self._settings.suites)
            self._sources[key] = open_source(
                corpus,
                self._tokenizer,
                seed=self._settings.seed,
                repeat=repeat,
                min_tokens=longest,
                cache_dir=self._cache_dir,
            )
            while len(self._sources) > _SOURCES_KEPT:
                self._sources.popitem(last=False)
        return self._sources[key]

    def build(self, suite: Suite, cell: Cell) -> Trial:
        """Build the trial of a cell. Raises `InputError` when no prompt of that length can hold what is asked."""
        asked = task_named(suite.task).ask(suite, cell, self._settings.seed)
        question = guided(asked.question, suite.language, joint=asked.joint) if suite.guide else asked.question
        shape = self.shape(suite)
        messages = lay_out(shape, question, system=suite.system_prompt, position=suite.question_position)
        if self._settings.cache_policy == "isolated":
            messages = _isolated(messages, cell, self._settings.seed)
        if suite.template == "chat" and self._tokenizer.has_chat_template:
            rendered = self._tokenizer.render_chat([_put(message, _HOLE) for message in messages])
            bos: tuple[int, ...] = ()
        else:
            rendered = raw_text(tuple(_put(message, _HOLE) for message in messages), shape.raw_end)
            bos = self._tokenizer.bos
        before, hole, after = rendered.partition(_HOLE)
        if not hole or _HOLE in after:
            raise InputError("--template", suite.template, "the chat template does not show the document exactly once")
        statements = [(needle.name, needle.text) for needle in asked.needles]
        distractors = [text for needle in asked.needles for text in needle.distractors]
        statements += [(f"distractor{i}", text) for i, text in enumerate(distractors)]
        # Distractors stand evenly over the haystack, the same at every depth of the needle.
        spread = [100 * (k + 1) / (len(distractors) + 1) for k in range(len(distractors))]
        prompt = build_prompt(
            self._tokenizer,
            before=before,
            after=after,
            source=self.source(suite, cell.repeat),
            needles=statements,
            depths=(*asked.depths, *spread),
            token_budget=cell.length - reserved(suite),
            reserved=reserved(suite),
            messages=lambda context: tuple(_put(message, context) for message in messages),
            bos=bos,
            memo=self._windows,
            unique=tuple(text for needle in asked.needles if needle.key for text in (needle.key, needle.answer)),
        )
        if any(occurs(needle.answer, _filler(prompt)) for needle in asked.needles if not needle.key):
            prompt = replace(prompt, flags=(*prompt.flags, "answer_elsewhere"))
        if self._settings.verify_prompts:
            verify_prompt(self._tokenizer, prompt)
        return Trial(cell, suite, asked, prompt)

    def key(self, suite: Suite, cell: Cell, model: Mapping[str, Any]) -> str:
        """Identify a trial by everything that can change its answer; not by worker, order, path or time."""
        asked = task_named(suite.task).ask(suite, cell, self._settings.seed)
        recipe = recipe_fields(suite) | {
            "scorer": None,
            "version": RECIPE_VERSION,
            "cell": [cell.task, cell.length, cell.depth, cell.needle, cell.repeat],
            "seed": self._settings.seed,
            "needles": [[needle.text, *needle.distractors] for needle in asked.needles],
            "depths": asked.depths,
            "question": asked.question,
            # A generated corpus has one hash whatever its size, and the size decides the order of its documents.
            "corpus": [self.corpus(suite).sha256, len(self.corpus(suite).documents)],
            "shape": self.shape(suite).sha256,
            "tokenizer": self._tokenizer.fingerprint,
            "cache_policy": self._settings.cache_policy,
            "model": dict(model),
        }
        return sha256(
            json.dumps(recipe, sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass")
        ).hexdigest()


def _filler(prompt: Prompt) -> str:
    start, end = prompt.context
    text = prompt.text[start:end]
    for placed in sorted(prompt.placed, key=lambda placed: -placed.start):
        text = text[: placed.start - start] + text[placed.end - start :]
    return text


def reserved(suite: Suite) -> int:
    """Tokens of a cell's length that the prompt must leave free."""
    return suite.answer_budget + suite.thinking_budget + suite.length_buffer


def _put(message: Message, context: str) -> Message:
    return Message(message.role, message.content.replace(CONTEXT, context))


def _isolated(messages: tuple[Message, ...], cell: Cell, seed: int) -> tuple[Message, ...]:
    # Servers cache by blocks from the start of the prompt: a different first line shares no block.
    mark = sha256(f"{seed} {cell.id}".encode()).hexdigest()[:16]
    first = messages[0]
    return (Message(first.role, f"[{mark}]\n{first.content}"), *messages[1:])
