"""From options as written to the settings of a run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

from msgspec import structs

from needlework.core.errors import InputError, nearest
from needlework.core.files import prompt_sha256, read_toml
from needlework.core.grid import SPREAD, parse_depths, parse_lengths, without_window
from needlework.core.options import Option, Parsed, text
from needlework.core.settings import FamilyValues, Settings, Suite
from needlework.haystack_fixtures.configuration import presets
from needlework.haystack_fixtures.configuration.peer_names import NAMES, translated
from needlework.haystack_fixtures.configuration.presets import (
    BY_KEY,
    FAMILY_OPTIONS,
    OPTIONS,
    SUITE_KEYS,
    Preset,
    Written,
    as_written,
    built_in_presets,
    first,
    load_preset,
)
from needlework.haystack_fixtures.corpora.files import presets_files
from needlework.haystack_fixtures.needles.needle_sets import inline_spec
from needlework.haystack_fixtures.tasks.own_documents import with_votes


def resolve_settings(
    command_line: Written, ini: Written, root: Path, *, user_suites: Sequence[Mapping[str, str]] = ()
) -> Settings:
    """Bring the sources together: command line over `--config` TOML over ini over defaults.

    A preset counts as written at the place where it is named: `--preset` beats `lengths` of the ini file, and
    `--lengths` beats the preset. `user_suites`: of the user's tasks, asked too where no preset is named. Relative
    results folders start at `root`. Raises `InputError`.
    """
    levels = _levels(command_line, ini)
    wanted = _wanted(first(levels, "task"))
    user_tasks = {suite["task"] for suite in user_suites}
    # Of the ini file it says where the data lies, and not what is asked.
    data_alone = first(levels[:-1], "leval_data")
    levels.append({"preset": _default_preset(wanted, user_tasks, data_alone)})
    named = next(i for i, level in enumerate(levels) if "preset" in level)
    preset = load_preset(cast(str, levels[named]["preset"]))
    if levels[named] is levels[-1]:
        preset = replace(preset, suites=(*preset.suites, *(() if preset.name == presets.NAME else user_suites)))
    if preset.name == presets.NAME:
        preset = presets.with_files(preset, cast("str | None", first(levels, "leval_data")), wanted)
    above, below = levels[: named + 1], levels[named + 1 :]

    of_run = [*above, preset.run, *below]
    run: dict[str, Parsed] = {}
    for option in OPTIONS:
        if option.suite or option.key in ("config", "preset", "task", "resume"):
            continue
        value = first(of_run, option.key)
        if option.repeatable:
            values = [value] if isinstance(value, str) else list(value or ())
            run[option.key] = tuple(cast(str, option.parse(f"--{option.name}", word)) for word in values) or (
                (option.default,) if option.default else ()
            )
        else:
            written = _single(option, value) if value is not None else option.default
            run[option.key] = None if written is None else option.parse(f"--{option.name}", written)
    results_dir = Path(cast(str, run.pop("results_dir")))
    family_values = {option.key: run.pop(option.key) for option in FAMILY_OPTIONS.values() if not option.suite}
    suites = suites_of(preset, above, below, wanted)
    # An adaptive run's grid has every length and depth once; which samples are asked there is decided on the way.
    once: dict[str, Any] = {"spread": False, "repeats": 1, "repeats_per_file": 0, "controls": ()}
    changes = once if run["adaptive"] is not None else {}
    suites = tuple(
        structs.replace(suite, family=without_defaults({**suite.family, **family_values}), **changes)
        for suite in suites
    )
    return Settings(
        preset=preset.name,
        suites=with_votes(suites),
        results_dir=results_dir if results_dir.is_absolute() else root / results_dir,
        judge_prompt_sha256=prompt_sha256(cast(str, run["judge_prompt"])) if run["judge_prompt"] else None,
        **cast("dict[str, Any]", run),
    )


def _single(option: Option, value: str | Sequence[str]) -> str:
    if isinstance(value, str):
        return value
    if len(value) > 1:
        raise InputError(f"--{option.name}", ", ".join(value), f"is given {len(value)} times; give one")
    return value[0]


def written_value(command_line: Written, ini: Written, key: str) -> str | None:
    """What is said of an option, wherever it is; none of a preset's. Raises `InputError`."""
    return cast("str | None", first(_levels(command_line, ini), key))


