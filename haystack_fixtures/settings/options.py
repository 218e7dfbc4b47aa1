"""The options: one row each, for the command line, the ini file, a TOML file and presets alike."""

from __future__ import annotations

from dataclasses import dataclass

from needlework.haystack_fixtures.grid.spacing import DEPTH_SPACINGS, LENGTH_SPACINGS
from needlework.haystack_fixtures.settings.option_values import (
    Parser,
    any_text,
    key_value,
    one_of,
    path,
    pattern,
    percent,
    prices,
    seconds,
    some_of,
    switch,
    text,
    tokens,
    variable,
    whole,
    words,
    words_of,
)


@dataclass(frozen=True, slots=True)
class Option:
    """One option. `suite`: it describes what is asked (a preset's suite may set it), not how the run is made."""

    name: str
    group: str
    help: str
    parse: Parser
    default: str | None = None
    shown_default: str = ""
    metavar: str = "VALUE"
    repeatable: bool = False
    flag: bool = False
    suite: bool = False

    @property
    def key(self) -> str:
        """The name in ini and TOML files: `answer_budget` for `--answer-budget`."""
        return self.name.replace("-", "_")


WHAT = "needlework: what is asked"
HOW = "needlework: how the prompt is made"
WHO = "needlework: the model under test"
SEND = "needlework: how requests are sent"
OUT = "needlework: results and gates"
CONFIGURATION = "needlework: configuration"

