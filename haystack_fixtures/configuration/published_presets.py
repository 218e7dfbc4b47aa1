"""Configurations of OpenCompass and EvalScope, read as a preset's suites."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import simpleeval

from needlework.core.errors import InputError
from needlework.core.grid import parse_depths
from needlework.core.redact import without_credentials
from needlework.haystack_fixtures.configuration.option_table import BY_KEY
from needlework.haystack_fixtures.configuration.peer_names import EVALSCOPE, NAMES, OPENCOMPASS, translated
from needlework.haystack_fixtures.configuration.presets import is_task
from needlework.haystack_fixtures.needles.needle_sets import load_needle_set, set_with

Table = Mapping[str, Any]
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
_SECRET = ("key", "token", "secret", "password")
# Names that are taken over from a flat table, and are noted where a harness's file has them.
_NOTED = ("tokenizer_model", "tokenizer_path", "needle_file_name", "api_url", "seed", "work_dir", "judge_strategy")


def suites_of_python(path: Path, text: str) -> tuple[list[Table], Sequence[str]]:
    """The suites of a Python configuration, and a line for each thing that is not taken over. Raises `InputError`."""
    file = PythonFile(path.name, text)
    notes = list(file.unread)
    lists = [value for name, value in file.names.items() if name.endswith("datasets") and isinstance(value, list)]
    data_sets = [each for each in sum(lists, file.appended) if isinstance(each, dict) and "type" in each]
    tasks = [value for value in file.names.values() if isinstance(value, dict) and is_task(value)]
    suites = list(_opencompass_suites(path, data_sets, file.names.get("models"), notes))
    if tasks and not suites:
        suites, more = suites_of_task(path, tasks[0])
        notes += more
    if not suites:
        remedy = "has no data sets of CDME or NeedleBench, and no task of EvalScope: give the file that defines them"
        raise InputError("--preset", path, "; ".join([remedy, *notes[:3]]))
    return suites, notes


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
        notes += _model_notes(model)


def _model_notes(model: Table) -> Iterator[str]:
    """What does here what a model's section does there: a spec or a server, and an option for each argument."""
    name, kind = shlex.quote(str(model.get("path"))), str(model.get("type")).lower()
    engine = next((engine for engine in ("turbomind", "lmdeploy", "vllm", "sglang") if engine in kind), "")
    served = f"'lmdeploy serve api_server {name} --server-port {{port}}'" if engine == "turbomind" else engine
    spec = f"{'openai' if 'api' in kind or 'openai' in kind else 'hf'}:{name}"
    yield f"models: {f'--serve {served} --model {name}' if engine else f'--model {spec}'}"
    for key, value in model.items():
        if key.endswith("_kwargs") or key in ("engine_config", "gen_config"):
            for inner, of_key in _inside(model, key).items():
                is_served = engine and not key.startswith("gen")
                option = f"--serve-arg {inner.replace('_', '-')}" if is_served else f"--model-arg {inner}"
                yield _note(inner, of_key, f"{option}{_shown(inner, of_key) or '=VALUE'}")
        elif key == "run_cfg":
            yield from (_note(inner, of_key) for inner, of_key in _inside(model, key).items())
        elif key not in ("type", "path", "abbr"):
            yield _note(key, value)


