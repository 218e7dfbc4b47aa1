"""From options as written (command line, TOML, ini, preset) to the settings of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, cast

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.spacing import parse_depths, parse_lengths
from needlework.haystack_fixtures.settings.option_values import Parsed, text
from needlework.haystack_fixtures.settings.options import BY_KEY, OPTIONS, SUITE_KEYS
from needlework.haystack_fixtures.settings.presets import Preset, as_written, built_in_presets, load_preset
from needlework.haystack_fixtures.settings.user_files import read_toml

Written = Mapping[str, str | Sequence[str]]
"""Option key -> value as written; repeatable options have a sequence."""


@dataclass(frozen=True, slots=True)
class Suite:
    """What is asked: one task with its grid, text, needles and prompt.

    Lengths and budgets are in tokens, depths in percent.
    `length_buffer`: tokens of each length that stay unused beside prompt and answer. `diff`, `keyword`: override the
    needle set's. `tokenizer_model`: counts tokens in place of the model's own tokenizer. `scorer`: `None`: the task's.
    `answer_prefix`: the prompt ends with the beginning of the answer, where the task has one. `questions`: the user's
    file of questions, for tasks that ask them; `documents`: the folder of the user's documents that they are about.
    `leval_...`, `no_truncate`: L-Eval's folder, which of its rows to ask, how documents are cut, whether open questions
    tell the length of the reference. `retriever`: how documents are shown, each a series of cells (`none`: as they
    are); `chunk_size` and `chunk_overlap` as written, `retrieve` chunks of them, found by `embedder`.
    """

    task: str
    lengths: tuple[int, ...]
    depths: tuple[float, ...]
    language: str
    needle_set: str
    corpus: str
    text_field: str
    file_list: tuple[str, ...]
    repeats: int
    scorer: str | None
    prompt: str
    template: Literal["chat", "raw"]
    system_prompt: str | None
    question_position: Literal["start", "end", "both"]
    answer_budget: int
    thinking_budget: int
    length_buffer: int
    guide: bool
    diff: float | None
    keyword: str | None
    tokenizer_model: str | None
    controls: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    answer_prefix: bool = False
    questions: str | None = None
    documents: str | None = None
    leval_data: str | None = None
    leval_subset: str = "scored"
    leval_truncation: Literal["exact", "compat"] = "exact"
    leval_length_hint: bool = True
    no_truncate: bool = False
    retriever: tuple[str, ...] = ("none",)
    chunk_size: str = "1000"
    chunk_overlap: str = "200"
    retrieve: int = 4
    embedder: str | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """A run's settings. Times in seconds, `max_errors` in percent. `vote`: answers that vote, 0 for none."""

    preset: str
    suites: tuple[Suite, ...]
    model: tuple[str, ...]
    model_arg: tuple[str, ...] = field(repr=False)  # headers and addresses may be secret
    tokenizer: str | None
    base_url: str | None = field(repr=False)
    api_key_env: str
    judge: str | None
    judge_base_url: str | None = field(repr=False)
    seed: int
    canary: bool
    strict_model: bool
    too_long_pattern: str | None
    verify_prompts: bool
    concurrency: int
    cache_policy: Literal["shared", "isolated"]
    stability: int
    timeout: float
    retries: int
    results_dir: Path
    run_name: str | None
    fresh: bool
    plan: bool
    power: str | None
    save_prompts: bool
    heatmap_colors: Literal["safe", "field"]
    heatmap_numbers: bool
    max_errors: float
    gate: tuple[str, ...]
    baseline: str | None
    top_up: int
    price: tuple[str, ...] | None = None
    vote: int = 0
    relative_to: str | None = None
    embedder_base_url: str | None = field(default=None, repr=False)
    embedder_api_key_env: str = "OPENAI_API_KEY"


_ORDERED = "doc_"  # tasks whose repeats are orders of documents
_FEWEST_VOTES = 3
_LEVAL = {"leval_subset": "scored", "leval_truncation": "exact", "leval_length_hint": True, "no_truncate": False}
_RETRIEVAL = {"chunk_size": "1000", "chunk_overlap": "200", "retrieve": 4, "embedder": None}


