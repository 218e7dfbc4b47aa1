"""Option names and values of other harnesses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from needlework.core.errors import InputError

# Read in their documents, configurations and sources (versions: docs/presets.md); `peer_values` translates the values.
OPENCOMPASS = "OpenCompass"
EVALSCOPE = "EvalScope"
LLMTEST = "LLMTest"
LEVAL = "L-Eval"
SNORKEL = "long-context-eval"


@dataclass(frozen=True, slots=True)
class PeerName:
    """A parameter as the published systems `peers` call it.

    `ours`: our key that it becomes in a TOML file; empty where none takes it over, and `here` says what to do. `same`:
    it means here what it means there; `about` says the difference, or how its value is read.
    """

    name: str
    peers: tuple[str, ...]
    ours: str
    same: bool = True
    about: str = ""
    here: str = ""

    @property
    def remedy(self) -> str:
        """What to write on the command line in its place."""
        more = " (of the text alone: --length-means context)" if _TEXT_ALONE in self.about else ""
        return self.here or f"--{self.ours.replace('_', '-')}{more}"


_ALL = (OPENCOMPASS, EVALSCOPE, LLMTEST)
_OC, _ES, _GK, _LE, _LC = (OPENCOMPASS,), (EVALSCOPE,), (LLMTEST,), (LEVAL,), (SNORKEL,)
_TEXT_ALONE = "tokens of the text alone (length_means is then context)"
_RANGE = "first, last and number of a range, rounded as there"
_CELL_IDS = "cells are named by task, length and depth"

_ROWS = (
    # Lengths and depths.
    PeerName("context_lengths", (OPENCOMPASS, LLMTEST), "lengths", about=_TEXT_ALONE),
    PeerName("length", _OC, "lengths", about=_TEXT_ALONE),
    PeerName("context_lengths_min", (EVALSCOPE, LLMTEST), "lengths", about=f"{_RANGE}; {_TEXT_ALONE}"),
    PeerName("context_lengths_max", (EVALSCOPE, LLMTEST), "lengths", about=f"{_RANGE}; {_TEXT_ALONE}"),
    PeerName("context_lengths_num_intervals", (EVALSCOPE, LLMTEST), "lengths", about=f"{_RANGE}; {_TEXT_ALONE}"),
    PeerName("length_buffer", _OC, "length_buffer"),
    PeerName("final_context_length_buffer", _GK, "length_buffer"),
    PeerName("depth", _OC, "depths"),
    PeerName("document_depth_percents", _GK, "depths"),
    PeerName("document_depth_percent_min", (EVALSCOPE, LLMTEST), "depths", about=_RANGE),
    PeerName("document_depth_percent_max", (EVALSCOPE, LLMTEST), "depths", about=_RANGE),
    PeerName("document_depth_percent_intervals", _ALL, "depths", about="how many, from 0 to 100 or from min to max"),
    PeerName("document_depth_percent_interval_type", (OPENCOMPASS, LLMTEST), "depth_spacing", about="linear or sigmoid:"
             " LLMTest's where a min or max stands beside it, else OpenCompass's (cut to whole percent)"),
    # Needles and texts.
    PeerName("needle", (OPENCOMPASS, LLMTEST), "needle", about="its line breaks too"),
    PeerName("needles", _ALL, "needles", about="several: one question over all (task multi_needle)"),
    PeerName("retrieval_question", _ALL, "question"),
    PeerName("answer", _OC, "answer"),
    PeerName("keyword", _OC, "keyword", here="--answer TEXT; keyword in a preset file"),
    PeerName("diff", _OC, "diff", False, "gaps as documented; the published code adds each needle's length twice"),
    PeerName("multi_needle", _GK, "task", about="true takes needles, false takes needle", here="--task multi_needle"),
    PeerName("needle_file_name", _OC, "needle_set", False, "a path of its own; there a file of the data set's folder"),
    PeerName("language", _OC, "language", about="English and Chinese, or en and zh"),
    PeerName("subset_list", _ES, "language", about="english and chinese"),
    PeerName("path", _OC, "corpus", about="the folder of the jsonl files",
             here="--corpus PATH; of results: needlework plot FILE"),
    PeerName("base_path", _OC, "corpus", about="the folder of the jsonl files"),
    PeerName("haystack_dir", _GK, "corpus", False, "any folder, everything below it; PaulGrahamEssays is essays"),
    PeerName("file_list", _OC, "file_list"),
    PeerName("num_repeats_per_file", _OC, "num_repeats_per_file", about="for each file, each haystack of one file",
             here="--repeats (of all files together)"),
    PeerName("results_version", _GK, "", here="--repeats: trials with other text; --run-name: a run beside others"),
    # Prompt and answer.
    PeerName("guide", _OC, "guide"),
    PeerName("position", _OC, "question_position", about="End, Start"),
    PeerName("quesiton_position", _OC, "question_position", about="End, Start"),
    PeerName("system_prompt", _ES, "system_prompt"),
    PeerName("prompt_template", _ES, "", here="--prompt evalscope, or a TOML file of yours (docs/extend.md)"),
    PeerName("max_out_len", _OC, "answer_budget", about="on top of a length of the context, inside a total one"),
    PeerName("max_tokens", _ES, "answer_budget", about="on top of a length of the context, inside a total one"),
    PeerName("tokenizer_model", _OC, "tokenizer_model", about="without it the model's own; there always gpt-4",
             here="--tokenizer tiktoken:NAME"),
    PeerName("tokenizer_path", _ES, "tokenizer", False, "a folder, or tiktoken:NAME; nothing is downloaded"),
    # The run.
    PeerName("limit", _ES, "limit", about="of each task and language"),
    PeerName("repeats", _ES, "repeats", False, "each with other text; there the same prompt again"),
    PeerName("seed", _ES, "seed", False, "chooses text and needles; there it is the model's"),
    PeerName("show_score", _ES, "heatmap_numbers"),
    PeerName("eval_batch_size", _ES, "concurrency"),
    PeerName("num_concurrent_requests", _GK, "concurrency"),
    PeerName("save_contexts", _GK, "save_prompts", False, "off unless it is given; there on"),
    PeerName("work_dir", (OPENCOMPASS, EVALSCOPE), "results_dir"),
    PeerName("api_url", _ES, "base_url"),
    PeerName("dry_run", (OPENCOMPASS, EVALSCOPE), "plan", False, "tells cells, tokens and requests"),
    PeerName("model_name", _GK, "", here="--model openai:NAME, anthropic:NAME, google:NAME"),
    PeerName("provider", _GK, "", here="--model openai:NAME, anthropic:NAME, google:NAME"),
    PeerName("model_id", _ES, "", here="--model openai:NAME; a run is named by --run-name"),
    PeerName("models", _OC, "", here="--model SPEC, once for each"),
    PeerName("hf_path", _OC, "", here="--model hf:ID_OR_PATH"),
    PeerName("max_seq_len", _OC, "", here="--model-arg window=32k"),
    PeerName("session_len", _OC, "", here="--serve-arg window=32k"),
    PeerName("max_batch_size", _OC, "", here="--concurrency N"),
    PeerName("tensor_parallel_size", _OC, "", here="--serve-arg tensor-parallel=N"),
    PeerName("tp", _OC, "", here="--serve-arg tensor-parallel=N"),
    PeerName("torch_dtype", _OC, "", here="--model-arg dtype=bfloat16"),
    PeerName("batch_size", _OC, "", here="--concurrency N"),
    PeerName("num_gpus", _OC, "", here="--gpus-per-worker K, or --model-arg device_map=auto"),
    PeerName("temperature", _ES, "", here="--model-arg temperature=VALUE; top_p, top_k and penalties likewise"),
    PeerName("api_key", (EVALSCOPE, LLMTEST), "", here="--api-key-env NAME, a variable of the environment"),
    PeerName("judge_model_args", _ES, "", here="--judge openai:NAME --judge-base-url URL"),
    PeerName("judge_strategy", _ES, "judge_strategy"),
    PeerName("judge_worker_num", _ES, "", here="--concurrency, for the judge too"),
    PeerName("evaluator", _GK, "", here="--scorer judge_llmtest --judge openai:NAME"),
    PeerName("evaluator_model_name", _GK, "", here="--scorer judge_llmtest --judge openai:NAME"),
    PeerName("datasets", (OPENCOMPASS, EVALSCOPE), "", here="--preset NAME (--preset list) or --task NAME"),
    PeerName("dataset_args", _ES, "", here="options of their own, or --preset FILE.toml (docs/presets.md)"),
    PeerName("dataset_dir", _ES, "", here="--corpus PATH"),
    PeerName("generation_config", _ES, "", here="--answer-budget N, and --model-arg KEY=VALUE for request fields"),
    PeerName("eval_type", _ES, "", here="--model says it: openai:NAME is a server, hf:ID runs here"),
    PeerName("eval_set", _GK, "", here="LangSmith is not used; --scorer judge_llmtest --judge SPEC marks answers"),
    PeerName("use_cache", _ES, "", here="--run-name NAME goes on where that run stopped"),
    PeerName("reuse", _OC, "", here="--run-name NAME goes on where that run stopped"),
    PeerName("save_results", _GK, "", here="results are always kept"),
    PeerName("print_ongoing_status", _GK, "", here="progress is always told"),
    PeerName("no_timestamp", _ES, "", here="--run-name NAME"),
    PeerName("seconds_to_sleep_between_completions", _GK, "", here="--concurrency N; a server's rate limit is obeyed"),
    PeerName("abbr", _OC, "", here=_CELL_IDS),
    PeerName("type", _OC, "", here="task = 'niah', or 'multi_needle' for several needles"),
    PeerName("reader_cfg", _OC, "", here="not needed"),
    PeerName("infer_cfg", _OC, "", here="max_out_len is answer_budget"),
    PeerName("eval_cfg", _OC, "", here="scorer = 'cdme', 'keyword', ... (docs/presets.md)"),
    PeerName("summarizer", _OC, "", here="the summary is always printed"),
    PeerName("slurm", _OC, "", here="needlework launch slurm (docs/clusters.md)"),
    PeerName("max_num_workers", _OC, "", here="-n N, or needlework launch (docs/clusters.md)"),
    PeerName("dataset_length", _OC, "", here="needlework plot FILE --dataset-length LABEL"),
    # L-Eval's scripts, and snorkel's long-context-eval.
    PeerName("task_path", (LEVAL, SNORKEL), "", here="--leval-data PATH; of long-context-eval: --questions FILE"),
    PeerName("task_name", _LE, "", here="--task leval_NAME"),
    PeerName("mc_tasks", _LE, "", here="--task leval_mc"),
    PeerName("metric", _LE, "", here="--preset leval-closed or leval-open; with --judge SPEC a model compares"),
    PeerName("flash", _LE, "", here="--model-arg attn_implementation=flash_attention_2"),
    PeerName("ntk_dyn", _LE, "", here='--model-arg rope_scaling={"rope_type":"dynamic","factor":2}'),
    PeerName("max_length", _LE, "", here="--lengths 16k"),
    PeerName("gpu", _LE, "", here="--model-arg device=cuda:0"),
    PeerName("pred_file", _LE, "", here="needlework score leval FILE (docs/leval.md)"),
    PeerName("battle_with", _LE, "", here="needlework judge (docs/leval.md)"),
    PeerName("data_path", _LC, "", here="--documents FOLDER"),
    PeerName("tests", _LC, "", here="--preset own-documents --task NAME (docs/documents.md)"),
    PeerName("embedding_model_name", _LC, "", here="--retriever dense --embedder SPEC"),
    PeerName("search_kwargs", _LC, "", here="--retrieve K"),
    PeerName("num_runs_medoid_vote", _LC, "", here="--vote N"),
    PeerName("eval_model_name", _LC, "", here="--judge SPEC"),
    PeerName("eval_prompt", _LC, "", here="--judge-prompt FILE"),
    PeerName("document_depth_percents_list", _LC, "", here="--depths"),
)  # fmt: skip
NAMES = {row.name: row for row in _ROWS}
# Scripts of L-Eval, and the command that does the same.
SCRIPTS = {
    "auto_eval": "needlework score leval FILE",
    "llm_eval": "needlework judge",
    "web_human_eval": "needlework serve",
    "web_annotate_jsonl": "needlework serve",
}


_LENGTHS = ("context_lengths_min", "context_lengths_max", "context_lengths_num_intervals")
_DEPTHS = ("document_depth_percent_min", "document_depth_percent_max", "document_depth_percent_intervals")
_TYPE = "document_depth_percent_interval_type"
# What a system takes without a range of its user: first, last, number.
_USUAL_RANGES = {EVALSCOPE: {"lengths": (1000, 32000, 10), "depths": (0, 100, 10)}}
_USUAL_RANGES[LLMTEST] = {"lengths": (1000, 16000, 35), "depths": (0, 100, 35)}
_LANGUAGES = {"english": "en", "chinese": "zh"}
_ESSAYS = "PaulGrahamEssays"  # LLMTest's own folder


@dataclass(frozen=True, slots=True)
class Translated:
    """`values`: by our keys, of TOML's types. `became`: our key by the name in the table, where there is one.
    `left`: names that no key of ours takes over; `NAMES[name].here` says what does."""

    values: Mapping[str, Any]
    became: Mapping[str, str]
    left: tuple[str, ...]


def translated(where: str, table: Mapping[str, Any], *, peer: str = "") -> Translated:
    """The table with our keys; those that no published system has stay what they are, and so do their values.

    `peer`: the system whose table it is: its defaults stand for what is left out of a range, and a list of its wins
    over a range. Without it names may be mixed, and two names of one thing are refused. A value of
    `None` counts as left out.
    Lengths by their names are those of the text alone (`length_means`), unless the table says what they mean.
    Raises `InputError` that begins with `where`: for two names of one thing, half a range, a value of no use.
    """
    table = _one_needle_or_several({key: value for key, value in table.items() if value is not None})
    values: dict[str, Any] = {}
    became: dict[str, str] = {}
    left = []
    for key, value in table.items():
        row = NAMES.get(key)
        if row is not None and not row.ours:
            left.append(key)
        elif key not in (*_LENGTHS, *_DEPTHS, _TYPE):
            ours = row.ours if row else key
            _once(where, became, ours, key)
            read = _READ.get(ours) if row else None
            values[ours] = read(value) if read else value
            became[key] = ours
    for ours, names in (("lengths", _LENGTHS), ("depths", _DEPTHS)):
        parts = [name for name in names if name in table]
        if parts and not (peer and ours in values):
            _once(where, became, ours, parts[0])
            values[ours] = _range(where, ours, [table.get(name) for name in names], names, peer)
        became |= dict.fromkeys(parts, ours)
    if _TYPE in table:
        _once(where, became, "depth_spacing", _TYPE)
        values["depth_spacing"] = _spacing(where, table, peer)
        became[_TYPE] = "depth_spacing"
    if "length_means" not in values and became.keys() & {"context_lengths", "length", *_LENGTHS}:
        values["length_means"] = "context"  # as these names mean it
    return Translated(values, became, tuple(left))


def our_names(where: str, table: Mapping[str, Any]) -> Mapping[str, Any]:
    """The table with our keys. Raises `InputError` for a name that no key of ours takes over, with what does."""
    names = translated(where, table)
    if names.left:
        raise InputError(where, names.left[0], f"here: {NAMES[names.left[0]].here}")
    return names.values


def _once(where: str, became: Mapping[str, str], ours: str, name: str) -> None:
    other = next((other for other, key in became.items() if key == ours), None)
    if other is not None:
        raise InputError(where, f"{other}, {name}", "are two names for one thing: give one of them")


def _one_needle_or_several(table: dict[str, Any]) -> dict[str, Any]:
    """LLMTest has both, each with a default, and `multi_needle` says which is meant."""
    if "multi_needle" not in table:
        return table
    several = str(table["multi_needle"]).lower() == "true"
    task = {"task": "multi_needle"} if several and "task" not in table else {}
    other = "needle" if several else "needles"
    return task | {key: value for key, value in table.items() if key not in ("multi_needle", other)}


def _range(where: str, ours: str, ends: Sequence[Any], names: Sequence[str], peer: str) -> str:
    usual = _USUAL_RANGES.get(peer, {}).get(ours) or ((0, 100, None) if ours == "depths" else (None, None, None))
    parts = [default if end is None else end for end, default in zip(ends, usual, strict=True)]
    missing = [name for name, part in zip(names, parts, strict=True) if part is None]
    if missing:
        first = next(name for name, end in zip(names, ends, strict=True) if end is not None)
        raise InputError(where, first, f"is a part of a range: give {' and '.join(missing)} too, or {ours}")
    return ":".join(map(str, parts))


def _spacing(where: str, table: Mapping[str, Any], peer: str) -> str:
    """LLMTest's rounding, or OpenCompass's: whose parameters stand beside it tells."""
    kind = str(table[_TYPE]).lower()
    if kind not in ("linear", "sigmoid"):
        raise InputError(where, f"{_TYPE} = {kind}", "use linear or sigmoid")
    of_opencompass = peer == OPENCOMPASS or not (peer or {*_LENGTHS, *_DEPTHS[:2]} & table.keys())
    return f"opencompass-{kind}" if of_opencompass else kind


def _language(value: Any) -> str:
    words = value if isinstance(value, (list, tuple)) else str(value).split(",")
    return ",".join(_LANGUAGES.get(str(word).strip().lower(), str(word).strip()) for word in words)


def _position(value: Any) -> str:
    return str(value).lower()


def _corpus(value: Any) -> Any:
    return "essays" if value == _ESSAYS else value


_READ: dict[str, Callable[[Any], Any]] = {"language": _language, "question_position": _position, "corpus": _corpus}
