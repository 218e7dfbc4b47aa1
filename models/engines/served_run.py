"""What `--serve` starts: from the settings of a run to a model, its name and the engine's command line."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from needlework.core.errors import InputError
from needlework.core.files import default_cache_dir
from needlework.core.settings import Settings
from needlework.models.engines.recipes import Recipe, command, find_recipe, parse_args, shown_command
from needlework.models.specs import installed_gguf, prepare

_EMBEDDED = "smollm2"
_ADDRESS = "NEEDLEWORK_BASE_URL"
_PENALTIES = ("repetition_penalty", "presence_penalty", "frequency_penalty", "no_repeat_ngram_size")
_REMEDY_FOR = {
    "gguf": "give a GGUF file, --model FILE.gguf",
    "folder": "give --model FOLDER, or a name of the hub",
    "any": "give --model FOLDER, FILE.gguf, or a name of the hub",
}


@dataclass(frozen=True, slots=True)
class ServedRun:
    """What `--serve` starts."""

    recipe: Recipe
    args: Mapping[str, str | None]
    model: str
    """What the engine is given."""
    name: str
    """What requests call it."""
    tokenizer: str | None
    weights: str
    """The spec whose weights are hashed for the resume key; empty for a name of the hub, which the engine fetches."""

    def words(self, port: int | str) -> tuple[str, ...]:
        """The command line. Raises `InputError`."""
        return command(self.recipe, self.args, model=self.model, name=self.name, port=port)

    @property
    def facts(self) -> dict[str, str]:
        """What a manifest tells of it: the engine, its version where it is a package of ours, and the whole command."""
        version = f" {metadata.version(self.recipe.needs)}" if self.recipe.needs else ""
        facts = {"server": f"--serve {self.recipe.engine}{version}", "command": shown_command(self.words("{port}"))}
        return facts | self._checkpoint_facts

    @property
    def notes(self) -> list[str]:
        """What the user is told before the run: the checkpoint's own settings may change what greedy decoding gives."""
        settings = self._checkpoint_facts.get("checkpoint's generation_config")
        engine = self.recipe.engine
        note = f"{self.name}: its generation_config.json has {settings}; {engine} may apply that to every answer"
        return [note] if settings else []

    @property
    def _checkpoint_facts(self) -> dict[str, str]:
        """What a served folder says that changes answers and that no request has: penalties, and its numbers."""
        config = _json_table(Path(self.model) / "config.json")
        generation = _json_table(Path(self.model) / "generation_config.json")
        penalties = [f"{name}={generation[name]}" for name in _PENALTIES if generation.get(name) not in (None, 0, 1)]
        facts = {
            "checkpoint's dtype": str(config.get("dtype") or config.get("torch_dtype") or ""),
            "checkpoint's generation_config": ", ".join(penalties),
        }
        return {name: value for name, value in facts.items() if value}

    @property
    def identity(self) -> str:
        """All of it that can change answers, whatever the port: the engine, its command, and its options."""
        # As the recipe has it: where Python lies, and which port was free, differs between machines.
        recipe = replace(self.recipe, reports=())
        words = command(recipe, self.args, model=self.model, name=self.name, port=0)
        words = (*recipe.command, *words[len(recipe.command) :])
        args = [f"{key}={value}" if value is not None else key for key, value in sorted(self.args.items())]
        return " ".join([recipe.engine, *args, sha256(repr(words).encode()).hexdigest()[:8]])


def served_run(settings: Settings) -> ServedRun | None:
    """What these settings serve; `None` without `--serve`. Raises `InputError`."""
    if settings.serve is None:
        if settings.serve_arg:
            name = settings.serve_arg[0].partition("=")[0]
            raise InputError("--serve-arg", name, "there is no --serve that takes it")
        return None
    if settings.base_url not in (None, os.environ.get(_ADDRESS)):  # that of the environment is for other runs
        raise InputError("--serve", settings.serve, "it is reached where it starts: leave out --base-url")
    if settings.batch_out or settings.batch_in:
        raise InputError("--serve", settings.serve, "batch files ask no server: leave it out, or --batch-out")
    if len(settings.model) > 1:
        remedy = "--serve starts one server, for one --model; needlework matrix runs several"
        raise InputError("--model", ", ".join(settings.model), remedy)
    recipe, args = find_recipe(settings.serve), parse_args(settings.serve_arg)
    spec = settings.model[0]
    model, tokenizer, weights = _model(recipe, spec)
    # The last part of a path or of a hub's name, without the ending of a GGUF file.
    name = model.rstrip("/").rpartition("/")[2]
    name = name[: -len(".gguf")] if name.lower().endswith(".gguf") else name
    if spec == _EMBEDDED:
        name = _EMBEDDED
    served = ServedRun(recipe, args, model, recipe.served_name or args.get("name") or name, tokenizer, weights)
    served.words(0)
    return served


def with_server(settings: Settings, served: ServedRun) -> Settings:
    """The settings of a run that asks this server: the model is one behind a server, whose address is not known yet."""
    return replace(
        settings,
        model=(f"openai:{served.name}",),
        base_url=None,
        tokenizer=settings.tokenizer or served.tokenizer,
        server_id=settings.server_id or served.identity,
    )


def _model(recipe: Recipe, spec: str) -> tuple[str, str | None, str]:
    """What the engine is given, the tokenizer's spec where it is known, and the spec whose weights are known."""
    kind, _, rest = spec.partition(":")
    if not any("{model}" in word for word in recipe.command):  # it knows its model
        return (_EMBEDDED, _EMBEDDED, "") if spec == _EMBEDDED else (rest or spec, None, "")
    remedy = f"for --serve {recipe.engine} {_REMEDY_FOR[recipe.serves]}"
    if kind in ("openai", "mock"):
        raise InputError("--model", spec, f"is no model that can be served: {remedy}")
    if spec == _EMBEDDED:
        path = prepare(default_cache_dir()) if recipe.serves == "folder" else installed_gguf()
        return str(path), _EMBEDDED, _EMBEDDED
    name = rest if kind in ("hf", "gguf") and rest else spec
    path = Path(name).expanduser()
    is_gguf = path.suffix.lower() == ".gguf"
    if is_gguf and path.is_file() and recipe.serves != "folder":
        return str(path.resolve()), f"gguf:{path}", f"gguf:{path}"
    if path.is_dir() and recipe.serves != "gguf":
        return str(path.resolve()), str(path), f"hf:{path}"
    of_hub = not (is_gguf or name.startswith((".", "/", "~")) or name.count("/") > 1)
    if of_hub and recipe.serves != "gguf":
        return name, f"hf:{name}", ""
    raise InputError("--model", spec, f"{'is none' if path.exists() else 'is not there'}: {remedy}")


def _json_table(path: Path) -> dict[str, Any]:
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return table if isinstance(table, dict) else {}
