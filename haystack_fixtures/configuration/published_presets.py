"""Configurations of OpenCompass (CDME) and EvalScope, read as a preset's suites."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from needlework.core.errors import InputError
from needlework.core.grid import DEPTH_SPACINGS, parse_depths
from needlework.core.redact import without_credentials
from needlework.core.settings import BY_KEY
from needlework.haystack_fixtures.configuration.peer_names import NAMES
from needlework.haystack_fixtures.corpora.corpus import DEFAULTS
from needlework.haystack_fixtures.needles.needle_sets import load_needle_set, set_with

Table = Mapping[str, Any]
_CDME = {  # of the class of a data set: task and scorer
    "opencompass.datasets.cdme.cdme.CDMEDataset": ("niah", "cdme"),
    "opencompass.datasets.cdme.cdme_multi.CDMEDataset": ("multi_needle", "keyword"),
}
_MOST_LENGTHS = 10_000
_ANSWER_TOKENS = 512  # where a data set names no `max_out_len`
_EVALSCOPE = {"prompt": "evalscope", "length_means": "context", "length_buffer": 150, "answer_budget": 256}
_EVALSCOPE_RANGES = {  # first, last, number
    "lengths": {"context_lengths_min": 1000, "context_lengths_max": 32000, "context_lengths_num_intervals": 10},
    "depths": {
        "document_depth_percent_min": 0, "document_depth_percent_max": 100, "document_depth_percent_intervals": 10,
    },
}  # fmt: skip
_SECRET = ("key", "token", "secret", "password")
# Names that are taken over from a flat table, and are noted where a harness's file has them.
_NOTED = ("tokenizer_model", "tokenizer_path", "needle_file_name", "api_url", "seed", "work_dir", "judge_strategy")


def suites_of_python(path: Path, text: str) -> tuple[list[Table], Sequence[str]]:
    """The suites of a Python file of CDME's, which is parsed and not run; a note for each thing ignored.

    Raises `InputError` for a file without such data sets.
    """
    notes: list[str] = []
    try:
        suites = list(_cdme_suites(path, ast.parse(text), notes))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError("--preset", path, f"is no Python configuration: {error or 'nested too deep'}") from None
    if not suites:
        remedy = (
            "defines no data set of CDME (--preset list: presets of NeedleBench and others): give the file that does"
        )
        raise InputError("--preset", path, remedy)
    return suites, notes


def _cdme_suites(path: Path, tree: ast.Module, notes: list[str]) -> Iterator[Table]:
    """The suites of CDME's data sets. A loop's variable stands for all of its values: the axes of the grid."""
    names: dict[str, Any] = {}
    for statement in _statements(tree.body):
        match statement:
            case ast.ImportFrom(module=module, names=aliases):
                names |= {each.asname or each.name: f"{module}.{each.name}" for each in aliases}
            case ast.Assign(targets=[ast.Name(id=name)], value=value) | ast.For(target=ast.Name(id=name), iter=value):
                names[name] = _value(value, names)
            case ast.AugAssign(target=ast.Name(id=name)):
                names[name] = None
        for node in () if isinstance(statement, ast.For) else ast.walk(statement):
            entries = _entries(node)
            table = {key: _value(value, names) for key, value in entries.items()} if "type" in entries else {}
            if isinstance(kind := table.get("type"), str) and kind in _CDME:
                unread = (key for key, value in table.items() if value is None and key != "abbr")
                notes += (f"{path.name}:{entries[key].lineno}: {key} is not read" for key in unread)
                yield _cdme_suite(table, notes)


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, ast.For):
            yield from _statements(statement.body)


def _entries(node: ast.AST) -> dict[str, ast.expr]:
    """Keys and values of `{...}` and of `dict(...)`; what is unpacked there has the key `**`."""
    match node:
        case ast.Dict(keys=keys, values=values):
            return {str(getattr(key, "value", "**")): value for key, value in zip(keys, values, strict=True)}
        case ast.Call(func=ast.Name(id="dict"), keywords=keywords):
            return {each.arg or "**": each.value for each in keywords}
    return {}


def _value(node: ast.expr, names: Table) -> Any:
    """The value of literals, known names, and what CDME's files call; `None` for what is not read."""
    match node:
        case ast.Name(id=name):
            return names.get(name)
        case ast.List(elts=parts):
            return [_value(part, names) for part in parts]
        case ast.Dict() | ast.Call(func=ast.Name(id="dict")):
            return {key: _value(value, names) for key, value in _entries(node).items()}
        case ast.Call(func=ast.Name(id="int" | "list"), args=[value]):
            return _value(value, names)
        case ast.Call(func=ast.Name(id="generate_depth_percents"), args=[count, kind]):
            if (spacing := f"opencompass-{_value(kind, names)}") not in DEPTH_SPACINGS:
                return None
            return list(parse_depths("--preset", f"0:100:{_value(count, names)}", spacing))
    with suppress(ValueError, TypeError):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "range":
            return list(range(*(_value(end, names) for end in node.args))[:_MOST_LENGTHS])
        return ast.literal_eval(node)
    return None


