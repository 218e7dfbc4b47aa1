"""Settings of a run and its suites, and where a stored run may name files."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from msgspec import Meta, Struct

from needlework.core.errors import InputError
from needlework.core.options import Parsed

LengthMeans = Literal["total", "context"]
# Checked where settings are read from a file. A grid has at least one length and one depth.
Count = Annotated[int, Meta(ge=0, lt=10**12)]
Amount = Annotated[float, Meta(ge=0, lt=1e12)]


class FamilyValues(Mapping[str, Parsed]):
    """Values by option key. Never changes, and may be hashed. Values are not shown: an address may have a secret."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Parsed] | None = None) -> None:
        self._values = dict(sorted((values or {}).items()))

    def __getitem__(self, key: str) -> Parsed:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(tuple(self._values.items()))

    def __repr__(self) -> str:
        return f"FamilyValues({', '.join(self)})"


class Suite(Struct, frozen=True, kw_only=True):
    """What is asked: one task with its grid, text, needles and prompt.

    A field that is no option of the same name says what it is. Lengths and budgets are in tokens, depths in percent.
    """

    task: str
    lengths: Annotated[tuple[Count, ...], Meta(min_length=1)]
    depths: Annotated[tuple[Amount, ...], Meta(min_length=1)]
    language: str
    needle_set: str  # a name, a file, or needles of the command line as text
    corpus: str
    text_field: str
    file_list: tuple[str, ...]
    repeats: Annotated[int, Meta(ge=1, lt=10**12)]
    scorer: str | None  # `None`: the task's
    prompt: str
    template: Literal["chat", "raw"]
    system_prompt: str | None
    question_position: Literal["start", "end", "both"]
    answer_budget: Count
    thinking_budget: Count
    length_buffer: Count  # tokens of each length that stay unused beside prompt and answer
    guide: bool
    diff: Amount | None  # overrides the needle set's
    keyword: str | None  # key of a preset: overrides the needle set's
    tokenizer_model: str | None  # key of a preset: counts tokens in place of the model's own tokenizer
    controls: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()  # key of a preset: those of the task's variants that are asked
    answer_prefix: bool = False  # the prompt ends with the beginning of the answer, where the task has one
    family: FamilyValues = FamilyValues()  # options of one family of tasks, read with `family_options`
    spread: bool = False  # of --depths: each sample is asked at one of the depths
    repeats_per_file: Count = 0  # trials on each file of `file_list`, one file a haystack; 0: haystacks are of all
    window: bool = False  # of --lengths: one is the model's window; until that is known, it is none of `lengths`
    judge_by_default: bool = False  # key of a preset: as published, a judge scores where the run has one
    length_means: LengthMeans = "total"  # prompt and answer, or `context`: the haystack with its needles alone

    @property
    def answer_tokens(self) -> int:
        """The most tokens that a model may answer with."""
        return self.answer_budget + self.thinking_budget

    @property
    def kept_free(self) -> int:
        """Tokens of a length that are left free: of the prompt's, or of the context's where a length means that."""
        return self.length_buffer + (self.answer_tokens if self.length_means == "total" else 0)


