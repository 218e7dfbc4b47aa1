"""Options of a run: models, requests, batches, results."""

from __future__ import annotations

from needlework.core.errors import InputError
from needlework.core.options import (
    ADAPTIVE,
    CONFIGURATION,
    OUT,
    SEND,
    WHO,
    FileIn,
    Option,
    file_limits,
    key_value,
    one_of,
    path,
    pattern,
    percent,
    positive,
    prices,
    seconds,
    shard,
    switch,
    text,
    tokens,
    variable,
    whole,
    words,
)

_NAMED_TOKENIZERS = ("smollm2", "server")


def tokenizer_file(value: str) -> FileIn | None:
    """The path in a value of `--tokenizer`."""
    kind, colon, name = value.partition(":")
    if colon and kind in ("gguf", "hf"):
        return FileIn(name, f"{kind}:", or_name=kind == "hf")
    return None if kind == "tiktoken" or value in _NAMED_TOKENIZERS else FileIn(value, or_name=True)


MODEL_OPTIONS: tuple[Option, ...] = (
    Option("config", CONFIGURATION, "TOML file with any of these options; the command line wins", text, metavar="FILE"),
    Option(
        "preset",
        CONFIGURATION,
        "suite by name (--preset list prints them), or a file: TOML, YAML, JSON, OpenCompass's or EvalScope's .py",
        text,
        "quick",
        metavar="NAME",
    ),
    Option(
        "model",
        WHO,
        "smollm2 (embedded), hf:ID_OR_PATH, gguf:PATH, openai:NAME, anthropic:NAME, google:NAME, openai-sdk:NAME,"
        " mock:BEHAVIOUR; may be given several times",
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
        "what counts tokens, where the model does not say: tiktoken:NAME, smollm2, a folder, gguf:PATH;"
        " server: about, by the server's own counter",
        text,
        metavar="SPEC",
        file=tokenizer_file,
    ),
    Option(
        "serve",
        WHO,
        "start a server for --model on this machine: vllm, sglang, lmdeploy, llama.cpp, xllamacpp, lightllm, tgi,"
        " trtllm, a TOML file, or a 'COMMAND --port {port}'",
        text,
        shown_default="no server is started",
        metavar="ENGINE",
        once=True,
    ),
    Option(
        "serve-arg",
        WHO,
        "window=32k, dtype, kv-dtype, tensor-parallel, prefix-caching, chat-template, name, or any option of the"
        " engine; may be given several times",
        text,
        metavar="NAME=VALUE",
        repeatable=True,
    ),
    Option(
        "base-url",
        WHO,
        "address of the OpenAI-compatible server, ending in /v1",
        text,
        shown_default="NEEDLEWORK_BASE_URL of the environment",
        metavar="URL",
    ),
    Option(
        "server-id",
        WHO,
        "a name for the server, which stands for --base-url in what resuming and merging go by: servers at several"
        " addresses that you know to be alike have one",
        text,
        shown_default="its address",
        metavar="NAME",
    ),
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
        "model that grades answers, a SPEC as for --model; several, each with its own --judge: most of them decide",
        text,
        shown_default="no judge",
        metavar="SPEC",
        repeatable=True,
    ),
    Option(
        "judge-base-url",
        WHO,
        "address of the judge's server; several: one for each --judge, in their order",
        text,
        shown_default="--base-url",
        metavar="URL",
        repeatable=True,
    ),
    Option(
        "judge-strategy",
        WHO,
        "when a judge is asked: llm, of every answer; llm_recall, of those that the rule misses; rule, never;"
        " auto, of every answer where the scorer is a judge, else where the rule cannot tell",
        one_of("auto", "rule", "llm", "llm_recall"),
        "auto",
        metavar="WHEN",
    ),
    Option(
        "judge-prompt",
        WHO,
        "a text file with the judge's prompt, in place of ours: {question}, {reference} and {answer} are filled in",
        path,
        shown_default="ours",
        metavar="FILE",
        file=FileIn,
    ),
)


RELATIVE = "relative"
_BAR = "85.6"  # RULER's, percent


