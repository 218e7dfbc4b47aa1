"""A small set of made-up runs that every renderer is shown, one for each kind of section."""

from itertools import product
from pathlib import Path
from types import SimpleNamespace

from needlework.core.grid import Cell
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import grid
from needlework.results.adaptive.statement import statements_of
from needlework.results.adaptive.survey import Rules, Survey
from needlework.results.gates.decide import gate_rows, judge_gate
from needlework.results.gates.gate import parse_gate
from needlework.results.statistics.run_facts import run_facts
from needlework.results.statistics.run_report import run_report
from needlework.results.statistics.suites.published import TASKS, design_of
from tests.results.builders import asked, new_record

MANIFEST = {
    "started": "2026-11-22T22:08:52+00:00",
    "ended": "2026-11-22T22:18:52+00:00",
    "commit": "6c8c3e2",
    "command": ["__main__.py", "benchmarks", "--repeats", "12", "-k", "depth50 and en", "--run-name=nightly"],
    "pace": {"trials": 144, "seconds": 600},
    "options": {"preset": "quick", "seed": 3, "judge": ["openai:a"]},
    "models": {"mock": {"spec": "mock", "window": 8192, "rope_scaling": {"factor": 2}, "dtype": "float32"}},
    "versions": {"torch": "2.13.0", "needlework": "0.1.0"},
}
# What became of the first repeats at 8k tokens and depth 0.
ODD = ("censored", "unclear", "error", "invalid", "skipped", "refused", "empty", "partial", "distractor")


def needles():
    """Lost in the middle from 4k tokens on, with every outcome, gates, prices and a manifest."""
    records = []
    for length, depth, repeat in product((1000, 2000, 4000, 8000), (0.0, 50.0, 100.0), range(12)):
        outcome = "wrong" if length >= 4000 and depth == 50 else "found"
        if (length, depth) == (8000, 0.0) and repeat < len(ODD):
            outcome = ODD[repeat]
        seconds = length / 4000 + repeat / 10
        records.append(
            new_record(
                length=length,
                depth=depth,
                repeat=repeat,
                outcome=outcome,
                why=f"why it is {outcome}",
                error={"kind": "timeout", "message": f"no answer in {repeat} s"} if outcome == "error" else None,
                response={
                    "text": f"It is {outcome}.",
                    "prompt_tokens": length - 20,
                    "completion_tokens": 5 + repeat if repeat else None,
                },
                prompt={"tokens": length - 20, "tokens_error": 0.012, "needles": [{"depth": depth + 0.1}]},
                details={"recipe": "r", "flags": ["no_usage"] * (outcome == "refused")},
                timing={
                    "latency_s": seconds,
                    "ttft_s": seconds / 4,
                    "tokens_per_s": 20.0,
                    "cached_tokens": length // 4,
                    "replayed": repeat == 1,
                },
            )
        )
    gates = [
        verdict
        for text in ("score >= 0.9 per length", "lower_bound >= 0.5", "score <= 0.99 [depth=50]")
        for verdict in judge_gate(parse_gate(text), records, windows={"mock": 8192})
    ]
    facts, prices = run_facts(MANIFEST, "nightly"), ("1,2,0.5",)
    return run_report(
        records, gates=gate_rows(gates, len(records)), facts=facts, price=prices, sending=["one at a time"]
    )


