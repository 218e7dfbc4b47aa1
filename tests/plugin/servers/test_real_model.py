"""The embedded model, in process and behind a real server."""


def test_a_server_with_the_same_model_gives_the_same_answers_and_counts(project, llama_server):
    grid = ("--lengths=300,400", "--depths=0,25,50,75,100", "--answer-budget=24")
    project.run(*grid, "--run-name=inside", model="smollm2", process=True)
    project.run(
        *grid, "--run-name=served", f"--base-url={llama_server}", "--tokenizer=smollm2", model="openai:smollm2",
        process=True,
    )  # fmt: skip
    inside, served = project.records("inside"), project.records("served")

    assert len(served) == 10
    for record in served:
        assert record["response"]["prompt_tokens"] == record["prompt"]["tokens"]
    assert [r["prompt"]["sha256"] for r in inside] == [r["prompt"]["sha256"] for r in served]
    # Not 10: the server computes with the 4-bit weights as they are, and near-ties may fall the other way.
    assert sum(one["answer"] == other["answer"] for one, other in zip(inside, served, strict=True)) >= 9


def test_prompts_can_be_made_again_byte_for_byte(project, capfdbinary):
    import needlework

    project.run("--save-prompts", model="mock:perfect")
    record = project.records()[0]
    saved = (project.runs / "r" / "prompts" / f"{record['key']}.txt").read_bytes()
    capfdbinary.readouterr()

    assert needlework.main(["prompt", str(project.runs / "r"), record["id"]]) == 0
    assert capfdbinary.readouterr().out == saved