def _levels(command_line: Written, ini: Written) -> list[Written]:
    return [command_line, _read_config(_one(command_line, "config") or _one(ini, "config")), ini]


def _wanted(tasks: object) -> tuple[str, ...]:
    names = cast("tuple[str, ...]", BY_KEY["task"].parse("--task", tasks)) if isinstance(tasks, str) else ()
    return presets.in_full(names)


def _default_preset(wanted: Sequence[str], user_tasks: set[str], leval_data: object) -> str:
    """`quick`, or where that lacks a task that was asked for, the preset that has every one."""
    if not set(wanted) & user_tasks and presets.asks_leval(wanted, leval_data):
        return presets.NAME
    return (
        "families" if set(wanted) - user_tasks - {suite["task"] for suite in load_preset("quick").suites} else "quick"
    )


def _read_config(path: str | None) -> Written:
    if path is None:
        return {}
    where = f"--config {path}"
    table = {name.replace("-", "_"): value for name, value in read_toml("--config", text("--config", path)).items()}
    said_here = translated(where, table)
    if said_here.left:
        raise InputError(where, said_here.left[0], f"here: {NAMES[said_here.left[0]].here}")
    found: dict[str, str | Sequence[str]] = {}
    for key, value in said_here.values.items():
        if key in SUITE_KEYS and key != "task":
            raise InputError(where, key, "stands in a suite of a preset file (docs/presets.md)")
        if key not in BY_KEY or key == "config":
            near = nearest(key, BY_KEY, NAMES)
            raise InputError(where, key, f"did you mean {near}?" if near else "no such option")
        if BY_KEY[key].repeatable and isinstance(value, list):
            found[key] = [as_written(f"{where}: {key}", part) for part in value]
        else:
            found[key] = as_written(f"{where}: {key}", value)
    return found


def _one(level: Written, key: str) -> str | None:
    return cast("str | None", level.get(key))


_Value = Parsed | tuple[int, ...] | tuple[float, ...]
_Named = tuple[str, str | None]
_OF_THE_GRID = ("lengths", "depths", "length_spacing", "depth_spacing", "language")
_READ_ELSEWHERE = (*_OF_THE_GRID, "needle", "needles", "question", "answer")


def suites_of(
    preset: Preset, above: Sequence[Written], below: Sequence[Written], wanted: Sequence[str]
) -> tuple[Suite, ...]:
    """The preset's suites of the wanted tasks (of all where it is empty), each in its languages.

    `above` counts more than the preset, `below` less, each from the first on. Raises `InputError`.
    """
    written_suites = _with_several_needles(preset.suites, wanted, above, below)
    known = tuple(dict.fromkeys(suite["task"] for suite in written_suites))
    for task in wanted:
        if task not in known:
            raise InputError("--task", task, _no_such_task(task, preset.name, known))
    asked = cast("str | None", first(above, "language"))
    found: list[Suite] = []
    missing: set[str] = set()
    for written in written_suites:
        if wanted and written["task"] not in wanted:
            continue
        own = written.get("language")
        languages = _languages(asked or own or cast("str | None", first(below, "language")) or "en")
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


