"""`--canary`: marks at both ends of every context, asked for beside the question."""


def test_a_model_that_saw_everything_gives_both_marks(project):
    project.run("--canary", "--save-prompts")
    records = project.records()
    assert all("canaries_found" in record["details"]["flags"] for record in records)
    assert all(record["outcome"] == "found" for record in records)
    for record in records:
        names = [needle["name"] for needle in record["prompt"]["needles"]]
        assert (names[0], names[-1]) == ("canary_start", "canary_end")
        text = project.file(f"prompts/{record['key']}.txt")
        assert text.index("first mark of this text") < text.index("code for") < text.rindex("last mark of this text")


def test_a_model_that_answers_anything_else_is_flagged(project):
    project.run("--canary", model="mock:wrong")
    assert all(
        {"canary_start_missing", "canary_end_missing"} <= set(record["details"]["flags"])
        for record in project.records()
    )


def test_runs_with_and_without_canaries_do_not_mix(project):
    project.run("--canary")
    project.run()
    assert not any("canaries_found" in record["details"]["flags"] for record in project.records())
    assert len(project.journal()) == 12
