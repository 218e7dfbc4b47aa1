"""OpenCompass's lists of data sets, CDME and NeedleBench: each data set is a length and a depth of a suite."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.configuration.importing.imported import Imported, Line, line_of, plain, short, told
from needlework.haystack_fixtures.configuration.importing.known import Unknown
from needlework.haystack_fixtures.configuration.importing.needles import NEEDLES, with_known_needles
from needlework.haystack_fixtures.configuration.importing.python_file import ReadFile
from needlework.haystack_fixtures.configuration.peer_names import NAMES, OPENCOMPASS
from needlework.haystack_fixtures.configuration.peer_values import translated

_V1 = {"prompt": "cdme", "needle_set": "codes"}
_V2 = {"prompt": "needlebench-v2", "needle_set": "codes"}
_CHAIN = "needlebench_reasoning"
# How the name of a data set's class ends, and what it is here.
_TYPES: dict[str, Mapping[str, Any]] = {
    "cdme.cdme.CDMEDataset": {"task": "niah", "prompt": "cdme", "scorer": "cdme"},
    "cdme.cdme_multi.CDMEDataset": {"task": "multi_needle", "prompt": "cdme", "scorer": "keyword"},
    "needlebench.origin.NeedleBenchOriginDataset": {"task": "niah", **_V1, "scorer": "keyword"},
    "needlebench.parallel.NeedleBenchParallelDataset": {"task": "parallel", **_V1, "scorer": "needlebench_parallel"},
    "needlebench.multi.NeedleBenchMultiDataset": {"task": _CHAIN, "prompt": "cdme", "scorer": "needlebench_v1_multi"},
    "needlebench_v2.origin.NeedleBenchOriginDataset": {"task": "niah", **_V2, "scorer": "match"},
    "needlebench_v2.parallel.NeedleBenchParallelDataset": {
        "task": "parallel",
        **_V2,
        "scorer": "needlebench_parallel",
    },
    "needlebench_v2.multi.NeedleBenchMultiDataset": {
        "task": _CHAIN,
        "prompt": "needlebench-v2",
        "scorer": "needlebench_atc",
    },
}
_ELSEWHERE = {
    "ATCDataset": "--preset needlebench-v2-atc asks it",
    "ATCOrderedDataset": "--preset needlebench-v2-atc asks what came after it",
    "ATCChoiceDataset": "--preset needlebench-v2-atc asks what came after it",
}
_ESSAYS = "PaulGrahamEssays.jsonl"
_ANSWER_TOKENS = 512  # where neither data set nor model says
_PLACE = ("length", "depth", "depths", "abbr")
_PARTS = ("reader_cfg", "infer_cfg", "eval_cfg")
_TEXTS = ("path", "base_path", "file_list", "needle_file_name")
Group = tuple[dict[str, Any], dict[int, set[float]]]


def datasets_of(found: ReadFile) -> list[dict[str, Any]]:
    """The data sets of a configuration: its `datasets`, or all lists whose name ends so."""
    names = ["datasets"] if isinstance(found.values.get("datasets"), list) else []
    names = names or [name for name in found.values if name.endswith("datasets")]
    lists = [found.values[name] for name in names if isinstance(found.values[name], list)]
    sets = [each for several in lists for each in several if isinstance(each, dict) and "type" in each]
    return list({id(each): each for each in sets}.values())


def import_opencompass(found: ReadFile) -> Imported:
    """The suites of a configuration that has data sets."""
    lines: list[Line] = []
    suites: list[Mapping[str, Any]] = []
    budget = _model_budget(found.values.get("models"))
    for settings, places in _groups(datasets_of(found), lines):
        suites += _suites(settings, places, budget, lines)
    options = tuple(_models(found.values.get("models"), lines))
    if isinstance(work_dir := found.values.get("work_dir"), str):
        options += ("--results-dir", work_dir)
        lines.append(line_of("work_dir", work_dir, f"--results-dir {work_dir}"))
    return Imported(OPENCOMPASS, tuple(suites), tuple(dict.fromkeys(lines)), options)


def _groups(sets: Iterable[dict[str, Any]], lines: list[Line]) -> list[Group]:
    """Data sets that differ in length and depth alone, with the depths of each length."""
    groups: dict[str, Group] = {}
    for each in sets:
        kind = each["type"].name if isinstance(each["type"], Unknown) else str(each["type"])
        ours = next((known for known in _TYPES if f".{kind}".endswith(f".{known}")), None)
        length, depths = each.get("length"), each.get("depths", [each.get("depth", 0)])
        if ours is None:
            remedy = _ELSEWHERE.get(kind.rpartition(".")[2], "only CDME and NeedleBench are; --preset list shows all")
            lines.append(Line("not here", f"type = {kind}", remedy))
        elif type(length) is not int or not _is_grid([length], 10**9) or not _is_grid(depths, 100):
            lines.append(Line("unread", f"{told('length', length)}, {told('depth', depths)}", "no such place"))
        else:
            settings = {key: value for key, value in each.items() if key not in _PLACE} | {"type": ours}
            # What has parts may have them without end, and says nothing here but how long an answer may be.
            told_apart = {name: value if plain(value) else _nameless(value) for name, value in settings.items()}
            key = json.dumps([told_apart, _budget(settings.get("infer_cfg"))])
            groups.setdefault(key, (settings, {}))[1].setdefault(length, set()).update(map(float, depths))
    return list(groups.values())


def _is_grid(values: Any, most: int) -> bool:
    """Whether these are lengths or depths: numbers that a cell can have."""
    return isinstance(values, (list, tuple)) and all(
        type(each) in (int, float) and 0 <= each <= most for each in values
    )


def _nameless(value: Any) -> str:
    return value.name if isinstance(value, Unknown) else type(value).__name__


def _suites(
    settings: Mapping[str, Any], places: Mapping[int, set[float]], budget: Any, lines: list[Line]
) -> Iterable[dict[str, Any]]:
    """A suite for each set of depths: mostly one."""
    base = dict(_TYPES[settings["type"]])
    lines.append(Line("same", f"type = {settings['type']}", f"task = {base['task']!r}, scorer = {base['scorer']!r}"))
    asked = {key: value for key, value in settings.items() if key not in ("type", *_PARTS, *_TEXTS)}
    if "num_needles" in asked:
        number = asked.pop("num_needles")
        base["variants"] = f"{number}needle"
        lines.append(line_of("num_needles", number, f"variants = {base['variants']!r}"))
    if isinstance(counted := asked.pop("tokenizer_model", None), str):
        own = f"the model's own tokenizer counts; as published: --tokenizer tiktoken:{counted}"
        lines.append(Line("different", told("tokenizer_model", counted), own))
    unread = {key: value for key, value in asked.items() if value is not None and not plain(value)}
    lines += [Line("unread", told(key, value), "it is left out") for key, value in unread.items()]
    known = {key: value for key, value in asked.items() if key in NAMES and key not in unread}
    lines += [line_of(key, value) for key, value in asked.items() if key not in NAMES and key not in unread]
    words = translated("import-config", known, peer=OPENCOMPASS)
    said, needle_set = with_known_needles(words.values)
    values = base | said
    lines += [_line(name, known[name], words.became.get(name, ""), values, needle_set) for name in known]
    values |= _texts(settings, values, lines)
    budget = _budget(settings.get("infer_cfg")) or budget
    values["answer_budget"] = budget or _ANSWER_TOKENS
    lines.append(
        line_of("max_out_len", budget, f"answer_budget = {budget}")
        if budget
        else Line("different", "max_out_len is not said", f"answer_budget = {_ANSWER_TOKENS}")
    )
    of_depths: dict[tuple[float, ...], list[int]] = {}
    for length in sorted(places):
        of_depths.setdefault(tuple(sorted(places[length])), []).append(length)
    for depths, lengths in of_depths.items():
        lines.append(line_of("length", lengths, "lengths, length_means = 'context'"))
        percents = [_number(depth) for depth in depths]
        lines.append(line_of("depth", percents, f"depths: {len(depths)} of them"))
        grid = {"lengths": lengths, "length_means": "context", "depths": percents}
        yield {"task": values["task"]} | grid | values


def _line(name: str, value: Any, ours: str, values: Mapping[str, Any], needle_set: str) -> Line:
    row = NAMES[name]
    if not ours:
        return line_of(name, value)
    if name == "length_buffer":
        return line_of(name, value, "length_buffer, of the context too")
    if needle_set and ours in NEEDLES:
        return line_of(name, value, f"needle_set = {needle_set!r}, which has it")
    return line_of(name, value, f"{ours} = {short(values.get(ours))}", different="" if row.same else row.about)


def _texts(settings: Mapping[str, Any], values: Mapping[str, Any], lines: list[Line]) -> dict[str, Any]:
    """The corpus: the folder of the configuration where it is here, else the default text of the language."""
    path, files = settings.get("path", settings.get("base_path")), settings.get("file_list")
    if "needle_file_name" in settings:
        name = settings["needle_file_name"]
        lines.append(
            Line("different", told("needle_file_name", name), "needles of our own, drawn anew for every trial")
        )
    names = [name for name in files if isinstance(name, str)] if isinstance(files, (list, tuple)) else []
    if isinstance(path, str) and Path(path).is_dir():
        lines.append(line_of("path", path, f"corpus = 'cdme:{path}'"))
        lines.append(line_of("file_list", names, f"file_list = {names}"))
        return {"corpus": f"cdme:{path}", **({"file_list": names} if names else {})}
    if names == [_ESSAYS]:
        lines.append(line_of("file_list", names, "corpus = 'essays'"))
        return {"corpus": "essays"}
    remedy = f"no such folder here, so the default text of {values.get('language', 'en')} is asked"
    chosen = f" --file-list {','.join(names)}" if names else ""
    lines.append(Line("different", told("path", path), f"{remedy}; with its text: --corpus cdme:FOLDER{chosen}"))
    return {}


def _budget(infer_cfg: Any) -> int | None:
    inferencer = infer_cfg.get("inferencer") if isinstance(infer_cfg, dict) else None
    found = inferencer.get("max_out_len") if isinstance(inferencer, dict) else None
    return found if isinstance(found, int) else None


def _model_budget(models: Any) -> int | None:
    """The answer budget that all models of a configuration have."""
    listed = models if isinstance(models, list) else []
    found = {each["max_out_len"] for each in listed if isinstance(each, dict) and type(each.get("max_out_len")) is int}
    return next(iter(found)) if len(found) == 1 else None


def _models(models: Any, lines: list[Line]) -> Iterable[str]:
    for each in models if isinstance(models, list) else []:
        path = each.get("path") if isinstance(each, dict) else None
        if not isinstance(path, str):
            lines.append(Line("unread", told("models", each), "--model SPEC"))
            continue
        kind = each["type"].name if isinstance(each.get("type"), Unknown) else ""
        spec = f"openai:{path}" if "OpenAI" in kind or "API" in kind else f"hf:{path}"
        yield from ("--model", spec)
        lines.append(line_of("models", path, f"--model {spec}"))
        if isinstance(window := each.get("max_seq_len"), int):
            yield from ("--model-arg", f"window={window}")
            lines.append(line_of("max_seq_len", window, f"--model-arg window={window}"))
        left = [key for key in each if key not in ("type", "path", "abbr", "max_seq_len", "max_out_len")]
        lines += [line_of(key, each[key]) for key in left]


def _number(depth: float) -> float | int:
    return int(depth) if depth == int(depth) else depth