def parse_bars(option: str, value: str) -> tuple[str, ...]:
    """`85.6`, `relative`, or both: percents above 0 and below 100."""
    for word in (bars := words(option, value)):
        try:
            is_bar = word == RELATIVE or 1 < float(word.removesuffix("%")) < 100
        except ValueError:
            is_bar = False
        if not is_bar:
            raise InputError(option, value, "give a score in percent, such as 85.6 or 90%, or relative, or both")
    return bars


RUN_OPTIONS: tuple[Option, ...] = (
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
        "requests in flight at a served model, and as many at each judge, all workers together",
        whole(1),
        "8",
        metavar="N",
    ),
    Option(
        "gpus-per-worker",
        SEND,
        "with -n: cards that each worker's copy of a local model is spread over (--model-arg device_map=auto)",
        whole(1),
        "1",
        metavar="K",
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
    Option(
        "batch-out",
        SEND,
        "write the requests of all cells without an answer to this file, in OpenAI's batch format, and ask nobody",
        path,
        metavar="FILE",
    ),
    Option(
        "batch-in",
        SEND,
        "take answers from this file of a batch service and ask nobody; may be given several times",
        path,
        metavar="FILE",
        repeatable=True,
    ),
    Option(
        "batch-limits",
        SEND,
        "with --batch-out: most requests and most megabytes of a file; what is more goes into a further file",
        file_limits,
        "50000,200",
        metavar="REQUESTS,MB",
    ),
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
    Option(
        "shard",
        OUT,
        "run part I of N of the cells, on each of N machines or processes with one --run-name; needlework merge puts"
        " them together",
        shard,
        shown_default="the whole run",
        metavar="I/N",
        once=True,
    ),
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
        "gpu-memory",
        OUT,
        "with --plan: memory of one card in GiB, to tell how many a request needs",
        positive,
        shown_default="not shown",
        metavar="GIB",
    ),
    Option(
        "tokens-per-s",
        OUT,
        "with --plan: prompt tokens that the model reads in a second, to tell how long the run takes",
        positive,
        shown_default="that of the last run of this model, where there is one",
        metavar="N",
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
        "colours of scores: viridis, for colour-blind eyes too, or red-yellow-green",
        one_of("viridis", "red-yellow-green", former={"safe": "viridis", "field": "red-yellow-green"}),
        "viridis",
    ),
    Option(
        "heatmap-numbers",
        OUT,
        "write scores into the cells of pictures",
        switch,
        "false",
        flag=True,
        aliases=("show-score",),
    ),
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
        'run folder or results.json that a gate such as "not worse" or "drop <= 0.02" compares with',
        text,
        shown_default="none",
        metavar="RUN",
        once=True,
        file=FileIn,
    ),
    Option(
        "allow-different-dtypes",
        OUT,
        "compare with a baseline of the same model in another kind of numbers, fp32 and bf16",
        switch,
        "false",
        flag=True,
    ),
    Option(
        "top-up",
        OUT,
        "further trials, at most, that may be asked while a gate is inconclusive",
        whole(0),
        "0",
        metavar="TRIALS",
    ),
    Option(
        "adaptive",
        ADAPTIVE,
        "bracket the effective length to one doubling, 95 % sure, and ask no more than that takes: at most 10, 20 or 40"
        " rounds of the depths a length; without a word: normal",
        one_of("quick", "normal", "careful"),
        shown_default="the whole grid is asked",
        metavar="quick|normal|careful",
        bare="normal",
    ),
    Option(
        "adaptive-bar",
        ADAPTIVE,
        "the score, percent, that a length has to hold; relative: 85 % of the base (--relative-to, else the shortest"
        " length); both: 85.6,relative",
        parse_bars,
        _BAR,
        metavar="LIST",
    ),
    Option(
        "adaptive-tokens",
        ADAPTIVE,
        "tokens that may be sent: 50M; the statement is told as it stands then",
        tokens,
        shown_default="as many as it takes",
        metavar="N",
    ),
    Option(
        "censored-is-wrong",
        ADAPTIVE,
        "an answer that the token limit cut off is a miss; without this it has no score and is replaced",
        switch,
        "false",
        flag=True,
    ),
)
