"""A chat template is rendered once for many questions; each prompt is the one that it writes for its own messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from needlework.core.prompts import Message
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import grid
from needlework.haystack_fixtures.trials.builder import TrialBuilder
from needlework.models.tokenizers.tokenizer import load_tokenizer
from tests.chat_templates import IRREGULAR, REGULAR, templated

_CONTENT = "{% for message in messages %}{{ message['role'] }}: {{ CONTENT }}\n{% endfor %}"
# What they do, they do to the question too.
CHANGING = {
    "capitals": _CONTENT.replace("CONTENT", "message['content'].replace('What', 'WHAT')"),
    "words": _CONTENT.replace("CONTENT", "message['content'] ~ (' (or)' if 'Which' in message['content'] else '')"),
}


@pytest.mark.parametrize("name", [*REGULAR, *IRREGULAR])
def test_prompts_are_what_the_template_writes(name: str, tmp_path: Path) -> None:
    tokenizer = templated(load_tokenizer("o200k_base"), (REGULAR | IRREGULAR)[name])
    for position in ("start", "end", "both"):
        given = {"lengths": "400", "depths": "0,50,100", "corpus": "noise", "question_position": position}
        given |= {"model": ["mock:perfect"], "controls": "none"}
        settings = resolve_settings(given, {}, tmp_path)
        builder = TrialBuilder(settings, tokenizer, tmp_path)
        ((suite, cells),) = [(series.suite, series.cells) for series in grid(settings)]
        prompts = [builder.build(suite, cell).prompt for cell in cells]
        assert builder._rendered_with_hole(suite, "") is not None
        assert [prompt.text for prompt in prompts] == [tokenizer.render_chat(prompt.messages) for prompt in prompts]
        assert len({prompt.messages[-1].content for prompt in prompts}) == len(cells)


@pytest.mark.parametrize("name", CHANGING)
def test_a_template_that_changes_questions_is_rendered_for_each(name: str, tmp_path: Path) -> None:
    tokenizer = templated(load_tokenizer("o200k_base"), CHANGING[name])
    settings = resolve_settings({"lengths": "400", "depths": "50", "model": ["mock:perfect"]}, {}, tmp_path)
    builder = TrialBuilder(settings, tokenizer, tmp_path)
    ((suite, _),) = [(series.suite, series.cells) for series in grid(settings)]
    assert builder._rendered_with_hole(suite, "") is None
    for question in ("What is it?", "Which of them, the red or the blue one?", "<b>What?</b>", "", "x\ny"):
        frame = builder._frame(suite, question, "", "", "")
        holed = [Message(each.role, each.content.replace("{context}", "\ue000")) for each in frame.messages]
        assert f"{frame.before}\ue000{frame.after}" == tokenizer.render_chat(holed)
