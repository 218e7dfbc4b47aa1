"""Prompts of a grid as other systems build them, on a corpus and tokenizer of our choice.

Each function returns the texts of all cells, lengths outer, depths inner, as its system makes them: LLMTest the context
alone, the others the whole prompt. `encode` and `decode` are the tokenizer's, with plain lists of ids.
"""

import asyncio
import json
import random
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from perf.peers.published import Nothing, published

Encode = Callable[[str], list[int]]
Decode = Callable[[list[int]], str]

NEEDLE = "\nThe best thing to do in San Francisco is eat a sandwich and sit in Dolores Park on a sunny day.\n"
QUESTION = "What is the best thing to do in San Francisco?"


def llmtest(lengths: Sequence[int], depths: Sequence[int], encode: Encode, decode: Decode) -> list[str]:
    """LLMTest_NeedleInAHaystack's `generate_context`, its own code (package needlehaystack)."""
    stubs: dict[str, dict[str, object]] = {"needlehaystack": {}}
    stubs |= {f"needlehaystack.{name}": {} for name in ("evaluators", "providers")}
    module = published("needlehaystack", "llm_needle_haystack_tester.py", stubs)
    provider = SimpleNamespace(
        model_name="-",
        encode_text_to_tokens=encode,
        decode_tokens=lambda tokens, length=None: decode(tokens[:length]),
    )
    tester = module.LLMNeedleHaystackTester(
        provider,
        Nothing(),
        needle=NEEDLE,
        retrieval_question=QUESTION,
        context_lengths=list(lengths),
        document_depth_percents=list(depths),
        print_ongoing_status=False,
    )

    async def build() -> list[str]:
        return [await tester.generate_context(length, depth) for length in lengths for depth in depths]

    return asyncio.run(build())


def evalscope(
    lengths: Sequence[int], depths: Sequence[int], encode: Encode, decode: Decode, corpus: str, folder: Path
) -> list[str]:
    """EvalScope's needle_haystack adapter: its own `load` and `format_prompt_template`."""
    (folder / "PaulGraham_Essays.txt").write_text(corpus, encoding="utf-8")

    def records(records: Sequence[Any], sample_fields: Callable[[Any], Any], **_: Any) -> list[Any]:
        return [sample_fields(record) for record in records]

    stubs: dict[str, dict[str, Any]] = {
        "tqdm": {"tqdm": lambda cells, **_: cells},
        "evalscope.api.benchmark": {"DefaultDataAdapter": object},
        "evalscope.api.dataset": {
            "DatasetDict": dict,
            "Sample": SimpleNamespace,
            "build_dataset_from_records": records,
            "resolve_snapshot_or_local_path": lambda *_, **__: str(folder),
        },
        "evalscope.api.registry": {"register_benchmark": lambda _meta: lambda adapter: adapter},
        "evalscope.utils.logger": {"get_logger": Nothing},
    }
    others = ("api.evaluator", "api.judge", "api.messages", "api.metric", "constants", "utils.import_utils")
    stubs |= {f"evalscope.{name}": {} for name in others}
    module = published("evalscope", "benchmarks/needle_haystack/needle_haystack_adapter.py", stubs)
    adapter = module.NeedleHaystackAdapter.__new__(module.NeedleHaystackAdapter)
    tokenizer = SimpleNamespace(encode=lambda text, **_: encode(text), decode=decode)
    vars(adapter).update(
        _init_tokenizer=lambda: None,
        _init_length=lambda: None,
        tokenizer=tokenizer,
        needles=[NEEDLE],
        retrieval_question=QUESTION,
        context_lengths=list(lengths),
        document_depth_percents=list(depths),
        subset_list=["english"],
        prompt_template=module.PROMPT_TEMPLATE,
        limit=None,
        repeats=1,
        shuffle=False,
    )
    return [adapter.format_prompt_template(sample) for sample in adapter.load()[0]["english"]]


def opencompass(
    lengths: Sequence[int],
    depths: Sequence[int],
    encode: Encode,
    decode: Decode,
    documents: Sequence[str],
    folder: Path,
) -> list[str]:
    """OpenCompass's NeedleBench v2 S-RT: its own `NeedleBenchOriginDataset.load`, buffer 500."""
    rows = "".join(json.dumps({"text": text}) + "\n" for text in documents)
    (folder / "PaulGrahamEssays.jsonl").write_text(rows, encoding="utf-8")
    needle = {"needle": NEEDLE.strip(), "retrieval_question": QUESTION, "arg2": "Dolores Park", "language": "English"}
    (folder / "needles.jsonl").write_text(json.dumps(needle) + "\n", encoding="utf-8")
    tokenizer = SimpleNamespace(encode=encode, decode=decode)
    stubs: dict[str, dict[str, Any]] = {
        "tiktoken": {"encoding_for_model": lambda _model: tokenizer},
        "datasets": {"Dataset": SimpleNamespace(from_dict=lambda columns: columns)},
        "opencompass.datasets.base": {"BaseDataset": object},
        "opencompass.openicl": {"BaseEvaluator": object},
        "opencompass.registry": {
            name: SimpleNamespace(register_module=lambda *_: lambda made: made)
            for name in ("LOAD_DATASET", "TEXT_POSTPROCESSORS")
        },
        "opencompass.utils": {"get_data_path": lambda path: path},
    }
    module = published("opencompass", "datasets/needlebench_v2/origin.py", stubs)
    load = partial(
        module.NeedleBenchOriginDataset.load,
        path=str(folder),
        tokenizer_model="gpt-4",
        file_list=["PaulGrahamEssays.jsonl"],
        num_repeats_per_file=1,
        length_buffer=500,
        language="English",
        needle_file_name="needles.jsonl",
    )
    return [load(length=length, depth=depth)["prompt"][0] for length in lengths for depth in depths]


def ruler(lengths: Sequence[int], depths: Sequence[int], encode: Encode, corpus: str) -> list[str]:
    """RULER's niah_single_2, re-implemented from its description (it is on no package index).

    Words of the essays, a binary search for how many fit with 128 tokens for the answer, a whole encode for each try
    and each sample. Sentences are split by a pattern instead of NLTK's punkt, and its word list is left out: both make
    it faster than it is.
    """
    words = re.sub(r"\s+", " ", corpus).split(" ")
    budget, step = 128, 500

    def sample(count: int, depth: float) -> str:
        taken = [words[i % len(words)] for i in range(count)]
        sentences = re.split(r"(?<=[.!?]) ", " ".join(taken))
        at = int(len(sentences) * depth / 100)
        key, value = f"key-{random.random()}", random.randrange(10**6, 10**7)
        needle = f"One of the special magic numbers for {key} is: {value}."
        context = " ".join([*sentences[:at], needle, *sentences[at:]])
        return (
            "Some special magic numbers are hidden within the following text. Make sure to memorize it. I will quiz "
            f"you about the numbers afterwards.\n{context}\nWhat is the special magic number for {key} mentioned in "
            f"the provided text? The special magic number for {key} mentioned in the provided text is"
        )

    texts = []
    for length in lengths:
        per_word = len(encode(sample(step, 50))) / step
        low, high, fits = step, int(max(3 * length / per_word, 2 * step)), step
        while low <= high:
            middle = (low + high) // 2
            if len(encode(sample(middle, random.choice(depths)))) + budget <= length:
                fits, low = middle, middle + 1
            else:
                high = middle - 1
        for depth in depths:
            count = fits
            text = sample(count, depth)
            while len(encode(text)) + budget > length and count > step:
                count -= step
                text = sample(count, depth)
            texts.append(text)
    return texts
