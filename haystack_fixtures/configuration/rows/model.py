"""Options that say which model is asked, and which one judges."""

from __future__ import annotations

from needlework.haystack_fixtures.settings.option import WHO, FileIn, Option
from needlework.haystack_fixtures.settings.option_values import key_value, one_of, path, text, variable

_GIVEN_NAMES = ("smollm2", "server")


def tokenizer_file(value: str) -> FileIn | None:
    """The path in a value of `--tokenizer`."""
    kind, colon, name = value.partition(":")
    if colon and kind in ("gguf", "hf"):
        return FileIn(name, f"{kind}:", or_name=kind == "hf")
    return None if kind == "tiktoken" or value in _GIVEN_NAMES else FileIn(value, or_name=True)


OPTIONS: tuple[Option, ...] = (
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
