"""Settings of a run and its suites, and where a stored run may name files."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeVar

from needlework.core.errors import InputError
from needlework.core.options import Parsed

LengthMeans = Literal["total", "context"]


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


@dataclass(frozen=True, slots=True)
class Suite:
    """What is asked: one task with its grid, text, needles and prompt.

    Lengths and budgets are in tokens, depths in percent.
    `length_buffer`: tokens of each length that stay unused beside prompt and answer. `diff`, `keyword`: override the
    needle set's. `tokenizer_model`: counts tokens in place of the model's own tokenizer. `scorer`: `None`: the task's.
    `answer_prefix`: the prompt ends with the beginning of the answer, where the task has one. `family`: values of
    options that one family alone has, read with `family_options`. `spread`: each sample is asked at one of the depths.
    `repeats_per_file`: so many trials on each file of `file_list`, one file a haystack; 0: haystacks are of all files.
    `window`: one of the lengths is the model's window; until that is known, it is none of `lengths`.
    `length_means`: `total`: a length is that of prompt and answer; `context`: of the haystack with its needles alone.
    `judge_by_default`: as published, a judge scores where the run has one.
    """

    task: str
    lengths: tuple[int, ...]
    depths: tuple[float, ...]
    language: str
    needle_set: str
    corpus: str
    text_field: str
    file_list: tuple[str, ...]
    repeats: int
    scorer: str | None
    prompt: str
    template: Literal["chat", "raw"]
    system_prompt: str | None
    question_position: Literal["start", "end", "both"]
    answer_budget: int
    thinking_budget: int
    length_buffer: int
    guide: bool
    diff: float | None
    keyword: str | None
    tokenizer_model: str | None
    controls: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    answer_prefix: bool = False
    family: FamilyValues = field(default=FamilyValues())
    spread: bool = False
    repeats_per_file: int = 0
    window: bool = False
    judge_by_default: bool = False
    length_means: LengthMeans = "total"

    @property
    def answer_tokens(self) -> int:
        """The most tokens that a model may say."""
        return self.answer_budget + self.thinking_budget

    @property
    def kept_free(self) -> int:
        """Tokens of a length that are left free: of the prompt's, or of the context's where a length means that."""
        return self.length_buffer + (self.answer_tokens if self.length_means == "total" else 0)


@dataclass(frozen=True, slots=True)
class Settings:
    """A run's settings. Times in seconds, `max_errors` in percent.

    `server_id`: what stands for the server in keys, in place of its address.
    """

    preset: str
    suites: tuple[Suite, ...]
    model: tuple[str, ...]
    model_arg: tuple[str, ...] = field(repr=False)  # headers and addresses may be secret
    tokenizer: str | None
    base_url: str | None = field(repr=False)
    api_key_env: str
    judge: tuple[str, ...]
    judge_base_url: tuple[str, ...] = field(repr=False)
    seed: int
    canary: bool
    strict_model: bool
    too_long_pattern: str | None
    verify_prompts: bool
    concurrency: int
    cache_policy: Literal["shared", "isolated"]
    stability: int
    timeout: float
    retries: int
    results_dir: Path
    run_name: str | None
    fresh: bool
    plan: bool
    power: str | None
    save_prompts: bool
    heatmap_colors: Literal["safe", "field"]
    heatmap_numbers: bool
    max_errors: float
    gate: tuple[str, ...]
    baseline: str | None
    top_up: int
    limit: float | None = None
    price: tuple[str, ...] | None = None
    gpus_per_worker: int = 1
    gpu_memory: float | None = None
    tokens_per_s: float | None = None
    relative_to: str | None = None
    allow_different_dtypes: bool = False
    adaptive: Literal["quick", "normal", "careful"] | None = None
    adaptive_bar: tuple[str, ...] = ("85.6",)
    adaptive_tokens: int | None = None
    censored_is_wrong: bool = False
    shard: str | None = None
    batch_out: str | None = None
    batch_in: tuple[str, ...] = ()
    batch_limits: tuple[str, ...] = ("50000", "200")
    serve: str | None = field(default=None, repr=False)  # a command of the user's own may hold a key
    serve_arg: tuple[str, ...] = ()
    server_id: str | None = None
    judge_strategy: Literal["auto", "rule", "llm", "llm_recall"] = "auto"
    judge_prompt: str | None = None
    judge_prompt_sha256: str | None = None

    @property
    def server(self) -> str | None:
        """What stands for the server in keys and recipes: the name that its user gave it, else its address."""
        return self.server_id or self.base_url


Kind = TypeVar("Kind")


def family_options(suite: Suite, kind: type[Kind]) -> Kind:
    """A family's options as its dataclass, whose fields are option keys; an option without a value has its default."""
    names: Any = fields(kind)  # type: ignore[arg-type]
    values: Any = {field.name: suite.family[field.name] for field in names if field.name in suite.family}
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
