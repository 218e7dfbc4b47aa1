"""Resolves options as written to the settings of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from needlework.core.errors import InputError, nearest
from needlework.core.files import prompt_text
from needlework.core.grid import SPREAD, parse_depths, parse_lengths, without_window
from needlework.core.options import some_of, text, words
from needlework.core.prompts import text_sha256
from needlework.core.settings import BY_KEY, OF_RUN, OPTIONS, SUITE_KEYS, FamilyOptions, Settings, Suite
from needlework.haystack_fixtures.configuration import presets
from needlework.haystack_fixtures.configuration.peer_names import NAMES, our_names
from needlework.haystack_fixtures.configuration.presets import (
    Preset,
    Written,
    as_words,
    built_in_presets,
    first,
    load_preset,
)
from needlework.haystack_fixtures.configuration.published_presets import is_task
from needlework.haystack_fixtures.corpora.corpus import presets_files
from needlework.haystack_fixtures.needles.needle_sets import inline_spec
from needlework.haystack_fixtures.tasks.own_documents import with_votes


def resolve_settings(
    command_line: Written, ini: Written, root: Path, *, user_suites: Sequence[Mapping[str, str]] = ()
) -> Settings:
    """Bring the sources together: command line over `--config` TOML over ini over defaults.

    A preset counts as written where it is named: `--preset` beats `lengths` of the ini file, and `--lengths` beats the
    preset. `user_suites`: of the user's tasks, asked too where no preset is named. Relative results folders start at
    `root`. Raises `InputError`.
    """
    levels = _levels(command_line, ini)
    named = first(levels, "task")
    tasks = presets.full_names(words("--task", named) if named is not None else ())
    user_tasks = {suite["task"] for suite in user_suites}
    # Without a preset a run is one of L-Eval if it names L-Eval's tasks alone, or its data; data in the ini file are no
    # wish to ask it.
    has_data = first(levels[:-1], "leval_data") is not None
    if not set(tasks) & user_tasks and all(task.startswith("leval_") for task in tasks) and (tasks or has_data):
        usual = presets.NAME
    else:  # where quick lacks one of the tasks, the preset that has every one
        of_quick = {suite["task"] for suite in load_preset("quick").suites}
        usual = "families" if set(tasks) - user_tasks - of_quick else "quick"
    levels.append({"preset": usual})
    at = next(i for i, level in enumerate(levels) if "preset" in level)
    preset = load_preset(levels[at]["preset"])
    if levels[at] is levels[-1] and preset.name != presets.NAME:
        preset = replace(preset, suites=(*preset.suites, *user_suites))
    if preset.name == presets.NAME:
        preset = presets.with_data_files(preset, first(levels, "leval_data"), tasks)
    above, below = levels[: at + 1], levels[at + 1 :]

    run = _run_values([*above, preset.run, *below])
    run["results_dir"] = root / str(run.get("results_dir", BY_KEY["results_dir"].default))
    if len(run.get("load", ())) == 1:  # one of several loads
        run["concurrency"] = int(run["load"][0])
    if "judge_prompt" in run:
        run["judge_prompt_sha256"] = text_sha256(prompt_text(run["judge_prompt"]))
    changes = {key: run.pop(key) for key in OF_RUN if key in run}
    # An adaptive run's grid has every length and depth once; which samples are asked there is decided on the way.
    if "adaptive" in run:
        changes |= {"spread": False, "repeats": 1, "repeats_per_file": 0, "controls": ()}
    suites = tuple(structs.replace(suite, **changes) for suite in _suites(preset, above, below, tasks))
    return Settings(preset=preset.name, suites=with_votes(suites), **run)


def written_value(command_line: Written, ini: Written, key: str) -> str | None:
    """The value of an option, wherever it is written but in a preset. Raises `InputError`."""
    value: str | None = first(_levels(command_line, ini), key)
    return value


def _run_values(levels: Sequence[Written]) -> dict[str, Any]:
    """The values of the run's options that are written somewhere, by key."""
    values: dict[str, Any] = {}
    for option in OPTIONS:
        value = first(levels, option.key)
        words = [value] if isinstance(value, str) else list(value or ())
        if option.suite or not words or option.key in ("config", "preset", "task", "resume"):
            continue
        if len(words) > 1 and not option.repeatable:
            raise InputError(f"--{option.name}", ", ".join(words), f"is given {len(words)} times; give one")
        parsed = tuple(option.parse(f"--{option.name}", word) for word in words)
        values[option.key] = parsed if option.repeatable else parsed[0]
    return values