def resolve_settings(
    command_line: Written, ini: Written, root: Path, *, own: Sequence[Mapping[str, str]] = ()
) -> Settings:
    """Bring the sources together: command line over `--config` TOML over ini over defaults.

    A preset counts as written at the place where it is named: `--preset` beats `lengths` of the ini file, and
    `--lengths` beats the preset. `own`: suites of the user's own tasks, asked too where no preset is named. Relative
    results folders start at `root`. Raises `InputError`.
    """
    toml = _read_config(_one(command_line, "config") or _one(ini, "config"))
    levels: list[Written] = [command_line, toml, ini]
    own_names = {suite["task"] for suite in own}
    levels.append({"preset": _default_preset(_first(levels, "task"), own_names)})
    named = next(i for i, level in enumerate(levels) if "preset" in level)
    preset = load_preset(cast(str, levels[named]["preset"]))
    if levels[named] is levels[-1]:
        preset = replace(preset, suites=(*preset.suites, *own))
    above, below = levels[: named + 1], levels[named + 1 :]

    run: dict[str, Parsed] = {}
    for option in OPTIONS:
        if option.suite or option.key in ("config", "preset", "task", "resume"):
            continue
        value = _first(levels, option.key)
        if option.repeatable:
            values = [value] if isinstance(value, str) else list(value or ())
            run[option.key] = tuple(cast(str, option.parse(f"--{option.name}", word)) for word in values) or (
                (option.default,) if option.default else ()
            )
        else:
            written = cast("str | None", value) if value is not None else option.default
            run[option.key] = None if written is None else option.parse(f"--{option.name}", written)
    results_dir = Path(cast(str, run.pop("results_dir")))
    suites = _suites(preset, above, below, _first(levels, "task"))
    return Settings(
        preset=preset.name,
        suites=_with_votes(suites, cast(int, run["vote"])),
        results_dir=results_dir if results_dir.is_absolute() else root / results_dir,
        **cast("dict[str, Any]", run),
    )


def _default_preset(tasks: object, own: set[str]) -> str:
    """`quick`, or where that lacks a task that was asked for, the preset that has every one."""
    wanted = cast("tuple[str, ...]", BY_KEY["task"].parse("--task", tasks)) if isinstance(tasks, str) else ()
    return "families" if set(wanted) - own - {suite["task"] for suite in load_preset("quick").suites} else "quick"


def _suites(preset: Preset, above: Sequence[Written], below: Sequence[Written], tasks: object) -> tuple[Suite, ...]:
    wanted = cast("tuple[str, ...]", BY_KEY["task"].parse("--task", tasks)) if isinstance(tasks, str) else ()
    known = tuple(dict.fromkeys(suite["task"] for suite in preset.suites))
    for task in wanted:
        if task not in known:
            others = [other.name for other in built_in_presets().values() if task in {s["task"] for s in other.suites}]
            near = get_close_matches(task, known, n=1)
            hint = f"; --preset {others[0]} has it" if others else f"; did you mean {near[0]}?" if near else ""
            raise InputError("--task", task, f"preset {preset.name} has {', '.join(known)}{hint}")
    asked = cast("str | None", _first(above, "language"))
    found: list[Suite] = []
    missing: set[str] = set()
    for written in preset.suites:
        if wanted and written["task"] not in wanted:
            continue
        own = written.get("language")
        languages = _languages(asked or own or cast("str | None", _first(below, "language")) or "en")
        if asked and own:
            missing |= set(languages) - set(_languages(own))
            languages = tuple(language for language in languages if language in _languages(own))
        found += [_suite(written, language, above, below) for language in languages]
    if not found:
        raise InputError("--language", asked, f"preset {preset.name} has no suite in that language")
    served = {suite.language for suite in found}
    if missing - served:
        raise InputError(
            "--language", asked, f"preset {preset.name} has no suite in {', '.join(sorted(missing - served))}"
        )
    return _merge(found)


def _with_votes(suites: tuple[Suite, ...], vote: int) -> tuple[Suite, ...]:
    """The suites with as many orders of documents as vote; more stay more. Raises `InputError`."""
    if not vote:
        return suites
    if vote < _FEWEST_VOTES:
        remedy = f"of two answers neither is more like the others: give {_FEWEST_VOTES} or more"
        raise InputError("--vote", vote, remedy)
    if not any(suite.task.startswith(_ORDERED) for suite in suites):
        raise InputError("--vote", vote, "is for questions over orders of documents: use --preset own-documents")
    return tuple(
        replace(suite, repeats=max(suite.repeats, vote)) if suite.task.startswith(_ORDERED) else suite
        for suite in suites
    )


