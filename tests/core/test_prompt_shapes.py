"""Prompt shapes and where the question stands."""

import pytest

from needlework.core.errors import InputError
from needlework.core.prompts import CONTEXT, guided, lay_out, load_shape, raw_text
from tests.parity.cases import cases

SHAPES = [("plain", "en"), ("plain", "zh"), ("llmtest", "en"), ("evalscope", "en"), ("evalscope", "zh"),
          ("cdme", "en"), ("cdme", "zh"), ("needlebench-v2", "en"), ("needlebench-v2", "zh")]  # fmt: skip


@pytest.mark.parametrize(("name", "language"), SHAPES)
@pytest.mark.parametrize(("position", "times"), [("start", 1), ("end", 1), ("both", 2)])
def test_the_question_stands_where_it_is_asked_for(name, language, position, times):
    messages = lay_out(load_shape(name, language), "Where is it?", system=None, position=position)
    text = raw_text(messages, "")
    before, context, after = text.partition(CONTEXT)
    assert context
    assert text.count("Where is it?") == times
    assert ("Where is it?" in before) == (position != "end")
    assert ("Where is it?" in after) == (position != "start")
    assert "{question}" not in text


def test_messages_of_their_own_tags_and_the_system_prompt_which_can_be_replaced_and_left_out():
    (message,) = lay_out(load_shape("plain", "en"), "Where?", system=None, position="start")
    assert "<document>\n{context}\n</document>" in message.content
    shape = load_shape("llmtest", "en")
    roles = [message.role for message in lay_out(shape, "Q?", system=None, position="end")]
    assert roles == ["system", "user", "user"]
    assert lay_out(shape, "Q?", system="Be brief.", position="end")[0].content == "Be brief."
    assert lay_out(shape, "Q?", system="", position="end")[0].role == "user"


def test_guide_goes_where_opencompass_puts_it():
    for case in cases("niah/oc_guide_question"):
        if case["function"] != "_modify_retrieval_question":
            continue  # the base variant cuts a fixed number of characters off; raw_end does that job here
        language = {"English": "en", "Chinese": "zh"}.get(case["language"], case["language"])
        if case.get("raises") == "ValueError":
            with pytest.raises(ValueError, match="not supported"):
                guided(case["question"], language, joint=False)
        elif "result" in case:
            assert guided(case["question"], language, joint=case["module"] == "v1_multi") == case["result"]
    assert guided("Where?", "en", joint=False).startswith("Where? Before answering")  # without an answer's format


def test_a_users_shape(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('[en]\n[[en.message]]\nrole = "user"\ncontent = "Text: {context} Q: {question}"\n')
    assert lay_out(load_shape(str(file), "en"), "W?", system=None, position="end")[0].content == (
        "Text: {context} Q: W?"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[en]\n", "needs"),
        ("[en]\n[[en.message]]\nrole='user'\ncontent='{context}'\n", "{question} exactly once"),
        ("[en]\n[[en.message]]\nrole='user'\ncontent='{question} {context}'\n", "before {question}"),
        ("[en]\n[[en.message]]\nrole='robot'\ncontent='{context} {question}'\n", "role"),
        ("[zh]\n", r"no \[en\] table; it has zh"),
        ("=", "not valid TOML"),
    ],
)
def test_a_wrong_shape_file_is_one_line(tmp_path, text, said):
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=said):
        load_shape(str(file), "en")


def test_an_unknown_shape_lists_the_known():
    with pytest.raises(InputError, match=r"evalscope, leval-code, .*llmtest"):
        load_shape("fancy", "en")
