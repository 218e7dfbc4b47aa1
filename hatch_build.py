"""What a wheel holds: the folders of the checkout, as packages inside `needlework`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

RENAMED = {"needlework.py": "__init__.py"}
OF_THE_CHECKOUT = {"hatch_build.py", "conftest.py"}
PACKAGES = ("haystack_fixtures", "scoring", "results", "benchmarks", "launching")
LEFT_OUT = {"__pycache__", "runs"}  # `results/runs` holds what somebody's runs wrote


class InsidePackage(BuildHookInterface[Any]):
    """Put every module and data file under `needlework/`. An editable install needs none: its path entry is enough."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        root = Path(self.root)
        modules = [path for path in sorted(root.glob("*.py")) if path.name not in OF_THE_CHECKOUT]
        placed = {
            str(path): f"needlework/{RENAMED.get(path.name, path.name)}" for path in [*modules, root / "py.typed"]
        }
        for file in sorted(file for package in PACKAGES for file in (root / package).rglob("*")):
            if file.is_file() and not LEFT_OUT & set(file.relative_to(root).parts):
                placed[str(file)] = f"needlework/{file.relative_to(root).as_posix()}"
        build_data["force_include"].update(placed)
