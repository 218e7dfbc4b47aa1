"""`--lengths window`: as many tokens as the model takes, and of documents no more than they fill."""

import json

from tests.loopback import loopback


def test_a_window_stands_beside_other_lengths_in_plan_records_and_output(project):
    project.asks("niah")
    given = ("--lengths=400,window", "--depths=50", "--model-arg=window=900")
    project.run(*given, "--plan").stdout.fnmatch_lines(
        ["--lengths window: 900 tokens, the window of mock:perfect", "*2 lengths (tokens):  400 900"]
    )
    result = project.run(*given)
    result.stdout.fnmatch_lines(["--lengths window: 900 tokens, the window of mock:perfect"])
    assert {record["length"] for record in project.records()} == {400, 900}
    (suite,) = json.loads(project.file("manifest.json"))["suites"]
    assert (suite["window"], suite["lengths"]) == (True, [400, 900])
    # The same trials as with the number itself: nothing is asked again.
    once = len(project.journal())
    project.run("--lengths=400,900", "--depths=50", "--model-arg=window=900")
    assert len(project.journal()) == once


def test_a_server_is_asked_for_its_windows_and_the_smallest_holds_for_all_models(project):
    project.asks("niah")
    with loopback() as server:
        server.told["/v1/models"] = {"data": [{"id": "m", "max_model_len": 700}, {"id": "large", "max_model_len": 900}]}
        given = ("--lengths=window", "--depths=50", f"--base-url={server.url}", "--tokenizer=tiktoken:cl100k_base")
        project.run(*given, "--model=openai:large", model="openai:m")
    assert {(record["model"], record["length"]) for record in project.records()} == {
        ("openai:m", 700),
        ("openai:large", 700),
    }


def test_one_line_where_the_window_is_not_known(project):
    project.asks("niah")
    project.run("--lengths=4k,window").stderr.fnmatch_lines(
        ["*--lengths: 'window': the window of mock:perfect is not known: say it, --model-arg window=32768"]
    )
    project.run("--lengths=windows").stderr.fnmatch_lines(["*--lengths: 'windows': give whole tokens*"])


def test_documents_that_are_fewer_than_the_window_are_all_asked_about_in_one_length(project):
    folder = project.pytester.mkdir("documents")
    towns = ("Arle", "Brask", "Corvo", "Dunmere", "Eskdale", "Fenwick", "Garrow", "Holt", "Idle", "Jarrow")
    for n, town in enumerate(towns):
        told = " ".join(f"The market of {town} sold {7 * n + month} baskets in month {month}." for month in range(9))
        (folder / f"{n}.txt").write_text(f"The town of {town} was founded by {town}a Quist{n} on a hill. {told}")
    project.asks("documents")
    given = ("--preset=own-documents", "--documents=documents", "--retriever=none", "--model-arg=window=50000")
    result = project.run(*given, "--lengths=window", "--depths=50", "--verify-prompts")
    result.stdout.fnmatch_lines(
        ["--lengths window: *00 tokens, what the documents fill; the window of mock:perfect has 50,000"]
    )
    records = project.records()
    assert {record["outcome"] for record in records} == {"found"}
    (length,) = {record["length"] for record in records if record["task"] != "doc_size"}
    # All but the last of the others, which is shortened, are there whole.
    kept = [len(record["reference"]["documents"]) for record in records if record["task"] == "doc_position"]
    assert length % 100 == 0
    assert min(kept) >= len(towns) - 1