def interrupted_models():
    """Two models and two tasks, each sample at a depth of its own, stopped early; a server that is odd."""
    records = []
    for model, task, length, repeat in product(("good", "bad"), ("niah", "chain"), (4096, 16384), range(20)):
        misses = (repeat * 7 + length) % (5 if model == "good" else 2) == 0
        outcome = "partial" if repeat % 6 == 1 else "wrong" if misses else "found"
        response = {"model": "m" if repeat < 15 else "small", "finish_reason": "stop", "fingerprint": f"f{repeat % 2}"}
        fields = {"depth": 10.0 * (repeat % 10)} | ({"score": 0.25} if outcome == "partial" else {})
        prompt = {"tokens": length, "corpus_passes": 1.5 if length > 5000 else 0.4}
        flags = {"flags": ["over_budget"] * (repeat % 10 == 0) + ["canary_end_missing"] * (repeat == 3), "recipe": "r"}
        at = {"model": model, "task": task, "length": length, "repeat": repeat, "outcome": outcome}
        records.append(new_record(**at, **fields, response=response, prompt=prompt, details=flags))
    return run_report(records, planned=300, notes=["a sentence on the run"])


def controlled_tasks():
    """Families with controls, chance, absent twins, several judges, prompts that were asked again, a cut-off answer."""
    records = []
    arms = (("", {}), ("_focused", {"control": "focused"}), ("_absent", {"control": "absent", "absent": True}))
    for task, (arm, more), repeat in product(("niah", "memory_choice", "ruler_vt"), arms, range(12)):
        outcome = (
            "refused" if arm == "_absent" and repeat % 3 else "wrong" if repeat % (4 + len(task) % 3) == 0 else "found"
        )
        if (task, arm, repeat) == ("niah", "", 11):
            outcome = "censored"
        reference = {"answers": ["1"], "twin": "code", "chance": 0.25 if task == "memory_choice" else 0.0, **more}
        marks = {"judge:a": 1.0, "judge:b": 0.0 if repeat % 5 == 0 else 1.0, "judge:c": None if repeat == 7 else 1.0}
        again = [{"how": "warm", "text": "9" if repeat % 2 else "x", "outcome": "wrong", "score": 0.0}]
        details = {"score": marks, "stability": again if task == "niah" else [], "recipe": "r"}
        fields = {"task": task, "needle": f"code{arm}", "repeat": repeat, "outcome": outcome, "reference": reference}
        records.append(new_record(**fields, response={"text": "x"}, details=details))
    return run_report(records)


def ruler():
    """Three lengths, one answer of which was cut off; and another model in Chinese, without its last task."""
    records = []
    for length, (number, task), repeat in product((4000, 8000, 16000), enumerate(TASKS), range(2)):
        misses = number < {4000: 0, 8000: 2, 16000: 9}[length] and repeat
        fields = {"outcome": "wrong" if misses else "found", "details": {"score": {"strict": float(not repeat)}}}
        if (length, task, repeat) == (8000, TASKS[3], 0):
            fields |= {"outcome": "censored", "score": None}
        records.append(new_record(task=task, length=length, repeat=repeat, scorer="ruler_all", **fields))
    other = [new_record(model="b", task=task, length=4000, language="zh", scorer="match") for task in TASKS[:-1]]
    return run_report([*records, *other])


def needlebench_trials(score=lambda _task, _needle: 1.0, **options):
    """Records of all trials of a preset of NeedleBench on a smaller grid, and its design."""
    grid_of = {"preset": "needlebench-v2-4k", "lengths": "1k,2k", "depths": "0,50", "repeats": "2", "model": ["mock"]}
    settings = resolve_settings(grid_of | options, {}, Path())
    records = []
    for cell in (cell for series in grid(settings) for cell in series.cells):
        value = score(cell.task, cell.needle)
        fields = {name: getattr(cell, name) for name in ("task", "needle", "length", "depth", "repeat")}
        outcome = {1.0: "found", 0.0: "wrong"}.get(value, "partial")
        records.append(new_record(**fields, outcome=outcome, score=value))
    return records, design_of(settings)


def needlebench(**options):
    """Single needles right, parallel ones half, chains up to 16."""

    def score(task, needle):
        if task == "needlebench_atc":
            return float(int(needle.removesuffix("_zh").removeprefix("n")) <= 16)
        return 0.5 if task == "parallel" else 1.0

    records, design = needlebench_trials(score, **options)
    return run_report(records[:-1], design=design)


