"""EvalScope's task configuration, as far as it asks `needle_haystack`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from needlework.haystack_fixtures.configuration.importing.imported import Imported, Line, line_of, plain, short, told
from needlework.haystack_fixtures.configuration.importing.known import Unknown
from needlework.haystack_fixtures.configuration.importing.needles import NEEDLES, with_known_needles
from needlework.haystack_fixtures.configuration.peer_names import EVALSCOPE, NAMES
from needlework.haystack_fixtures.configuration.peer_values import translated
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.redact import without_credentials

BENCHMARK = "needle_haystack"
_CORPORA = {"en": "essays", "zh": "sanguo"}
_BASE = {
    "prompt": "evalscope",
    "lengths": "1000:32000:10",
    "length_means": "context",
    "length_buffer": 150,
    "depths": "0:100:10",
    "answer_budget": 256,
    "scorer": "match",
}
_SAMPLING = ("temperature", "top_p", "top_k", "seed", "presence_penalty", "frequency_penalty", "repetition_penalty")
_OF_THE_REQUEST = {"timeout": "--timeout", "retries": "--retries"}


def is_evalscope(found: Mapping[str, Any]) -> bool:
    """Whether a table is a task configuration."""
    return bool({"datasets", "dataset_args", "dataset-args"} & found.keys()) and not isinstance(
        found.get("datasets"), dict
    )


def import_evalscope(where: object, table: Mapping[str, Any]) -> Imported:
    """The suites of a task configuration: one for each language.

    Raises `InputError` where it does not ask `needle_haystack`.
    """
    config = {key.replace("-", "_"): value for key, value in table.items() if value is not None}
    lines: list[Line] = []
    asked = config.pop("datasets", [BENCHMARK])
    asked = asked if isinstance(asked, (list, tuple)) else [asked]
    if BENCHMARK not in asked:
        raise InputError("import-config", where, f"asks {', '.join(map(str, asked))}, and only {BENCHMARK} is read")
    lines += [Line("not here", f"datasets = {other!r}", "ask it elsewhere") for other in asked if other != BENCHMARK]
    lines.append(line_of("datasets", BENCHMARK, "task = 'niah', or 'multi_needle' for several needles"))
    arguments = config.pop("dataset_args", {})
    own = arguments.get(BENCHMARK, {}) if isinstance(arguments, dict) else {}
    extra = own.get("extra_params", {}) if isinstance(own, dict) else {}
    if not isinstance(own, dict) or not isinstance(extra, dict):
        raise InputError("import-config", where, f"dataset_args: {BENCHMARK} and its extra_params are tables")
    options: list[str] = []
    values = _values({key: value for key, value in own.items() if key != "extra_params"} | extra, lines, options)
    values |= _generation(config.pop("generation_config", {}), lines, options)
    options += _judge(config, lines)
    options += _run(config, lines)
    languages = str(values.pop("language", "en,zh")).split(",")
    corpus = values.pop("corpus", None)
    task = {"task": "multi_needle" if "needles" in values or values.get("needle_set") == "pizza" else "niah"}
    # Without an answer beside them, needles are compared as a whole: `scorer` is left to whoever reads them.
    base = {key: value for key, value in _BASE.items() if key != "scorer" or "needle_set" in values}
    suites = tuple(
        task | {"language": language, "corpus": corpus or _CORPORA.get(language, "default")} | base | values
        for language in languages
    )
    if "zh" in languages:
        lines.append(Line("different", "the chinese subset's text", "corpus = 'sanguo', another classical novel"))
    return Imported(EVALSCOPE, suites, tuple(lines), tuple(options))


def _values(given: Mapping[str, Any], lines: list[Line], options: list[str]) -> dict[str, Any]:
    """The values of the data set's arguments, and a line for each."""
    read = {}
    for name, value in given.items():
        if not plain(value):
            lines.append(Line("unread", told(name, value), "it is left out"))
        elif name == "show_score":
            options += ["--heatmap-numbers"] if value else []
            lines.append(line_of(name, value, "--heatmap-numbers"))
        elif name == "tokenizer_path":
            different = "only a folder that is here; without it the model's own tokenizer counts"
            lines.append(line_of(name, value, f"--tokenizer {value}", different=different))
        elif name in NAMES:
            read[name] = value
        else:
            lines.append(line_of(name, value))
    words = translated("import-config", read, peer=EVALSCOPE)
    values, known = with_known_needles(words.values)
    for name, value in read.items():
        ours = words.became.get(name, "")
        if known and ours in NEEDLES:
            chinese = "in Chinese for Chinese" if "zh" in str(values.get("language", "zh")) else ""
            lines.append(line_of(name, value, f"needle_set = {known!r}, which has it", different=chinese))
        else:
            shown = values.get(ours, values.get("needle") if ours == "needles" else None)
            lines.append(line_of(name, value, f"{ours} = {short(shown)}" if ours else ""))
    if not {"needle", "needles", "needle_set"} & values.keys():
        lines.append(Line("different", "needles are not said", "needle_set = 'san_francisco', in Chinese for Chinese"))
        values["needle_set"] = "san_francisco"
    return values


