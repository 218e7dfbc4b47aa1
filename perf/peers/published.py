"""Other systems' own code, loaded from their installed packages without what they need to run whole.

`pip install --no-deps evalscope==1.14.1 opencompass==0.5.4` (needlehaystack is there already). Only the file that does
the work is executed; everything that it imports from its own package is replaced by stand-ins that do nothing, which
makes the others faster if anything.
"""

import importlib.util
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


class Nothing:
    """Anything that a module imports and does not need here: a decorator, a value, an annotation."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return args[0] if args and not kwargs else self  # a decorator gives back what it decorates

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing()


class _StandIn(ModuleType):
    __path__: list[str] = []  # noqa: RUF012 - a package, so that its modules can be imported

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing()


def published(package: str, file: str, stubs: Mapping[str, Mapping[str, Any]]) -> ModuleType:
    """Execute one file of an installed package. `given`: its imports by module, with what matters of them.

    Skips the test where the package is not installed.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        pytest.skip(f"{package} is not installed (pip install --no-deps {package})")
    path = Path(spec.submodule_search_locations[0]) / file
    modules: dict[str, ModuleType] = {}
    for name, content in stubs.items():
        parts = name.split(".")
        for length in range(1, len(parts) + 1):
            modules.setdefault(".".join(parts[:length]), _StandIn(".".join(parts[:length])))
        vars(modules[name]).update(content)
    before = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    try:
        module_spec = importlib.util.spec_from_file_location(f"{package}.{path.stem}", path)
        assert module_spec is not None
        assert module_spec.loader is not None
        module = importlib.util.module_from_spec(module_spec)
        module_spec.loader.exec_module(module)
    finally:
        for name, module_before in before.items():
            if module_before is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module_before
    return module


def label(package: str) -> str:
    """Name and version for the table."""
    return f"{package} {version(package)}"
