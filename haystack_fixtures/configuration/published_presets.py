"""Configurations of OpenCompass and EvalScope, read as a preset's suites."""

import ast
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import simpleeval

from needlework.core.errors import InputError
from needlework.core.grid import parse_depths
from needlework.core.redact import without_credentials
from needlework.haystack_fixtures.configuration.option_table import BY_KEY
from needlework.haystack_fixtures.configuration.peer_names import EVALSCOPE, NAMES, OPENCOMPASS, translated
from needlework.haystack_fixtures.configuration.presets import is_task
from needlework.haystack_fixtures.corpora.corpus_named import DEFAULTS
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
_ENGINES = {"turbomind": "lmdeploy", "lmdeploy": "lmdeploy", "vllm": "vllm", "sglang": "sglang"}
_SECRET = ("key", "token", "secret", "password")
# Names that are taken over from a flat table, and are noted where a harness's file has them.
_NOTED = ("tokenizer_model", "tokenizer_path", "needle_file_name", "api_url", "seed", "work_dir", "judge_strategy")


def suites_of_python(path: Path, text: str) -> tuple[list[Table], Sequence[str]]:
    """The suites of a Python configuration; a note for each thing ignored. Raises `InputError`."""
    file = PythonFile(path.name, text)
    notes = [f"{path.name}:{line}: {what} is not read" for line, what in file.unread]
    lists = [value for name, value in file.names.items() if name.endswith("datasets") and isinstance(value, list)]
    data_sets = [each for each in sum(lists, file.passed) if isinstance(each, dict) and "type" in each]
    tasks = [value for value in [*file.names.values(), *file.passed] if isinstance(value, dict) and is_task(value)]
    suites = list(_opencompass_suites(path, data_sets, file.names.get("models"), notes))
    suites = suites or (suites_of_task(path, tasks[0], notes) if tasks else [])
    if not suites:
        remedy = "has no data sets of CDME or NeedleBench, and no task of EvalScope: give the file that defines them"
        raise InputError("--preset", path, "; ".join([remedy, *notes[:3]]))
    return suites, notes


def _opencompass_suites(path: Path, data_sets: Sequence[Table], models: Any, notes: list[str]) -> Iterator[Table]:
    models = [each for each in models if isinstance(each, dict)] if isinstance(models, list) else []
    budgets = [model["max_out_len"] for model in models if isinstance(model.get("max_out_len"), int)]
    budget = budgets[0] if len(set(budgets)) == 1 else 512
    for data_set in _one_per_grid(data_sets):
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
        yield suite | _translate(path, others, OPENCOMPASS, notes)
    notes += (note for model in models for note in _model_notes(model))


def _one_per_grid(data_sets: Sequence[Table]) -> Sequence[Table]:
    """Merge data sets that differ in length or depth alone, as loops make them, with lists of both."""
    for axis in ("length", "depth"):
        alike: dict[str, dict[str, Table]] = {}
        for data_set in data_sets:
            alike.setdefault(repr({**data_set, axis: None}), {})[repr(data_set.get(axis))] = data_set
        groups = [list(group.values()) for group in alike.values()]
        data_sets = [
            group[0] if len(group) == 1 else {**group[0], axis: [e.get(axis) for e in group]} for group in groups
        ]
    return data_sets


def _model_notes(model: Table) -> Iterator[str]:
    """Translate a model's section: a spec or a server, and an option for each argument."""
    name, kind = shlex.quote(str(model.get("path"))), str(model.get("type")).lower()
    engine = next((engine for word, engine in _ENGINES.items() if word in kind), "")
    spec = f"{'openai' if 'api' in kind or 'openai' in kind else 'hf'}:{name}"
    yield f"models: {f'--serve {engine} --model {name}' if engine else f'--model {spec}'}"
    for key, value in model.items():
        if isinstance(value, dict) and key.endswith(("_kwargs", "_config", "_cfg")):
            for inner, of_key in value.items():
                is_served = engine and not key.startswith("gen")
                option = f"--serve-arg {inner.replace('_', '-')}" if is_served else f"--model-arg {inner}"
                yield _note(inner, of_key, f"{option}{_shown(inner, of_key) or '=VALUE'}")
        elif key not in ("type", "path", "abbr"):
            yield _note(key, value)


def suites_of_task(path: Path, task: Table, notes: list[str]) -> list[Table]:
    """The suites of EvalScope's task; `notes` gets a line for each thing ignored. Raises `InputError`."""
    if "needle_haystack" not in str(task.get("datasets") or "needle_haystack"):
        raise InputError("--preset", path, "has data sets of EvalScope other than needle_haystack, which alone is read")
    needle = load_needle_set("san_francisco", "en").needles[0]
    arguments = _inside(task, "dataset_args", "needle_haystack")
    table = {"needles": [needle.text], "retrieval_question": needle.question}
    table |= {**task} | _inside(task, "generation_config") | arguments | _inside(arguments, "extra_params")
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
    values, _ = translated(f"--preset {path}", known, peer=peer)
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