def _generation(given: Any, lines: list[Line], options: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in given.items() if isinstance(given, dict) else []:
        if name == "max_tokens" and isinstance(value, int):
            found["answer_budget"] = value
            lines.append(line_of(name, value, f"answer_budget = {value}"))
        elif name in _SAMPLING and plain(value):
            options += ["--model-arg", f"{name}={value}"]
            lines.append(line_of(name, value, f"--model-arg {name}={value}"))
        elif name in _OF_THE_REQUEST and plain(value):
            options += [_OF_THE_REQUEST[name], str(value)]
            lines.append(line_of(name, value, f"{_OF_THE_REQUEST[name]} {value}"))
        else:
            lines.append(line_of(name, value))
    return found


def _judge(config: dict[str, Any], lines: list[Line]) -> Iterator[str]:
    """The judge, as it is now and as it was written before; without one the rule decides."""
    given = config.pop("judge", None)
    old = config.pop("judge_model_args", None)
    strategy = config.pop("judge_strategy", None)
    given = given if isinstance(given, dict) else {}
    models = given.get("models", old or [])
    models = models if isinstance(models, (list, tuple)) else [models]
    strategy = given.get("strategy", strategy or "auto")
    named = [each for each in models if isinstance(each, dict) and isinstance(each.get("model_id"), str)]
    if not named or strategy == "rule":
        why = "a rule of ours decides; there a judge does" if not named else "a rule of ours; there the whole needle"
        lines.append(Line("different", "judge" if named else "no judge", why))
        return
    yield from ("--scorer", "judge_evalscope", "--judge-strategy", "llm" if strategy == "auto" else str(strategy))
    for each in named:
        yield from ("--judge", f"openai:{each['model_id']}")
        lines.append(line_of("judge model_id", each["model_id"], f"--judge openai:{each['model_id']}"))
        if isinstance(url := each.get("api_url"), str):
            yield from ("--judge-base-url", without_credentials(url))
            lines.append(line_of("judge api_url", without_credentials(url), "--judge-base-url"))
        if "api_key" in each:
            lines.append(line_of("api_key", "", "--api-key-env NAME", different="from the environment, never a file"))
    lines += [
        Line("not here", told(f"judge {name}", value))
        for name, value in given.items()
        if name not in ("models", "strategy")
    ]


def _model(config: dict[str, Any], lines: list[Line]) -> Iterator[str]:
    model, url = config.pop("model", None), config.pop("api_url", None)
    kind = str(config.pop("eval_type", ""))
    if isinstance(model, str):
        spec = f"openai:{model}" if url or "api" in kind else "mock:perfect" if kind == "mock_llm" else f"hf:{model}"
        yield from ("--model", spec)
        lines.append(line_of("model", model, f"--model {spec}"))
    elif model is not None:
        lines.append(Line("unread", told("model", model), "--model SPEC"))
    if isinstance(url, str):
        yield from ("--base-url", without_credentials(url))
        lines.append(line_of("api_url", without_credentials(url), "--base-url"))
    if config.pop("api_key", None) is not None:
        lines.append(line_of("api_key", "", "--api-key-env NAME", different="from the environment, never a file"))


def _run(config: dict[str, Any], lines: list[Line]) -> Iterator[str]:
    """Options for everything about the run."""
    yield from _model(config, lines)
    simple: dict[str, tuple[str, Callable[[Any], bool]]] = {
        "eval_batch_size": ("--concurrency", _whole),
        "limit": ("--limit", _whole),
        "repeats": ("--repeats", _whole),
        "work_dir": ("--results-dir", lambda value: isinstance(value, str)),
    }
    for name, value in config.items():
        option, fits = simple.get(name, ("", _whole))
        if option and fits(value):
            yield from (option, str(value))
            row = NAMES[name]
            lines.append(line_of(name, value, f"{option} {value}", different="" if row.same else row.about))
        elif isinstance(value, Unknown):
            lines.append(Line("unread", told(name, value), NAMES[name].remedy if name in NAMES else "it is left out"))
        else:
            lines.append(line_of(name, value))


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
