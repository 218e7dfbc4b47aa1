"""Questions that a model writes and checks: the commands, replies read as pairs, what is found without a model."""

import contextlib
import json
import re
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

import needlework
from needlework.haystack_fixtures.documents.near_copies import twins
from needlework.haystack_fixtures.documents.readers import DocumentSet, OwnDocument
from needlework.results.questions.evidence import DocumentIndex, check_rows
from needlework.results.questions.make import read_pairs, too_long
from needlework.scoring.plain_text import content_words
from tests.loopback import Said, loopback
from tests.results.builders import refusal

ANIMALS = ("owl", "bat", "fox", "hedgehog", "badger")


@pytest.fixture
def animals(tmp_path):
    """Five documents, one fact each."""
    folder = tmp_path / "animals"
    folder.mkdir()
    for number, name in enumerate(ANIMALS):
        text = f"About the {name}.\n\nThe {name} of Kells weighs {number + 3} stone and sleeps in a {name} house."
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return folder


def questions(*words, server=None):
    """Call `needlework questions`, with a server as the model where one is given."""
    reached = ["--model", "openai:stub", "--base-url", server.url] if server else []
    return needlework.main(["questions", *map(str, words), *reached])


def rows(path):
    """The rows of a question file."""
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture
def out(tmp_path):
    return tmp_path / "made.json"


def prompts(server):
    """What the model was asked; the server was also asked for its window."""
    return [asked for asked in server.requests if "messages" in asked.body]


def animal_of(asked):
    found = re.search(r"About the (\w+)", asked.prompt)
    return found[1] if found else ""


def writer(asked):
    """Asks for the weight of a document's animal."""
    weight = re.search(r"weighs (\d+) stone", asked.prompt)
    pair = {"question": f"What does the {animal_of(asked)} of Kells weigh?", "answer": f"{weight and weight[1]} stone"}
    return Said(f"Here:\n```json\n{json.dumps([pair])}\n```")


def test_each_document_gets_a_question_and_the_next_run_goes_on(animals, out, capsys):
    with loopback(writer) as server:
        assert questions("make", animals, "--out", out, server=server) == 0
        assert rows(out)["0"] == {
            "question": "What does the badger of Kells weigh?",
            "answer": "7 stone",
            "answer_doc": "badger.txt",
            "made_from": sha256((animals / "badger.txt").read_bytes().strip()).hexdigest()[:16],
        }
        names = [f"{name}.txt" for name in ("badger", "bat", "fox", "hedgehog", "owl")]
        assert [row["answer_doc"] for row in rows(out).values()] == names
        assert all(asked.body["temperature"] == 0 for asked in prompts(server))
        said = capsys.readouterr().out
        assert "5 documents in the folder, 5 asked about, 5 have questions: 5 in all" in said
        assert f"next: needlework questions check {animals} {out}" in said

        edited = rows(out) | {"2": {"question": "Mine?", "answer": "yes", "answer_doc": "fox.txt"}}
        out.write_text(json.dumps(edited))
        assert questions("make", animals, "--out", out, server=server) == 0
        assert (len(prompts(server)), rows(out)) == (5, edited)
        (animals / "ant.txt").write_text("About the ant. The ant of Kells weighs 1 stone.")
        (animals / "owl-2.txt").write_bytes((animals / "owl.txt").read_bytes())  # its twin has a question
        (animals / "bat.txt").unlink()
        capsys.readouterr()
        assert questions("make", animals, "--out", out, server=server) == 0
    assert (len(prompts(server)), list(rows(out))) == (6, ["0", "1", "2", "3", "4", "5"])
    assert {key: rows(out)[key] for key in edited} == edited
    assert rows(out)["5"]["answer_doc"] == "ant.txt"
    said = capsys.readouterr().out
    assert "6 documents in the folder, 4 have questions already and keep them, 1 asked about, 1 have questions" in said
    assert "documents that are twins, equal or nearly, 1:\n- 'owl-2.txt', 'owl.txt'\nof twins only the first" in said


def test_a_reply_that_cannot_be_used_is_asked_for_again_with_what_was_wrong(animals, out, capsys):
    def stumbling(asked):
        if animal_of(asked) == "fox":
            return Said("No.")
        return writer(asked) if "could not be used" in asked.prompt else Said('[{"question": "What?"}]')

    with loopback(stumbling) as server:
        assert questions("make", animals, "--out", out, server=server) == 1
    again = [asked.prompt for asked in prompts(server) if "could not be used" in asked.prompt]
    assert (len(prompts(server)), len(again)) == (10, 5)
    assert "item 1: `answer` is missing" in next(prompt for prompt in again if "fox" not in prompt)
    assert "'fox.txt': the reply cannot be read: there is no JSON like" in capsys.readouterr().out
    assert len(rows(out)) == 4
    with loopback(writer) as server:
        assert questions("make", animals, "--out", out, server=server) == 0
    assert [animal_of(asked) for asked in prompts(server)] == ["fox"]
    assert len(rows(out)) == 5


