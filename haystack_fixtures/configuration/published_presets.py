"""Reading of preset files, with configurations of OpenCompass, EvalScope and LLMTest among them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.configuration.options import BY_KEY
from needlework.haystack_fixtures.configuration.peer_names import EVALSCOPE, NAMES, OPENCOMPASS
from needlework.haystack_fixtures.configuration.peer_values import translated
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.needles.needle_sets import load_needle_set
from needlework.haystack_fixtures.redact import without_credentials
from needlework.haystack_fixtures.settings.user_files import parse_toml, read_text

Table = Mapping[str, Any]
_LARGEST, _DEEPEST = 50_000, 50  # characters of a file in another format than TOML
_DATA_SETS = {  # by the end of the class's path: task, prompt, needle set, scorer
    "cdme.cdme.CDMEDataset": ("niah", "cdme", None, "cdme"),
    "cdme.cdme_multi.CDMEDataset": ("multi_needle", "cdme", None, "keyword"),
    "needlebench.origin.NeedleBenchOriginDataset": ("niah", "cdme", "codes", "keyword"),
    "needlebench_v2.origin.NeedleBenchOriginDataset": ("niah", "needlebench-v2", "codes", "match"),
    "needlebench.parallel.NeedleBenchParallelDataset": ("parallel", "cdme", "codes", "needlebench_parallel"),
    "v2.parallel.NeedleBenchParallelDataset": ("parallel", "needlebench-v2", "codes", "needlebench_parallel"),
    "needlebench.multi.NeedleBenchMultiDataset": ("needlebench_reasoning", "cdme", None, "needlebench_v1_multi"),
    "v2.multi.NeedleBenchMultiDataset": ("needlebench_reasoning", "needlebench-v2", None, "needlebench_atc"),
}
_EVALSCOPE = {"prompt": "evalscope", "lengths": "1000:32000:10", "length_means": "context", "length_buffer": 150}
_EVALSCOPE |= {"depths": "0:100:10", "answer_budget": 256}
_SETS = (("cdme", "zh"), ("san_francisco", "en"), ("san_francisco", "zh"), ("pizza", "en"), ("italy", "zh"))
_SECRET = ("key", "token", "secret", "password")
# Names that are taken over from a flat table, and are noted where a harness's file has them.
_NOTED = ("tokenizer_model", "tokenizer_path", "needle_file_name", "api_url", "seed", "work_dir", "judge_strategy")


def read_preset_file(path: Path) -> tuple[Table, Sequence[str]]:
    """A file's presets by name, each with its suites, and a line for each thing that is not taken over.

    A file of published names is one preset, under the file's name. Raises `InputError`.
    """
    text, kind = read_text("--preset", path, "give the path of a preset file"), path.suffix.lower()
    if kind != ".toml" and len(text) > _LARGEST:
        raise InputError("--preset", path, f"has more than {_LARGEST:,} characters: write it as TOML")
    if kind == ".py":
        return _read_python(path, text)
    table = parse_toml("--preset", path, text) if kind == ".toml" else _parse_table(path, kind, text)
    keys = {key.replace("-", "_"): value for key, value in table.items()}
    if not keys.keys() & NAMES.keys() or all(isinstance(each, dict) and "suite" in each for each in table.values()):
        return table, ()
    if _is_task(keys):
        notes: list[str] = []
        return {path.stem: {"suite": list(_evalscope_suites(path, keys, notes))}}, notes
    of_run = {key: keys[key] for key in keys.keys() & BY_KEY.keys() - NAMES.keys() if not BY_KEY[key].suite}
    suite = {} if "multi_needle" in keys else {"task": "niah"}
    return {path.stem: of_run | {"suite": [suite | {key: keys[key] for key in keys if key not in of_run}]}}, ()


def _parse_table(path: Path, kind: str, text: str) -> Table:
    import yaml

    depth = 0
    try:
        for event in yaml.parse(text, yaml.SafeLoader) if kind != ".json" else ():
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if isinstance(event, yaml.AliasEvent) or depth > _DEEPEST:
                raise ValueError("it has aliases (*name), or is nested too deep")
        table = json.loads(text) if kind == ".json" else yaml.safe_load(text)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise InputError("--preset", path, f"is no {kind[1:].upper()} that is read: {error}") from None
    if not isinstance(table, dict) or not all(isinstance(key, str) for key in table):
        raise InputError("--preset", path, "is no table of names and values")
    return table


def _read_python(path: Path, text: str) -> tuple[Table, Sequence[str]]:
    from needlework.haystack_fixtures.configuration.published_python import PythonFile

    file = PythonFile(path.name, text)
    notes = list(file.unread)
    lists = [value for name, value in file.names.items() if name.endswith("datasets") and isinstance(value, list)]
    data_sets = [each for each in sum(lists, file.appended) if isinstance(each, dict) and "type" in each]
    tasks = [value for value in file.names.values() if isinstance(value, dict) and _is_task(value)]
    suites = list(_opencompass_suites(path, data_sets, file.names.get("models"), notes))
    suites += _evalscope_suites(path, tasks[0], notes) if tasks and not suites else []
    if not suites:
        remedy = "has no data sets of CDME or NeedleBench, and no task of EvalScope: give the file that defines them"
        raise InputError("--preset", path, "; ".join([remedy, *notes[:3]]))
    return {path.stem: {"suite": suites}}, notes


def _opencompass_suites(path: Path, data_sets: Sequence[Table], models: Any, notes: list[str]) -> Iterator[Table]:
    models = [each for each in models if isinstance(each, dict)] if isinstance(models, list) else []
    budgets = [model["max_out_len"] for model in models if isinstance(model.get("max_out_len"), int)]
    budget = budgets[0] if len(set(budgets)) == 1 else 512
    for data_set in data_sets:
        kind = next((known for known in _DATA_SETS if str(data_set["type"]).endswith(known)), None)
        if kind is None:
            notes.append(f"{data_set['type']} is not read: --preset list has presets, such as needlebench-v2-atc")
            continue
        suite: dict[str, Any] = dict(zip(("task", "prompt", "needle_set", "scorer"), _DATA_SETS[kind], strict=True))
        suite |= {"answer_budget": _inside(data_set, "infer_cfg", "inferencer").get("max_out_len") or budget}
        others = {key: value for key, value in data_set.items() if not key.endswith(("_cfg", "type", "path"))}
        if number := others.pop("num_needles", None):
            suite["variants"] = f"{number}needle"
        folder, files = data_set.get("path", data_set.get("base_path")), others.pop("file_list", None)
        if isinstance(folder, str) and Path(folder).is_dir():
            suite |= {"corpus": f"cdme:{folder}", "file_list": files}
        elif files == ["PaulGrahamEssays.jsonl"]:
            suite["corpus"] = "essays"
        else:
            notes.append(f"path: there is no folder {folder}, so the default text is asked (--corpus cdme:FOLDER)")
        suite |= _translate(path, others, OPENCOMPASS, notes)
        yield {key: value for key, value in suite.items() if value is not None}
    for model in models:
        place, kind = shlex.quote(str(model.get("path"))), str(model.get("type")).lower()
        served = f"--serve 'lmdeploy serve api_server {place} --server-port {{port}}' --model {place}"
        spec = f"--model {'openai' if 'api' in kind or 'openai' in kind else 'hf'}:{place}"
        notes.append(f"models: {served if 'turbomind' in kind else spec}")
        options = {key: value for key, value in model.items() if key not in ("type", "path", "abbr", "run_cfg")}
        notes += [_note(key, value) for key, value in (options | _inside(model, "run_cfg")).items()]


def _is_task(table: Table) -> bool:
    return "dataset_args" in table or isinstance(table.get("datasets"), (str, list, tuple))


def _evalscope_suites(path: Path, task: Table, notes: list[str]) -> Iterator[Table]:
    asked = task.get("datasets") or "needle_haystack"
    if not isinstance(asked, (str, list, tuple)) or "needle_haystack" not in asked:
        raise InputError("--preset", path, "has data sets of EvalScope other than needle_haystack, which alone is read")
    needle, arguments = (
        load_needle_set("san_francisco", "en").needles[0],
        _inside(task, "dataset_args", "needle_haystack"),
    )
    table = {"needles": [needle.text], "retrieval_question": needle.question}
    table |= {**task} | _inside(task, "generation_config") | arguments | _inside(arguments, "extra_params")
    structure = ("datasets", "dataset_args", "generation_config", "extra_params")
    values = _translate(path, {key: table[key] for key in table if key not in structure}, EVALSCOPE, notes)
    several = "needles" in values or values.get("needle_set") == "pizza"
    scorer = {"scorer": "match"} if "needle_set" in values else {}
    for language in str(values.pop("language", "en,zh")).split(","):
        corpus = {"en": "essays", "zh": "sanguo"}.get(language, "default")
        base = {"task": "multi_needle" if several else "niah", "language": language, "corpus": corpus}
        yield base | _EVALSCOPE | scorer | values


def _translate(path: Path, table: Table, peer: str, notes: list[str]) -> dict[str, Any]:
    """The table by our keys, with a needle set of ours where it has the needles: that has short answers too."""
    known: dict[str, Any] = {}
    for key, value in table.items():
        parts = list(value) if isinstance(value, (list, tuple)) else [value]
        is_ours = key == "depths" or (key in NAMES and NAMES[key].ours and key not in _NOTED)
        if is_ours and all(isinstance(each, (str, int, float)) for each in parts):
            known[key] = parts if isinstance(value, tuple) else value
        elif value is not None:
            notes.append(_note(key, value))
    values = dict(translated(f"--preset {path}", known, peer=peer).values)
    if isinstance(values.get("needles"), list) and len(values["needles"]) == 1:
        values["needle"] = values.pop("needles")[0]
    texts = [str(text).strip() for text in values.get("needles", [values.get("needle")])]
    for name, language in _SETS:
        needles = load_needle_set(name, language)
        question = needles.joint.question if needles.joint and len(texts) > 1 else needles.needles[0].question
        if [needle.text for needle in needles.needles] == texts and question == values.get("question"):
            left = values.keys() - {"needle", "needles", "question", "answer"}
            return {"needle_set": name} | {key: values[key] for key in values if key in left}
    return values


def _inside(table: Table, *keys: str) -> dict[str, Any]:
    """The table inside of tables, empty where there is none."""
    for key in keys:
        table = table.get(key) or {}
        table = table if isinstance(table, dict) else {}
    return dict(table)


def _note(key: str, value: object) -> str:
    """What does here what a name does there; no secret is shown."""
    shown = f" = {str(value)[:60]}" if isinstance(value, (str, int, float)) and not key.endswith(_SECRET) else ""
    shown = f" = {without_credentials(value)}" if isinstance(value, str) and "://" in value else shown
    ours = NAMES[key].remedy if key in NAMES else f"--{BY_KEY[key].name}" if key in BY_KEY else "no such thing"
    return f"{key}{shown}: here {ours}"
