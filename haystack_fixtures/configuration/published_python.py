"""Reading of published Python configurations without running them: `ast` finds assignments, `simpleeval` values."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import simpleeval

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.spacing import parse_depths

_MOST_STEPS = 100_000  # values made and looked at; published files take less than 10,000
_MOST_BITS = 64  # of a whole number
_UNSAFE = (
    ast.Pow,
    ast.Mod,
    ast.LShift,
    ast.RShift,
    ast.Attribute,
    ast.JoinedStr,
)  # large values of small ones; methods
_PLACE, _UNUSED = ("length", "depth", "depths"), ("abbr", "api_key")
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
        if any(key in _PLACE and name in _names_in(value) for key, value in entries):
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
                elif key in _PLACE and axes:
                    (axis,) = axes
                    table[key] = [self._eval_with(axis, each, value) for each in self._axes[axis]]
                elif axes and key not in _UNUSED:
                    raise LookupError(key)
                elif key not in _UNUSED:
                    table[key] = self._eval(value)
        return table

    def _eval_with(self, name: str, value: Any, node: ast.expr) -> Any:
        self.names[name] = value
        return self._eval(node)

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