OPTIONS: tuple[Option, ...] = (
    Option("config", CONFIGURATION, "TOML file with any of these options; the command line wins", text, metavar="FILE"),
    Option(
        "preset",
        CONFIGURATION,
        "complete suite by name, or a TOML file of yours; --preset list prints the names",
        text,
        "quick",
        metavar="NAME",
    ),
    Option(
        "model",
        WHO,
        "smollm2 (embedded), hf:ID_OR_PATH, gguf:PATH, openai:NAME, mock:BEHAVIOUR; may be given several times",
        text,
        "smollm2",
        metavar="SPEC",
        repeatable=True,
    ),
    Option(
        "model-arg",
        WHO,
        "dtype, device, attn_implementation, extra request fields, ...; may be given several times",
        key_value,
        metavar="KEY=VALUE",
        repeatable=True,
    ),
    Option(
        "tokenizer",
        WHO,
        "what counts tokens, where the model does not say: tiktoken:NAME, smollm2, a folder, gguf:PATH",
        text,
        metavar="SPEC",
    ),
    Option("base-url", WHO, "address of the OpenAI-compatible server, ending in /v1", text, metavar="URL"),
    Option(
        "api-key-env",
        WHO,
        "environment variable that holds the server's key",
        variable,
        "OPENAI_API_KEY",
        metavar="NAME",
    ),
    Option(
        "judge",
        WHO,
        "model that grades answers, a SPEC as for --model; reached with --judge-base-url",
        text,
        shown_default="no judge",
        metavar="SPEC",
    ),
    Option("judge-base-url", WHO, "address of the judge's server", text, shown_default="--base-url", metavar="URL"),
    Option(
        "task",
        WHAT,
        "tasks to run, of those in the preset",
        words,
        shown_default="all of the preset",
        metavar="NAME,...",
    ),
    Option(
        "lengths",
        WHAT,
        "tokens that prompt and answer need together: 1k,2k,4k or first:last:count",
        text,
        metavar="LIST",
        suite=True,
    ),
    Option(
        "length-spacing",
        WHAT,
        f"spacing of a range of lengths: {', '.join(LENGTH_SPACINGS)}",
        one_of(*LENGTH_SPACINGS),
        "linear",
        suite=True,
    ),
    Option(
        "depths",
        WHAT,
        "percent of the context's tokens before the needle: 0,50,100 or 0:100:11",
        text,
        metavar="LIST",
        suite=True,
    ),
    Option(
        "depth-spacing",
        WHAT,
        f"spacing of a range of depths: {', '.join(DEPTH_SPACINGS)}",
        one_of(*DEPTH_SPACINGS),
        "linear",
        suite=True,
    ),
    Option(
        "needle-set",
        WHAT,
        "needles by name (codes, san_francisco, cdme, pizza, italy) or a TOML/JSONL file of yours",
        text,
        "codes",
        metavar="NAME_OR_FILE",
        suite=True,
    ),
    Option(
        "corpus",
        WHAT,
        "haystack text: default, essays, sanguo, pydoc, generated, noise, cdme:FOLDER, hf:DATASET[:SPLIT], a path",
        text,
        "default",
        metavar="NAME_OR_PATH",
        suite=True,
    ),
    Option("text-field", WHAT, "field of .jsonl and data set rows that holds the text", text, "text", suite=True),
    Option(
        "file-list",
        WHAT,
        "files of a corpus folder to use, by name",
        words,
        shown_default="all",
        metavar="NAME,...",
        suite=True,
    ),
    Option(
        "language",
        WHAT,
        "languages of corpus, needles and prompt: en, zh",
        words,
        "en",
        metavar="LIST",
        suite=True,
    ),
    Option(
        "questions",
        WHAT,
        "questions of yours: what `needlework questions` writes, for tasks doc_...; JSON as SQuAD or HotpotQA have it,"
        " for ruler_qa_1 and ruler_qa_2",
        path,
        shown_default="generated documents",
        metavar="FILE",
        suite=True,
    ),
    Option(
        "documents",
        WHAT,
        "folder of documents of yours, for tasks doc_...; see docs/documents.md",
        path,
        metavar="DIR",
        suite=True,
    ),
    Option(
        "leval-data",
        WHAT,
        "folder of L-Eval's data (a clone, or its jsonl files), or hf:L4NLP/LEval[@REVISION]; for tasks leval_...",
        path,
        metavar="DIR",
        suite=True,
    ),
    Option(
        "leval-subset",
        WHAT,
        "rows of L-Eval to ask, by their own `evaluation`: scored (exam, f1, rouge), llm, human, both (llm and human)",
        one_of("scored", "llm", "human", "both"),
        "scored",
        suite=True,
    ),
    Option(
        "retriever",
        WHAT,
        "what documents are shown by: none (as they are), bm25, dense (the chunks nearest to the question); of several"
        " each is asked",
        some_of("none", "bm25", "dense"),
        "none",
        metavar="LIST",
        suite=True,
    ),
    Option(
        "chunk-size",
        WHAT,
        "longest chunk for --retriever: characters, or tokens of the model's tokenizer such as 1024t",
        text,
        "1000",
        metavar="N[t]",
        suite=True,
    ),
    Option(
        "chunk-overlap",
        WHAT,
        "most that neighbouring chunks share, in the unit of --chunk-size",
        text,
        "200",
        metavar="N[t]",
        suite=True,
    ),
    Option("retrieve", WHAT, "chunks that --retriever shows, best first", whole(1), "4", metavar="K", suite=True),
    Option(
        "embedder",
        WHAT,
        "model of --retriever dense: st:NAME_OR_FOLDER (sentence-transformers), openai:NAME (a server)",
        text,
        metavar="SPEC",
        suite=True,
    ),
    Option(
        "embedder-base-url",
        WHO,
        "address of the embedder's server, ending in /v1",
        text,
        shown_default="OpenAI's",
        metavar="URL",
    ),
    Option(
        "embedder-api-key-env",
        WHO,
        "environment variable that holds the key of the embedder's server",
        variable,
        "OPENAI_API_KEY",
        metavar="NAME",
    ),
    Option("repeats", WHAT, "trials per cell, each with its own filler and needle", whole(1), "1", suite=True),
    Option("seed", WHAT, "changes filler and needles; the same seed gives the same bytes", whole(0), "0"),
    Option(
        "controls",
        WHAT,
        "also ask each question without its answer in the text (absent), or with nothing else (focused)",
        words_of("absent", "focused"),
        shown_default="none",
        metavar="LIST",
        suite=True,
    ),
    Option(
        "scorer",
        WHAT,
        "how answers are scored: match, cdme, keyword, ...",
        text,
        shown_default="the task's",
        metavar="NAME",
        suite=True,
    ),
    Option("answer-budget", HOW, "tokens kept free for the answer", tokens, "64", metavar="TOKENS", suite=True),
    Option(
        "thinking-budget",
        HOW,
        "tokens kept free for a reasoning model's thinking, beside the answer",
        tokens,
        "0",
        metavar="TOKENS",
        suite=True,
    ),
    Option(
        "system-prompt", HOW, "text of the system message", any_text, shown_default="the prompt shape's", suite=True
    ),
    Option(
        "template", HOW, "chat: the model's chat template; raw: plain text", one_of("chat", "raw"), "chat", suite=True
    ),
    Option(
        "question-position",
        HOW,
        "where the question stands: start, end, both",
        one_of("start", "end", "both"),
        "end",
        suite=True,
    ),
    Option(
        "prompt",
        HOW,
        "prompt shape by name (plain, llmtest, evalscope, cdme, needlebench-v2) or a TOML file of yours",
        text,
        "plain",
        metavar="NAME_OR_FILE",
        suite=True,
    ),
    Option(
        "answer-prefix",
        HOW,
        "true: end the prompt with the beginning of the answer, for the model to go on with (tasks of RULER)",
        switch,
        "false",
        metavar="true|false",
        suite=True,
    ),
    Option(
        "leval-truncation",
        HOW,
        "how L-Eval's documents are cut to a length: exact (to the token), compat (L-Eval's own steps of words)",
        one_of("exact", "compat"),
        "exact",
        suite=True,
    ),
    Option(
        "no-truncate",
        HOW,
        "skip the questions of L-Eval's documents that are too long, rather than cut them",
        switch,
        "false",
        flag=True,
        suite=True,
    ),
    Option(
        "leval-length-hint",
        HOW,
        "tell the words of the reference in L-Eval's open tasks, as L-Eval does",
        switch,
        "true",
        metavar="true|false",
        suite=True,
    ),
    Option(
        "canary",
        HOW,
        "put a mark at the very start and end of each context and ask for both in a further request: proves that"
        " nothing was cut, also where a server gives no token counts",
        switch,
        "false",
        flag=True,
    ),
    Option("verify-prompts", HOW, "encode each whole prompt again and check every count", switch, "false", flag=True),
    Option(
        "strict-model",
        SEND,
        "answers of another model than the one asked for, by the name in the server's reply, are invalid; without it"
        " they are flagged and told",
        switch,
        "false",
        flag=True,
    ),
    Option(
        "too-long-pattern",
        SEND,
        "regular expression for how your server says that a prompt does not fit its window, where that is not"
        " recognised: such cells are skipped and no errors",
        pattern,
        metavar="REGEX",
    ),
    Option(
        "concurrency",
        SEND,
        "requests in flight at a served model, all workers together",
        whole(1),
        "8",
        metavar="N",
    ),
    Option(
        "cache-policy",
        SEND,
        "shared: equal beginnings may be reused; isolated: every prompt begins differently",
        one_of("shared", "isolated"),
        "shared",
    ),
    Option(
        "stability",
        SEND,
        "cells to ask again, warm, cold and in a batch; answers that differ are reported beside the score",
        whole(0),
        "0",
        metavar="CELLS",
    ),
    Option("timeout", SEND, "seconds for a short request; longer prompts get more", seconds, "120", metavar="SECONDS"),
    Option("retries", SEND, "further tries after a fault that may pass", whole(0), "4", metavar="N"),
    Option("results-dir", OUT, "folder that holds the runs", path, "results/runs", metavar="DIR"),
    Option(
        "run-name",
        OUT,
        "name of the run's folder; the same name goes on where it stopped",
        text,
        shown_default="the time and the model",
    ),
    Option("fresh", OUT, "empty the named run's folder first", switch, "false", flag=True),
    Option("resume", OUT, "go on where the named run stopped (the default)", switch, "true", flag=True),
    Option("plan", OUT, "print what would be run, with tokens and requests, and stop", switch, "false", flag=True),
    Option(
        "power",
        OUT,
        "with --plan: trials needed to find this, such as drop=0.05 or score=0.9",
        text,
        shown_default="not shown",
        metavar="EXPR",
    ),
    Option(
        "price",
        OUT,
        "with --plan: dollars per million prompt tokens and per million answer tokens, to tell the cost",
        prices,
        shown_default="not shown",
        metavar="IN,OUT",
    ),
    Option(
        "vote",
        OUT,
        "of the answers over this many orders of the documents, also score the one most like the others (doc_ tasks)",
        whole(0),
        "0",
        metavar="K",
    ),
    Option(
        "relative-to",
        OUT,
        "what the relative bar of the effective length is 85 % of: a score (0.95 or 95%), or lengths (500,1k), which"
        " are then not judged",
        text,
        shown_default="the focused control, else lengths up to 1k, else the shortest",
        metavar="BASE",
    ),
    Option("save-prompts", OUT, "write each prompt beside the results", switch, "false", flag=True),
    Option(
        "heatmap-colors",
        OUT,
        "safe: for colour-blind eyes too; field: red, yellow, green",
        one_of("safe", "field"),
        "safe",
    ),
    Option("heatmap-numbers", OUT, "write scores into the cells of pictures", switch, "false", flag=True),
    Option(
        "max-errors",
        OUT,
        "percent of cells that may be invalid or errors before the run is void",
        percent,
        "5",
        metavar="PERCENT",
    ),
    Option(
        "gate",
        OUT,
        'condition on the scores, such as "score >= 0.9 [length<=4k] per depth"; may be given several times',
        text,
        metavar="EXPR",
        repeatable=True,
    ),
    Option(
        "baseline",
        OUT,
        'run folder or results.json that a gate such as "drop <= 0.02" compares with',
        text,
        shown_default="none",
        metavar="RUN",
    ),
    Option(
        "top-up",
        OUT,
        "further trials, at most, that may be asked while a gate is inconclusive",
        whole(0),
        "0",
        metavar="TRIALS",
    ),
)

BY_KEY = {option.key: option for option in OPTIONS}

# What only a preset's suite says (each under the name that OpenCompass's documents use, where it has one).
SUITE_KEYS: dict[str, Parser] = {
    "task": text,
    "length_buffer": tokens,
    "num_repeats_per_file": whole(1),
    "guide": switch,
    "tokenizer_model": text,
    "diff": percent,
    "keyword": text,
    "variants": words,
}
