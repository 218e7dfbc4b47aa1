"""A prompt in parts: nothing is lost, and it is told whether it is what was sent."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.haystack_fixtures.errors import InputError
from needlework.results.records.record import Record
from needlework.results.web.browsing.prompt import shown_prompt
from tests.results.web.browsing_runs import record

TEXT = "<user>\nRead.\nSnow fell. The code is 123. A decoy. It thawed.\nWhat is the code?\n</user>"
CONTEXT = (TEXT.index("Snow"), TEXT.index("\nWhat"))
KEY = "ab" * 32


@dataclass(frozen=True)
class Made:
    text: str = TEXT
    context: tuple[int, int] = CONTEXT
    needles: tuple[tuple[str, int, int], ...] = ()
    turns: tuple[tuple[str, int, int], ...] = ()

    @property
    def sha256(self) -> str:
        return digest(self.text)


def digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def span(words: str) -> tuple[int, int]:
    return TEXT.index(words), TEXT.index(words) + len(words)


def needle(name: str, words: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "start": span(words)[0], "end": span(words)[1], "depth": 40.0, **more}


NEEDLES = [needle("code", "The code is 123.", text="The code is 123."), needle("distractor0", "A decoy.", depth=60.0)]
MADE = Made(needles=tuple((each["name"], each["start"], each["end"]) for each in NEEDLES))


def told(text: str = TEXT, **more: Any) -> Record:
    """A record of a prompt with this text."""
    return record(0, key=KEY, prompt={"sha256": digest(text), "needles": NEEDLES}, **more)


def refused(_run: Path, _cell: str) -> Made:
    raise InputError("--corpus", "docs", "is not there")


def saved(run: Path, text: str) -> Path:
    (run / "prompts").mkdir()
    (run / "prompts" / f"{KEY}.txt").write_bytes(text.encode("utf-8", "surrogatepass"))
    return run


def test_template_question_context_and_needles_are_told_apart(tmp_path: Path) -> None:
    shown = shown_prompt(lambda _run, _cell: MADE, tmp_path, told())

    assert [(part.kind, part.text) for part in shown.parts] == [
        ("frame", "<user>\nRead.\n"),
        ("context", "Snow fell. "),
        ("needle", "The code is 123."),
        ("context", " "),
        ("planted", "A decoy."),
        ("context", " It thawed."),
        ("frame", "\n"),
        ("question", "What is the code?"),
        ("frame", "\n</user>"),
    ]
    assert [(part.name, part.depth) for part in shown.parts if part.name] == [("code", 40.0), ("distractor0", 60.0)]
    assert shown.same
    assert "byte for byte what was sent" in shown.told


def test_marks_of_a_template_are_not_called_sent_where_a_server_got_messages(tmp_path: Path) -> None:
    record = told()
    record["model"], record["prompt"]["template"] = "openai:alpha", "chat"
    shown = shown_prompt(lambda _run, _cell: MADE, tmp_path, record)
    assert shown.same
    assert "what was sent" not in shown.told
    assert "The server was sent its messages" in shown.told


def test_a_conversation_is_told_apart_by_its_turns(tmp_path: Path) -> None:
    said = [("user", "Sing."), ("assistant", "La."), ("user", "Again."), ("assistant", "Li."), ("user", "What was it?")]
    text, turns = "", []
    for role, words in said:
        text += f"<{role}>"
        turns.append((role, len(text), len(text) + len(words)))
        text += f"{words}</>"
    sung = {"name": "song", "start": turns[3][1], "end": turns[3][2], "depth": 50.0, "text": "Li."}
    made = Made(text, (turns[0][1], turns[3][2]), (("song", *turns[3][1:]),), tuple(turns))
    each = record(0, question="What was it?", prompt={"sha256": digest(text), "needles": [sung]})
    shown = shown_prompt(lambda _run, _cell: made, tmp_path, each)

    assert [(part.kind, part.text, part.name) for part in shown.parts] == [
        ("turn", "<user>", "user"),
        ("context", "Sing.", ""),
        ("turn", "</><assistant>", "assistant"),
        ("context", "La.", ""),
        ("turn", "</><user>", "user"),
        ("context", "Again.", ""),
        ("turn", "</><assistant>", "assistant"),
        ("needle", "Li.", "song"),
        ("turn", "</><user>", "user"),
        ("question", "What was it?", ""),
        ("frame", "</>", ""),
    ]


def test_needles_of_one_name_each_have_their_depth(tmp_path: Path) -> None:
    needles = [needle("code", "Snow", text="Snow", depth=1.0), needle("code", "It thawed.", text="", depth=99.0)]
    made = Made(needles=tuple((each["name"], each["start"], each["end"]) for each in needles))
    shown = shown_prompt(lambda _run, _cell: made, tmp_path, record(0, prompt={"needles": needles}))

    assert [part.depth for part in shown.parts if part.kind == "needle"] == [1.0, 99.0]


@given(
    text=st.text(max_size=60),
    places=st.lists(st.tuples(st.integers(-5, 70), st.integers(-5, 70)), max_size=5),
    context=st.tuples(st.integers(0, 60), st.integers(0, 60)),
    question=st.text(max_size=3),
    edges=st.lists(st.integers(0, 60), max_size=8),
)
def test_the_parts_are_the_prompt_whatever_is_recorded(
    text: str, places: list[tuple[int, int]], context: tuple[int, int], question: str, edges: list[int]
) -> None:
    inside = sorted(min(edge, len(text)) for edge in edges)
    turns = tuple(("user", *turn) for turn in zip(inside[::2], inside[1::2], strict=False))
    made = Made(text, (min(context), max(context)), tuple(("n", *place) for place in places), turns)
    shown = shown_prompt(lambda _run, _cell: made, Path("nowhere"), record(0, key="", question=question))

    assert "".join(part.text for part in shown.parts) == text
    assert all(part.text for part in shown.parts)


def test_a_prompt_that_is_not_what_was_sent_says_so(tmp_path: Path) -> None:
    shown = shown_prompt(lambda _run, _cell: MADE, tmp_path, told("another"))

    assert shown.same is False
    assert "not what was sent" in shown.told
    assert digest("another")[:16] in shown.told


def test_without_a_hash_it_is_unchecked(tmp_path: Path) -> None:
    shown = shown_prompt(lambda _run, _cell: MADE, tmp_path, record(0, prompt={}))

    assert shown.same is None
    assert "Unchecked" in shown.told


def test_what_was_saved_is_shown_where_it_cannot_be_built(tmp_path: Path) -> None:
    shown = shown_prompt(refused, saved(tmp_path, TEXT), told())

    assert shown.same
    assert "--save-prompts" in shown.told
    assert "docs" in shown.told
    assert {part.kind for part in shown.parts} == {"text", "needle", "planted"}


def test_what_was_saved_is_shown_where_another_prompt_is_built(tmp_path: Path) -> None:
    shown = shown_prompt(lambda _run, _cell: Made("other"), saved(tmp_path, TEXT), told())

    assert "".join(part.text for part in shown.parts) == TEXT
    assert shown.same


def test_a_saved_file_that_is_not_what_was_sent_is_not_taken(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="docs"):
        shown_prompt(refused, saved(tmp_path, "edited"), told())


def test_a_key_is_no_path(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "secret.txt").write_text(TEXT)
    each = record(0, key="../../secret", prompt={"sha256": digest(TEXT)})

    with pytest.raises(InputError):
        shown_prompt(refused, tmp_path / "run", each)