def test_several_questions_a_document_by_a_template_of_the_user(animals, out, tmp_path):
    template = tmp_path / "mine.toml"
    template.write_text('system = "You test."\nuser = "Give {{ count }} of {{ document }}"\n')

    def two(asked):
        pairs = [{"question": f"{animal_of(asked)} {n}?", "answer": n, "aliases": ["x"]} for n in range(2)]
        return Said(json.dumps({"pairs": pairs}))

    words = ("--template", template, "--per-document", 2, "--limit", 3, "--seed", 5)
    with loopback(two) as server:
        assert questions("make", animals, "--out", out, *words, server=server) == 0
        assert questions("make", animals, "--out", out, *words, server=server) == 0, "the limit counts what is there"
    assert prompts(server)[0].prompt.startswith("You test.\n\nGive 2 of About the ")
    assert (list(rows(out)), rows(out)["1"]["aliases"]) == (["0", "1", "2", "3", "4", "5"], ["x"])
    assert len({row["answer_doc"] for row in rows(out).values()}) == len(prompts(server)) == 3


def test_a_document_longer_than_the_window_is_shown_from_its_beginning_and_named(animals, out, capsys):
    (animals / "owl.txt").write_text("About the owl. The owl of Kells weighs 3 stone. " + "It hoots again. " * 3000)
    with loopback(writer) as server:
        assert questions("make", animals, "--out", out, "--model-arg", "window=4000", server=server) == 0
    assert 8_000 < max(len(asked.prompt) for asked in prompts(server)) < 20_000
    said = capsys.readouterr().out
    assert "documents longer than the model's window, of which it saw the beginning, 1:\n- 'owl.txt'" in said


def test_gap_questions_need_no_model_and_go_on_too(animals, out, capsys):
    for number in range(12):
        (animals / f"{number}.png").write_bytes(b"x")
    make = ("make", animals, "--out", out, "--template", "gap")
    questions(*make, "--limit", 2)
    assert len(rows(out)) == 2
    questions(*make)
    before = rows(out)
    assert len(before) == 5
    assert "- and 2 more (--list-left-out shows all)" in capsys.readouterr().out
    (animals / "ant.txt").write_text("The very small ant of Kells carried 17 leaves over the wall in one single day.")
    (animals / "z.txt").write_text("Too short.")
    assert questions(*make, "--list-left-out") == 1
    assert {key: rows(out)[key] for key in before} == before
    assert [row["answer_doc"] for key, row in rows(out).items() if key not in before] == ["ant.txt"]
    said = capsys.readouterr().out
    assert "documents without a question, 1:\n- 'z.txt': no sentence can have a gap" in said
    assert "more (--list" not in said


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("system = 5", "has no text `system`"),
        ('system = "a"\nuser = "{{ count }}"', "{{ document }} is nowhere in it"),
        ('system = "a"\nuser = "{{ documnet }}"', "cannot be rendered ('documnet' is undefined)"),
        ('system = "a"\nuser = "{% if %}"', "cannot be rendered ("),
        ("nothing", "is not valid TOML"),
    ],
)
def test_a_template_that_cannot_be_used_says_why(animals, tmp_path, capsys, content, said):
    (tmp_path / "t.toml").write_text(content)
    words = ("make", animals, "--model", "mock:perfect", "--template", tmp_path / "t.toml")
    assert said in refusal(capsys, "questions", *words)


@pytest.mark.parametrize("name", ["factoid", "factoid-zh", "two-facts"])
def test_the_built_in_templates_show_the_document(animals, out, name):
    with loopback(writer) as server:
        questions("make", animals, "--out", out, "--template", name, server=server)
    assert prompts(server)
    assert all("of Kells weighs" in asked.prompt and "{{" not in asked.prompt for asked in prompts(server))


CHECKER = ("--checker", "openai:checker", "--checker-base-url")


@pytest.fixture
def file(tmp_path):
    """Three good pairs about three of the animals, and one about none."""
    rows = {
        name: {"question": f"What does the {name} of Kells weigh?", "answer": f"{weight} stone"}
        for name, weight in {"owl": 3, "bat": 4, "fox": 5}.items()
    }
    rows = {name: {**row, "answer_doc": f"{name}.txt", "topic": "weights"} for name, row in rows.items()}
    rows["none"] = {"question": "Who?", "answer": "x", "answer_doc": "gone.txt", "topic": "none"}
    path = tmp_path / "q.json"
    path.write_text(json.dumps(rows))
    return path


