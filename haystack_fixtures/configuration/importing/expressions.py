"""The values of a Python file's expressions, found without running it: literals, names, and what is made of them."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator
from typing import Any

from needlework.haystack_fixtures.configuration.importing.calls import BUILT_IN, MATH, method
from needlework.haystack_fixtures.configuration.importing.known import (
    MOST_ITEMS,
    MOST_STEPS,
    Endless,
    Function,
    Unknown,
    Unreadable,
    bounded,
    items_of,
    scalar,
)

Scope = dict[str, Any]
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
}
_FORMAT = re.compile(r"[<>^]?[+ ]?0?\d{0,2},?(\.\d)?[dfgs%]?")
CallOf = Callable[[Function, list[Any], dict[str, Any]], Any]


class Budget:
    """The steps that a file and those it imports may take together."""

    def __init__(self) -> None:
        self._left = MOST_STEPS

    def step(self) -> None:
        """Take one. Raises `Endless` where none is left."""
        self._left -= 1
        if self._left < 0:
            raise Endless


class Expressions:
    """Finds values. `calls`: every call of what is not known here, in order. `call`: calls the file's own functions."""

    def __init__(self, budget: Budget, names: Scope, call: CallOf) -> None:
        self._budget = budget
        self._names = names
        self._own = call
        self.calls: list[Unknown] = []

    def value(self, node: ast.expr, scope: Scope) -> Any:
        """The value of an expression. Raises `Unreadable` with what is not read in it."""
        self._budget.step()
        read = getattr(self, f"_{type(node).__name__.lower()}", None)
        if read is None:
            raise Unreadable(f"{type(node).__name__} is not read")
        return read(node, scope)

    def _constant(self, node: ast.Constant, _scope: Scope) -> Any:
        return bounded(scalar(node.value))

    def _name(self, node: ast.Name, scope: Scope) -> Any:
        for names in (scope, self._names):
            if node.id in names:
                return names[node.id]
        if node.id in BUILT_IN or node.id in ("globals", "locals"):
            return Unknown(node.id)
        raise Unreadable(f"{node.id} is not known here")

    def _list(self, node: ast.List | ast.Tuple | ast.Set, scope: Scope) -> list[Any]:
        found: list[Any] = []
        for part in node.elts:
            found += (
                items_of(self.value(part.value, scope)) if isinstance(part, ast.Starred) else [self.value(part, scope)]
            )
        return list(bounded(found))

    def _tuple(self, node: ast.Tuple, scope: Scope) -> tuple[Any, ...]:
        return tuple(self._list(node, scope))

    def _set(self, node: ast.Set, scope: Scope) -> set[Any]:
        return {scalar(part) for part in self._list(node, scope)}

    def _dict(self, node: ast.Dict, scope: Scope) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            read = self.value(value, scope)
            if key is None:
                if not isinstance(read, dict):
                    raise Unreadable("** of what is no dict")
                found |= read
            else:
                found[scalar(self.value(key, scope))] = read
        return dict(bounded(found))

    def _joinedstr(self, node: ast.JoinedStr, scope: Scope) -> str:
        return str(bounded("".join(str(scalar(self.value(part, scope))) for part in node.values)))

    def _formattedvalue(self, node: ast.FormattedValue, scope: Scope) -> str:
        told = self.value(node.format_spec, scope) if node.format_spec else ""
        if not _FORMAT.fullmatch(told):
            raise Unreadable(f"the format {told!r} is not read")
        read = scalar(self.value(node.value, scope))
        return format(repr(read) if node.conversion == ord("r") else read, told)

    def _binop(self, node: ast.BinOp, scope: Scope) -> Any:
        left, right = self.value(node.left, scope), self.value(node.right, scope)
        if isinstance(node.op, ast.Add) and isinstance(left, list) and isinstance(right, list):
            return bounded(left + right)
        if isinstance(left, dict) and isinstance(right, dict) and isinstance(node.op, ast.BitOr):
            return left | right
        if isinstance(node.op, ast.Mult):
            for part, times in ((left, right), (right, left)):
                if isinstance(part, (str, list, tuple)):
                    if not isinstance(times, int) or times * max(1, len(part)) > MOST_ITEMS:
                        raise Unreadable("a value too long for a configuration")
                    return part * times
        found = _BINARY.get(type(node.op))
        if found is None or (isinstance(left, str) and not isinstance(node.op, ast.Add)):
            raise Unreadable(f"the operator {type(node.op).__name__} is not read")
        if isinstance(node.op, ast.Pow) and not (abs(scalar(left)) <= 10_000 and abs(scalar(right)) <= 32):
            raise Unreadable("a number too large for a configuration")
        return bounded(found(scalar(left), scalar(right)))

    def _unaryop(self, node: ast.UnaryOp, scope: Scope) -> Any:
        read = self.value(node.operand, scope)
        if type(node.op) not in _UNARY:
            raise Unreadable("~ is not read")
        return not read if isinstance(node.op, ast.Not) else _UNARY[type(node.op)](scalar(read))

    def _boolop(self, node: ast.BoolOp, scope: Scope) -> Any:
        wanted = isinstance(node.op, ast.Or)
        found: Any = None
        for part in node.values:
            found = self.value(part, scope)
            if isinstance(found, Unknown):
                raise Unreadable(f"{found.name} is not known here")
            if bool(found) is wanted:
                break
        return found

    def _compare(self, node: ast.Compare, scope: Scope) -> bool:
        left = self.value(node.left, scope)
        for compared, following in zip(node.ops, node.comparators, strict=True):
            right = self.value(following, scope)
            if isinstance(compared, (ast.In, ast.NotIn)):
                inside = right if isinstance(right, str) else [part for part in items_of(right) if _plain(part)]
                holds = (scalar(left) in inside) is isinstance(compared, ast.In)
            else:
                holds = _COMPARED[type(compared)](scalar(left), scalar(right))
            if not holds:
                return False
            left = right
        return True

    def _ifexp(self, node: ast.IfExp, scope: Scope) -> Any:
        return self.value(node.body if self.truth(node.test, scope) else node.orelse, scope)

    def truth(self, node: ast.expr, scope: Scope) -> bool:
        """Whether a condition holds."""
        found = self.value(node, scope)
        if isinstance(found, Unknown):
            raise Unreadable(f"{found.name} is not known here")
        return bool(found)

    def _subscript(self, node: ast.Subscript, scope: Scope) -> Any:
        owner = self.value(node.value, scope)
        if isinstance(owner, Unknown):
            return Unknown(f"{owner.name}[...]")
        if not isinstance(owner, (list, tuple, dict, str, range)):
            raise Unreadable("[...] of what has no parts")
        if isinstance(node.slice, ast.Slice):
            ends = (None if end is None else scalar(self.value(end, scope))
                    for end in (node.slice.lower, node.slice.upper, node.slice.step))  # fmt: skip
            return owner[slice(*ends)]
        return owner[scalar(self.value(node.slice, scope))]

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Any:
        owner = self.value(node.value, scope)
        if isinstance(owner, Unknown):
            return math.pi if f"{owner.name}.{node.attr}" == "math.pi" else Unknown(f"{owner.name}.{node.attr}")
        raise Unreadable(f".{node.attr} is not read")

    def _given(self, node: ast.Call, scope: Scope) -> tuple[list[Any], dict[str, Any]]:
        given: list[Any] = []
        named: dict[str, Any] = {}
        for part in node.args:
            given += (
                items_of(self.value(part.value, scope)) if isinstance(part, ast.Starred) else [self.value(part, scope)]
            )
        for each in node.keywords:
            read = self.value(each.value, scope)
            if each.arg is None and not isinstance(read, dict):
                raise Unreadable("** of what is no dict")
            named |= {str(key): value for key, value in read.items()} if each.arg is None else {each.arg: read}
        return given, named

    def _call(self, node: ast.Call, scope: Scope) -> Any:
        if isinstance(node.func, ast.Attribute):
            owner = self.value(node.func.value, scope)
            if not isinstance(owner, (Unknown, Function)):
                return method(owner, node.func.attr, self._given(node, scope)[0])
        called = self.value(node.func, scope)
        given, named = self._given(node, scope)
        if isinstance(called, Function):
            return self._own(called, given, named)
        if not isinstance(called, Unknown):
            raise Unreadable("a call of what is no function")
        if called.name in ("globals", "locals"):
            return self._names if called.name == "globals" else scope
        if found := BUILT_IN.get(called.name) or MATH.get(called.name):
            return bounded(found(*given, **named))
        made = Unknown(called.name, named)
        self.calls.append(made)
        return made

    def _listcomp(self, node: ast.ListComp | ast.GeneratorExp, scope: Scope) -> list[Any]:
        return list(bounded([self.value(node.elt, inner) for inner in self._loops(node.generators, scope)]))

    _generatorexp = _listcomp

    def _setcomp(self, node: ast.SetComp, scope: Scope) -> set[Any]:
        return {scalar(self.value(node.elt, inner)) for inner in self._loops(node.generators, scope)}

    def _dictcomp(self, node: ast.DictComp, scope: Scope) -> dict[Any, Any]:
        return {
            scalar(self.value(node.key, inner)): self.value(node.value, inner)
            for inner in self._loops(node.generators, scope)
        }

    def _loops(self, loops: list[ast.comprehension], scope: Scope) -> Iterator[Scope]:
        if not loops:
            yield scope
            return
        for item in items_of(self.value(loops[0].iter, scope)):
            self._budget.step()
            inner = dict(scope)
            assign(loops[0].target, item, inner)
            if all(self.truth(condition, inner) for condition in loops[0].ifs):
                yield from self._loops(loops[1:], inner)


def assign(target: ast.expr, value: Any, scope: Scope) -> None:
    """Give names their values."""
    if isinstance(target, ast.Name):
        scope[target.id] = value
    elif isinstance(target, (ast.Tuple, ast.List)):
        parts = items_of(value)
        if len(parts) != len(target.elts):
            raise Unreadable("not as many values as names")
        for each, part in zip(target.elts, parts, strict=True):
            assign(each, part, scope)
    else:
        raise Unreadable("an assignment that is not read")


def _plain(value: Any) -> bool:
    return isinstance(value, (str, int, float, bool)) or value is None
