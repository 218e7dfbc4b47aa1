"""What most harnesses do, run for real: send, take the text, look for the answer in it, trust the server.

* the answer counts if it is a substring of the text: RULER (`string_match_all`), OpenCompass's NeedleBench
  (`if keyword in raw_prediction`), InfiniteBench through inspect_evals (`includes()`);
* the text is `choices[0].message.content`, an exception is an empty answer and so a miss: lm-evaluation-harness
  (`parse_generations`), L-Eval and SWiM (`except: ""`); tool-eval-bench counts failed requests as misses;
* errors that pass are left to the official client, which tries twice more.

Nothing is compared with what the server says it saw.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from needlework.core.files import default_cache_dir
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.pipeline.engine import Engine
from tests.faults.grid import ROOT, written


@dataclass(frozen=True, slots=True)
class Question:
    """One cell as any harness would hold it. `messages` is empty for a prompt without a template."""

    messages: tuple[tuple[str, str], ...]
    prompt: str
    answer: str
    budget: int


@dataclass(frozen=True, slots=True)
class Told:
    """What the naive harness reports."""

    hits: int
    cells: int

    @property
    def words(self):
        """`score 50 %`: there is nothing else that it could say."""
        return f"{100 * self.hits / self.cells:.0f} %"


def questions(args):
    """The cells of a run with these options, as our own harness builds them."""
    settings = resolve_settings(written(args), {}, ROOT)
    engine = Engine(settings, default_cache_dir())
    found = []
    for series in engine.series():
        for cell in series.cells:
            trial = engine.trial(cell)
            chat = trial.suite.template == "chat"
            messages = tuple((each.role, each.content) for each in trial.prompt.messages) if chat else ()
            budget = trial.suite.answer_budget + trial.suite.thinking_budget
            found.append(Question(messages, trial.prompt.text, trial.asked.answer, budget))
    engine.models.close()
    return found


def ask_all(base_url, asked, timeout_s):
    """Ask every question, all at once."""
    import openai

    client = openai.OpenAI(base_url=base_url, api_key="none", timeout=timeout_s)
    with client, ThreadPoolExecutor(len(asked)) as pool:
        return Told(sum(pool.map(lambda each: _hit(client, each), asked)), len(asked))


def _hit(client, asked):
    try:
        limits = {"model": "oracle", "max_tokens": asked.budget, "temperature": 0}
        if asked.messages:
            rows = [{"role": role, "content": content} for role, content in asked.messages]
            text = client.chat.completions.create(messages=rows, **limits).choices[0].message.content
        else:
            text = client.completions.create(prompt=asked.prompt, **limits).choices[0].text
        return asked.answer.lower() in text.lower()
    except Exception:  # noqa: BLE001 - that is the point
        return False