def _levels(command_line: Written, ini: Written) -> list[Written]:
    return [command_line, _read_config(command_line.get("config") or ini.get("config")), ini]


def _read_config(path: str | None) -> Written:
    """The options of a configuration file.
    A file that holds suites, or a configuration of another harness, is read as the preset."""
    if path is None:
        return {}
    where = f"--config {path}"
    file = Path(text("--config", path))
    if file.suffix.lower() == ".py":
        return {"preset": path}
    table = {name.replace("-", "_"): value for name, value in presets.read_table("--config", file).items()}
    has_suites = any(isinstance(value, dict) and "suite" in value for value in table.values())
    if has_suites or is_task(table) or (SUITE_KEYS.keys() - {"task"}) & table.keys():
        return {"preset": path}
    return read_options(where, table)


def read_options(where: str, table: Mapping[str, Any]) -> dict[str, str | Sequence[str]]:
    """The options of a file's table, by key and as on the command line; peers' names are ours. Raises `InputError`."""
    values: dict[str, str | Sequence[str]] = {}
    for key, value in our_names(where, table).items():
        if key not in BY_KEY or key == "config":
            near = nearest(key, BY_KEY, NAMES)
            raise InputError(where, key, f"did you mean {near}?" if near else "no such option")
        values[key] = as_words(where, key, value)
    return values


_OF_THE_GRID = ("lengths", "depths", "length_spacing", "depth_spacing", "language")
_OF_NEEDLES = ("needle", "needles", "question", "answer")


def _suites(
    preset: Preset, above: Sequence[Written], below: Sequence[Written], tasks: Sequence[str]
) -> tuple[Suite, ...]:
    """The preset's suites of these tasks (of all where none is named), each in its languages.

    `above` counts more than the preset, `below` less, each from the first on. Suites that an option has made equal
    (two suites of one grid, after `--needle-set`) are one. Raises `InputError`.
    """
    written_suites = _with_several_needles(preset.suites, tasks, above, below)
    known = tuple(dict.fromkeys(suite["task"] for suite in written_suites))
    for task in tasks:
        if task not in known:
            raise InputError("--task", task, _no_such_task(task, preset.name, known))
    chosen = first(above, "language")
    suites: list[Suite] = []
    missing: set[str] = set()
    for written in written_suites:
        if tasks and written["task"] not in tasks:
            continue
        of_suite = written.get("language")
        languages = _languages(chosen or of_suite or first(below, "language") or "en")
        if chosen and of_suite:
            missing |= set(languages) - set(_languages(of_suite))
            languages = tuple(language for language in languages if language in _languages(of_suite))
        suites += [_suite(written, language, above, below) for language in languages]
    if not suites:
        raise InputError("--language", chosen, f"preset {preset.name} has no suite in that language")
    if missing := missing - {suite.language for suite in suites}:
        raise InputError("--language", chosen, f"preset {preset.name} has no suite in {', '.join(sorted(missing))}")
    return tuple(dict.fromkeys(suites))


def _no_such_task(task: str, preset: str, known: Sequence[str]) -> str:
    of_presets: dict[str, str] = {}
    for other in built_in_presets().values():
        for suite in other.suites:
            of_presets.setdefault(suite["task"], other.name)
    near = nearest(task, [*known, *of_presets])
    hint = f"--preset {of_presets[task]} has it; " if task in of_presets else f"did you mean {near}? " if near else ""
    return f"{hint}preset {preset} has {', '.join(known)}"


