"""Settings of a run and its suites, all options by key, and where a stored run may name files."""

import os
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, get_args

from msgspec import Meta, Struct

from needlework.core import options
from needlework.core.errors import InputError
from needlework.core.grid import DEPTH_SPACINGS, LENGTH_SPACINGS, parse_tokens
from needlework.core.options import ForEach, Option

# Checked where settings are read from a file. A grid has at least one length and one depth.
Count = Annotated[int, Meta(ge=0, lt=10**12)]
Positive = Annotated[int, Meta(ge=1, lt=10**12)]
Tokens = Annotated[int, Meta(ge=0, lt=10**12), parse_tokens]
Percent = Annotated[float, Meta(ge=0, lt=1e12), options.percent]
Amount = Annotated[float, Meta(ge=0, lt=1e12)]
Texts = Annotated[tuple[str, ...], ForEach(options.text)]
Text = Annotated[str, options.any_text]
Retriever = Literal["none", "bm25", "dense"]


class WrittenOptions(Struct, frozen=True, kw_only=True):
    """Options of a run that decide other fields than those of their names."""

    config: str | None = None
    task: Annotated[tuple[str, ...], options.words] = ()
    resume: bool = True


class WrittenSuite(Struct, frozen=True, kw_only=True):
    """Options of what is asked that decide other fields of `Suite` than those of their names."""

    length_spacing: Annotated[str, options.one_of(*LENGTH_SPACINGS)] = "linear"
    depth_spacing: Annotated[str, options.one_of(*DEPTH_SPACINGS)] = "linear"
    needle: Text | None = None
    needles: Annotated[tuple[str, ...], ForEach(options.any_text)] = ()
    question: Text | None = None
    answer: Text | None = None


class FamilyOptions(Struct, frozen=True, kw_only=True):
    """Options of one family of tasks each; a trial's key has only those that are not the default."""

    # The user's documents.
    documents: Annotated[str, options.path] | None = None  # their folder
    questions: Annotated[str, options.path] | None = None  # the file of questions about them
    vote: Count = 0  # answers over orders of the documents that vote, 0 for none
    # L-Eval.
    leval_data: Annotated[str, options.path] | None = None  # where its files lie
    leval_subset: Literal["scored", "llm", "human", "both"] = "scored"  # the rows that are asked
    leval_truncation: Literal["exact", "compat"] = "exact"  # how documents are cut
    leval_length_hint: bool = True  # whether open questions tell the length of the reference
    no_truncate: bool = False  # whether documents that are too long are skipped
    # Published data sets.
    data: Annotated[str, options.path_or_hub] | None = None  # file, folder or `hf:NAME` of the user's copy
    data_where: Annotated[tuple[str, ...], options.conditions] = ()  # `COLUMN=VALUE|VALUE` that a row has to meet
    data_limit: Count = 0  # rows of each group, 0 for all
    data_cut: Literal["exact", "compat", "none"] = "exact"  # how LongBench v2's documents are cut
    data_window: Tokens = 120_000  # of a whole prompt that is cut by `compat`
    # Documents that can be retrieved. `retriever`: how they are shown, each a series of cells; `none`: as they are.
    retriever: Annotated[tuple[Retriever, ...], options.some_of(*get_args(Retriever))] = ("none",)
    chunk_size: str = "1000"  # characters, as written
    chunk_overlap: str = "200"
    retrieve: Positive = 4  # chunks that are shown
    embedder: str | None = None  # finds chunks by vectors, in this process or behind a server
    embedder_base_url: str | None = None
    embedder_api_key_env: Annotated[str, options.variable] = "OPENAI_API_KEY"


