"""The settings of a run, and the suites that it asks."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from needlework.haystack_fixtures.settings.own import Own

LengthMeans = Literal["total", "context"]


@dataclass(frozen=True, slots=True)
class Suite:
    """What is asked: one task with its grid, text, needles and prompt.

    Lengths and budgets are in tokens, depths in percent.
    `length_buffer`: tokens of each length that stay unused beside prompt and answer. `diff`, `keyword`: override the
    needle set's. `tokenizer_model`: counts tokens in place of the model's own tokenizer. `scorer`: `None`: the task's.
    `answer_prefix`: the prompt ends with the beginning of the answer, where the task has one. `own`: what
    one family alone has, by option key: read it with `own_of`. `spread`: each sample is asked at one of the depths.
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
    own: Own = field(default=Own())
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
