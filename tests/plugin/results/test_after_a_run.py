"""What a run leaves to be looked at, and where it says to look."""


def test_the_last_line_says_what_to_open(project):
    result = project.run("--repeats=2", model="mock:middle")
    folder = "results/runs/r"

    prompt = f"needlework prompt {folder} niah-len400-depth50-code-r0 prints what the model saw"
    hint = f"next: open {folder}/report.html (a click on a cell shows its answers); {prompt}"
    result.stdout.fnmatch_lines([f"{folder}/report.html", f"{folder}/cells.csv", hint])
