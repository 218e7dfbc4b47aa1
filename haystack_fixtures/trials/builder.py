"""Builds the trial of a cell: question, prompt, resume key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial
from hashlib import sha256
from json import JSONEncoder
from pathlib import Path
from typing import Any

from msgspec import structs

from needlework.core.errors import InputError, NoRoomError
from needlework.core.grid import Cell
from needlework.core.prompts import (
    Message,
    PromptShape,
    guided,
    lay_out,
    load_shape,
    parted,
    plain_turns,
    raw_text,
    rendered_prompt,
)
from needlework.core.settings import Settings, Suite
from needlework.haystack_fixtures.configuration.resolve import recipe_fields
from needlework.haystack_fixtures.corpora.corpus import Corpus
from needlework.haystack_fixtures.haystacks.conversations import Conversation, GrowingConversation, OuterMessages
from needlework.haystack_fixtures.haystacks.frame import OuterText, gap
from needlework.haystack_fixtures.needles.needle_sets import Canaries, canaries
from needlework.haystack_fixtures.retrieval.search import Retrieval
from needlework.haystack_fixtures.tasks.catalogue import TASKS, Tasks, ask
from needlework.haystack_fixtures.tasks.task import Chunks, Prose, Question
from needlework.haystack_fixtures.trials.contexts import ContextBuilder, SourcePool, Trial, fill_in
from needlework.models.tokenizers.tokenizer import Tokenizer, approximation

# In place of the context while the template is rendered; of private-use characters, which no text has by chance.
_PLACEHOLDER = "\ue000context\ue001"


class TrialBuilder:
    """Builds trials for one tokenizer; caches the corpora, shapes and encoded haystacks that cells share.

    Thread-safe: threads build at the same time, and what several of them need is made once.
    """

    def __init__(
        self,
        settings: Settings,
        tokenizer: Tokenizer,
        cache_dir: Path,
        *,
        tasks: Tasks = TASKS,
        retrieval: Retrieval | None = None,
    ) -> None:
        """`retrieval`: finds the chunks of contexts; `None`: by searching."""
        self._tasks = tasks
        self._settings = settings
        self.tokenizer = tokenizer
        self._sources = SourcePool(settings, tokenizer, cache_dir, tasks=tasks)
        self._retrieval = retrieval or Retrieval(settings, cache_dir)
        self._contexts = ContextBuilder(tokenizer, self._sources, self._retrieval, verify=settings.verify_prompts)
        # A cell's question is made for its key and for its prompt; cells of one repeat share their frame.
        self._cached_question = lru_cache(1024)(self._ask)
        self._cached_frame = lru_cache(128)(self._frame)
        self._suite_recipe = lru_cache(128)(self._recipe)
        self._cached_shape = lru_cache(128)(load_shape)

    def corpus(self, suite: Suite) -> Corpus:
        """The suite's corpus, long enough for the longest length of the run."""
        return self._sources.corpus(suite)

    def shape(self, suite: Suite) -> PromptShape:
        """The suite's prompt shape."""
        return self._cached_shape(suite.prompt, suite.language)

    def embedders(self, suite: Suite) -> dict[str, str]:
        """The identities of the suite's embedders by spec; empty without embedders."""
        return self._retrieval.identity(suite)

    def canaries(self, suite: Suite, cell: Cell) -> Canaries | None:
        """The canaries in a cell's context; `None` without `--canary`."""
        if not self._settings.canary:
            return None
        return canaries(suite.language, seed=self._settings.seed, repeat=cell.repeat)

    def canary_trial(self, suite: Suite, cell: Cell, ends: Canaries) -> Trial:
        """The trial that asks for the marks at both ends of a cell's context."""
        answer = ", ".join(ends.marks)
        question = replace(self._question(suite, cell), question=ends.question, answer=answer, answer_prefix="")
        return self._build(suite, cell, question, ends.question)

    def build(self, suite: Suite, cell: Cell) -> Trial:
        """Build the trial of a cell. Raises `InputError` if its length is too short for the question."""
        question, rows = self._question(suite, cell), self._tasks[suite.task].rows
        if question.verbatim:
            needed = self._answer_tokens(question)
            if rows:
                question = replace(question, reference=question.reference | {"answer_tokens": needed - 1})
            if needed > suite.answer_budget:
                error = NoRoomError(suite.answer_budget, f"{cell.task} {cell.needle}", needed)
                if not rows:
                    raise error
                return replace(self._build(suite, cell, question, question.question), skipped=str(error))
        is_guided = suite.guide and question.follow_up is None
        text = guided(question.question, suite.language, joint=question.joint) if is_guided else question.question
        return self._build(suite, cell, question, text)

    def answer_tokens(self, suite: Suite, cell: Cell) -> int:
        """Tokens of the verbatim answer of a cell and of its end token; 0 if the task wants none."""
        question = self._question(suite, cell)
        return self._answer_tokens(question) if question.verbatim else 0

    def _answer_tokens(self, question: Question) -> int:
        return len(self.tokenizer.encode(question.answer).ids) + 1

    def _question(self, suite: Suite, cell: Cell) -> Question:
        # Rows are not cached: one may have millions of characters.
        return self._ask(suite, cell) if self._tasks[suite.task].rows else self._cached_question(suite, cell)

    def _ask(self, suite: Suite, cell: Cell) -> Question:
        question = ask(self._tasks[suite.task], suite, cell, self._settings.seed)
        if not isinstance(question.context, Chunks):
            return question
        recipe = self._retrieval.recipe(suite, question.context.retriever)
        return replace(question, material=f"{question.material}\n{recipe}")

    def _messages(
        self, suite: Suite, question: str, mark: str, introduction: str, is_summary: bool
    ) -> tuple[Message, ...]:
        """The messages around the context. `is_summary`: without the shape's words on answers."""
        shape = self.shape(suite)
        messages = lay_out(
            structs.replace(shape, question="{question}", both="{question}") if is_summary else shape,
            question,
            system=suite.system_prompt,
            position=suite.question_position,
            introduction=introduction,
        )
        if mark:
            messages = (Message(messages[0].role, f"[{mark}]\n{messages[0].content}"), *messages[1:])
        return messages

    def _is_chat(self, suite: Suite) -> bool:
        return suite.template == "chat" and self.tokenizer.has_chat_template

    def _rendered(self, suite: Suite, messages: tuple[Message, ...]) -> tuple[str, tuple[int, ...]]:
        """The text of messages, and the tokens before it."""
        if self._is_chat(suite):
            return self.tokenizer.render_chat(messages), ()
        return raw_text(messages, self.shape(suite).raw_end), self.tokenizer.bos

    def _frame(self, suite: Suite, messages: tuple[Message, ...], prefix: str) -> OuterText:
        rendered, bos = self._rendered(suite, tuple([fill_in(message, _PLACEHOLDER) for message in messages]))
        if prefix:
            rendered += gap(rendered, prefix) + prefix
            messages = (*messages, Message("assistant", prefix))
        before, placeholder, after = rendered.partition(_PLACEHOLDER)
        if not placeholder or _PLACEHOLDER in after:
            raise InputError("--template", suite.template, "the chat template does not show the document exactly once")

        def filled(context: str) -> tuple[Message, ...]:
            return tuple([fill_in(message, context) for message in messages])

        return OuterText(before, after, bos, filled, 0, self.tokenizer.encode)

    def _outer_messages(self, suite: Suite, messages: tuple[Message, ...], prefix: str) -> OuterMessages:
        before, opening, after = parted(messages, suite.prompt)
        if self._is_chat(suite):
            return OuterMessages(before, opening, after, (), self.tokenizer.render_chat, prefix)
        render = partial(plain_turns, language=suite.language)
        return OuterMessages(before, opening, after, self.tokenizer.bos, render, prefix)

    def follow_up(self, trial: Trial, first_answer: str) -> Trial:
        """The trial of the follow-up question of `trial`, which was answered with `first_answer`."""
        then = trial.asked.follow_up
        assert then is not None
        if then.summary:
            worded = self.shape(trial.suite).question.replace("{question}", then.question)
            then = replace(then, question=worded)
        messages = (Message("user", then.prompt(first_answer.strip())),)
        text, bos = self._rendered(trial.suite, messages)
        prompt = rendered_prompt(messages, text, [*bos, *self.tokenizer.encode(text).ids.tolist()])
        answer = then.answer or trial.asked.answer
        question = replace(trial.asked, question=then.question, answer=answer, context=Prose(), follow_up=None)
        return replace(trial, asked=question, prompt=prompt)

    def _build(self, suite: Suite, cell: Cell, question: Question, text: str) -> Trial:
        # Servers cache prompts in blocks from the start: a different first line prevents every hit.
        marked = self._settings.cache_policy == "isolated"
        mark = sha256(f"{self._settings.seed} {cell.id}".encode()).hexdigest()[:16] if marked else ""
        prefix = question.answer_prefix if suite.answer_prefix else ""
        ends = self.canaries(suite, cell)
        is_summary = question.follow_up is not None and bool(question.follow_up.summary)
        messages = self._messages(suite, text, mark, question.introduction, is_summary)
        of_turns = isinstance(question.context, Conversation | GrowingConversation)
        frame = (self._outer_messages if of_turns else self._cached_frame)(suite, messages, prefix)
        trial = self._contexts.build(suite, cell, question, frame, ends)
        error = approximation(self.tokenizer)
        return replace(trial, prompt=replace(trial.prompt, error=error)) if error else trial

    def key(self, suite: Suite, cell: Cell, model: Mapping[str, Any]) -> str:
        """The resume key of a trial: a hash of all that can change its answer."""
        return trial_key(self._suite_recipe(suite, json.dumps(dict(model))), cell, self._question(suite, cell))

    def _recipe(self, suite: Suite, model: str) -> dict[str, Any]:
        """The part of the resume keys that all cells of a suite share."""
        corpus = self.corpus(suite)
        # Without `--retriever`: further arms must not change the keys of cells on whole documents.
        constant = recipe_fields(structs.replace(suite, retriever=("none",))) | {
            "scorer": None,
            "version": RECIPE_VERSION,
            "seed": self._settings.seed,
            # The hash of a generated corpus is the same at every size; the order of its documents is not.
            "corpus": [corpus.sha256, len(corpus.documents)],
            "shape": self.shape(suite).sha256,
            "tokenizer": self.tokenizer.fingerprint,
            "cache_policy": self._settings.cache_policy,
            "model": json.loads(model),
        }
        version = self._tasks[suite.task].version
        canary = {"canary": True} if self._settings.canary else {}
        return constant | canary | ({"task_version": version} if version else {})


RECIPE_VERSION = 1
_encode = JSONEncoder(sort_keys=True, ensure_ascii=False).encode


def trial_key(suite_recipe: Mapping[str, Any], cell: Cell, question: Question) -> str:
    """The resume key of a trial: the sha256 of its suite's recipe and of its own question."""
    extra = [question.introduction, question.material, question.answer_prefix]
    if isinstance(question.context, Conversation):  # given by a data set: no draw identifies it
        turns = _encode([[turn.role, turn.content] for turn in question.context.turns])
        extra.append(sha256(turns.encode("utf-8", "surrogatepass")).hexdigest())
    needles = [[*([needle.ask] if needle.ask else []), needle.text, *needle.distractors] for needle in question.needles]
    varying = {
        "cell": [cell.task, cell.length, cell.depth, cell.needle, cell.repeat],
        "depths": question.depths,
        "needles": needles + ([["", *question.distractors]] if question.distractors else []),
        "question": [question.question, *extra] if any(extra) else question.question,
    }
    recipe = _encode({**suite_recipe, **varying})
    return sha256(recipe.encode("utf-8", "surrogatepass")).hexdigest()