def _no_such_task(task: str, preset: str, known: Sequence[str]) -> str:
    of_presets: dict[str, str] = {}
    for other in built_in_presets().values():
        for suite in other.suites:
            of_presets.setdefault(suite["task"], other.name)
    near = get_close_matches(task, [*known, *of_presets], n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    if task in of_presets:
        hint = f"--preset {of_presets[task]} has it; "
    return f"{hint}preset {preset} has {', '.join(known)}"


def _with_several_needles(
    suites: Sequence[Mapping[str, str]], wanted: Sequence[str], above: Sequence[Written], below: Sequence[Written]
) -> list[Mapping[str, str]]:
    """Suites of niah that are given several needles ask one question over all of them: they are of multi_needle."""
    has_both = {suite["task"] for suite in suites} >= set(TASKS)
    found = []
    for suite in suites:
        needles = inline_needles([*above, suite, *below]) if suite["task"] == "niah" else None
        if needles is not None and needles.count > 1 and (not wanted or "niah" in wanted or not has_both):
            if has_both or "niah" in wanted:
                raise InputError("--needles", needles.count, "niah asks about one needle: give --task multi_needle")
            suite = {**suite, "task": "multi_needle"}
        found.append(suite)
    return found


def _merge(suites: Sequence[Suite]) -> tuple[Suite, ...]:
    """Drop suites that an option has made equal (two suites of one grid, after `--needle-set`)."""
    return tuple(dict.fromkeys(suites))


def _suite(written: Mapping[str, str], language: str, above: Sequence[Written], below: Sequence[Written]) -> Suite:
    def get(key: str) -> _Named:
        option = BY_KEY[key]
        found = first(above, key) or written.get(key) or first(below, key) or option.default
        return f"--{option.name}", cast("str | None", found)

    values: dict[str, _Value] = {}
    for option in OPTIONS:
        if option.suite and option.key not in _READ_ELSEWHERE:
            name, value = get(option.key)
            values[option.key] = None if value is None else option.parse(name, value)
    family = without_defaults({key: cast(Parsed, values.pop(key)) for key in FAMILY_OPTIONS.keys() & values.keys()})
    for key, parse in SUITE_KEYS.items():
        if key not in ("task", "num_repeats_per_file"):
            values[key] = parse(key, written[key]) if key in written else None
    values |= _files(values, written, above)
    needles = inline_needles([*above, written, *below]) if written["task"] in TASKS else None
    if needles is not None:
        values |= {"needle_set": needles.spec, "scorer": needles.scorer or values["scorer"]}
        if any(key in level for level in above for key in ("needle", "needles")):  # the suite's is about others
            values["keyword"] = None
    # A system prompt may be empty on purpose: that is not "not given".
    values["system_prompt"] = next(
        (cast(str, level["system_prompt"]) for level in (*above, written, *below) if "system_prompt" in level), None
    )
    values |= _grid(get, written, below)
    values["judge_by_default"] = bool(values["judge_by_default"])
    values["controls"] = values["controls"] or ()
    values["variants"] = values["variants"] or ()
    return Suite(task=written["task"], language=language, family=family, **cast("dict[str, Any]", values))


def _files(values: Mapping[str, _Value], written: Mapping[str, str], above: Sequence[Written]) -> dict[str, _Value]:
    """The files that are named, and the trials on them: `num_repeats_per_file` is for each, and each haystack of one.

    A corpus of which no files are named is one: OpenCompass always names them.
    """
    corpus, names = cast(str, values["corpus"]), cast("tuple[str, ...]", values["file_list"] or ())
    if "file_list" in written and not first(above, "file_list"):
        names = presets_files(corpus, names)
    key = "num_repeats_per_file"
    if key not in written or first(above, "repeats"):
        return {"file_list": names}
    each = cast(int, SUITE_KEYS[key](key, written[key]))
    if len(names) < 2:
        return {"file_list": names, "repeats": each}
    return {"file_list": names, "repeats": each * len(names), "repeats_per_file": each}


def _grid(get: Callable[[str], _Named], written: Mapping[str, str], below: Sequence[Written]) -> dict[str, _Value]:
    """Lengths and depths, whether each sample has one of the depths, and whether the window is a length."""
    values: dict[str, _Value] = {}
    for key, parse in (("lengths", parse_lengths), ("depths", parse_depths)):
        name, value = get(key)
        if key == "depths" and value is not None and value.partition(":")[0].strip() == SPREAD:
            values["spread"] = True
            value = value.partition(":")[2] or _unspread(written, below)
        if value is None:
            raise InputError(name, "", f"give --{key}, or a preset that has them")
        if key == "lengths":
            value, values["window"] = without_window(name, value)
            if not value:
                values[key] = ()
                continue
        spacing_name, spacing = get(f"{key[:-1]}_spacing")
        values[key] = parse(name, value, cast(str, BY_KEY[f"{key[:-1]}_spacing"].parse(spacing_name, spacing or "")))
    return values


def _unspread(written: Mapping[str, str], below: Sequence[Written]) -> str | None:
    """The depths that `--depths spread` is about: those of the preset, or of what it was written over."""
    found = (cast(str, level["depths"]) for level in (written, *below) if "depths" in level)
    named = (depths.removeprefix(SPREAD).lstrip(" :") for depths in found)
    return next((depths for depths in named if depths), None)


def _languages(value: str) -> tuple[str, ...]:
    found = cast("tuple[str, ...]", BY_KEY["language"].parse("--language", value))
    for language in found:
        if language not in ("en", "zh"):
            raise InputError("--language", language, "use en, zh or en,zh")
    return found


TASKS = ("niah", "multi_needle")
_KINDS = ("needle", "needles", "needle_set")
# Of a set by name, these would have nothing to be about.
_ABOUT = ("question", "answer")
_COMPARE_WITH_NEEDLES = ("cdme", "cdme_trim", "judge_evalscope", "judge_llmtest", "needle_words")
_WITHOUT_ANSWER = "needle_words"


@dataclass(frozen=True, slots=True)
class InlineNeedles:
    """`spec`: stands for the needle set's name. `count`: how many needles. `scorer`: what scores answers where they can
    be compared with the needles alone; empty where the suite's scorer does."""

    spec: str
    count: int
    scorer: str = ""


def inline_needles(levels: Sequence[Written]) -> InlineNeedles | None:
    """The needles that the levels say, most important first; `None` where they name a set.

    Without an answer or keyword a scorer that wants one gives way, unless it is named beside the needles or above.
    Raises `InputError` for needles without a question, a question without needles, and both needles and a set.
    """
    at = next((place for place, level in enumerate(levels) if any(kind in level for kind in _KINDS)), len(levels))
    kinds = [kind for kind in _KINDS if at < len(levels) and kind in levels[at]]
    if len(kinds) > 1:
        names = ", ".join(_option(kind) for kind in kinds)
        raise InputError(names, str(levels[at][kinds[0]]), "are two ways to say the needles: give one of them")
    if not kinds or kinds == ["needle_set"]:
        about = next((key for level in levels[: at + 1] for key in _ABOUT if key in level), None)
        if about is not None:
            raise InputError(_option(about), str(first(levels, about)), "is about --needle TEXT: give that too")
        return None
    value = levels[at][kinds[0]]
    texts = [text for word in ([value] if isinstance(value, str) else value) for text in _texts(word)]
    question = cast("str | None", first(levels, "question"))
    if question is None:
        raise InputError(_option(kinds[0]), texts[0], "give --question too: what is asked about it")
    # An answer is one to the needles beside it, or to others that were said before.
    answer = cast("str | None", first(levels[: at + 1], "answer") or first(levels[: at + 1], "keyword"))
    spec = inline_spec(texts, question, answer or "")
    return InlineNeedles(spec, len(texts), "" if answer else _scorer(levels, at))


def _scorer(levels: Sequence[Written], at: int) -> str:
    scorer = first(levels, "scorer")
    beside = first(levels[: at + 1], "scorer")
    return "" if beside or scorer in _COMPARE_WITH_NEEDLES else _WITHOUT_ANSWER


def _texts(word: str) -> list[str]:
    """A needle, or a JSON list of needles."""
    if word.lstrip().startswith("["):
        try:
            found = json.loads(word)
        except (ValueError, RecursionError):
            return [word]
        if found and isinstance(found, list) and all(isinstance(text, str) for text in found):
            return found
    return [word]


def _option(key: str) -> str:
    return f"--{key.replace('_', '-')}"


def without_defaults(values: Mapping[str, Parsed]) -> FamilyValues:
    """The values of families' options that are not the default."""
    return FamilyValues({key: value for key, value in values.items() if value != FAMILY_OPTIONS[key].usual})


# A cell names them, or they change no prompt. Options of families count one by one.
_OF_CELLS = ("controls", "variants", "spread", "window", "judge_by_default", "family")


def recipe_fields(suite: Suite) -> dict[str, object]:
    """The suite as a mapping of what shapes each trial: the grid's axes are left out, and what its questions say.

    What came later has a default, and counts only where it differs from that: keys of older runs stay what they were.
    """
    values = structs.asdict(suite) | {"lengths": (), "depths": (), "repeats": 0}
    usual = {field.name: field.default for field in structs.fields(Suite)}
    shapes = {key: value for key, value in values.items() if key not in _OF_CELLS and value != usual[key]}
    return shapes | {key: value for key, value in suite.family.items() if FAMILY_OPTIONS[key].counts(suite.family)}