def _cdme_suite(table: dict[str, Any], notes: list[str]) -> Table:
    task, scorer = _CDME[table["type"]]
    budget = _inside(table, "infer_cfg", "inferencer").get("max_out_len") or _ANSWER_TOKENS
    suite = {"task": task, "prompt": "cdme", "scorer": scorer, "answer_budget": budget, "length_means": "context"}
    others = {key: value for key, value in table.items() if not key.endswith(("_cfg", "type", "path", "abbr"))}
    folder, files = table.get("path"), others.pop("file_list", None)
    if isinstance(folder, str) and Path(folder).is_dir():
        suite |= {"corpus": f"cdme:{folder}"} | ({"file_list": files} if files else {})
    else:
        notes.append(f"path: there is no folder {folder}, so the default text is asked (--corpus cdme:FOLDER)")
    return suite | _translate(others, notes)


def is_task(table: Table) -> bool:
    """Whether a table is a task of EvalScope's."""
    return "dataset_args" in table or isinstance(table.get("datasets"), (str, list, tuple))


def preset_of_task(path: Path, task: Table) -> tuple[Table, Sequence[str]]:
    """The preset of EvalScope's task; a note for each thing ignored. Raises `InputError`."""
    notes: list[str] = []
    if "needle_haystack" not in str(task.get("datasets") or "needle_haystack"):
        raise InputError("--preset", path, "has data sets of EvalScope other than needle_haystack, which alone is read")
    needle = load_needle_set("san_francisco", "en").needles[0]
    arguments = _inside(task, "dataset_args", "needle_haystack")
    written = {**task} | _inside(task, "generation_config") | arguments | _inside(arguments, "extra_params")
    table = {"needles": [needle.text], "retrieval_question": needle.question}
    table |= {key: value for key, value in written.items() if value is not None}
    for structure in ("datasets", "dataset_args", "generation_config", "extra_params"):
        table.pop(structure, None)
    ranges = {
        ours: ":".join(str(table.pop(name, usual)) for name, usual in ends.items())
        for ours, ends in _EVALSCOPE_RANGES.items()
    }
    values = ranges | _translate(table, notes)  # a list wins over a range
    several = values.get("needles") or values.get("needle_set") == "pizza"
    scorer = {"scorer": "match"} if "needle_set" in values else {}
    usual = {"task": "multi_needle" if several else "niah"} | _EVALSCOPE | scorer
    languages = str(values.pop("language", "en,zh")).split(",")
    run = {key: values.pop(key) for key in values.keys() & BY_KEY.keys() if not BY_KEY[key].suite}
    suites = [usual | {"language": each, "corpus": DEFAULTS.get(each, "default")} | values for each in languages]
    return run | {"suite": suites}, notes


def _translate(table: Table, notes: list[str]) -> dict[str, Any]:
    """The table by our keys; needles that we have become our set, which has short answers too."""
    values: dict[str, Any] = {}
    for key, value in table.items():
        parts = list(value) if isinstance(value, (list, tuple)) else [value]
        ours = "depths" if key == "depths" else NAMES[key].ours if key in NAMES and key not in _NOTED else ""
        if ours and all(isinstance(each, (str, int, float)) for each in parts):
            values[ours] = _READ[ours](parts) if ours in _READ else parts if isinstance(value, tuple) else value
        elif value is not None:
            notes.append(_note(key, value))
    if isinstance(values.get("needles"), list) and len(values["needles"]) == 1:
        values["needle"] = values.pop("needles")[0]
    several = values.get("needles")
    texts = [str(text).strip() for text in several] if isinstance(several, list) else [values.get("needle")]
    if name := set_with(texts, values.get("question")):
        values = {key: value for key, value in values.items() if key not in _OF_NEEDLES} | {"needle_set": name}
    return values


def _languages(names: Sequence[object]) -> str:
    words = [word.strip() for name in names for word in str(name).split(",")]
    return ",".join({"english": "en", "chinese": "zh"}.get(word.lower(), word) for word in words)


def _lower(words: Sequence[object]) -> str:
    return str(words[0] if words else "").lower()


_READ = {"language": _languages, "question_position": _lower, "depth_spacing": _lower}
_OF_NEEDLES = ("needle", "needles", "question", "answer")


def _inside(table: Table, *keys: str) -> dict[str, Any]:
    """The table inside of tables, empty where there is none."""
    for key in keys:
        table = table[key] if isinstance(table.get(key), dict) else {}
    return dict(table)


def _note(key: str, value: object) -> str:
    """Name our option in place of a peer's, with a value that is a word or number and no secret."""
    shown = ""
    if isinstance(value, str | int | float) and not key.endswith(_SECRET):
        shown = f" = {without_credentials(str(value)) if '://' in str(value) else str(value)[:60]}"
    default = f"--{BY_KEY[key].name}" if key in BY_KEY else "no such thing"
    return f"{key}{shown}: here {NAMES[key].remedy if key in NAMES else default}"