def suites_of_task(path: Path, task: Table) -> tuple[list[Table], list[str]]:
    """The suites of EvalScope's task, and a line for each thing that is not taken over. Raises `InputError`."""
    data_sets = task.get("datasets") or "needle_haystack"
    if not isinstance(data_sets, (str, list, tuple)) or "needle_haystack" not in data_sets:
        raise InputError("--preset", path, "has data sets of EvalScope other than needle_haystack, which alone is read")
    notes: list[str] = []
    needle = load_needle_set("san_francisco", "en").needles[0]
    arguments = _inside(task, "dataset_args", "needle_haystack")
    table = {"needles": [needle.text], "retrieval_question": needle.question}
    table |= {**task} | _inside(task, "generation_config") | arguments | _inside(arguments, "extra_params")
    extra = _inside(arguments, "extra_params")
    if "needles" in extra and "retrieval_question" not in extra:
        notes.append(f"retrieval_question: none is there, so EvalScope's own is asked: {needle.question}")
    structure = ("datasets", "dataset_args", "generation_config", "extra_params")
    values = _translate(path, {key: table[key] for key in table if key not in structure}, EVALSCOPE, notes)
    several = "needles" in values or values.get("needle_set") == "pizza"
    scorer = {"scorer": "match"} if "needle_set" in values else {}
    suites: list[Table] = []
    for language in str(values.pop("language", "en,zh")).split(","):
        corpus = {"en": "essays", "zh": "sanguo"}.get(language, "default")
        base = {"task": "multi_needle" if several else "niah", "language": language, "corpus": corpus}
        suites.append(base | _EVALSCOPE | scorer | values)
    return suites, notes


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
    several = values.get("needles")
    texts = [str(text).strip() for text in several] if isinstance(several, list) else [values.get("needle")]
    if name := set_with(texts, values.get("question")):
        of_set = ("needle", "needles", "question", "answer")
        return {"needle_set": name} | {key: value for key, value in values.items() if key not in of_set}
    return values


def _inside(table: Table, *keys: str) -> dict[str, Any]:
    """The table inside of tables, empty where there is none."""
    for key in keys:
        table = table.get(key) or {}
        table = table if isinstance(table, dict) else {}
    return dict(table)


def _note(key: str, value: object, default: str = "no such thing") -> str:
    """What does here what a name does there."""
    ours = NAMES[key].remedy if key in NAMES else f"--{BY_KEY[key].name}" if key in BY_KEY else default
    return f"{key}{_shown(key, value).replace('=', ' = ', 1)}: here {ours}"


def _shown(key: str, value: object) -> str:
    """`=VALUE` of a word or number, shortened; empty for others, and no secret is shown."""
    if not isinstance(value, (str, int, float)) or key.endswith(_SECRET):
        return ""
    return f"={without_credentials(str(value)) if '://' in str(value) else str(value)[:60]}"


_MOST_STEPS = 100_000  # values made and looked at; published files take less than 10,000
_MOST_BITS = 64  # of a whole number
# Large values of small ones; methods.
_UNSAFE = (ast.Pow, ast.Mod, ast.LShift, ast.RShift, ast.Attribute, ast.JoinedStr)
_AXES, _UNUSED = ("length", "depth", "depths"), ("abbr", "api_key")
_ERRORS = (simpleeval.InvalidExpression, ArithmeticError, LookupError, TypeError, ValueError, AttributeError)
_FUNCTIONS = {
    **{kind.__name__: kind for kind in (list, tuple, int, float)},
    "range": lambda *ends: list(range(*ends)[:_MOST_STEPS]),
    # Published files define it themselves, each alike.
    "generate_depth_percents": lambda n, kind: list(parse_depths("--preset", f"0:100:{n}", f"opencompass-{kind}")),
}