def _merge(suites: Sequence[Suite]) -> tuple[Suite, ...]:
    """Drop suites that an option has made equal (two suites of one grid, after `--needle-set`)."""
    return tuple(dict.fromkeys(suites))


def _suite(written: Mapping[str, str], language: str, above: Sequence[Written], below: Sequence[Written]) -> Suite:
    def get(key: str) -> tuple[str, str | None]:
        option = BY_KEY[key]
        found = _first(above, key) or written.get(key) or _first(below, key) or option.default
        return f"--{option.name}", cast("str | None", found)

    values: dict[str, Parsed | tuple[int, ...] | tuple[float, ...]] = {}
    for option in OPTIONS:
        if option.suite and option.key not in ("lengths", "depths", "length_spacing", "depth_spacing", "language"):
            name, value = get(option.key)
            values[option.key] = None if value is None else option.parse(name, value)
    for key, parse in SUITE_KEYS.items():
        if key not in ("task", "num_repeats_per_file"):
            values[key] = parse(key, written[key]) if key in written else None
    if "num_repeats_per_file" in written and not _first(above, "repeats"):
        values["repeats"] = SUITE_KEYS["num_repeats_per_file"]("num_repeats_per_file", written["num_repeats_per_file"])
    # A system prompt may be empty on purpose: that is not "not given".
    values["system_prompt"] = next(
        (cast(str, level["system_prompt"]) for level in (*above, written, *below) if "system_prompt" in level), None
    )
    for key, parse_grid in (("lengths", parse_lengths), ("depths", parse_depths)):
        name, value = get(key)
        if value is None:
            raise InputError(name, "", f"give --{key}, or a preset that has them")
        spacing_name, spacing = get(f"{key[:-1]}_spacing")
        values[key] = parse_grid(
            name, value, cast(str, BY_KEY[f"{key[:-1]}_spacing"].parse(spacing_name, spacing or ""))
        )
    values["length_buffer"] = values["length_buffer"] or 0
    values["guide"] = bool(values["guide"])
    values["file_list"] = values["file_list"] or ()
    values["controls"] = values["controls"] or ()
    values["variants"] = values["variants"] or ()
    return Suite(task=written["task"], language=language, **cast("dict[str, Any]", values))


def _languages(value: str) -> tuple[str, ...]:
    found = cast("tuple[str, ...]", BY_KEY["language"].parse("--language", value))
    for language in found:
        if language not in ("en", "zh"):
            raise InputError("--language", language, "use en, zh or en,zh")
    return found


def _read_config(path: str | None) -> Written:
    if path is None:
        return {}
    table = read_toml("--config", text("--config", path))
    found: dict[str, str | Sequence[str]] = {}
    for name, value in table.items():
        key = name.replace("-", "_")
        if key not in BY_KEY or key == "config":
            near = get_close_matches(key, BY_KEY, n=1)
            raise InputError(f"--config {path}", name, f"did you mean {near[0]}?" if near else "no such option")
        if BY_KEY[key].repeatable and isinstance(value, list):
            found[key] = [as_written(f"--config {path}: {name}", part) for part in value]
        else:
            found[key] = as_written(f"--config {path}: {name}", value)
    return found


def _first(levels: Sequence[Written], key: str) -> str | Sequence[str] | None:
    return next((level[key] for level in levels if key in level), None)


def _one(level: Written, key: str) -> str | None:
    return cast("str | None", level.get(key))


def recipe_fields(suite: Suite) -> dict[str, object]:
    """The suite as a mapping of what shapes each trial: the grid's axes are left out, and what its questions say."""
    alone = replace(suite, lengths=(), depths=(), repeats=0)
    # What came later counts where it is used: keys of older runs stay what they were.
    unsaid = {"controls", "variants"} | {name for name in ("answer_prefix", "questions") if not getattr(suite, name)}
    # Trials know L-Eval's data and the user's documents by their hashes, wherever they lie.
    unsaid |= {"documents", "questions"} if suite.documents else {"documents"}
    unsaid |= {"leval_data"} | {name for name, usual in _LEVAL.items() if getattr(suite, name) == usual}
    # Each retriever has cells of its own, and their keys say what it does.
    used = suite.retriever != ("none",)
    unsaid |= {"retriever"} | {name for name, usual in _RETRIEVAL.items() if not used or getattr(suite, name) == usual}
    return {field.name: getattr(alone, field.name) for field in fields(alone) if field.name not in unsaid}
