"""Notes on options: unused ones, and how values were read."""

from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import suppress

from needlework.core.errors import InputError, printable
from needlework.core.grid import limit_note
from needlework.core.prompts import Needle
from needlework.core.settings import BY_KEY, Settings
from needlework.haystack_fixtures.haystacks.builder import occurs
from needlework.haystack_fixtures.needles.needle_sets import has_answer, is_own, load_needle_set
from needlework.models.specs import runs_here

_SHOWN = 60  # characters


def notes(settings: Settings) -> Iterator[str]:
    """A sentence for each."""
    if settings.limit is not None:
        yield limit_note(settings.limit)
    for corpus, files, trials in dict.fromkeys((s.corpus, s.file_list, s.repeats_per_file) for s in settings.suites):
        if trials:
            yield f"{trials} trials on each of {len(files)} files of {corpus}, each haystack of one: {', '.join(files)}"
        elif files:
            yield f"text: {', '.join(files)} of {corpus} (--file-list names others)"
    by_words = {suite.scorer for suite in settings.suites if not has_answer(suite.needle_set)} & {"needle_words"}
    if by_words:
        yield (
            "no --answer: scored by needle_words, the words of the needles that the question lacks;"
            " --answer TEXT, or --scorer judge_llmtest --judge SPEC, compares otherwise"
        )
    judged = ("judge", "needle_words")
    compared = [suite for suite in settings.suites if not (suite.scorer or "").startswith(judged)]
    for needle_set, language in dict.fromkeys((suite.needle_set, suite.language) for suite in compared):
        with suppress(InputError):  # a set that cannot be read is refused where it is asked about
            needles = load_needle_set(needle_set, language).needles if is_own(needle_set) else ()
            if silent := [printable(needle.answer, _SHOWN) for needle in needles if not _has_its_answer(needle)]:
                yield (
                    f"the answer {silent[0]!r} is not in its needle ({len(silent)} of {len(needles)}):"
                    " a model that quotes the needle may be scored as wrong"
                )


def _has_its_answer(needle: Needle) -> bool:
    """Whether the needle states the right answer, or another spelling of it; true if it has no answer."""
    right = [answer for answer in (needle.answer, needle.keyword, *needle.accepted) if answer]
    return not needle.answer or any(occurs(answer.casefold(), needle.text.casefold()) for answer in right)


Used = Callable[[Settings], bool]

_RETRIEVING = ("doc_", "leval_", "longbench_v2")
# Options that only tasks of these beginnings look at.
_OF_TASKS = {
    "needle needles question answer": ("niah", "multi_needle"),
    "documents vote": ("doc_",),
    "questions": ("doc_", "ruler_qa_"),
    "leval_data leval_subset leval_truncation leval_length_hint no_truncate": ("leval_",),
    "data data_where data_limit": ("openai_mrcr", "deepmind_mrcr", "graphwalks", "longbench_v2"),
    "data_cut data_window": ("longbench_v2",),
    "retriever": _RETRIEVING,
}


def _retrievers(settings: Settings) -> Set[str]:
    """The retrievers of the tasks that have documents to retrieve from."""
    suites = [suite for suite in settings.suites if suite.task.startswith(_RETRIEVING)]
    return {name for suite in suites for name in suite.retriever} - {"none"}


# Other options, whether a run looks at them, and why it does not.
_RULES: tuple[tuple[str, Used, str], ...] = (
    ("chunk_size chunk_overlap retrieve", lambda run: bool(_retrievers(run)), "nothing is retrieved (--retriever)"),
    (
        "embedder embedder_base_url embedder_api_key_env",
        lambda run: "dense" in _retrievers(run),
        "no vectors are made: give --retriever dense",
    ),
    ("gpu_memory tokens_per_s power", lambda run: run.plan, "only --plan uses it"),
    ("batch_limits", lambda run: run.batch_out is not None, "there is no --batch-out"),
    ("top_up", lambda run: bool(run.gate), "there is no --gate that could be undecided"),
    ("server_id", lambda run: not all(map(runs_here, run.model)), "the model runs here; it names a server"),
    ("repeats controls", lambda run: run.adaptive is None, "--adaptive asks as many samples as it takes"),
    ("adaptive_bar adaptive_tokens censored_is_wrong", lambda run: run.adaptive is not None, "there is no --adaptive"),
    ("judge_base_url", lambda run: bool(run.judge), "there is no --judge"),
)


def unused(keys: Iterable[str], settings: Settings) -> Iterator[str]:
    """A sentence for each option among these keys that this run does not look at."""
    tasks = [suite.task for suite in settings.suites]
    for key in keys:
        reasons = [
            f"no chosen task looks at it ({', '.join(f'{name}...' if name.endswith('_') else name for name in names)})"
            for options, names in _OF_TASKS.items()
            if key in options.split() and not any(task.startswith(names) for task in tasks)
        ]
        reasons += [reason for options, is_used, reason in _RULES if key in options.split() and not is_used(settings)]
        yield from (f"--{BY_KEY[key].name} is not used: {reason}" for reason in reasons)