class Suite(FamilyOptions, frozen=True, kw_only=True):
    """One task with its grid, text, needles and prompt.

    A field is the option of its name, where `options.toml` has words for it; others say what they are. Lengths and
    budgets are in tokens, depths in percent.
    """

    task: str
    lengths: Annotated[tuple[Count, ...], Meta(min_length=1), options.text]
    length_means: Literal["total", "context"] = "total"  # prompt and answer, or the haystack with its needles alone
    depths: Annotated[tuple[Amount, ...], Meta(min_length=1), options.text]
    language: Annotated[str, options.words] = "en"
    needle_set: str = "codes"  # a name, a file, or needles of the command line as text
    corpus: str = "default"
    text_field: str = "text"
    file_list: Annotated[tuple[str, ...], options.words] = ()
    repeats: Positive = 1
    controls: Annotated[tuple[str, ...], options.some_of("absent", "focused", "compacted", or_none=True)] = ()
    scorer: str | None = None  # `None`: the task's
    diff: Percent | None = None  # overrides the needle set's
    prompt: str = "plain"
    template: Literal["chat", "raw"] = "chat"
    system_prompt: Text | None = None
    question_position: Literal["start", "end", "both"] = "end"
    answer_budget: Annotated[int, Meta(ge=0, lt=10**12), options.some_tokens] = 64
    thinking_budget: Tokens = 0
    length_buffer: Tokens = 0  # tokens of each length that stay unused beside prompt and answer
    guide: bool = False
    answer_prefix: bool = False  # the prompt ends with the beginning of the answer, where the task has one
    keyword: str | None = None  # key of a preset: overrides the needle set's
    tokenizer_model: str | None = None  # key of a preset: counts tokens in place of the model's own tokenizer
    variants: tuple[str, ...] = ()  # key of a preset: those of the task's variants that are asked
    judge_by_default: bool = False  # key of a preset: as published, a judge scores where the run has one
    spread: bool = False  # of --depths: each sample is asked at one of the depths
    repeats_per_file: Count = 0  # trials on each file of `file_list`, one file a haystack; 0: haystacks are of all
    window: bool = False  # of --lengths: one is the model's window; until that is known, it is none of `lengths`

    @property
    def answer_tokens(self) -> int:
        """The most tokens that a model may answer with."""
        return self.answer_budget + self.thinking_budget

    @property
    def kept_free(self) -> int:
        """Tokens of a length that stay free: of the prompt, or of the context if `length_means` says so."""
        return self.length_buffer + (self.answer_tokens if self.length_means == "total" else 0)

    def __repr__(self) -> str:
        return _shown(self)


class Settings(Struct, frozen=True, kw_only=True):
    """The settings of a run. A field is the option of its name, unless it says something else.

    Times in seconds, `max_errors` in percent. What may be secret (headers, addresses, a command) is not shown.
    """

    preset: str = "quick"
    suites: Annotated[tuple[Suite, ...], Meta(min_length=1)]  # of the preset, as the other options change them
    model: Texts = ("smollm2",)
    model_arg: Annotated[tuple[str, ...], ForEach(options.key_value)] = ()
    tokenizer: str | None = None
    base_url: str | None = None
    api_key_env: Annotated[str, options.variable] = "OPENAI_API_KEY"
    server_id: str | None = None  # stands for the server in keys, in place of its address
    serve: str | None = None
    serve_arg: Texts = ()
    judge: Texts = ()
    judge_base_url: Texts = ()
    judge_strategy: Literal["auto", "rule", "llm", "llm_recall"] = "auto"
    judge_prompt: Annotated[str, options.path] | None = None
    judge_prompt_sha256: str | None = None  # of the file that --judge-prompt names
    limit: Annotated[float, Meta(ge=0, lt=1e12), options.trials_or_share] | None = None
    seed: Count = 0
    canary: bool = False
    verify_prompts: bool = False
    strict_model: bool = False
    too_long_pattern: Annotated[str, options.pattern] | None = None
    concurrency: Positive = 8
    load: Annotated[tuple[str, ...], options.loads] = ()
    gpus_per_worker: Positive = 1
    cache_policy: Literal["shared", "isolated"] = "shared"
    stability: Count = 0
    timeout: Annotated[float, Meta(ge=0, lt=1e12), options.seconds] = 120.0
    retries: Count = 4
    batch_out: Annotated[str, options.path] | None = None
    batch_in: Annotated[tuple[str, ...], ForEach(options.path)] = ()
    batch_limits: Annotated[tuple[str, ...], options.file_limits] = ("50000", "200")
    results_dir: Path = Path("results/runs")
    run_name: str | None = None
    fresh: bool = False
    shard: Annotated[str, options.shard] | None = None
    plan: bool = False
    power: str | None = None
    price: Annotated[tuple[str, ...], ForEach(options.price)] = ()
    max_cost: Annotated[float, Meta(ge=0, lt=1e12), options.positive] | None = None
    max_tokens: Tokens | None = None
    gpu_memory: Annotated[float, Meta(ge=0, lt=1e12), options.positive] | None = None
    tokens_per_s: Annotated[float, Meta(ge=0, lt=1e12), options.positive] | None = None
    relative_to: str | None = None
    save_prompts: bool = False
    heatmap_colors: Literal["viridis", "red-yellow-green"] = "viridis"
    heatmap_numbers: bool = False
    max_errors: Percent = 5.0
    gate: Texts = ()
    baseline: str | None = None
    allow_different_dtypes: bool = False
    top_up: Count = 0
    adaptive: Literal["quick", "normal", "careful"] | None = None
    adaptive_bar: Annotated[tuple[str, ...], options.bars] = ("85.6",)
    adaptive_tokens: Tokens | None = None
    censored_is_wrong: bool = False

    @property
    def server(self) -> str | None:
        """The server's name in keys and recipes: the one that its user gave it, else its address."""
        return self.server_id or self.base_url

    def __repr__(self) -> str:
        return _shown(self)


