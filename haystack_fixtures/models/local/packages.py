"""What computes a model in this process: packages that a base install has not."""

from __future__ import annotations

from importlib.util import find_spec

from needlework.haystack_fixtures.errors import InputError

PACKAGES = ("torch", "transformers", "safetensors", "accelerate", "gguf", "psutil")
INSTALL = "pip install 'needlework[local]'"


def missing_packages() -> list[str]:
    """The packages of the extra `local` that are not installed; none of them is imported."""
    return [name for name in PACKAGES if find_spec(name) is None]


def require_packages(spec: object) -> None:
    """Refuse what a base install cannot do: raises `InputError` with the command that installs the packages."""
    if missing := missing_packages():
        raise InputError("--model", spec, f"needs {', '.join(missing)}: {INSTALL}")
