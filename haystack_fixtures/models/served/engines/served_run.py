"""`--serve`: which model is served, under which name, counted by which tokenizer, and what of it decides answers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib import metadata
from pathlib import Path

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.models.local.smollm2 import installed_gguf
from needlework.haystack_fixtures.models.served.engines.command import command, parse_args, shown_command
from needlework.haystack_fixtures.models.served.engines.recipe import Recipe, find_recipe
from needlework.haystack_fixtures.settings.settings import Settings

_EMBEDDED = "smollm2"
_ADDRESS = "NEEDLEWORK_BASE_URL"
_WANTED = {
    "gguf": "give a GGUF file, --model FILE.gguf",
    "folder": "give --model FOLDER, or a name of the hub",
    "any": "give --model FOLDER, FILE.gguf, or a name of the hub",
}


@dataclass(frozen=True, slots=True)
class ServedRun:
    """What `--serve` starts. `model`: what the engine is given; `name`: what requests call it; `weights`: the spec
    whose weights are hashed for the resume key, empty where they are the engine's own business (a hub's name).
    """

    recipe: Recipe
    args: Mapping[str, str | None]
    model: str
    name: str
    tokenizer: str | None
    weights: str

    def words(self, port: int | str) -> tuple[str, ...]:
        """The command line. Raises `InputError`."""
        return command(self.recipe, self.args, model=self.model, name=self.name, port=port)

    @property
    def facts(self) -> dict[str, str]:
        """What a manifest tells of it: the engine, its version where it is a package of ours, and the whole command."""
        version = f" {metadata.version(self.recipe.needs)}" if self.recipe.needs else ""
        return {"server": f"--serve {self.recipe.name}{version}", "command": shown_command(self.words("{port}"))}

    @property
    def identity(self) -> str:
        """All of it that can change answers, whatever the port: the engine, its command, and its options."""
        # As the recipe has it: where Python lies, and which port was free, differs between machines.
        words = (*self.recipe.command, *self.words(0)[len(self.recipe.command) :])
        said = [f"{key}={value}" if value is not None else key for key, value in sorted(self.args.items())]
        return " ".join([self.recipe.name, *said, sha256(repr(words).encode()).hexdigest()[:8]])


def served_run(settings: Settings) -> ServedRun | None:
    """What these settings serve; `None` without `--serve`. Raises `InputError`."""
    if settings.serve is None:
        if settings.serve_arg:
            raise InputError(
                "--serve-arg", settings.serve_arg[0].partition("=")[0], "there is no --serve that takes it"
            )
        return None
    if settings.base_url not in (None, os.environ.get(_ADDRESS)):  # that of the environment is for other runs
        raise InputError("--serve", settings.serve, "it is reached where it starts: leave out --base-url")
    if settings.batch_out or settings.batch_in:
        raise InputError("--serve", settings.serve, "batch files ask no server: leave it out, or --batch-out")
    if len(settings.model) > 1:
        remedy = "--serve starts one server, for one --model; needlework matrix runs several"
        raise InputError("--model", ", ".join(settings.model), remedy)
    recipe, args = find_recipe(settings.serve), parse_args(settings.serve_arg)
    model, tokenizer, weights = _model(recipe, settings.model[0])
    name = recipe.served_name or args.get("name") or _name(model)
    if settings.model[0] == _EMBEDDED:
        name = args.get("name") or _EMBEDDED
    found = ServedRun(recipe, args, model, name, tokenizer, weights)
    found.words(0)
    return found


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
    if kind in ("openai", "mock"):
        raise InputError("--model", spec, f"--serve {recipe.name} wants what it is to serve: {_WANTED[recipe.serves]}")
    if spec == _EMBEDDED and recipe.serves != "folder":
        return str(installed_gguf()), _EMBEDDED, _EMBEDDED
    name = rest if kind in ("hf", "gguf") and rest else spec
    path = Path(name).expanduser()
    is_gguf = path.suffix.lower() == ".gguf"
    if is_gguf and path.is_file() and recipe.serves != "folder":
        return str(path.resolve()), f"gguf:{path}", f"gguf:{path}"
    if path.is_dir() and recipe.serves != "gguf":
        return str(path.resolve()), str(path), f"hf:{path}"
    of_hub = not (spec == _EMBEDDED or is_gguf or name.startswith((".", "/", "~")) or name.count("/") > 1)
    if of_hub and recipe.serves != "gguf":
        return name, f"hf:{name}", ""
    there = "is none" if path.exists() or spec == _EMBEDDED else "is not there"
    raise InputError("--model", spec, f"{there}: for --serve {recipe.name} {_WANTED[recipe.serves]}")


def _name(model: str) -> str:
    """The last part of a path or of a hub's name, without the ending of a GGUF file."""
    name = model.rstrip("/").rpartition("/")[2]
    return name[: -len(".gguf")] if name.lower().endswith(".gguf") else name