def _shown(table: Suite | Settings) -> str:
    """The fields without those that may hold a secret."""
    names = (name for name in table.__struct_fields__ if name not in ("model_arg", "serve") and "base_url" not in name)
    return f"{type(table).__name__}({', '.join(f'{name}={getattr(table, name)!r}' for name in names)})"


_FIELDS = {
    **{option.key: option for kind in (Suite, WrittenSuite) for option in options.options_of(kind, suite=True)},
    **{option.key: option for kind in (Settings, WrittenOptions) for option in options.options_of(kind, suite=False)},
}
BY_KEY: dict[str, Option] = {key: _FIELDS[key] for key in options.option_entries()}
OPTIONS = tuple(BY_KEY.values())
# Options of the run that its suites have, as their tasks look at them.
OF_RUN = tuple(key for key in FamilyOptions.__struct_fields__ if not BY_KEY[key].suite)

# What only a preset's suite says (each under the name that OpenCompass's documents use, where it has one).
SUITE_KEYS: dict[str, options.Parser] = {
    "task": options.text,
    "num_repeats_per_file": options.whole(1),
    "judge_by_default": options.switch,
    "tokenizer_model": options.text,
    "keyword": options.text,
    "variants": options.words,
}


@dataclass(frozen=True, slots=True)
class Prices:
    """Dollars per million tokens."""

    prompt: float
    answer: float
    cached: float  # of prompt tokens that a cache had

    def dollars(self, prompt: float, answer: float, cached: float = 0) -> float:
        """The price of so many tokens; `cached`: of the prompt's."""
        return ((prompt - cached) * self.prompt + cached * self.cached + answer * self.answer) / 1e6


def prices_of(written: Sequence[str], model: str) -> Prices | None:
    """The prices of a model (a SPEC, or its name in records): its own in `--price`, else those of all."""
    by_name = dict(each.rpartition("=")[::2] for each in written)
    numbers = by_name.get(model, by_name.get(""))
    if numbers is None:
        return None
    prompt, answer, *cached = map(float, numbers.split(","))
    return Prices(prompt, answer, *(cached or [prompt]))


@dataclass(frozen=True, slots=True)
class Judging:
    """The judges of a run, as one suite uses them."""

    asks: Mapping[str, Callable[[str, str], str]]  # each judge's `ask(system, user) -> reply`, by name
    strategy: str  # when they are asked (`--judge-strategy`)
    prompt: str | None  # the text of `--judge-prompt`
    identity: str  # a hash of whatever can change their replies
    at_once: int  # threads that may ask them


READ = "--read"
READ_HELP = "a file or folder outside the run that its options may name, such as that of --documents; may be repeated"
_PATTERN = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Places:
    """The places that files may be read from."""

    run: Path  # the folder of the run
    start: Path | None = None  # the folder that the run was started in; relative paths of its options begin there
    named: tuple[str, ...] = ()  # what the user named on this command line, as written

    def path(self, option: str, path: str) -> Path:
        """The absolute path that an option names. Raises `InputError` where it lies elsewhere."""
        try:
            named = Path(path).expanduser()
            full = (self.start or self.run) / named
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
    """Refuse links that lead out of a run's folder, and special files. Raises `InputError`."""
    inside = run.resolve()
    for folder, folders, files in os.walk(top, followlinks=False):
        for name in (*folders, *files):
            path = Path(folder, name)
            if path.is_symlink() and not path.resolve().is_relative_to(inside):
                raise InputError(option, path, "is a link that leads out of the run's folder: remove it")
            if not stat.S_ISREG(mode := path.lstat().st_mode) and not stat.S_ISDIR(mode) and not path.is_symlink():
                raise InputError(option, path, "is no file and no folder: remove it")
