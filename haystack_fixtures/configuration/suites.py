"""The suites of a run: a preset's, with what is written above and below it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, cast

from needlework.haystack_fixtures.configuration.levels import Written, first
from needlework.haystack_fixtures.configuration.options import BY_KEY, OPTIONS, OWN, SUITE_KEYS
from needlework.haystack_fixtures.configuration.own_values import said
from needlework.haystack_fixtures.configuration.presets import Preset, built_in_presets
from needlework.haystack_fixtures.configuration.said_needles import TASKS, said_needles
from needlework.haystack_fixtures.corpora.files_of import presets_files
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.spacing import parse_depths, parse_lengths, without_window
from needlework.haystack_fixtures.grid.spread import SPREAD
from needlework.haystack_fixtures.settings.option_values import Parsed
from needlework.haystack_fixtures.settings.settings import Suite

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
        needles = said_needles([*above, suite, *below]) if suite["task"] == "niah" else None
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
    own = said({key: cast(Parsed, values.pop(key)) for key in OWN.keys() & values.keys()})
    for key, parse in SUITE_KEYS.items():
        if key not in ("task", "num_repeats_per_file"):
            values[key] = parse(key, written[key]) if key in written else None
    values |= _files(values, written, above)
    needles = said_needles([*above, written, *below]) if written["task"] in TASKS else None
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
    return Suite(task=written["task"], language=language, own=own, **cast("dict[str, Any]", values))


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