class Settings(Struct, frozen=True, kw_only=True):
    """A run's settings: each field is the option of its name, but for those that say what they are.

    Times in seconds, `max_errors` in percent. What may be secret (headers, addresses, a command) is not shown.
    """

    preset: str
    suites: Annotated[tuple[Suite, ...], Meta(min_length=1)]  # of the preset, as the other options change them
    model: tuple[str, ...]
    model_arg: tuple[str, ...]
    tokenizer: str | None
    base_url: str | None
    api_key_env: str
    judge: tuple[str, ...]
    judge_base_url: tuple[str, ...]
    seed: Count
    canary: bool
    strict_model: bool
    too_long_pattern: str | None
    verify_prompts: bool
    concurrency: Count
    cache_policy: Literal["shared", "isolated"]
    stability: Count
    timeout: Amount
    retries: Count
    results_dir: Path
    run_name: str | None
    fresh: bool
    plan: bool
    power: str | None
    save_prompts: bool
    heatmap_colors: Literal["viridis", "red-yellow-green", "safe", "field"]
    heatmap_numbers: bool
    max_errors: Amount
    gate: tuple[str, ...]
    baseline: str | None
    top_up: Count
    limit: Amount | None = None
    price: tuple[str, ...] | None = None
    gpus_per_worker: Count = 1
    gpu_memory: Amount | None = None
    tokens_per_s: Amount | None = None
    relative_to: str | None = None
    allow_different_dtypes: bool = False
    adaptive: Literal["quick", "normal", "careful"] | None = None
    adaptive_bar: tuple[str, ...] = ("85.6",)
    adaptive_tokens: Count | None = None
    censored_is_wrong: bool = False
    shard: str | None = None
    batch_out: str | None = None
    batch_in: tuple[str, ...] = ()
    batch_limits: tuple[str, ...] = ("50000", "200")
    serve: str | None = None
    serve_arg: tuple[str, ...] = ()
    server_id: str | None = None  # stands for the server in keys, in place of its address
    judge_strategy: Literal["auto", "rule", "llm", "llm_recall"] = "auto"
    judge_prompt: str | None = None
    judge_prompt_sha256: str | None = None  # of the file that --judge-prompt names

    @property
    def server(self) -> str | None:
        """What stands for the server in keys and recipes: the name that its user gave it, else its address."""
        return self.server_id or self.base_url

    def __repr__(self) -> str:
        shown = (name for name in self.__struct_fields__ if name not in _SECRET)
        return f"Settings({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


_SECRET = ("model_arg", "base_url", "judge_base_url", "serve")
Kind = TypeVar("Kind", bound=Struct)


def family_options(suite: Suite, kind: type[Kind]) -> Kind:
    """A family's options as its Struct, whose fields are option keys; an option without a value has its default."""
    values: Any = {name: suite.family[name] for name in kind.__struct_fields__ if name in suite.family}
    return kind(**values)


READ = "--read"
READ_HELP = "a file or folder outside the run that its options may name, such as that of --documents; may be repeated"
_PATTERN = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Places:
    """Where files may be read: the folder of the run, and what the user `named` on this command line, as written.

    `start`: the folder that the run was started in; relative paths of its options begin there.
    """

    run: Path
    start: Path | None = None
    named: tuple[str, ...] = ()

    def path(self, option: str, path: str) -> Path:
        """The absolute path that an option names. Raises `InputError` where it lies elsewhere."""
        try:
            given = Path(path).expanduser()
            full = (self.start or self.run) / given
            moved = self.run / full.name
            if full.parent.name == self.run.resolve().name and not full.exists() and moved.exists():
                full = moved  # the run's own file, and the folder was copied since
            self._check(option, full)
        except (OSError, ValueError, RuntimeError):  # no name of a file
            raise InputError(option, path, "is no path that can be read") from None
        return full

    def names(self, path: Path) -> bool:
        """Whether the user has named this path, or a folder that it lies in."""
        return any(path.is_relative_to(Path(each).expanduser().resolve()) for each in self.named)

    def _check(self, option: str, full: Path) -> None:
        parts = full.parts
        first = next((at for at, part in enumerate(parts) if _PATTERN.search(part)), len(parts))
        pattern = first < len(parts) and not full.exists()
        real = Path(*parts[:first]).resolve() if pattern else full.resolve()
        if self.names(real) and not (pattern and ".." in parts):
            return
        if not real.is_relative_to(self.run.resolve()) or (pattern and ".." in parts):
            shown = real if not pattern else full
            raise InputError(option, full, f"lies outside the run's folder: if it is yours, give {READ} {shown}")
        check_tree(real, self.run, option)


def check_tree(top: Path, run: Path, option: str = "RUN") -> None:
    """Refuse a link that leads out of a run's folder, and what is no file and no folder. Raises `InputError`."""
    inside = run.resolve()
    for folder, folders, files in os.walk(top, followlinks=False):
        for name in (*folders, *files):
            path = Path(folder, name)
            if path.is_symlink() and not path.resolve().is_relative_to(inside):
                raise InputError(option, path, "is a link that leads out of the run's folder: remove it")
            if not stat.S_ISREG(mode := path.lstat().st_mode) and not stat.S_ISDIR(mode) and not path.is_symlink():
                raise InputError(option, path, "is no file and no folder: remove it")
