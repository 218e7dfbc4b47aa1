"""A Python configuration, read without running it: its statements are followed one by one, as far as we know them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.configuration.importing.expressions import Budget, Expressions, Scope, assign
from needlework.haystack_fixtures.configuration.importing.known import (
    Endless,
    Function,
    Unknown,
    Unreadable,
    bounded,
    items_of,
    scalar,
)
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.settings.user_files import read_text

OPTION = "import-config"
_LARGEST = 2_000_000  # characters of a file
_DEEPEST = 20  # calls inside one another
_MOST_BASES = 100  # files that a file is based on
_FAULTS = (Unreadable, TypeError, ValueError, KeyError, IndexError, ZeroDivisionError, OverflowError, AttributeError)


@dataclass(frozen=True, slots=True)
class ReadFile:
    """What a file has: `values` by name, `calls` of what is not known here. `unread`: a line for what is not read."""

    values: dict[str, Any]
    calls: tuple[Unknown, ...]
    unread: tuple[str, ...]


class _Returned(Exception):  # noqa: N818
    def __init__(self, value: Any) -> None:
        self.value = value


def read_python(path: Path) -> ReadFile:
    """Read a configuration file, with the configurations that it is based on where they lie beside it.

    Raises `InputError` for what is no Python, and for a file that goes on without end.
    """
    try:
        return _Reader(path, Budget(), {}, 0).read()
    except Endless:
        raise InputError(OPTION, path, "has more steps than a configuration; was it written to be run?") from None


class _Reader:
    """Reads one file. `bases`: what the files have that were read already, `None` for one that is being read."""

    def __init__(self, path: Path, budget: Budget, bases: dict[Path, ReadFile | None], depth: int) -> None:
        self._path = path
        self._budget = budget
        self._bases = bases
        self._depth = depth
        self._names: Scope = {"__name__": "__main__", "__file__": path.name}
        self._expressions = Expressions(budget, self._names, self._function)
        self._unread: list[str] = []

    def read(self) -> ReadFile:
        text = read_text(OPTION, self._path)
        try:
            if len(text) > _LARGEST:
                raise ValueError("it is too long for a configuration")
            body = ast.parse(text).body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            why = f"line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) else str(error) or "too deep"
            raise InputError(OPTION, self._path, f"is no Python configuration: {why}") from None
        for statement in body:
            self._tried(statement, self._names)
        values = {name: value for name, value in self._names.items() if not name.startswith("__")}
        return ReadFile(values, tuple(self._expressions.calls), tuple(self._unread))

    def _tried(self, statement: ast.stmt, scope: Scope) -> None:
        """Follow a statement of the file itself; what is not read of it is told, and its names are not known."""
        try:
            self._follow(statement, scope)
        except (*_FAULTS, RecursionError, _Returned) as error:
            why = str(error) if isinstance(error, Unreadable) else f"{type(error).__name__.lower()} in it"
            self._unread.append(f"{self._path.name} line {statement.lineno}: {why}")
            for name in _assigned(statement):
                self._names.setdefault(name, Unknown(name))

    def _follow(self, statement: ast.stmt, scope: Scope) -> None:
        self._budget.step()
        read = getattr(self, f"_{type(statement).__name__.lower()}", None)
        if read is None:
            raise Unreadable(f"{type(statement).__name__.lower()} is not read")
        read(statement, scope)

    def _assign(self, statement: ast.Assign, scope: Scope) -> None:
        found = self._expressions.value(statement.value, scope)
        for target in statement.targets:
            self._give(target, found, scope)

    def _annassign(self, statement: ast.AnnAssign, scope: Scope) -> None:
        if statement.value is not None:
            self._give(statement.target, self._expressions.value(statement.value, scope), scope)

    def _augassign(self, statement: ast.AugAssign, scope: Scope) -> None:
        load = ast.copy_location(ast.BinOp(_loaded(statement.target), statement.op, statement.value), statement)
        self._give(statement.target, self._expressions.value(load, scope), scope)

    def _expr(self, statement: ast.Expr, scope: Scope) -> None:
        self._expressions.value(statement.value, scope)

    def _for(self, statement: ast.For, scope: Scope) -> None:
        for item in items_of(self._expressions.value(statement.iter, scope)):
            assign(statement.target, item, scope)
            self._all(statement.body, scope)

    def _if(self, statement: ast.If, scope: Scope) -> None:
        self._all(statement.body if self._expressions.truth(statement.test, scope) else statement.orelse, scope)

    def _functiondef(self, statement: ast.FunctionDef, scope: Scope) -> None:
        scope[statement.name] = Function(statement)

    def _return(self, statement: ast.Return, scope: Scope) -> None:
        raise _Returned(None if statement.value is None else self._expressions.value(statement.value, scope))

    def _with(self, statement: ast.With, _scope: Scope) -> None:
        if [ast.unparse(item.context_expr) for item in statement.items] != ["read_base()"]:
            raise Unreadable("with is not read")
        for inner in statement.body:
            self._base(inner)

    def _import(self, statement: ast.Import, scope: Scope) -> None:
        for alias in statement.names:
            first = alias.name.split(".")[0]
            scope[alias.asname or first] = Unknown(alias.name if alias.asname else first)

    def _importfrom(self, statement: ast.ImportFrom, scope: Scope) -> None:
        for alias in statement.names:
            scope[alias.asname or alias.name] = Unknown(f"{statement.module or ''}.{alias.name}".strip("."))

    def _pass(self, _statement: ast.stmt, _scope: Scope) -> None:
        """Nothing: what only checks, or says where names are."""

    _assert = _global = _nonlocal = _pass

    def _all(self, body: list[ast.stmt], scope: Scope) -> None:
        for statement in body:
            self._follow(statement, scope)

    def _give(self, target: ast.expr, found: Any, scope: Scope) -> None:
        if isinstance(target, ast.Subscript):
            owner = self._expressions.value(target.value, scope)
            if not isinstance(owner, (dict, list)):
                raise Unreadable("[...] of what is not known here")
            owner[scalar(self._expressions.value(target.slice, scope))] = found
            bounded(owner)
        else:
            assign(target, found, scope)

    def _function(self, function: Function, given: list[Any], named: dict[str, Any]) -> Any:
        wanted = function.node.args
        names = [each.arg for each in (*wanted.posonlyargs, *wanted.args)]
        defaults = [self._expressions.value(each, self._names) for each in wanted.defaults]
        scope: Scope = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
        scope |= dict(zip(names, given, strict=False)) | named
        if self._depth >= _DEEPEST or not set(names) <= set(scope) or len(given) > len(names):
            raise Unreadable(f"the call of {function.node.name} is not read")
        self._depth += 1
        try:
            self._all(function.node.body, scope)
        except _Returned as returned:
            return returned.value
        finally:
            self._depth -= 1
        return None

    def _base(self, statement: ast.stmt) -> None:
        """Take names from a configuration that this one is based on."""
        if not isinstance(statement, ast.ImportFrom):
            return
        path = next(filter(Path.is_file, self._places(statement)), None)
        told = "." * statement.level + (statement.module or "")
        if path is not None and path not in self._bases and len(self._bases) < _MOST_BASES:
            self._bases[path] = None
            base = _Reader(path, self._budget, self._bases, self._depth + 1).read()
            self._bases[path] = base
            self._unread += base.unread
        found = self._bases.get(path) if path is not None else None
        if found is None:
            for alias in statement.names:
                self._names[alias.asname or alias.name] = Unknown(f"{told}.{alias.name}")
            self._unread.append(
                f"{self._path.name} line {statement.lineno}: {told} is not beside it; give that file, or this one in"
                " its own folders"
            )
            return
        self._expressions.calls += found.calls
        for alias in statement.names:
            if alias.name == "*":
                self._names |= found.values
            else:
                self._names[alias.asname or alias.name] = found.values.get(alias.name, Unknown(f"{told}.{alias.name}"))

    def _places(self, statement: ast.ImportFrom) -> Iterator[Path]:
        here, parts = self._path.resolve(), (statement.module or "").split(".")
        parents = here.parents
        starts = list(parents) if not statement.level else parents[statement.level - 1 : statement.level]
        for start in starts:
            yield start.joinpath(*parts).with_suffix(".py")


def _loaded(target: ast.expr) -> ast.expr:
    """The same place, to be read."""
    return ast.parse(ast.unparse(target), mode="eval").body


def _assigned(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