def _note(key: str, value: object, default: str = "no such thing") -> str:
    """Name our option in place of a peer's."""
    ours = NAMES[key].remedy if key in NAMES else f"--{BY_KEY[key].name}" if key in BY_KEY else default
    return f"{key}{_shown(key, value).replace('=', ' = ', 1)}: here {ours}"


def _shown(key: str, value: object) -> str:
    """`=VALUE` of a word or number, shortened; empty for others, and no secret is shown."""
    text = without_credentials(str(value)) if "://" in str(value) else str(value)[:60]
    return f"={text}" if isinstance(value, (str, int, float)) and not key.endswith(_SECRET) else ""


_MOST_STEPS = 400_000  # values made and looked at; published files take less than 10,000
_UNSAFE = (ast.Pow, ast.Mod, ast.LShift, ast.RShift, ast.Attribute, ast.JoinedStr)  # large values; methods
_UNUSED = ("abbr", "api_key")
_ERRORS = (simpleeval.InvalidExpression, ArithmeticError, LookupError, TypeError, ValueError, AttributeError)
_FUNCTIONS = {  # beside simpleeval's int, float, str, list, tuple; published files define the second, each alike
    "range": lambda *ends: list(range(*ends)[:_MOST_STEPS]),
    "generate_depth_percents": lambda n, kind: list(parse_depths("--preset", f"0:100:{n}", f"opencompass-{kind}")),
}


class PythonFile(simpleeval.EvalWithCompoundTypes):  # type: ignore[misc]  # simpleeval has no types
    """A Python file: its values by name, those passed to calls (`append`, `run_task`), lines not read.

    A name that is imported stands for its dotted path. Raises `InputError` for no Python, and for values too large.
    """

    def __init__(self, file: str, text: str) -> None:
        operators = {kind: make for kind, make in simpleeval.DEFAULT_OPERATORS.items() if kind not in _UNSAFE}
        super().__init__(operators, simpleeval.DEFAULT_FUNCTIONS | _FUNCTIONS, {"__name__": "__main__"})
        self.nodes: dict[type, Any] = {kind: read for kind, read in self.nodes.items() if kind not in _UNSAFE}
        self.passed: list[Any] = []
        self.unread: dict[tuple[int, str], None] = {}
        self._steps_left = _MOST_STEPS
        self._file = file
        try:
            self._run(ast.parse(text, file).body)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise InputError("--preset", file, f"is no Python configuration: {error or 'nested too deep'}") from None

    def _run(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            self._check_disallowed_items(None)
            targets = ", ".join(map(ast.unparse, getattr(statement, "targets", ())))
            try:
                match statement:
                    case ast.ImportFrom(module=module, names=aliases):
                        self.names.update({each.asname or each.name: f"{module}.{each.name}" for each in aliases})
                    case ast.Assign(targets=[ast.Name(id=name)], value=value):
                        self.names[name] = self.eval("", value)
                    case ast.For(target=ast.Name(id=name), iter=values, body=body):
                        for value in self.eval("", values):
                            self.names[name] = value
                            self._run(body)
                    case ast.If(test=test, body=body) if ast.unparse(test) == "__name__ == '__main__'":
                        self._run(body)
                    case ast.Expr(value=ast.Call() as call):
                        self.passed += [self.eval("", value) for _, value in _entries(call)]
                    case ast.Import() | ast.FunctionDef() | ast.Pass() | ast.Expr(value=ast.Constant()):
                        pass
                    case _:
                        raise LookupError
            except _ERRORS:
                self.unread[statement.lineno, targets or type(statement).__name__.lower()] = None
                self.names.pop(targets, None)

    def _check_disallowed_items(self, item: Any) -> None:
        """Count an item and the items in it, so that nothing made to be endless is followed to its end."""
        self._steps_left -= 1 + (len(item) // 100 if isinstance(item, str) else 0)
        if self._steps_left < 0 or (isinstance(item, int) and item.bit_length() > 64):
            raise InputError("--preset", self._file, "has larger values than a configuration: write it as TOML")
        super()._check_disallowed_items(item)

    def _eval_dict(self, node: ast.Dict | ast.Call) -> dict[str, Any]:
        """A table by its keys; one that cannot be read is noted and left out."""
        table: dict[str, Any] = {}
        for key, value in _entries(node):
            if key not in _UNUSED:
                try:
                    table |= self._eval(value) if key is None else {key: self._eval(value)}
                except _ERRORS:
                    self.unread[value.lineno, key or "**"] = None
        return table

    def _eval_call(self, node: ast.Call) -> Any:
        is_table = ast.unparse(node.func).rpartition(".")[2] in ("dict", "TaskConfig")
        return self._eval_dict(node) if is_table else super()._eval_call(node)


def _entries(node: ast.Dict | ast.Call) -> list[tuple[str | None, ast.expr]]:
    """Keys and values of `{...}` and of `dict(...)`; what is unpacked there has no key."""
    if isinstance(node, ast.Call):
        return [*((None, each) for each in node.args), *((each.arg, each.value) for each in node.keywords)]
    keys = [None if key is None else str(getattr(key, "value", key)) for key in node.keys]
    return list(zip(keys, node.values, strict=True))
