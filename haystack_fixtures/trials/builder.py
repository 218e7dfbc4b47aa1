"""Builds the trial of a cell: question, prompt, resume key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
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
    Prompt,
    PromptShape,
    bare_prompt,
    guided,
    lay_out,
    load_shape,
    parted,
    plain_turns,
    raw_text,
)
from needlework.core.settings import FamilyValues, Settings, Suite
from needlework.haystack_fixtures.configuration.resolve import recipe_fields
from needlework.haystack_fixtures.corpora.files import Corpus
from needlework.haystack_fixtures.haystacks.conversations import AroundTurns, Conversation, GrowingConversation
from needlework.haystack_fixtures.haystacks.frame import Surroundings, gap
from needlework.haystack_fixtures.needles.needle_sets import Canaries, canaries
from needlework.haystack_fixtures.retrieval.search import Retrieval, Retrieved
from needlework.haystack_fixtures.tasks.catalogue import TASKS, Tasks, ask
from needlework.haystack_fixtures.tasks.task import Chunks, Prose, Question
from needlework.haystack_fixtures.trials.contexts import ContextBuilder, SourcePool, put
from needlework.models.tokenizers.tokenizer import Tokenizer, approximation

# Stands in for the context while the template is rendered; private-use characters, so no text holds it by chance.
_HOLE = "\ue000context\ue001"


class TrialBuilder:
    """Builds the trials of one tokenizer; keeps corpora, shapes and encoded haystacks that cells share.

    Threads may share it: they build at the same time, and what several of them need is made once.
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
        """`retrieval`: what finds the chunks of a context, where that is not to search for them."""
        self._tasks = tasks
        self._settings = settings
        self._tokenizer = tokenizer
        self._sources = SourcePool(settings, tokenizer, cache_dir, tasks=tasks)
        self._retrieval = retrieval or Retrieval(settings, tokenizer, cache_dir)
        self._shapes: dict[tuple[str, str], PromptShape] = {}
        self._contexts = ContextBuilder(tokenizer, self._sources, self._retrieval, verify=settings.verify_prompts)
        # A cell is asked about twice, for its key and its prompt; cells of one repeat share their frame.
        self._cached_question = lru_cache(1024)(self._ask)
        self._framed = lru_cache(128)(self._frame)
        self._suite_recipe = lru_cache(128)(self._recipe)

    @property
    def tokenizer(self) -> Tokenizer:
        """What counts the tokens of these trials."""
        return self._tokenizer

    def corpus(self, suite: Suite) -> Corpus:
        """The suite's corpus, long enough for the longest length of the run."""
        return self._sources.corpus(suite)

    def shape(self, suite: Suite) -> PromptShape:
        """The suite's prompt shape."""
        key = (suite.prompt, suite.language)
        if key not in self._shapes:
            self._shapes[key] = load_shape(*key)
        return self._shapes[key]

    def embedders(self, suite: Suite) -> dict[str, str]:
        """What embeds the suite's documents, by its spec; empty where nothing does."""
        return self._retrieval.identity(suite)

    def canaries(self, suite: Suite, cell: Cell) -> Canaries | None:
        """The canaries in a cell's context, where they were asked for."""
        if not self._settings.canary:
            return None
        return canaries(suite.language, seed=self._settings.seed, repeat=cell.repeat)

    def canary_trial(self, suite: Suite, cell: Cell, ends: Canaries) -> Trial:
        """The trial of a cell with another question: what are the marks at both ends of the text?"""
        marks = f"{ends.start_mark}, {ends.end_mark}"
        question = replace(self._question(suite, cell), question=ends.question, answer=marks, answer_prefix="")
        return self._build(suite, cell, question, ends.question)

    def build(self, suite: Suite, cell: Cell) -> Trial:
        """Build the trial of a cell. Raises `InputError` when no prompt of that length can hold what is asked."""
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
        """Tokens of the answer that is wanted of a cell word for word, and of its end; 0 where none is."""
        question = self._question(suite, cell)
        return self._answer_tokens(question) if question.verbatim else 0

    def _answer_tokens(self, question: Question) -> int:
        return len(self._tokenizer.encode(question.answer).ids) + 1

    def _question(self, suite: Suite, cell: Cell) -> Question:
        # A row of a data set may have millions of characters.
        return self._ask(suite, cell) if self._tasks[suite.task].rows else self._cached_question(suite, cell)

    def _ask(self, suite: Suite, cell: Cell) -> Question:
        question = ask(self._tasks[suite.task], suite, cell, self._settings.seed)
        if not isinstance(question.context, Chunks):
            return question
        recipe = self._retrieval.recipe(suite, question.context.retriever)
        return replace(question, material=f"{question.material}\n{recipe}")

    def _laid_out(
        self, suite: Suite, question: str, mark: str, introduction: str, is_summary: bool
    ) -> tuple[Message, ...]:
        """The messages around the context. `is_summary`: without what the shape says of answers to questions."""
        shape = self.shape(suite)
        messages = lay_out(
            replace(shape, question="{question}", both="{question}") if is_summary else shape,
            question,
            system=suite.system_prompt,
            position=suite.question_position,
            introduction=introduction,
        )
        if mark:
            messages = (Message(messages[0].role, f"[{mark}]\n{messages[0].content}"), *messages[1:])
        return messages

    def _frame(
        self, suite: Suite, question: str, mark: str, introduction: str, prefix: str, is_summary: bool
    ) -> Surroundings:
        messages = self._laid_out(suite, question, mark, introduction, is_summary)
        shown = tuple([put(message, _HOLE) for message in messages])
        is_chat = suite.template == "chat" and self._tokenizer.has_chat_template
        rendered = self._tokenizer.render_chat(shown) if is_chat else raw_text(shown, self.shape(suite).raw_end)
        if prefix:
            rendered += gap(rendered, prefix) + prefix
            messages = (*messages, Message("assistant", prefix))
        before, hole, after = rendered.partition(_HOLE)
        if not hole or _HOLE in after:
            raise InputError("--template", suite.template, "the chat template does not show the document exactly once")
        bos = () if is_chat else self._tokenizer.bos

        def around(context: str) -> tuple[Message, ...]:
            return tuple([put(message, context) for message in messages])

        return Surroundings(before, after, bos, around, 0, self._tokenizer.encode)

    def _around_turns(
        self, suite: Suite, question: str, mark: str, introduction: str, prefix: str, is_summary: bool
    ) -> AroundTurns:
        laid_out = self._laid_out(suite, question, mark, introduction, is_summary)
        before, opening, after = parted(laid_out, suite.prompt)
        if suite.template == "chat" and self._tokenizer.has_chat_template:
            return AroundTurns(before, opening, after, (), self._tokenizer.render_chat, prefix)
        render = partial(plain_turns, language=suite.language)
        return AroundTurns(before, opening, after, self._tokenizer.bos, render, prefix)

    def follow_up(self, trial: Trial, first_answer: str) -> Trial:
        """The trial that asks what is asked after this one, which got `first_answer`."""
        then = trial.asked.follow_up
        if then is None:
            raise ValueError(f"{trial.cell.id} has no follow-up")
        if then.summary:
            worded = self.shape(trial.suite).question.replace("{question}", then.question)
            then = replace(then, question=worded)
        messages = (Message("user", then.prompt(first_answer.strip())),)
        if trial.suite.template == "chat" and self._tokenizer.has_chat_template:
            text, ids = self._tokenizer.render_chat(messages), []
        else:
            text, ids = raw_text(messages, self.shape(trial.suite).raw_end), [*self._tokenizer.bos]
        ids += self._tokenizer.encode(text).ids.tolist()
        prompt = bare_prompt(messages, text, ids)
        answer = then.answer or trial.asked.answer
        question = replace(trial.asked, question=then.question, answer=answer, context=Prose(), follow_up=None)
        return replace(trial, asked=question, prompt=prompt)

    def _build(self, suite: Suite, cell: Cell, question: Question, text: str) -> Trial:
        # Servers cache by blocks from the start of the prompt: a different first line shares no block.
        marked = self._settings.cache_policy == "isolated"
        mark = sha256(f"{self._settings.seed} {cell.id}".encode()).hexdigest()[:16] if marked else ""
        prefix = question.answer_prefix if suite.answer_prefix else ""
        ends = self.canaries(suite, cell)
        is_summary = question.follow_up is not None and bool(question.follow_up.summary)
        frame: Surroundings | AroundTurns
        if isinstance(question.context, Conversation | GrowingConversation):
            frame = self._around_turns(suite, text, mark, question.introduction, prefix, is_summary)
        else:
            frame = self._framed(suite, text, mark, question.introduction, prefix, is_summary)
        built = self._contexts.build(suite, cell, question, frame, ends)
        error = approximation(self._tokenizer)
        prompt = replace(built.prompt, error=error) if error else built.prompt
        return Trial(cell, suite, built.asked, prompt, built.skipped, built.retrieved)

    def key(self, suite: Suite, cell: Cell, model: Mapping[str, Any]) -> str:
        """Identify a trial by everything that can change its answer; not by worker, order, path or time."""
        return trial_key(self._suite_recipe(suite, json.dumps(dict(model))), cell, self._question(suite, cell))

    def _recipe(self, suite: Suite, model: str) -> dict[str, Any]:
        """What the keys of all cells of a suite have in common."""
        corpus = self.corpus(suite)
        # Who is asked on the documents as they are is asked the same whatever else is retrieved.
        whole = FamilyValues({key: value for key, value in suite.family.items() if key != "retriever"})
        constant = recipe_fields(structs.replace(suite, family=whole)) | {
            "scorer": None,
            "version": RECIPE_VERSION,
            "seed": self._settings.seed,
            # A generated corpus has one hash whatever its size, and the size decides the order of its documents.
            "corpus": [corpus.sha256, len(corpus.documents)],
            "shape": self.shape(suite).sha256,
            "tokenizer": self._tokenizer.fingerprint,
            "cache_policy": self._settings.cache_policy,
            "model": json.loads(model),
        }
        version = self._tasks[suite.task].version
        canary = {"canary": True} if self._settings.canary else {}
        return constant | canary | ({"task_version": version} if version else {})


@dataclass(frozen=True)
class Trial:
    """A cell made concrete: what is asked, and the prompt that asks it."""

    cell: Cell
    suite: Suite
    asked: Question
    prompt: Prompt
    skipped: str = ""  # why it is not to be asked
    retrieved: Retrieved | None = None  # where its context comes from, if a retriever found it


RECIPE_VERSION = 1
_encode = JSONEncoder(sort_keys=True, ensure_ascii=False).encode


def trial_key(suite_recipe: Mapping[str, Any], cell: Cell, question: Question) -> str:
    """The sha256 of the recipe of one trial: what its suite has in common, and what is its own."""
    extra = [question.introduction, question.material, question.answer_prefix]
    if isinstance(question.context, Conversation):  # one that is given as it is: no draw says what it is
        turns = _encode([[turn.role, turn.text] for turn in question.context.turns])
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
