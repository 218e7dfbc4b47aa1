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
from needlework.haystack_fixtures.configuration.peer_names import EVALSCOPE, NAMES, OPENCOMPASS, translate
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
_EVALSCOPE_RANGES = {
    "context_lengths_min": 1000, "context_lengths_max": 32000, "context_lengths_num_intervals": 10,
    "document_depth_percent_min": 0, "document_depth_percent_max": 100, "document_depth_percent_intervals": 10,
}  # fmt: skip
_SECRET = ("key", "token", "secret", "password")
# Names that are taken over from a flat table, and are noted where a harness's file has them.
_NOTED = ("tokenizer_model", "tokenizer_path", "needle_file_name", "api_url", "seed", "work_dir", "judge_strategy")


def suites_of_python(path: Path, text: str) -> tuple[list[Table], Sequence[str]]:
    """The suites of a Python file, which is parsed and not run: of CDME's data sets, or of EvalScope's first task.

    With them a note for each thing ignored. Raises `InputError` for a file without any.
    """
    notes: list[str] = []
    try:
        tables = [*_tables(path, ast.parse(text), notes)]
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError("--preset", path, f"is no Python configuration: {error or 'nested too deep'}") from None
    suites = [_cdme_suite(path, table, notes) for table in tables if "type" in table]
    if not suites and not tables:
        remedy = "defines no data set of CDME, and no task of EvalScope: give the file that does (--preset list: ours)"
        raise InputError("--preset", path, remedy)
    return suites or suites_of_task(path, tables[0], notes), notes


def _tables(path: Path, tree: ast.Module, notes: list[str]) -> Iterator[dict[str, Any]]:
    """CDME's data sets and EvalScope's tasks. A loop's variable stands for all of its values: the axes of the grid."""
    names: dict[str, Any] = {}
    for statement in _statements(tree.body):
        match statement:
            case ast.ImportFrom(module=module, names=aliases):
                names |= {each.asname or each.name: f"{module}.{each.name}" for each in aliases}
            case ast.Assign(targets=[ast.Name(id=name)], value=value) | ast.For(target=ast.Name(id=name), iter=value):
                names[name] = _value(value, names)
            case ast.AugAssign(target=ast.Name(id=name)):
                names[name] = None
        for node in () if isinstance(statement, ast.For | ast.If) else ast.walk(statement):
            entries, table = _entries(node), _table(node, names)
            if str(table.get("type")) in _CDME:
                unread = (key for key, value in table.items() if value is None and key != "abbr")
                notes += (f"{path.name}:{entries.get(key, statement).lineno}: {key} is not read" for key in unread)
                yield table
            elif is_task(table):
                yield table


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, ast.For | ast.If):
            yield from _statements(statement.body)


def _entries(node: ast.AST) -> dict[str, ast.expr]:
    """Keys and values of `{...}`, `dict(...)` and `TaskConfig(...)`; what is unpacked there has the key `**`."""
    match node:
        case ast.Dict(keys=keys, values=values):
            return {str(getattr(key, "value", "**")): value for key, value in zip(keys, values, strict=True)}
        case ast.Call(func=ast.Name(id="dict" | "TaskConfig"), keywords=keywords):
            return {each.arg or "**": each.value for each in keywords}
    return {}


def _table(node: ast.AST, names: Table) -> dict[str, Any]:
    """The values of `_entries`; empty for what is no table."""
    table: dict[str, Any] = {}
    for key, entry in _entries(node).items():
        value = _value(entry, names)
        table |= value if key == "**" and isinstance(value, dict) else {key: value}
    return table


def _value(node: ast.expr, names: Table) -> Any:
    """The value of literals, known names, and what CDME's files call; `None` for what is not read."""
    match node:
        case ast.Name(id=name):
            return names.get(name)
        case ast.List(elts=parts):
            return [_value(part, names) for part in parts]
        case ast.Dict() | ast.Call(func=ast.Name(id="dict" | "TaskConfig")):
            return _table(node, names)
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


def _cdme_suite(path: Path, table: dict[str, Any], notes: list[str]) -> Table:
    task, scorer = _CDME[table["type"]]
    budget = _inside(table, "infer_cfg", "inferencer").get("max_out_len") or _ANSWER_TOKENS
    suite = {"task": task, "prompt": "cdme", "scorer": scorer, "answer_budget": budget}
    others = {key: value for key, value in table.items() if not key.endswith(("_cfg", "type", "path", "abbr"))}
    folder, files = table.get("path"), others.pop("file_list", None)
    if isinstance(folder, str) and Path(folder).is_dir():
        suite |= {"corpus": f"cdme:{folder}"} | ({"file_list": files} if files else {})
    else:
        notes.append(f"path: there is no folder {folder}, so the default text is asked (--corpus cdme:FOLDER)")
    return suite | _translate(path, others, OPENCOMPASS, notes)


def is_task(table: Table) -> bool:
    """Whether a table is a task of EvalScope's."""
    return "dataset_args" in table or isinstance(table.get("datasets"), (str, list, tuple))


def suites_of_task(path: Path, task: Table, notes: list[str]) -> list[Table]:
    """The suites of EvalScope's task; `notes` gets a line for each thing ignored. Raises `InputError`."""
    if "needle_haystack" not in str(task.get("datasets") or "needle_haystack"):
        raise InputError("--preset", path, "has data sets of EvalScope other than needle_haystack, which alone is read")
    needle = load_needle_set("san_francisco", "en").needles[0]
    arguments = _inside(task, "dataset_args", "needle_haystack")
    written = {**task} | _inside(task, "generation_config") | arguments | _inside(arguments, "extra_params")
    table = _EVALSCOPE_RANGES | {"needles": [needle.text], "retrieval_question": needle.question}
    table |= {key: value for key, value in written.items() if value is not None}
    for structure in ("datasets", "dataset_args", "generation_config", "extra_params"):
        table.pop(structure, None)
    values = _translate(path, table, EVALSCOPE, notes)
    several = values.get("needles") or values.get("needle_set") == "pizza"
    scorer = {"scorer": "match"} if "needle_set" in values else {}
    usual = {"task": "multi_needle" if several else "niah"} | _EVALSCOPE | scorer
    languages = str(values.pop("language", "en,zh")).split(",")
    return [usual | {"language": each, "corpus": DEFAULTS.get(each, "default")} | values for each in languages]


def _translate(path: Path, table: Table, peer: str, notes: list[str]) -> dict[str, Any]:
    """The table by our keys; needles that we have become our set, which has short answers too."""
    known: dict[str, Any] = {}
    for key, value in table.items():
        parts = list(value) if isinstance(value, (list, tuple)) else [value]
        is_ours = key == "depths" or (key in NAMES and NAMES[key].ours and key not in _NOTED)
        if is_ours and all(isinstance(each, (str, int, float)) for each in parts):
            known[key] = parts if isinstance(value, tuple) else value
        elif value is not None:
            notes.append(_note(key, value))
    values, _ = translate(f"--preset {path}", known, peer=peer)
    if isinstance(values.get("needles"), list) and len(values["needles"]) == 1:
        values["needle"] = values.pop("needles")[0]
    several = values.get("needles")
    texts = [str(text).strip() for text in several] if isinstance(several, list) else [values.get("needle")]
    if name := set_with(texts, values.get("question")):
        values |= dict.fromkeys(("needle", "needles", "question", "answer")) | {"needle_set": name}
    return values


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