def checked(file):
    return rows(file.with_name("q.checked.json"))


def knows_the_fox(asked):
    """Has no document; knows one animal."""
    assert "house" not in asked.prompt
    return Said("5 stone" if "fox" in asked.prompt else "I do not know.")


def honest(asked):
    """Reads the document that it is shown."""
    document, question = asked.prompt.split("</document>")
    animal = re.search(r"does the (\w+) of", question)
    weight = re.search(rf"The {animal and animal[1]} of Kells weighs (\d+) stone", document)
    return Said(json.dumps({"answerable": bool(weight), "answer": f"{weight[1]} stone" if weight else ""}))


def test_without_a_model_every_row_gets_a_status_and_keeps_what_it_had(animals, file, capsys):
    (animals / "owl (2).txt").write_bytes((animals / "owl.txt").read_bytes())
    (animals / "picture.png").write_bytes(b"x")
    decision = {"status": "reject", "by": "ann", "at": "2026-01-01"}
    file.write_text(json.dumps(rows(file) | {"owl": {**rows(file)["owl"], "decision": decision}}))
    assert questions("check", animals, file) == 0
    first = checked(file)
    assert first["owl"]["decision"] == decision
    states = [(row["status"], row["topic"]) for row in first.values()]
    assert states == [("accept", "weights")] * 3 + [("reject", "none")]
    assert (first["owl"]["twins"], first["owl"]["reasons"]) == (["owl (2).txt"], [])
    assert first["none"]["reasons"] == ["no such document: 'gone.txt' is not in the folder, or names several"]
    said = capsys.readouterr().out
    for line in (
        "4 questions about 6 documents",
        "documents that are twins, equal or nearly, 1:\n- 'owl (2).txt', 'owl.txt'",
        "files that are no documents, 1:\n- 'picture.png': .png is not a kind that is read",
        "accept          3",
        "decisions of people: 1; they count whatever the check says",
        "- reject, no such document: 1",
        f"next: pytest benchmarks --preset own-documents --documents {animals} --questions",
    ):
        assert line in said
    assert questions("check", animals, file.with_name("q.checked.json")) == 0, "checked again in its place"
    assert checked(file) == first


def test_what_a_model_knows_without_the_document_is_rejected_and_a_missing_reply_asked_for_again(animals, file):
    failed = Said("", status=400, raw=b'{"error": {"message": "no"}}')
    with loopback(lambda asked: failed if "fox" in asked.prompt else knows_the_fox(asked)) as server:
        assert questions("check", animals, file, server=server) == 1
        assert checked(file)["fox"]["status"] == "review"
        assert checked(file)["fox"]["reasons"][0].startswith("not probed: the model did not answer")
        server.say = knows_the_fox
        server.requests.clear()
        assert questions("check", animals, file, server=server) == 0
        assert questions("check", animals, file, server=server) == 0
    assert len(prompts(server)) == 1  # the second time nothing is asked
    fox, owl = checked(file)["fox"], checked(file)["owl"]
    assert fox["status"] == "reject"
    assert fox["reasons"] == ["known without the document: asked alone, the model says '5 stone'"]
    assert fox["closed_book"] == {"model": "openai:stub", "known": True, "answer": "5 stone"}
    assert (owl["status"], owl["closed_book"]["known"]) == ("accept", False)