def leval():
    """Exam and open tasks of L-Eval on whole documents and by two retrievers."""
    facts = {"k": 4, "chunk_size": 1000, "chunk_overlap": 200, "unit": "characters", "answer_recall": 0.5}
    records = []
    scorers = {"leval_tpo": "leval_letter", "leval_quality": "leval_letter", "leval_narrative_qa": "leval_f1_compat"}
    for (task, scorer), arm, number in product(scorers.items(), ("", "bm25", "dense"), range(12)):
        needle, prompt, reference = f"doc{number // 2}_q{number}", {"tokens": 9000}, {"answers": ["a"]}
        score = 1.0 if (number + len(arm)) % 3 else 0.25
        if arm:
            retrieval = facts | {"retriever": arm, "gold": f"doc{number // 2}", "rank": number % 5 or None}
            retrieval |= {"embedder": "st:m", "cut_chunks": 1} if arm == "dense" else {"embedder": None}
            reference |= {"retriever": arm, "twin": needle}
            prompt, needle = {"tokens": 1000, "retrieval": retrieval}, f"{needle}_{arm}"
        fields = {"outcome": "found" if score == 1 else "partial", "score": score, "scorer": scorer, "prompt": prompt}
        records.append(new_record(task=task, needle=needle, length=16_000, depth=None, reference=reference, **fields))
    return run_report(records)


def data_sets():
    """MRCR, GraphWalks and LongBench v2, with the published rules' scores."""
    records = []
    for number in range(12):
        right = number % 3 > 0
        mrcr = {"needles": 2 + 2 * (number % 2), "answer_tokens": 50, "chance": 0.5, "outdated": "old copy"}
        string = {"as_openai": float(right), "string": "first" if right else "none", "noise": 0.1, "given": "#2"}
        walk = {"problem_type": "bfs" if number % 2 else "parents", "over_lengths": 3}
        nodes = {"precision": 0.5, "as_authors": 0.5} if right else {}
        choice = {"answers": ["A"], "chance": 0.25, "difficulty": "easy" if number % 2 else "hard", "domain": "law"}
        letter = {"letter": "A", "as_authors": float(right)} if number else {}
        for task, reference, details in (
            ("openai_mrcr", mrcr, string),
            ("graphwalks", walk, nodes),
            ("longbench_v2", choice | {"length_class": "short"}, letter),
            ("longbench_v2_closed_book", choice | {"length_class": "long"}, letter),
        ):
            outcome = "skipped" if number == 11 else "found" if right else "wrong"
            fields = {"needle": f"q{number}", "length": 8000, "depth": None, "outcome": outcome, "scorer": task}
            prompt = {"tokens": 4000 * (number + 1), "flags": ["truncated"] * (number == 2)}
            records.append(
                new_record(task=task, reference=reference, details={"score": details}, prompt=prompt, **fields)
            )
    return run_report(records)


def documents():
    """Own documents: by depth, by size, by retriever, without the answer; a judge beside the rule, and votes."""
    records = []
    for question, depth, repeat in product(range(12), (0.0, 50.0, 100.0), range(3)):
        outcome = ("found", "wrong", "refused")[(question + repeat) % 3] if depth == 50 else "found"
        fields = {"depth": depth, "repeat": repeat, "rule": "found" if question % 4 else "wrong"}
        records.append(asked(question, outcome, **fields, answer=f"{outcome} {question}"))
    for question, length in product(range(12), (2000, 8000)):
        outcome = "wrong" if question < length / 1000 else "found"
        depth = 100 * question / 11
        records += [asked(question, outcome, task="doc_size", length=length, depth=depth)]
        records += [asked(question, task="doc_size", arm=arm, length=length) for arm in ("bm25", "dense")]
        records += [asked(question, task="doc_size", arm="focused", length=length)]
    for question, arm in product(range(12), ("absent", "near")):
        records.append(asked(question, ("refused", "wrong")[question % 3 == 0], task="doc_absent", arm=arm))
    return run_report(records, vote=3)