class PythonFile(simpleeval.EvalWithCompoundTypes):  # type: ignore[misc]  # simpleeval has no types
    """A file's values by name (`names`), what it appends to lists, and a line for each thing that is not read.

    A name that is imported stands for its dotted path. Raises `InputError` for no Python, and for values too large.
    """

    names: dict[str, Any]
    nodes: dict[type, Any]

    def __init__(self, file: str, text: str) -> None:
        super().__init__({kind: make for kind, make in simpleeval.DEFAULT_OPERATORS.items() if kind not in _UNSAFE})
        self.functions, self.names = _FUNCTIONS, {"__name__": "__main__"}
        self.nodes = {kind: read for kind, read in self.nodes.items() if kind not in _UNSAFE}
        self.appended: list[Any] = []
        self.unread: dict[str, None] = {}
        self._axes: dict[str, list[Any]] = {}  # of the loops over lengths or depths that a statement is in
        self._steps_left = _MOST_STEPS
        self._file = file
        try:
            self._run(ast.parse(text).body)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            reason = f"line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) else "too deep, or NUL in it"
            raise InputError("--preset", file, f"is no Python configuration: {reason}") from None

    def _run(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            self._check_disallowed_items(None)
            targets = ", ".join(map(ast.unparse, getattr(statement, "targets", ())))
            with self._noting(statement, targets or type(statement).__name__.lower()):
                self._run_statement(statement)
                continue
            self.names.pop(targets, None)

    def _run_statement(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                module = f"{getattr(statement, 'module', '')}."
                self.names.update({each.asname or each.name: module + each.name for each in aliases})
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.names[name] = self.eval("", value)
            case ast.For(target=ast.Name(id=name), iter=values, body=body):
                self._run_loop(name, list(self.eval("", values)), body)
            case ast.If(test=test, body=body) if ast.unparse(test) == "__name__ == '__main__'":
                self._run(body)
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append"), args=[value])):
                self.appended.append(self.eval("", value))
            case ast.Expr(value=ast.Call() as call):  # run_task(TaskConfig(...))
                self.names.update({f"line {call.lineno}": self.eval("", value) for _, value in _entries(call)})
            case ast.FunctionDef() | ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case _:
                raise LookupError

    def _run_loop(self, name: str, values: list[Any], body: Sequence[ast.stmt]) -> None:
        """Run a loop's body for each value; once for lengths or depths, which a data set then has as a list."""
        entries = [entry for statement in body for node in ast.walk(statement) for entry in _entries(node)]
        if any(key in _AXES and name in _names_in(value) for key, value in entries):
            self._axes[name], values = values, values[:1]
        for value in values:
            self.names[name] = value
            self._run(body)
        self._axes.pop(name, None)

    @contextmanager
    def _noting(self, node: ast.stmt | ast.expr, what: str) -> Iterator[None]:
        try:
            yield
        except _ERRORS:
            self.unread[f"{self._file}:{node.lineno}: {what} is not read"] = None

    def _check_disallowed_items(self, item: Any) -> None:
        """Count an item and the items in it, so that nothing made to be endless is followed to its end."""
        self._steps_left -= 1 + (len(item) // 100 if isinstance(item, str) else 0)
        if self._steps_left < 0 or (isinstance(item, int) and item.bit_length() > _MOST_BITS):
            raise InputError("--preset", self._file, "has larger values than a configuration: write it as TOML")
        super()._check_disallowed_items(item)

    def _eval_dict(self, node: ast.AST) -> dict[str, Any]:
        """A table by its keys; one that cannot be read is noted and left out, as one that differs between cells."""
        table: dict[str, Any] = {}
        for key, value in _entries(node):
            axes = _names_in(value) & self._axes.keys()
            with self._noting(value, key or "**"):
                if key is None:
                    table |= self._eval(value)
                elif key in _AXES and axes:
                    (axis,) = axes
                    table[key] = []
                    for each in self._axes[axis]:
                        self.names[axis] = each
                        table[key].append(self._eval(value))
                elif axes and key not in _UNUSED:
                    raise LookupError(key)
                elif key not in _UNUSED:
                    table[key] = self._eval(value)
        return table

    def _eval_call(self, node: ast.Call) -> Any:
        is_table = ast.unparse(node.func).rpartition(".")[2] in ("dict", "TaskConfig")
        return self._eval_dict(node) if is_table else super()._eval_call(node)


def _entries(node: ast.AST) -> list[tuple[str | None, ast.expr]]:
    """Keys and values of `{...}` and of `dict(...)`; what is unpacked there has no key."""
    if isinstance(node, ast.Dict):
        keys = [None if key is None else str(getattr(key, "value", key)) for key in node.keys]
        return list(zip(keys, node.values, strict=True))
    if isinstance(node, ast.Call):
        return [*((None, each) for each in node.args), *((each.arg, each.value) for each in node.keywords)]
    return []


def _names_in(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