def test_a_checker_reads_the_document_and_the_three_nearest_others(animals, file):
    (animals / "rumour.txt").write_text("Some say: The bat of Kells weighs 9 stone, whatever Kells may tell.")

    def doubting(asked):
        doubts = {"owl": {"answerable": False}, "fox": {"answerable": True, "answer": "three and a half tons"}}
        about = animal_of(asked)
        is_own = about in doubts and f"does the {about}" in asked.prompt
        return Said(json.dumps(doubts[about])) if is_own else honest(asked)

    with loopback(honest) as server:
        assert questions("check", animals, file, *CHECKER, server.url) == 0
        assert len(prompts(server)) == 3 * 4
        assert checked(file)["owl"]["status"] == "accept"
        assert checked(file)["owl"]["checker"]["documents"][0] == {"document": "owl.txt", "answer": "3 stone"}
        reason = "answered by another document: the checker finds '9 stone' in 'rumour.txt'"
        assert (checked(file)["bat"]["status"], checked(file)["bat"]["reasons"]) == ("review", [reason])
        server.say = doubting
        questions("check", animals, file, *CHECKER, server.url, "--replies", file.with_name("again.jsonl"))
    owl, fox = checked(file)["owl"], checked(file)["fox"]
    assert (owl["status"], fox["status"]) == ("reject", "review")
    assert owl["reasons"][0].startswith("not answerable from its document:")
    assert fox["reasons"][0].startswith("another answer:")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("make", "--per-document", 0), "--per-document: '0': use a whole number from 1"),
        (("make", "--template", "absent"), "--template: 'absent': cannot be read"),
        (("make", "--template", "gap"), "--model: 'mock:perfect': --template gap asks no model"),
        (("make", "--api-key-env", "sk-12345"), "--api-key-env: '...': is the name of an environment variable"),
        (("make", "--model-arg", "window"), "--model-arg: 'window': write KEY=VALUE"),
        (("make", "--model", "mock:wrong"), "has written no question that can be used"),
        (("check", "--checker", "nothing"), "--checker: 'nothing': use one of"),
        (("check", "--checker", "mock:wrong", "--checker-api-key-env", "sk-1"), "--checker-api-key-env: '...': is"),
        (("check", "--out", "."), "--out: '.': is a folder"),
    ],
)
def test_what_cannot_be_used_is_one_line(animals, file, out, capsys, words, said):
    command, *options = words
    files = [file] if command == "check" else ["--out", out]
    model = () if "--model" in words else ("--model", "mock:perfect")
    before = file.read_bytes()
    assert said in refusal(capsys, "questions", command, animals, *files, *model, *options)
    assert (out.exists(), file.read_bytes()) == (False, before)


MICE = {"question": "What does the owl eat?", "answer": "mice"}
MOTHS = {"question": "What does the bat eat?", "answer": "moths", "aliases": ["night moths"]}


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps([MICE, MOTHS]),
        f"Here they are:\n```json\n{json.dumps([MICE, MOTHS], indent=2)}\n```\nI hope [this] helps.",
        f"[1] I read it. {json.dumps({'items': [MICE, MOTHS]})}",
        json.dumps([MICE, MOTHS, MICE]),
    ],
)
def test_json_is_found_in_whatever_a_model_says_around_it(reply):
    assert read_pairs(reply, 2) == [MICE, MOTHS]
    assert read_pairs('{"question": " How many? ", "answer": 1912}', 1) == [{"question": "How many?", "answer": "1912"}]


@pytest.mark.parametrize(
    ("reply", "count", "problem"),
    [
        ("I cannot do that.", 1, "there is no JSON like"),
        ("[" * 100_000, 1, "there is no JSON like"),
        ("[5]", 1, "item 1 is no JSON object"),
        (json.dumps([MICE]), 2, "1 where 2 were asked for"),
        (json.dumps([MICE, {"question": "x"}]), 2, "item 2: `answer` is missing"),
        (json.dumps([{**MICE, "answer": " "}]), 1, "item 1: `answer` is missing"),
        (json.dumps([{**MICE, "aliases": "x"}]), 1, "item 1: `aliases` is no list"),
        (json.dumps([{**MICE, "aliases": [True]}]), 1, "item 1: an alias is missing or no text"),
        ('[{"question": "a", "answer": "\\ud800"}]', 1, "item 1: `answer` is missing or no text"),
        (json.dumps([MICE, {**MICE, "question": "what does the OWL eat?"}]), 2, "two of the questions are the same"),
        (json.dumps([{**MICE, "answer": "a mouse " * 13}]), 1, "item 1: the answer has 26 words, at most 25 words are"),
    ],
)
def test_what_is_wrong_is_said(reply, count, problem):
    with pytest.raises(ValueError, match=re.escape(problem)):
        read_pairs(reply, count)


@given(st.text('[]{}":,\\ 1aquestionanswer'))
def test_whatever_is_said_is_pairs_or_a_value_error(reply):
    with contextlib.suppress(ValueError):
        assert len(read_pairs(reply, 1)) == 1


def test_chinese_answers_count_by_characters():
    assert too_long("猫" * 60) == too_long("one two " * 12) == ""
    assert too_long("猫" * 61) == "the answer has 61 characters, at most 60 characters are short"


