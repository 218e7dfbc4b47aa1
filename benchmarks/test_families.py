"""The benchmarks: a test for each task, or family of tasks (`pytest benchmarks`)."""

import pytest


@pytest.mark.cells("niah")
def test_needle(cell, generate, assert_scored):
    """One needle in a haystack: is a single fact found, at every depth and length?"""
    assert_scored(generate(cell))


@pytest.mark.cells("multi_needle")
def test_needles(cell, generate, assert_scored):
    """Several needles: are scattered facts brought together?"""
    assert_scored(generate(cell))


@pytest.mark.cells("parallel")
def test_needle_at_each_depth(cell, generate, assert_scored):
    """A needle at every depth: how many of them are found in one answer?"""
    assert_scored(generate(cell))


@pytest.mark.cells("needlebench")
def test_chain(cell, generate, assert_scored):
    """NeedleBench: are scattered facts chained, and how long a chain without any haystack?"""
    assert_scored(generate(cell))


@pytest.mark.cells("key_value")
def test_value(cell, generate, assert_scored):
    """One value out of many equal ones: is a key found among keys that look alike?"""
    assert_scored(generate(cell))


@pytest.mark.cells("aggregate")
def test_aggregate(cell, generate, assert_scored):
    """Questions about the whole text: no part of it alone has the answer."""
    assert_scored(generate(cell))


@pytest.mark.cells("copy")
def test_copy(cell, generate, assert_scored):
    """A text given back word for word: what gets lost, and where?"""
    assert_scored(generate(cell))


@pytest.mark.cells("code_chain")
def test_code_chain(cell, generate, assert_scored):
    """Calls followed from function to function: does every step find the next?"""
    assert_scored(generate(cell))


@pytest.mark.cells("icl")
def test_icl(cell, generate, assert_scored):
    """Classes learnt from examples in the prompt: do more shots help?"""
    assert_scored(generate(cell))


@pytest.mark.cells("ruler")
def test_ruler(cell, generate, assert_scored):
    """RULER's 13 tasks: retrieval, tracking, counting and question answering by length."""
    assert_scored(generate(cell))


@pytest.mark.cells("leval")
def test_leval(cell, generate, assert_scored):
    """L-Eval's twenty tasks: questions on whole documents. Needs a copy of its data (`--leval-data DIR`)."""
    assert_scored(generate(cell))


@pytest.mark.cells("openai_mrcr")
def test_openai_mrcr(cell, generate, assert_scored):
    """OpenAI MRCR, MRCR v2, GraphWalks, LongBench v2, AA-LCR. Needs a copy of the data (`--data PATH`)."""
    assert_scored(generate(cell))


@pytest.mark.cells("deepmind_mrcr")
def test_deepmind_mrcr(cell, generate, assert_scored):
    assert_scored(generate(cell))


@pytest.mark.cells("graphwalks")
def test_graphwalks(cell, generate, assert_scored):
    assert_scored(generate(cell))


@pytest.mark.cells("longbench_v2")
def test_longbench_v2(cell, generate, assert_scored):
    assert_scored(generate(cell))


@pytest.mark.cells("aa_lcr")
def test_aa_lcr(cell, generate, assert_scored):
    assert_scored(generate(cell))


@pytest.mark.cells("documents")
def test_documents(cell, generate, assert_scored):
    """Questions on your documents: depth and length of the context, and answers that are not in it."""
    assert_scored(generate(cell))


@pytest.mark.cells("multikey")
def test_key(cell, generate, assert_scored):
    """One key among many of the same form: is it told from the others?"""
    assert_scored(generate(cell))


@pytest.mark.cells("multivalue")
def test_values(cell, generate, assert_scored):
    """Several values at once: are all of them given, and nothing else?"""
    assert_scored(generate(cell))


@pytest.mark.cells("multiquery")
def test_queries(cell, generate, assert_scored):
    assert_scored(generate(cell))


@pytest.mark.cells("superseded")
def test_update(cell, generate, assert_scored):
    """A fact that was updated: is the value that held then told from the stale ones?"""
    assert_scored(generate(cell))


@pytest.mark.cells("chain")
def test_names(cell, generate, assert_scored):
    """Names for names for a value: are scattered links followed?"""
    assert_scored(generate(cell))


@pytest.mark.cells("association")
def test_person(cell, generate, assert_scored):
    """Needles that share no word with their question: is the fact known that connects them?"""
    assert_scored(generate(cell))


@pytest.mark.cells("semantic")
def test_saying(cell, generate, assert_scored):
    """Sentences that differ from the needle in one attribute: which attribute is mistaken?"""
    assert_scored(generate(cell))


@pytest.mark.cells("state_world")
def test_state(cell, generate, assert_scored):
    """A small world told fact by fact: is its state kept track of?"""
    assert_scored(generate(cell))


@pytest.mark.cells("graph")
def test_graph(cell, generate, assert_scored):
    """Walks in graphs: are all edges found that an answer rests on, and put together?"""
    assert_scored(generate(cell))


@pytest.mark.cells("mrcr")
def test_piece(cell, generate, assert_scored):
    """One of several similar pieces in a conversation: is the right one repeated word for word?"""
    assert_scored(generate(cell))


@pytest.mark.cells("memory")
def test_memory(cell, generate, assert_scored):
    """Chat sessions over months: is what was said, changed and liked remembered?"""
    assert_scored(generate(cell))


@pytest.mark.cells("agent_log")
def test_entry(cell, generate, assert_scored):
    """A log of tool calls, whole and after compaction: what was set last, what failed first?"""
    assert_scored(generate(cell))