def _with_several_needles(
    suites: Sequence[Mapping[str, str]], tasks: Sequence[str], above: Sequence[Written], below: Sequence[Written]
) -> list[Mapping[str, str]]:
    """Turn suites of niah with several needles into multi_needle: one question over all of them."""
    has_both = {suite["task"] for suite in suites} >= set(TASKS)
    changed = []
    for suite in suites:
        needles = inline_needles([*above, suite, *below]) if suite["task"] == "niah" else None
        if needles is not None and needles.count > 1 and (not tasks or "niah" in tasks or not has_both):
            if has_both or "niah" in tasks:
                raise InputError("--needles", needles.count, "niah asks about one needle: give --task multi_needle")
            suite = {**suite, "task": "multi_needle"}
        changed.append(suite)
    return changed


def _suite(written: Mapping[str, str], language: str, above: Sequence[Written], below: Sequence[Written]) -> Suite:
    levels = [*above, written, *below]
    values: dict[str, Any] = {}
    for option in OPTIONS:
        if option.suite and option.key not in (*_OF_THE_GRID, *_OF_NEEDLES):
            value = _first_filled(levels, option.key)
            values |= {} if value is None else {option.key: option.parse(f"--{option.name}", value)}
    # A system prompt may be empty on purpose: that is one too.
    values["system_prompt"] = first(levels, "system_prompt")
    for key in SUITE_KEYS.keys() & written.keys() - {"num_repeats_per_file"}:
        values[key] = SUITE_KEYS[key](key, written[key])
    values |= _files(values, written, above)
    needles = inline_needles(levels) if written["task"] in TASKS else None
    if needles is not None:
        values |= {"needle_set": needles.spec, "scorer": needles.scorer or values.get("scorer")}
        if any(key in level for level in above for key in ("needle", "needles")):  # the suite's is about others
            values["keyword"] = None
    values |= _grid(levels, [written, *below])
    return Suite(language=language, **values)


def _first_filled(levels: Sequence[Written], key: str) -> str | None:
    """The first value that is not empty, else the option's default."""
    return next((level[key] for level in levels if level.get(key)), BY_KEY[key].default)


def _files(values: Mapping[str, Any], written: Mapping[str, str], above: Sequence[Written]) -> dict[str, Any]:
    """The files that are named, and the number of trials: `num_repeats_per_file` for each of them.

    A corpus of which no files are named is one: OpenCompass always names them.
    """
    names = values.get("file_list", ())
    if "file_list" in written and not first(above, "file_list"):
        names = presets_files(values["corpus"], names)
    key = "num_repeats_per_file"
    if key not in written or first(above, "repeats"):
        return {"file_list": names}
    repeats: Any = SUITE_KEYS[key](key, written[key])
    if len(names) < 2:
        return {"file_list": names, "repeats": repeats}
    return {"file_list": names, "repeats": repeats * len(names), "repeats_per_file": repeats}


def _grid(levels: Sequence[Written], without_options: Sequence[Written]) -> dict[str, Any]:
    """Lengths and depths, whether each sample has one of the depths, and whether the window is a length.

    `without_options`: the levels from the preset's suite on, whose depths `--depths spread` is about.
    """
    values: dict[str, Any] = {}
    for key, parse in (("lengths", parse_lengths), ("depths", parse_depths)):
        name, value = f"--{key}", first(levels, key)
        if value is not None:
            text(name, value)
        if key == "depths" and value is not None and value.partition(":")[0].strip() == SPREAD:
            values["spread"] = True
            written = (level["depths"] for level in without_options if "depths" in level)
            usual = (depths.removeprefix(SPREAD).lstrip(" :") for depths in written)
            value = value.partition(":")[2] or next(filter(None, usual), None)
        if value is None:
            raise InputError(name, "", f"give --{key}, or a preset that has them")
        if key == "lengths":
            value, values["window"] = without_window(name, value)
            if not value:
                values[key] = ()
                continue
        spacing = BY_KEY[f"{key[:-1]}_spacing"]
        word = spacing.parse(f"--{spacing.name}", _first_filled(levels, spacing.key) or "")
        values[key] = parse(name, value, str(word))
    return values


_languages = partial(some_of("en", "zh"), "--language")