def adaptive(bars=(0.856, None), right_up_to=8_000):
    """An adaptive run of a model that is right up to a length, by an absolute and a relative bar."""
    lengths, depths = (4_000, 8_000, 16_000, 32_000), (0.0, 50.0, 100.0)
    series = SimpleNamespace(model="mock", cells=tuple(Cell("niah", *at, "code") for at in product(lengths, depths)))
    rules = Rules("quick", bars, 0, 5.0)
    outcomes = {}
    while trials := Survey(rules, series, outcomes).next_trials(1):
        outcomes |= {trial: float(trial[0] <= right_up_to) for trial in trials}
    statements = statements_of(Survey(rules, series, outcomes))
    records = [
        new_record(length=length, depth=depth, repeat=repeat, outcome="found" if score else "wrong")
        for (length, depth, repeat), score in outcomes.items()
    ]
    return run_report(records, adaptive=statements)


def failed():
    """Nothing but failures, for two reasons."""
    messages = ("HTTP 500: out of memory", "no answer in 3 s")
    errors = [{"kind": "server", "message": messages[repeat % 2]} for repeat in range(6)]
    return run_report([new_record(repeat=at, outcome="error", error=error) for at, error in enumerate(errors)])


def models_on_one_task():
    """Three models by length on one task, of which one has a range since answers were cut off."""
    records = []
    for model, length, repeat in product(("large", "middle", "small"), (1000, 4000, 16000), range(24)):
        right = repeat >= {"large": 0, "middle": 6, "small": length / 1000}[model]
        outcome = "censored" if (model, length) == ("large", 16000) and repeat < 3 else "found" if right else "wrong"
        records.append(new_record(model=model, length=length, repeat=repeat, depth=None, outcome=outcome))
    return run_report(records, facts=run_facts(MANIFEST | {"options": {"limit": 5}}, "first"))


def moved_documents():
    """Own documents at several lengths, and nothing else; an error at the longest."""
    records = [asked(q, "found" if q else "wrong", depth=d, length=n) for q in range(3) for d in (0.0, 100.0)
               for n in (4000, 8000)]  # fmt: skip
    records += [asked(q, depth=50.0, length=2000, repeat=repeat) for q in range(3) for repeat in range(2)]
    return run_report([*records, asked(0, "error", length=16000), asked(0, "error", task="doc_size")], vote=2)


RUNS = {
    "needles": needles,
    "interrupted models": interrupted_models,
    "controlled tasks": controlled_tasks,
    "ruler": ruler,
    "needlebench": needlebench,
    "needlebench chains": lambda: needlebench(preset="needlebench-v2-atc", lengths="32k", language="en"),
    "leval": leval,
    "data sets": data_sets,
    "documents": documents,
    "moved documents": moved_documents,
    "models on one task": models_on_one_task,
    "adaptive": adaptive,
    "adaptive fails at once": lambda: adaptive((0.9,), 0),
    "one answer": lambda: run_report([new_record(outcome="partial")]),
    "failed": failed,
    "nothing": lambda: run_report([]),
}


def compared(lost=0):
    """Records of one of several runs: two tasks, two lengths, three depths; `lost` of each cell fail."""
    records = []
    for task, length, depth, repeat in product(("niah", "qa"), (1000, 8000), (0.0, 50.0, 100.0), range(8)):
        fails = length == 8000 and repeat < lost
        outcome = ("skipped" if depth == 100 and lost > 4 else "wrong") if fails else "found"
        prompt = {"tokens": length - 20 + lost % 2, "sha256": f"{lost % 2}{length}{depth}"}
        at = {"task": task, "length": length, "depth": depth, "repeat": repeat, "outcome": outcome, "prompt": prompt}
        records.append(new_record(**at, response={"text": outcome}))
    return records