TEXTS = {
    "owl.txt": "The barn owl of Kells weighs three stone. It was bought in 1912 by Ada Byrne of Dublin.",
    "owl-copy.txt": "The barn owl of Kells weighs three stone. It was bought in 1912, by Ada Byrne of Dublin!",
    "bat.txt": "The bat of Kells weighs four stone and was bought in 1907 by Tom Daly.",
    "byrne.txt": "Ada Byrne of Dublin collected clocks. She never saw an owl, but bought a barn in Kells.",
    "zh.txt": "凯尔斯的猫头鹰重三石，是一九一二年由艾达买下的。",
}
FOLDER = DocumentSet(tuple(OwnDocument(name, text) for name, text in sorted(TEXTS.items())), "hash", ())
OWL = {"question": "What does the barn owl of Kells weigh?", "answer": "three stone", "answer_doc": "owl.txt"}
BOUGHT = {"question": "Who bought the barn owl in Kells?", "answer": "Ada Byrne", "answer_doc": "owl.txt"}
CHINESE = {"question": "凯尔斯的猫头鹰有多重？", "answer": "三石", "answer_doc": "zh.txt"}


def check(**rows):
    groups, index = twins(FOLDER.documents), DocumentIndex(FOLDER.documents)
    return {each.key: each for each in check_rows(rows, FOLDER, groups, index)}


def test_a_good_question_is_accepted_and_supporting_documents_support():
    row = {"question": "Who bought it, and what else?", "answer": "Tom Daly; clocks", "answer_doc": "bat.txt"}
    good, alone, together = check(a=OWL, b=row, c=row | {"supporting_docs": ["byrne.txt"]}).values()
    assert (good.status, good.reasons) == ("accept", ())
    assert good.facts == {"support": 1.0, "also_in": [], "twins": ["owl-copy.txt"]}
    assert (alone.facts["support"], together.facts["support"]) == (0.6667, 1.0)


@pytest.mark.parametrize(
    ("row", "changed", "reasons"),
    [
        (OWL, {"question": " "}, ["reject: nothing to ask: has no question"]),
        (OWL, {"answer": ""}, ["reject: nothing to ask: has no answer"]),
        (OWL, {"answer_doc": "absent.txt"}, ["reject: no such document: 'absent.txt' is not in the folder"]),
        (OWL, {"answer": "purple"}, ["reject: not supported"]),
        (OWL, {"answer": "three kilos and purple"}, ["review: hardly supported: 33% of"]),
        (OWL, {"answer": "three stone " * 13}, ["review: answer too long: the answer has 26 words"]),
        (OWL, {"supporting_docs": ["absent.txt"]}, ["review: no such supporting document"]),
        (OWL, {"made_from": "0" * 16}, ["review: document has changed"]),
        (OWL, {"answer": "42 pounds", "aliases": ["three stone"]}, []),
        (BOUGHT, {}, ["review: ambiguous: the answer stands beside the question's words in 'byrne.txt' too"]),
        (BOUGHT, {"supporting_docs": ["byrne.txt"]}, []),
        (BOUGHT, {"question": "When was it sold to Tom Daly?", "answer": "Kells", "answer_doc": "bat.txt"}, []),
        (BOUGHT, {"question": "Who collected clocks?", "answer": "she", "answer_doc": "byrne.txt"}, []),
        (BOUGHT, {"answer": "yourself", "answer_doc": "byrne.txt"}, ["reject: not supported"]),
        (CHINESE, {}, []),
        (CHINESE, {"answer": "五斤"}, ["reject: not supported"]),
        (CHINESE, {"answer": "三石" * 31}, ["review: hardly supported", "review: answer too long"]),
    ],
)
def test_what_is_wrong_with_a_question_alone(row, changed, reasons):
    told = [f"{reason.status}: {reason}" for reason in check(a=row | changed)["a"].reasons]
    assert len(told) == len(reasons)
    assert all(line.startswith(reason) for line, reason in zip(told, reasons, strict=True)), told


def test_the_same_question_twice():
    copy = {**OWL, "question": "what does the barn owl of kells weigh", "answer_doc": "owl-copy.txt"}
    checked = check(a=OWL, b=copy, c={**OWL, "answer": "four stone", "answer_doc": "bat.txt"})
    assert [str(each) for key in "abc" for each in checked[key].reasons] == [
        "asked of other documents: the same question is 'c'",
        "asked twice: the same question about the same document is 'a'",
        "asked of other documents: the same question is 'a', 'b'",
    ]


@given(
    st.lists(st.text(st.sampled_from("ab 猫的模,'no"), max_size=20), max_size=6),
    st.text(st.sampled_from("ab 猫的模no")),
)
def test_all_documents_that_have_an_answers_words_are_found(texts, answer):
    index = DocumentIndex([OwnDocument(str(number), text) for number, text in enumerate(texts)])
    words = {word for word in content_words(answer) if len(word) > 1 or word.isascii()}
    assert {number for number, text in enumerate(texts) if words <= content_words(text)} <= set(index.having(answer))