TASKS = ("niah", "multi_needle")
_KINDS = ("needle", "needles", "needle_set")
# Of a set by name, these would have nothing to be about.
_ABOUT = ("question", "answer")
_COMPARE_WITH_NEEDLES = ("cdme", "cdme_trim", "judge_evalscope", "judge_llmtest", "needle_words")
_WITHOUT_ANSWER = "needle_words"


@dataclass(frozen=True, slots=True)
class InlineNeedles:
    """Needles that the options have as text."""

    spec: str  # stands for the needle set's name
    count: int  # how many needles
    scorer: str = ""  # where answers can be compared with the needles alone; else the suite's


def inline_needles(levels: Sequence[Written]) -> InlineNeedles | None:
    """The needles that the levels have as text, most important first; `None` where they name a set.

    Without an answer or keyword a scorer that wants one gives way, unless it is named beside the needles or above.
    Raises `InputError` for needles without a question, a question without needles, and both needles and a set.
    """
    at = next((number for number, level in enumerate(levels) if any(kind in level for kind in _KINDS)), len(levels))
    kinds = [kind for kind in _KINDS if at < len(levels) and kind in levels[at]]
    if len(kinds) > 1:
        names = ", ".join(f"--{BY_KEY[kind].name}" for kind in kinds)
        raise InputError(names, str(levels[at][kinds[0]]), "are two ways to say the needles: give one of them")
    if not kinds or kinds == ["needle_set"]:
        about = next((key for level in levels[: at + 1] for key in _ABOUT if key in level), None)
        if about is not None:
            raise InputError(
                f"--{BY_KEY[about].name}", str(first(levels, about)), "is about --needle TEXT: give that too"
            )
        return None
    value = levels[at][kinds[0]]
    texts = [text for word in ([value] if isinstance(value, str) else value) for text in _texts(word)]
    question = first(levels, "question")
    if question is None:
        raise InputError(f"--{BY_KEY[kinds[0]].name}", texts[0], "give --question too: what is asked about it")
    # An answer is one to the needles beside it, or to others on a level before.
    answer = first(levels[: at + 1], "answer") or first(levels[: at + 1], "keyword")
    spec = inline_spec(texts, question, answer or "")
    is_scored = answer or first(levels[: at + 1], "scorer") or first(levels, "scorer") in _COMPARE_WITH_NEEDLES
    return InlineNeedles(spec, len(texts), "" if is_scored else _WITHOUT_ANSWER)


def _texts(word: str) -> list[str]:
    """A needle, or a JSON list of needles."""
    try:
        return msgspec.json.decode(word, type=list[str]) or [word]
    except (ValueError, RecursionError):
        return [word]


# A cell names them, or they change no prompt.
_OF_CELLS = ("controls", "variants", "spread", "window", "judge_by_default")
# What came later counts only where it differs from its default, as do options of one family: keys stay what they were.
_CAME_LATER = {
    field.name: field.default
    for field in structs.fields(Suite)
    if field.name in ("answer_prefix", "repeats_per_file", "length_means", *FamilyOptions.__struct_fields__)
}
# Options of families that a key knows by other means, such as a file's hash or the needle's name, or that change none.
_IN_OTHER_PARTS = (
    "documents", "vote",
    "leval_data", "data", "data_where", "data_limit", "retriever", "embedder_base_url", "embedder_api_key_env",
)  # fmt: skip
_OF_RETRIEVED = ("chunk_size", "chunk_overlap", "retrieve", "embedder")


def recipe_fields(suite: Suite) -> dict[str, object]:
    """The suite as a mapping of the values that shape each trial, without grid axes and questions."""
    values = structs.asdict(suite) | {"lengths": (), "depths": (), "repeats": 0}
    unchanged = {key for key, usual in _CAME_LATER.items() if values[key] == usual}
    passed_over = {*_OF_CELLS, *unchanged, *_IN_OTHER_PARTS}
    if suite.documents is not None:
        passed_over.add("questions")
    if suite.retriever == ("none",):
        passed_over.update(_OF_RETRIEVED)
    return {key: value for key, value in values.items() if key not in passed_over}
